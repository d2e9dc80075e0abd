//! The one pass over all rows: every row is seen once, in blocks of neighbouring rows, side by side.
//!
//! What it gathers are whole numbers, so the order in which threads meet does not matter.

use super::Rows;
use super::sample::combined;
use super::team_steps::{WARP, add_steps};
use crate::bro_ell_size::{self, BLOCK_ROWS, BroEllSize, PARTS, Part, first_difference};
use crate::moved_rows::{self, Copies};
use rayon::prelude::*;
use std::cmp::Reverse;
use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Rows that a thread looks at in one go, while they are in its cache.
pub(super) const ROWS_AT_ONCE: usize = 768;

// They are whole blocks, which begin with a warp.
const _: () = assert!(
    BLOCK_ROWS == PARTS * WARP && WARP == moved_rows::PART && ROWS_AT_ONCE.is_multiple_of(BLOCK_ROWS)
);

/// Counts more over some neighbouring rows, of which it is told what [`moved_rows::copies`] found.
pub(super) type Count<'c> = dyn Fn(Range<usize>, &[Copies]) + Sync + 'c;

/// Numbers gathered over some of the rows.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Sweep {
    /// Largest `|j - i|`.
    pub(super) bandwidth: u64,
    /// Least and largest distance of neighbouring non-zeros of a row, known once all rows were seen; 0 where no row has two.
    pub(super) distances: (u32, u32),
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
    /// Over all of `rows`, which `count` is given, too, piece by piece, with the [`moved_rows::copies`] in it. O(nnz), in parallel.
    pub(super) fn of(rows: &Rows<'_>, count: &Count<'_>) -> Self {
        let distances = Distances::default();
        let step = |mut sweep: Self, piece: usize| {
            let start = rows.range.start + piece * ROWS_AT_ONCE;
            let piece = start..(start + ROWS_AT_ONCE).min(rows.range.end);
            let copies = moved_rows::copies(rows.a, piece.clone());
            let mut look = || {
                for (start, copies) in piece.clone().step_by(BLOCK_ROWS).zip(copies.chunks(PARTS)) {
                    sweep.block(rows, start..(start + BLOCK_ROWS).min(piece.end), copies, &distances);
                }
            };
            rows.a.in_parallel(&piece, &mut look, &|| count(piece.clone(), &copies));
            sweep
        };
        let pieces = (0..rows.count().div_ceil(ROWS_AT_ONCE)).into_par_iter();
        let sweep = pieces.fold(Self::default, step).reduce(Self::default, Self::merge);
        Self { distances: distances.known(), ..sweep }
    }

    /// Adds a block of `all` rows.
    #[inline(never)]
    fn block(&mut self, all: &Rows<'_>, rows: Range<usize>, copies: &[Copies], distances: &Distances) {
        let a = all.a;
        let parts = || {
            let starts = rows.clone().step_by(WARP).zip(copies);
            starts.map(|(start, &copies)| (start..(start + WARP).min(rows.end), copies))
        };
        let mut known = [Part::default(); PARTS];
        for (known, (part, copies)) in known.iter_mut().zip(parts()) {
            let (offsets, first) = (&a.row_ptr[part.start..=part.end], part.start - all.range.start);
            let longest = add_steps(&mut self.team_steps, offsets, copies.are_alike);
            known.width = longest as usize;
            self.longest = self.longest.max((longest, Reverse(first)));
            self.heaviest = self.heaviest.max((offsets[part.len()] - offsets[0], first));
            let all_moved = copies.all_moved();
            for row in part.start..all_moved.map_or(part.end, |step| part.start + step) {
                let (cols, first) = (a.row(row), first_difference(a.row(row)));
                self.bandwidth = self.bandwidth.max(bandwidth_of(row, cols));
                known.first |= match all_moved {
                    Some(step) if first > 0 => {
                        let copies = 0..(part.end - row).div_ceil(step) as u32;
                        copies.fold(0, |or, copy| or | (first + copy * step as u32))
                    }
                    _ => first,
                };
            }
        }
        let (least, most) = distances.known();
        let block = bro_ell_size::of_block(a, rows.clone(), known, copies, most);
        self.bro_ell = added(self.bro_ell, block.sizes);
        // Most blocks hold no distance that is nearer or farther than those before.
        if block.is_wider || least > 1 {
            distances.add(parts().flat_map(|(part, copies)| copies.distinct(part)).map(|row| a.row(row)));
        }
    }

    /// Combines two parts of the rows.
    fn merge(self, other: Self) -> Self {
        Self {
            bandwidth: self.bandwidth.max(other.bandwidth),
            // Set once all were seen.
            distances: (0, 0),
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

/// Distances of neighbours that were found so far, by any thread. What is read may be older than what others found: then more is looked at,
/// and once all have ended it is not.
struct Distances {
    least: AtomicU32,
    most: AtomicU32,
}

impl Default for Distances {
    fn default() -> Self {
        Self { least: u32::MAX.into(), most: 0.into() }
    }
}

impl Distances {
    /// The least and the largest, 0 before the first pair.
    fn known(&self) -> (u32, u32) {
        let most = self.most.load(Relaxed);
        (if most == 0 { 0 } else { self.least.load(Relaxed) }, most)
    }

    /// Adds those of some rows; none nearer than 1 is looked for where that is known. Loops without an early end, which the compiler
    /// turns into wide instructions.
    fn add<'a>(&self, rows: impl Iterator<Item = &'a [u32]>) {
        let (known_least, known_most) = (self.least.load(Relaxed), self.most.load(Relaxed));
        let (mut least, mut most) = (known_least, known_most);
        for cols in rows {
            let all = cols.windows(2).map(|w| w[1].wrapping_sub(w[0]));
            if least > 1 {
                (least, most) = all.fold((least, most), |(least, most), d| (least.min(d), most.max(d)));
            } else {
                most = all.fold(most, u32::max);
            }
        }
        if least < known_least {
            self.least.fetch_min(least, Relaxed);
        }
        if most > known_most {
            self.most.fetch_max(most, Relaxed);
        }
    }
}

fn added(one: [BroEllSize; 2], other: [BroEllSize; 2]) -> [BroEllSize; 2] {
    [one[0] + other[0], one[1] + other[1]]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Pattern;

    #[test]
    fn distances_beyond_half_of_all_columns_are_found() {
        let ptr: Vec<u64> = (0..=300).map(|row| 2 * row).collect();
        let mut cols = [7, 9].repeat(300);
        (cols[401], cols[500]) = (u32::MAX - 1, 8);
        let a = Pattern { nrows: 300, ncols: u32::MAX as usize, row_ptr: &ptr, col_idx: &cols };
        let found = |rows| Sweep::of(&Rows { a, range: rows }, &|_, _| ()).distances;
        assert_eq!((found(0..300), found(0..200), found(0..0)), ((1, u32::MAX - 8), (2, 2), (0, 0)));
    }
}
