//! How many square blocks a matrix touches, and how many are stored when their rows stand in slices: counted with the other
//! features for all block sizes, listed for BSR.
//!
//! ```text
//! A = | 1 2 . . . . |     blocks of 2:   | X . . |     3 blocks touched: 12 entries stored for 5 non-zeros
//!     | . 3 . . . . |                    | . X X |
//!     | . . . 4 . . |
//!     | . . . . 5 . |
//! ```
//! Blocks begin at multiples of their size, in rows and in columns.

use crate::{Csr, Scalar};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Rows and columns of a block, as many as there are sizes in the catalogue.
pub const BLOCK_SIDES: [u32; 4] = [2, 3, 4, 6];

/// Block rows of a slice: a warp's worth.
pub(crate) const SLICE: usize = 32;

/// How many entries are stored at most for each non-zero. Derived: with as many, values alone take what CSR takes with columns,
/// in `f32`; in `f64` they take more.
const MOST_FILL: u64 = 2;

/// Rows whose blocks are counted in one go: whole slices of every block size.
const ROWS_PER_TASK: usize = 384;

/// One such piece of so many is looked at first. Where its blocks say that the matrix stores far too many, the rest is not looked
/// at. Chosen: what that costs is lost beside the other features.
const LOOKED_AT_FIRST: usize = 32;

/// By how much the first look must exceed what may be stored. Chosen.
const FAR_TOO_MANY: u64 = 2;

/// Blocks of one size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockCount {
    /// Blocks that hold a non-zero, counted up to [`BlockCount::most`]; one more than those stands for any larger number, and for
    /// what a first look at every 32nd piece of 384 rows found to be more than twice too many there.
    pub blocks: u64,
    /// Blocks that are stored when each row of blocks is padded to the longest of 32. Counts for nothing beside too many
    /// `blocks`, and is 0 then.
    pub stored: u64,
}

impl BlockCount {
    /// The most blocks of `side` rows and columns that are counted and stored: with more of them a matrix moves more bytes than
    /// CSR.
    pub fn most(nnz: u64, side: u32) -> u64 {
        (MOST_FILL * nnz).div_ceil(u64::from(side * side))
    }

    /// Whether there are too many to be stored.
    pub fn is_over(self, nnz: u64, side: u32) -> bool {
        self.blocks > Self::most(nnz, side)
    }
}

/// The blocks of `a`, by [`BLOCK_SIDES`]. O(nnz) for sizes that fit the matrix, O(nnz / 32) for others; in parallel.
pub(crate) fn block_counts<T: Scalar>(a: &Csr<T>) -> [BlockCount; 4] {
    BLOCK_SIDES.map(|side| block_count(a, side))
}

/// The blocks of one size.
///
/// # Panics
/// If it is not one of [`BLOCK_SIDES`].
pub(crate) fn block_count<T: Scalar>(a: &Csr<T>, side: u32) -> BlockCount {
    match side {
        2 => count::<2, T>(a),
        3 => count::<3, T>(a),
        4 => count::<4, T>(a),
        6 => count::<6, T>(a),
        _ => panic!("blocks of {side} are not in the catalogue"),
    }
}

fn count<const SIDE: usize, T: Scalar>(a: &Csr<T>) -> BlockCount {
    let most = BlockCount::most(a.nnz() as u64, SIDE as u32);
    let over = BlockCount { blocks: most + 1, stored: 0 };
    let tasks = a.nrows().div_ceil(ROWS_PER_TASK);
    let rows = |task: usize| task * ROWS_PER_TASK..((task + 1) * ROWS_PER_TASK).min(a.nrows());
    let looked_at = (0..tasks).into_par_iter().step_by(LOOKED_AT_FIRST).map(rows);
    let (blocks, nnz) = looked_at
        .map(|rows| {
            let nnz = a.row_ptr()[rows.end] - a.row_ptr()[rows.start];
            (of_rows::<SIDE, T>(a, rows).blocks, nnz)
        })
        .reduce(|| (0, 0), |one, other| (one.0 + other.0, one.1 + other.1));
    if blocks > FAR_TOO_MANY * BlockCount::most(nnz, SIDE as u32) {
        return over;
    }
    let (found, stored) = (AtomicU64::new(0), AtomicU64::new(0));
    (0..tasks).into_par_iter().for_each(|task| {
        if found.load(Relaxed) > most {
            return;
        }
        let count = of_rows::<SIDE, T>(a, rows(task));
        found.fetch_add(count.blocks, Relaxed);
        stored.fetch_add(count.stored, Relaxed);
    });
    let blocks = found.into_inner();
    if blocks > most { over } else { BlockCount { blocks, stored: stored.into_inner() } }
}

