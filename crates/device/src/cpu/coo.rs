//! `coo`: a task is a run of 16 `block` non-zeros.
//!
//! ```text
//! row_idx   0 0 1 1 | 1 1 1 1 | 1 3 3 5        three runs of four
//! writes    y0 y1   |         |   y2 y3 y4 y5  a run owns the rows that start in it, and the empty ones before
//! carries           | to y1   | to y1          sums for a row that an earlier run owns, added at the end
//! ```
//! Carried sums are added in the order of the runs, so y depends on `block` but not on the threads.

use rayon::prelude::*;
use sparsight_matrix::{Coo, Scalar};
use std::ops::Range;

/// Non-zeros of a task for each row that a task of the other kernels has: about the work of rows of that
/// length, so that the block sizes of the catalogue span the same range of work in every kernel. Chosen.
const NON_ZEROS_A_ROW: usize = 16;

/// What the product is added to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Start {
    /// y = A x.
    Zero,
    /// y = y + A x.
    AsItIs,
}

/// What a run leaves for a row that starts before it.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Carry<T> {
    row: usize,
    sum: T,
}

/// y = A x or y = y + A x. `carries` is scratch.
pub(super) fn product<T: Scalar>(
    a: &Coo<T>,
    block: usize,
    start: Start,
    x: &[T],
    y: &mut [T],
    carries: &mut Vec<Carry<T>>,
) {
    let length = NON_ZEROS_A_ROW * block;
    let count = a.nnz().div_ceil(length);
    if count == 0 {
        if start == Start::Zero {
            y.par_chunks_mut(length).for_each(|y| y.fill(T::default()));
        }
        return;
    }
    carries.resize(count, Carry::default());
    let runs = Runs { a, x, start, length, count };
    runs.multiply(0..count, y, carries);
    // The first run carries nothing: no row starts before it.
    for carry in &carries[1..] {
        y[carry.row] += carry.sum;
    }
}

/// The non-zeros of a matrix in runs of `length`.
struct Runs<'a, T> {
    a: &'a Coo<T>,
    x: &'a [T],
    start: Start,
    length: usize,
    count: usize,
}

impl<T: Scalar> Runs<'_, T> {
    /// First row that `run` owns: the one after the row of the last entry before it.
    fn first_row(&self, run: usize) -> usize {
        match run {
            0 => 0,
            run if run == self.count => self.a.nrows(),
            run => self.a.row_idx()[run * self.length - 1] as usize + 1,
        }
    }

    /// Multiplies `runs`, in halves in parallel; `y` is the rows that they own, `carries` has one entry a run.
    fn multiply(&self, runs: Range<usize>, y: &mut [T], carries: &mut [Carry<T>]) {
        if let [carry] = carries {
            *carry = self.multiply_one(runs.start, y);
            return;
        }
        let middle = runs.start + runs.len() / 2;
        let (y1, y2) = y.split_at_mut(self.first_row(middle) - self.first_row(runs.start));
        let (carries1, carries2) = carries.split_at_mut(middle - runs.start);
        rayon::join(
            || self.multiply(runs.start..middle, y1, carries1),
            || self.multiply(middle..runs.end, y2, carries2),
        );
    }

    /// Multiplies one run into the rows that it owns, `y`, and gives what belongs to the row before them.
    fn multiply_one(&self, run: usize, y: &mut [T]) -> Carry<T> {
        if self.start == Start::Zero {
            y.fill(T::default());
        }
        let first_row = self.first_row(run);
        let range = run * self.length..((run + 1) * self.length).min(self.a.nnz());
        let rows = &self.a.row_idx()[range.clone()];
        let cols = &self.a.col_idx()[range.clone()];
        let values = &self.a.values()[range];

        let mut carry = Carry { row: first_row.saturating_sub(1), sum: T::default() };
        let (mut row, mut sum) = (carry.row, T::default());
        let mut finish = |row: usize, sum: T| {
            if row < first_row {
                carry.sum = sum;
            } else {
                y[row - first_row] += sum;
            }
        };
        for ((&entry_row, &col), &value) in rows.iter().zip(cols).zip(values) {
            let entry_row = entry_row as usize;
            if entry_row != row {
                finish(row, sum);
                (row, sum) = (entry_row, T::default());
            }
            sum += value * self.x[col as usize];
        }
        finish(row, sum);
        carry
    }
}
