//! Entries laid down column by column: entry `k` of neighbouring rows in neighbouring places. ELL, JAD and
//! SELL-C-sigma differ in which row stands at a place and in how long the columns are.

use crate::{Csr, Scalar};
use rayon::prelude::*;

/// Column index that marks padding.
pub(crate) const PAD: u32 = u32::MAX;

/// Places that one task fills: some hundred kilobytes of an ordinary matrix, so that they stay in a core's cache.
const PLACES_PER_TILE: usize = 512;

/// Fills columns that lie one behind the other, column `k` with `lengths[k]` places, in parallel; `row_at` gives the
/// row at a place, if there is one. What a row lacks is padding: [`PAD`], and the value that was there. A task fills
/// every column of a tile of places, so that the rows are read once, while they are in cache.
///
/// # Panics
/// If the lengths increase, or do not add up to what `col_idx` and `values` hold.
pub(crate) fn fill<T: Scalar>(
    a: &Csr<T>,
    lengths: impl Iterator<Item = usize>,
    row_at: impl Fn(usize) -> Option<usize> + Sync,
    mut col_idx: &mut [u32],
    mut values: &mut [T],
) {
    let mut tiles: Vec<Vec<(&mut [u32], &mut [T])>> = Vec::new();
    for length in lengths {
        let (cols, vals);
        (cols, col_idx) = col_idx.split_at_mut(length);
        (vals, values) = values.split_at_mut(length);
        let pieces = cols.chunks_mut(PLACES_PER_TILE).zip(vals.chunks_mut(PLACES_PER_TILE));
        if tiles.is_empty() {
            tiles.resize_with(pieces.len(), Vec::new);
        }
        assert!(pieces.len() <= tiles.len(), "columns never get longer");
        for (tile, piece) in tiles.iter_mut().zip(pieces) {
            tile.push(piece);
        }
    }
    assert!(col_idx.is_empty() && values.is_empty(), "the columns are all there is");
    tiles.into_par_iter().enumerate().for_each(|(tile, columns)| {
        for (k, (cols, vals)) in columns.into_iter().enumerate() {
            fill_one(a, k, (tile * PLACES_PER_TILE..).map(&row_at), cols, vals);
        }
    });
}

/// Fills one column with entry `k` of `rows`, as [`fill`].
pub(crate) fn fill_one<T: Scalar>(
    a: &Csr<T>,
    k: usize,
    rows: impl Iterator<Item = Option<usize>>,
    cols: &mut [u32],
    vals: &mut [T],
) {
    for ((col, val), row) in cols.iter_mut().zip(vals).zip(rows) {
        *col = match row.map(|row| (a.row_ptr()[row] as usize, a.row_ptr()[row + 1] as usize)) {
            Some((start, end)) if k < end - start => {
                *val = a.values()[start + k];
                a.col_idx()[start + k]
            }
            _ => PAD,
        };
    }
}
