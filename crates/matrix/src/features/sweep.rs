//! The one pass over all rows: every row is seen once, in blocks of neighbouring rows, side by side.
//!
//! What it gathers are whole numbers, so the order in which threads meet does not matter.

use super::Rows;
use super::sample::combined;
use super::team_steps::{WARP, add_steps};
use crate::bro_ell_size::{self, BLOCK_ROWS, BroEllSize, PARTS};
use crate::moved_rows::{self, distinct};
use rayon::prelude::*;
use std::cmp::Reverse;
use std::ops::Range;

/// Rows that a thread looks at in one go, while they are in its cache.
pub(super) const ROWS_AT_ONCE: usize = 768;

// They are whole blocks, which begin with a warp.
const _: () = assert!(
    BLOCK_ROWS == PARTS * WARP && WARP == moved_rows::PART && ROWS_AT_ONCE.is_multiple_of(BLOCK_ROWS)
);

/// Counts more over some neighbouring rows, of which it is told what [`moved_rows::steps`] found.
pub(super) type Count<'c> = dyn Fn(Range<usize>, &[Option<usize>]) + Sync + 'c;

/// Numbers gathered over some of the rows.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Sweep {
    /// Largest `|j - i|`.
    pub(super) bandwidth: u64,
    /// Distances of neighbouring non-zeros of a row; `None` before the first pair.
    pub(super) distances: Option<(u32, u32)>,
    /// Steps of all warps with 1, 2, 4, 8, 16 and 32 threads a row.
    pub(super) team_steps: [u64; 6],
    /// Sizes in every shape of the catalogue.
    pub(super) bro_ell: [BroEllSize; 2],
    /// Non-zeros of the 32 rows that begin a warp and have most of them, and the first of these rows; the last ones of equals.
    pub(super) heaviest: (u64, usize),
    /// Length of the longest row and, of the first such row, the first of the 32 rows among which it is.
    pub(super) longest: (u64, Reverse<usize>),
}

impl Sweep {
    /// Over all of `rows`, which `count` is given, too, piece by piece, with the [`moved_rows::steps`] of the piece. O(nnz), in parallel.
    pub(super) fn of(rows: &Rows<'_>, count: &Count<'_>) -> Self {
        let step = |mut sweep: Self, piece: usize| {
            let start = rows.range.start + piece * ROWS_AT_ONCE;
            let piece = start..(start + ROWS_AT_ONCE).min(rows.range.end);
            let steps = moved_rows::steps(rows.a, piece.clone());
            let mut look = || {
                for (start, steps) in piece.clone().step_by(BLOCK_ROWS).zip(steps.chunks(PARTS)) {
                    sweep.block(rows, start..(start + BLOCK_ROWS).min(piece.end), steps);
                }
            };
            rows.a.in_parallel(&piece, &mut look, &|| count(piece.clone(), &steps));
            sweep
        };
        (0..rows.count().div_ceil(ROWS_AT_ONCE))
            .into_par_iter()
            .fold(Self::default, step)
            .reduce(Self::default, Self::merge)
    }

    /// Adds a block of `all` rows.
    #[inline(never)]
    fn block(&mut self, all: &Rows<'_>, rows: Range<usize>, steps: &[Option<usize>]) {
        let a = all.a;
        let parts = || {
            let starts = rows.clone().step_by(WARP).zip(steps);
            starts.map(|(start, &step)| (start..(start + WARP).min(rows.end), step))
        };
        let mut widths = [0; PARTS];
        for (width, (part, step)) in widths.iter_mut().zip(parts()) {
            let (offsets, first) = (&a.row_ptr[part.start..=part.end], part.start - all.range.start);
            let longest = add_steps(&mut self.team_steps, offsets, step.is_some());
            *width = longest as usize;
            self.longest = self.longest.max((longest, Reverse(first)));
            self.heaviest = self.heaviest.max((offsets[part.len()] - offsets[0], first));
            for row in distinct(part, step) {
                self.bandwidth = self.bandwidth.max(bandwidth_of(row, a.row(row)));
            }
        }
        let block = bro_ell_size::of_block(a, rows.clone(), widths, steps);
        self.bro_ell = added(self.bro_ell, block.sizes);
        // Most blocks hold no distance that is nearer or farther than those before, and their ORs say so.
        if block.farthest > 0 && self.distances.is_none_or(|(least, most)| least > 1 || block.farthest > most)
        {
            for row in parts().flat_map(|(part, step)| distinct(part, step)) {
                self.distances = widest(self.distances, distances(a.row(row), self.distances));
            }
        }
    }

    /// Combines two parts of the rows.
    fn merge(self, other: Self) -> Self {
        Self {
            bandwidth: self.bandwidth.max(other.bandwidth),
            distances: widest(self.distances, other.distances),
            team_steps: combined(self.team_steps, other.team_steps),
            bro_ell: added(self.bro_ell, other.bro_ell),
            heaviest: self.heaviest.max(other.heaviest),
            longest: self.longest.max(other.longest),
        }
    }
}

/// Largest `|j - i|` of all rows. O(rows).
pub(super) fn bandwidth(rows: &Rows<'_>) -> u64 {
    rows.range.clone().map(|row| bandwidth_of(row, rows.a.row(row))).max().unwrap_or(0)
}

/// Largest `|j - i|` of a row: columns are sorted, so the ends decide.
fn bandwidth_of(row: usize, cols: &[u32]) -> u64 {
    let (Some(&first), Some(&last)) = (cols.first(), cols.last()) else { return 0 };
    let from_diagonal = |col: u32| u64::from(col).abs_diff(row as u64);
    from_diagonal(first).max(from_diagonal(last))
}

/// Least and largest distance of neighbours, if there are two; none nearer than 1 is looked for where that is `known`. Loops without an early
/// end, which the compiler turns into wide instructions.
fn distances(cols: &[u32], known: Option<(u32, u32)>) -> Option<(u32, u32)> {
    let all = || cols.windows(2).map(|w| w[1].wrapping_sub(w[0]));
    (cols.len() > 1).then(|| match known {
        Some((1, _)) => (1, all().fold(0, u32::max)),
        _ => all().fold((u32::MAX, 0), |(least, most), d| (least.min(d), most.max(d))),
    })
}

fn added(one: [BroEllSize; 2], other: [BroEllSize; 2]) -> [BroEllSize; 2] {
    [one[0] + other[0], one[1] + other[1]]
}

fn widest(a: Option<(u32, u32)>, b: Option<(u32, u32)>) -> Option<(u32, u32)> {
    match (a, b) {
        (Some(a), Some(b)) => Some((a.0.min(b.0), a.1.max(b.1))),
        (one, other) => one.or(other),
    }
}
