//! Rows of known lengths, made in parallel.

use crate::Scalar;
use crate::io::memory::{Refused, zeroed};
use rayon::prelude::*;
use std::ops::Range;

/// Rows that one task makes: some microseconds of work at a few entries a row. Chosen.
const ROWS_PER_TASK: usize = 1024;

/// Columns and values of all rows. `row_ptr`: rows + 1 offsets from 0 that never decrease. `make_row` is given a row's number
/// and room for its columns and values; `S` is scratch of a task.
///
/// # Errors
/// [`Refused`] if the system does not give the memory.
pub(crate) fn fill_rows<T: Scalar, S: Default + Send>(
    row_ptr: &[u64],
    make_row: impl Fn(usize, &mut S, &mut [u32], &mut [T]) + Sync,
) -> Result<(Vec<u32>, Vec<T>), Refused> {
    let (nrows, nnz) = (row_ptr.len() - 1, row_ptr[row_ptr.len() - 1] as usize);
    let mut col_idx: Vec<u32> = zeroed(nnz)?;
    let mut values: Vec<T> = zeroed(nnz)?;
    let mut tasks: Vec<(Range<usize>, &mut [u32], &mut [T])> = Vec::new();
    let (mut cols, mut vals) = (&mut col_idx[..], &mut values[..]);
    for first in (0..nrows).step_by(ROWS_PER_TASK) {
        let rows = first..(first + ROWS_PER_TASK).min(nrows);
        let entries = (row_ptr[rows.end] - row_ptr[rows.start]) as usize;
        let (own_cols, rest_cols) = cols.split_at_mut(entries);
        let (own_vals, rest_vals) = vals.split_at_mut(entries);
        tasks.push((rows, own_cols, own_vals));
        (cols, vals) = (rest_cols, rest_vals);
    }
    tasks.into_par_iter().for_each_init(S::default, |scratch, (rows, cols, vals)| {
        let first = row_ptr[rows.start];
        for row in rows {
            let own = (row_ptr[row] - first) as usize..(row_ptr[row + 1] - first) as usize;
            make_row(row, scratch, &mut cols[own.clone()], &mut vals[own]);
        }
    });
    Ok((col_idx, values))
}
