//! `csr-binned`: a task is `block` places in the order of the bins, so that its rows are about as long; rows beyond the bins
//! are added up by all threads.

use super::csr::{LANES, long_row, strided};
use super::places::Places;
use sparsight_matrix::{Csr, RowBins, Scalar};

/// y = A x. `bins` and `places` are those of `a`; `sums` is scratch.
pub(super) fn product<T: Scalar>(
    a: &Csr<T>,
    (bins, places): (&RowBins, &Places),
    block: usize,
    x: &[T],
    y: &mut [T],
    sums: &mut Vec<T>,
) {
    let cut = bins.ends()[0] as usize;
    places.to_rows(block, y, sums, |first, sums| {
        for (place, sum) in (first..).zip(sums) {
            let (cols, values) = a.row(bins.order()[place] as usize);
            *sum = if place < cut { long_row(cols, values, x) } else { strided::<T, LANES>(cols, values, x) };
        }
    });
}
