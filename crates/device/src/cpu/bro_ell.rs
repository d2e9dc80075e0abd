//! `bro-ell`: a task is a tile of `block` rows. Up to 32 rows of a slice are unpacked side by side, column by column,
//! so that symbols and values are read about in the order in which they lie.

use rayon::prelude::*;
use sparsight_matrix::{BroEll, BroEllSlice, Scalar};

/// Rows that are unpacked side by side: every block size and every slice of the catalogue is a multiple of it.
const LANES: usize = 32;

/// y = A x.
pub(super) fn product<T: Scalar>(a: &BroEll<T>, block: usize, x: &[T], y: &mut [T]) {
    y.par_chunks_mut(block).enumerate().for_each(|(task, mut y)| {
        let mut row = task * block;
        while !y.is_empty() {
            let slice = a.slice_of(row);
            let count = LANES.min(slice.rows().end - row).min(y.len());
            let lanes;
            (lanes, y) = y.split_at_mut(count);
            multiply(&slice, row - slice.rows().start, x, lanes);
            row += count;
        }
    });
}

/// Sets `y`, at least one and at most [`LANES`] entries, to the product of the slice's rows from `first` on.
fn multiply<T: Scalar>(slice: &BroEllSlice<'_, T>, first: usize, x: &[T], y: &mut [T]) {
    // Lanes behind the last row repeat it and are not looked at.
    let mut columns: [_; LANES] = std::array::from_fn(|lane| slice.columns_of(first + lane.min(y.len() - 1)));
    y.fill(T::default());
    for k in 0..slice.width() {
        let values = &slice.values(k)[first..first + y.len()];
        for ((y, columns), &value) in y.iter_mut().zip(&mut columns).zip(values) {
            if let Some(col) = columns.next() {
                *y += value * x[col as usize];
            }
        }
    }
}
