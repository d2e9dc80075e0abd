//! New values for a matrix that is on a GPU already: its pattern is not looked at again.

use super::array::DeviceBytes;
use super::device::Shared;
use super::{ConvertOn, DeviceMatrix, convert};
use crate::{DeviceError, Stream};
use sparsight_matrix::{Csr, Dtype, Scalar, numbered};

/// The arrays of values of a matrix, by their names, with the number of the entry at each place.
pub(super) type Numbers = Vec<(&'static str, DeviceBytes)>;

/// Finds out where the values of `matrix` stand, by converting `a`, of whose pattern it is, once more.
///
/// # Errors
/// [`DeviceError::OtherPattern`] if it is seen that it is not; [`DeviceError::Infeasible`] if there is not the memory to hold it
/// twice.
pub(super) fn find<T: Scalar>(
    gpu: &Shared,
    matrix: &DeviceMatrix,
    a: &Csr<T>,
    converts: ConvertOn,
) -> Result<Numbers, DeviceError> {
    let a = numbered(a)?;
    let (numbers, _) = convert::load(gpu, &a, matrix.format(), &gpu.limits(), converts)?;
    if !numbers.is_sized_as(matrix) {
        return Err(DeviceError::OtherPattern);
    }
    let is_values = |name: &str| name.rsplit('.').next() == Some("values");
    Ok(numbers.into_arrays().filter(|(name, _)| is_values(name)).collect())
}

/// Queues the replacement of all values of `matrix`, computed with in `dtype`, by those at `entries`, of the type of x and y, in the
/// order of CSR: `numbers` says where they go,
/// `None` that entry i goes to place i.
///
/// # Errors
/// A failed call.
///
/// # Safety
/// There are as many at `entries` as the matrix has non-zeros, and `numbers` are those of its pattern.
pub(super) unsafe fn replace(
    gpu: &Shared,
    dtype: Dtype,
    matrix: &DeviceMatrix,
    numbers: Option<&Numbers>,
    entries: u64,
    stream: Option<Stream<'_>>,
) -> Result<(), DeviceError> {
    let kernels = gpu.conversion(dtype, 0)?;
    let place = |name: &str, numbers: u64| {
        let values = matrix.array(name).expect("both are in one format");
        let places = values.bytes() / dtype.bytes();
        let args = [places, numbers, entries, values.address()];
        // SAFETY: there is a number for each place and, as the caller promises, an entry for each number.
        unsafe { kernels.launch_in(stream, "place_values", places, &args) }
    };
    match numbers {
        None => place("values", 0),
        Some(arrays) => arrays.iter().try_for_each(|(name, numbers)| place(name, numbers.address())),
    }
}
