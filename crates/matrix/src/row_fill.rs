//! Rows of known lengths, made in parallel, and rows of a matrix with other numbers.

use crate::csr::pieces;
use crate::io::memory::{Refused, make_room, zeroed};
use crate::{Csr, Scalar};
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
    let tasks = || (0..nrows).step_by(ROWS_PER_TASK).map(|first| first..(first + ROWS_PER_TASK).min(nrows));
    let entries = || tasks().map(|rows: Range<usize>| (row_ptr[rows.end] - row_ptr[rows.start]) as usize);
    let places = pieces(&mut col_idx, entries()).zip(pieces(&mut values, entries()));
    let tasks: Vec<_> = tasks().zip(places).collect();
    tasks.into_par_iter().for_each_init(S::default, |scratch, (rows, (cols, vals))| {
        let first = row_ptr[rows.start];
        for row in rows {
            let own = (row_ptr[row] - first) as usize..(row_ptr[row + 1] - first) as usize;
            make_row(row, scratch, &mut cols[own.clone()], &mut vals[own]);
        }
    });
    Ok((col_idx, values))
}

/// Some rows of `a`, in the order in which they are named, with `width` columns: column `col` is called `place(col)`, no two alike.
///
/// # Errors
/// [`Refused`] if the system does not give the memory.
pub(crate) fn renumbered<T: Scalar>(
    a: &Csr<T>,
    rows: &[u32],
    width: usize,
    place: impl Fn(u32) -> u32 + Sync,
) -> Result<Csr<T>, Refused> {
    let mut row_ptr: Vec<u64> = Vec::new();
    make_room(&mut row_ptr, rows.len() + 1)?;
    row_ptr.push(0);
    for &row in rows {
        row_ptr.push(row_ptr[row_ptr.len() - 1] + a.row(row as usize).0.len() as u64);
    }
    let (col_idx, values) = fill_rows(&row_ptr, |at, row: &mut Vec<(u32, T)>, cols, values| {
        let (old_cols, old_values) = a.row(rows[at] as usize);
        row.clear();
        row.extend(old_cols.iter().zip(old_values).map(|(&col, &value)| (place(col), value)));
        row.sort_unstable_by_key(|&(col, _)| col);
        for ((col, value), &(new_col, old_value)) in cols.iter_mut().zip(values).zip(&*row) {
            (*col, *value) = (new_col, old_value);
        }
    })?;
    let matrix = Csr::try_new(rows.len(), width, row_ptr, col_idx, values);
    Ok(matrix.expect("rows keep their entries, columns are sorted"))
}
