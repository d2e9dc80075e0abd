//! The rows of a benchmark matrix laid out one behind the other: where each begins, and how many have which length.
//!
//! ```text
//! lengths   4 0 7 2   ->   offsets   0 4 4 11 13      histogram   (0, 1) (2, 1) (4, 1) (7, 1)
//! ```
//! Drawn lengths are drawn here, on the host, whatever device then holds the matrix: a device is given the offsets
//! and makes the entries. Constant lengths need no offsets, row i begins at `i p`.

use crate::BenchmarkMatrix;
use rayon::prelude::*;
use sparsight_matrix::{Bytes, Dtype, Format, Infeasible, RowLengths};

/// Rows that one task draws. Chosen: some 100 us of work.
const ROWS_PER_TASK: usize = 1 << 14;

/// Lengths and places of all rows of a [`BenchmarkMatrix`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BenchmarkRows {
    matrix: BenchmarkMatrix,
    lengths: RowLengths,
    /// `nrows + 1` of them; `None` for constant lengths.
    offsets: Option<Vec<u64>>,
}

impl BenchmarkMatrix {
    /// Draws the lengths of all rows. O(nrows), in parallel; O(1) for constant lengths.
    ///
    /// # Errors
    /// [`Infeasible::LongerThanWide`] if the mean length is beyond the columns; [`Infeasible::DoesNotFit`] if the
    /// offsets of drawn lengths alone, 8 bytes a row, take more than `memory`. Nothing has been allocated then.
    pub fn rows(&self, memory: Bytes) -> Result<BenchmarkRows, Infeasible> {
        if self.row_length > self.nrows {
            return Err(Infeasible::LongerThanWide { row_length: self.row_length, ncols: self.nrows });
        }
        if !self.lengths.is_drawn() {
            let lengths = RowLengths::from_counts([(self.row_length, self.nrows)]);
            return Ok(BenchmarkRows { matrix: *self, lengths, offsets: None });
        }
        let need = Bytes(self.nrows.saturating_add(1).saturating_mul(8));
        if need > memory {
            return Err(Infeasible::DoesNotFit { need, have: memory });
        }
        let (lengths, offsets) = draw(self);
        Ok(BenchmarkRows { matrix: *self, lengths, offsets: Some(offsets) })
    }
}

/// Histogram and offsets: each task adds up its own rows, then what lies before them is added.
fn draw(matrix: &BenchmarkMatrix) -> (RowLengths, Vec<u64>) {
    let longest = matrix.longest() as usize;
    let mut offsets = vec![0_u64; matrix.nrows as usize + 1];
    let ends = &mut offsets[1..];
    let parts: Vec<(u64, Vec<u64>)> = ends
        .par_chunks_mut(ROWS_PER_TASK)
        .enumerate()
        .map(|(task, ends)| {
            let (mut end, mut counts) = (0, vec![0_u64; longest + 1]);
            for (row, place) in ((task * ROWS_PER_TASK) as u64..).zip(ends) {
                let length = matrix.length(row);
                counts[length as usize] += 1;
                end += length;
                *place = end;
            }
            (end, counts)
        })
        .collect();
    let before: Vec<u64> = parts
        .iter()
        .scan(0, |sum, (rows, _)| {
            *sum += rows;
            Some(*sum - rows)
        })
        .collect();
    let shift = |(ends, before): (&mut [u64], u64)| ends.iter_mut().for_each(|end| *end += before);
    ends.par_chunks_mut(ROWS_PER_TASK).zip(before).for_each(shift);
    let rows_of = |length: usize| parts.iter().map(|(_, counts)| counts[length]).sum();
    let lengths = RowLengths::from_counts((0..=longest).map(|length| (length as u64, rows_of(length))));
    (lengths, offsets)
}

impl BenchmarkRows {
    /// Rows of each length; constant or as drawn.
    pub fn lengths(&self) -> &RowLengths {
        &self.lengths
    }

    /// Non-zeros.
    pub fn nnz(&self) -> u64 {
        self.lengths.nnz()
    }

    /// The longest row that there is: the width of ELL.
    pub fn longest(&self) -> u64 {
        self.lengths.max()
    }

    /// Non-zeros before `row`, which may be `nrows`.
    pub fn start(&self, row: u64) -> u64 {
        self.offsets.as_ref().map_or(row * self.matrix.row_length, |offsets| offsets[row as usize])
    }

    /// [`start`](Self::start) of every row and of their end; `None` for constant lengths.
    pub fn offsets(&self) -> Option<&[u64]> {
        self.offsets.as_deref()
    }

    /// Row offsets of CSR, also for equal lengths.
    pub fn into_offsets(self) -> Vec<u64> {
        let BenchmarkMatrix { nrows, row_length, .. } = self.matrix;
        self.offsets.unwrap_or_else(|| (0..=nrows).into_par_iter().map(|row| row * row_length).collect())
    }

    /// Bytes that matrix, x and y take in `format`.
    pub fn bytes(&self, format: Format, dtype: Dtype) -> Bytes {
        self.matrix.bytes_with(self.nnz(), self.longest(), format, dtype)
    }
}
