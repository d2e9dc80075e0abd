//! The one pass over all rows: every row is seen once, in blocks of neighbouring rows, side by side.
//!
//! What it gathers are whole numbers, so the order in which threads meet does not matter.

use super::rows::Rows;
use super::team_steps::TeamSteps;
use crate::row_lengths::LengthCounts;
use crate::{Csr, RowLengths, Scalar};
use rayon::prelude::*;
use std::ops::Range;

/// Rows that a thread takes at once. A multiple of the 32 rows of a warp; else chosen: enough to be worth handing out.
const BLOCK_ROWS: usize = 256;

/// What was gathered over some of the rows.
#[derive(Debug, Default)]
pub(super) struct Sweep {
    lengths: LengthCounts,
    /// Largest `|j - i|`.
    pub(super) bandwidth: u64,
    /// Distances of neighbouring non-zeros of a row; `None` before the first pair.
    pub(super) distances: Option<(u32, u32)>,
    pub(super) team_steps: TeamSteps,
}

impl Sweep {
    /// Over all of `rows`. O(nnz), in parallel.
    pub(super) fn of<T: Scalar>(rows: &Rows<'_, T>) -> Self {
        (0..rows.count().div_ceil(BLOCK_ROWS))
            .into_par_iter()
            .fold(Self::default, |mut sweep, block| {
                let start = rows.range.start + block * BLOCK_ROWS;
                sweep.block(rows.a, start..(start + BLOCK_ROWS).min(rows.range.end));
                sweep
            })
            .reduce(Self::default, Self::merge)
    }

    /// Adds a block of rows.
    fn block<T: Scalar>(&mut self, a: &Csr<T>, rows: Range<usize>) {
        let offsets = &a.row_ptr()[rows.start..=rows.end];
        self.team_steps.rows(offsets);
        for (row, w) in rows.zip(offsets.windows(2)) {
            self.row(row, &a.col_idx()[w[0] as usize..w[1] as usize]);
        }
    }

    /// Adds one row.
    fn row(&mut self, row: usize, cols: &[u32]) {
        self.lengths.add(cols.len());
        let (Some(&first), Some(&last)) = (cols.first(), cols.last()) else { return };
        // Columns are sorted, so the ends decide.
        let from_diagonal = |col: u32| u64::from(col).abs_diff(row as u64);
        self.bandwidth = self.bandwidth.max(from_diagonal(first)).max(from_diagonal(last));
        if cols.len() > 1 {
            self.distances = widest(self.distances, Some(distances(cols)));
        }
    }

    /// Of two parts of the rows together.
    fn merge(self, other: Self) -> Self {
        Self {
            lengths: self.lengths.merge(other.lengths),
            bandwidth: self.bandwidth.max(other.bandwidth),
            distances: widest(self.distances, other.distances),
            team_steps: self.team_steps.merge(other.team_steps),
        }
    }

    /// The row lengths that were seen.
    pub(super) fn lengths(&self) -> RowLengths {
        self.lengths.histogram()
    }
}

/// Least and largest distance of neighbours. A loop without an early end, which the compiler turns into wide
/// instructions.
fn distances(cols: &[u32]) -> (u32, u32) {
    cols.windows(2).fold((u32::MAX, 0), |(least, most), w| {
        let distance = w[1].wrapping_sub(w[0]);
        (least.min(distance), most.max(distance))
    })
}

fn widest(a: Option<(u32, u32)>, b: Option<(u32, u32)>) -> Option<(u32, u32)> {
    match (a, b) {
        (Some(a), Some(b)) => Some((a.0.min(b.0), a.1.max(b.1))),
        (one, other) => one.or(other),
    }
}
