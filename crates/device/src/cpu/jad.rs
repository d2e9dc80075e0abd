//! `jad`: a task is a tile of `block` places, whose diagonals are added one after the other, as in `ell`.

use super::places::Places;
use sparsight_matrix::{Jad, Scalar};

/// y = A x. `sums` is scratch.
pub(super) fn product<T: Scalar>(
    a: &Jad<T>,
    places: &Places,
    block: usize,
    x: &[T],
    y: &mut [T],
    sums: &mut Vec<T>,
) {
    places.to_rows(block, y, sums, |place, sums| {
        sums.fill(T::default());
        for diagonal in a.diagonal_ptr().windows(2) {
            let first = diagonal[0] as usize + place;
            let end = (first + sums.len()).min(diagonal[1] as usize);
            // Diagonals never get longer.
            if first >= end {
                break;
            }
            let (cols, values) = (&a.col_idx()[first..end], &a.values()[first..end]);
            for ((sum, &col), &value) in sums.iter_mut().zip(cols).zip(values) {
                *sum += value * x[col as usize];
            }
        }
    });
}
