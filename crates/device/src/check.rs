//! Comparison of a candidate with the reference, before its time is trusted.

use crate::timing::Caches;
use crate::{DeviceError, Operand};
use rayon::prelude::*;
use sparsight_kernels::Candidate;
use sparsight_matrix::{Csr, Infeasible, Reference, Scalar, Seconds, check_host_memory};

/// `count` values in [-1, 1) without 0 that follow from `seed`, made in parallel.
pub fn random_x<T: Scalar>(count: usize, seed: u64) -> Vec<T> {
    // A benchmark matrix of one entry a row is a formula for exactly such values.
    let m = sparsight_kernels::BenchmarkMatrix {
        nrows: count as u64,
        row_length: 1,
        lengths: sparsight_kernels::RowLengthDistribution::Constant,
        placement: sparsight_kernels::Placement::Banded,
        seed,
    };
    (0..count).into_par_iter().map(|i| T::from_f64(m.value(i as u64, 0))).collect()
}

/// [`random_x`] for products with `a`, if the host has the memory for it and for the reference of y.
///
/// # Errors
/// [`DeviceError::Infeasible`] if not.
pub fn random_x_for<T: Scalar>(a: &Csr<T>, seed: u64) -> Result<Vec<T>, DeviceError> {
    // y as it should be and how far it may be off, in f64, and y as it is.
    let of_rows = a.nrows() as u128 * (16 + u128::from(T::DTYPE.bytes()));
    check_host_memory(a.ncols() as u128 * u128::from(T::DTYPE.bytes()) + of_rows)
        .map_err(Infeasible::from)?;
    Ok(random_x(a.ncols(), seed))
}

/// Poisons y, runs one product and compares it with `expected`, which must belong to the operand's x. The time of
/// this product, which may be the kernel's very first.
///
/// # Errors
/// [`DeviceError::WrongResult`] with the first wrong row, or the failure of the run.
pub fn check<T: Scalar>(
    operand: &mut dyn Operand<T>,
    candidate: &Candidate,
    expected: &Reference,
) -> Result<Seconds, DeviceError> {
    operand.poison_y()?;
    let first = operand.batch(candidate, 1, Caches::Warm)?.time;
    let mut right = Ok(());
    operand.look_at_y(&mut |y| right = first_wrong(expected, y, || candidate.to_string()))?;
    right.map(|()| first)
}

/// The first wrong row of `y` as an error.
pub(crate) fn first_wrong<T: Scalar>(
    expected: &Reference,
    y: &[T],
    name: impl FnOnce() -> String,
) -> Result<(), DeviceError> {
    match expected.first_wrong(y) {
        None => Ok(()),
        Some((row, got, expected, bound)) => {
            Err(DeviceError::WrongResult { candidate: name(), row, got, expected, bound })
        }
    }
}
