//! `hyb`: the ELL part, then the COO part added to it.

use super::coo::{self, Carry, Start};
use super::ell;
use sparsight_matrix::{Hyb, Scalar};

/// y = A x.
pub(super) fn product<T: Scalar>(
    a: &Hyb<T>,
    block: usize,
    x: &[T],
    y: &mut [T],
    carries: &mut Vec<Carry<T>>,
) {
    ell::product(a.ell(), block, x, y);
    coo::product(a.coo(), block, Start::AsItIs, x, y, carries);
}