/// The blocks of some rows that begin with a slice.
fn of_rows<const SIDE: usize, T: Scalar>(a: &Csr<T>, rows: Range<usize>) -> BlockCount {
    let mut count = BlockCount { blocks: 0, stored: 0 };
    for first in rows.clone().step_by(SLICE * SIDE) {
        let mut longest = 0;
        for start in (first..(first + SLICE * SIDE).min(rows.end)).step_by(SIDE) {
            let mut length = 0;
            each_block::<SIDE, T>(a, start..(start + SIDE).min(rows.end), |_| length += 1);
            count.blocks += length;
            longest = longest.max(length);
        }
        count.stored += SLICE as u64 * longest;
    }
    count
}

/// Calls `found` with the columns of the blocks of one row of blocks, counted in blocks, ascending.
fn each_block<const SIDE: usize, T: Scalar>(a: &Csr<T>, rows: Range<usize>, mut found: impl FnMut(u32)) {
    const END: u32 = u32::MAX;
    let ptr = a.row_ptr();
    let cols = |row: usize| &a.col_idx()[ptr[row] as usize..ptr[row + 1] as usize];
    let first = cols(rows.start);
    let mut left: [&[u32]; SIDE] = [&[]; SIDE];
    left[0] = first;
    let mut count = 1;
    for row in rows.start + 1..rows.end {
        // With several unknowns in each point of a grid their rows have the same columns.
        if cols(row) != first {
            left[count] = cols(row);
            count += 1;
        }
    }
    let left = &mut left[..count];
    loop {
        let next = left.iter().map(|cols| cols.first().map_or(END, |&col| col / SIDE as u32)).min();
        let Some(block) = next.filter(|&block| block != END) else { return };
        found(block);
        let behind = u64::from(block + 1) * SIDE as u64;
        for cols in &mut *left {
            while let Some((&col, rest)) = cols.split_first()
                && u64::from(col) < behind
            {
                *cols = rest;
            }
        }
    }
}

/// The columns of the blocks of one row of blocks, counted in blocks, ascending.
///
/// # Panics
/// If `side` is not one of [`BLOCK_SIDES`].
pub(crate) fn block_columns<T: Scalar>(a: &Csr<T>, side: u32, rows: Range<usize>, columns: &mut Vec<u32>) {
    columns.clear();
    match side {
        2 => each_block::<2, T>(a, rows, |block| columns.push(block)),
        3 => each_block::<3, T>(a, rows, |block| columns.push(block)),
        4 => each_block::<4, T>(a, rows, |block| columns.push(block)),
        6 => each_block::<6, T>(a, rows, |block| columns.push(block)),
        _ => panic!("blocks of {side} are not in the catalogue"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gallery::Recipe;
    use std::collections::BTreeSet;

    fn matrix(recipe: &str) -> Csr<f32> {
        recipe.parse::<Recipe>().unwrap().generate().unwrap()
    }

    #[test]
    fn blocks_are_those_of_the_definition_or_too_many() {
        let mut counted = 0;
        for recipe in [
            "fem,n=9,unknowns=3",
            "fem,n=13,unknowns=2",
            "dense,rows=70,cols=71",
            "stencil2d,n=64",
            "banded,n=2000",
            "arrow,n=300",
            "random,rows=20000",
        ] {
            let a = matrix(recipe);
            for (side, count) in BLOCK_SIDES.into_iter().zip(block_counts(&a)) {
                let side_of = side as usize;
                let block = |row: usize| a.row(row).0.iter().map(move |&col| (row / side_of, col / side));
                let blocks: BTreeSet<(usize, u32)> = (0..a.nrows()).flat_map(block).collect();
                let most = BlockCount::most(a.nnz() as u64, side);
                assert_eq!(count.blocks, (blocks.len() as u64).min(most + 1), "{recipe}, {side}");
                if count.blocks > most {
                    assert_eq!(count.stored, 0);
                    continue;
                }
                counted += 1;
                let block_rows = a.nrows().div_ceil(side_of);
                let length = |row: usize| blocks.range((row, 0)..(row + 1, 0)).count();
                let longest = |slice: usize| {
                    (slice * SLICE..((slice + 1) * SLICE).min(block_rows)).map(length).max().unwrap()
                };
                let stored: usize = (0..block_rows.div_ceil(SLICE)).map(|s| SLICE * longest(s)).sum();
                assert_eq!(count.stored, stored as u64, "{recipe}, {side}");
            }
        }
        assert!(counted >= 10, "{counted}");
    }

    #[test]
    fn an_empty_matrix_has_no_blocks() {
        let empty = Csr::<f32>::try_new(0, 5, vec![0], vec![], vec![]).unwrap();
        assert_eq!(block_counts(&empty), [BlockCount { blocks: 0, stored: 0 }; 4]);
    }
}
