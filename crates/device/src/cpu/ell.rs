//! `ell`: a task is a tile of `block` rows, whose columns are added one after the other, so that the tile's
//! indices and values are read in the order in which they lie. Its part of y stays in the first-level cache.

use rayon::prelude::*;
use sparsight_matrix::{Ell, Scalar};

/// y = A x.
pub(super) fn product<T: Scalar>(a: &Ell<T>, block: usize, x: &[T], y: &mut [T]) {
    y.par_chunks_mut(block).enumerate().for_each(|(task, y)| {
        y.fill(T::default());
        for k in 0..a.width() {
            let first = k * a.stride() + task * block;
            let cols = &a.col_idx()[first..first + y.len()];
            let values = &a.values()[first..first + y.len()];
            for ((y, &col), &value) in y.iter_mut().zip(cols).zip(values) {
                if col != Ell::<T>::PAD {
                    *y += value * x[col as usize];
                }
            }
        }
    });
}
