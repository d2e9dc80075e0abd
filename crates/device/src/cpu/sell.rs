//! `sell`: a task is a tile of `block` places, within each slice column by column, as in `ell`.

use super::places::Places;
use sparsight_matrix::{Scalar, Sell};

/// y = A x. `sums` is scratch.
pub(super) fn product<T: Scalar>(
    a: &Sell<T>,
    places: &Places,
    block: usize,
    x: &[T],
    y: &mut [T],
    sums: &mut Vec<T>,
) {
    places.to_rows(block, y, sums, |first, sums| tile(a, first, x, sums));
}

/// The sums of the places from `first` on.
fn tile<T: Scalar>(a: &Sell<T>, mut first: usize, x: &[T], mut sums: &mut [T]) {
    let slice = a.shape().slice as usize;
    while !sums.is_empty() {
        let (s, lane) = (first / slice, first % slice);
        let (part, rest) = sums.split_at_mut(sums.len().min(slice - lane));
        part.fill(T::default());
        let stored = a.slice_ptr()[s] as usize..a.slice_ptr()[s + 1] as usize;
        let lanes = lane..lane + part.len();
        let columns = a.col_idx()[stored.clone()].chunks_exact(slice);
        for (cols, values) in columns.zip(a.values()[stored].chunks_exact(slice)) {
            let (cols, values) = (&cols[lanes.clone()], &values[lanes.clone()]);
            for ((sum, &col), &value) in part.iter_mut().zip(cols).zip(values) {
                if col != Sell::<T>::PAD {
                    *sum += value * x[col as usize];
                }
            }
        }
        first += part.len();
        sums = rest;
    }
}
