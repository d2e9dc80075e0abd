//! New values for a matrix that is on a GPU already: its pattern is not looked at again.

use super::array::DeviceBytes;
use super::convert;
use super::device::Shared;
use super::{ConvertOn, DeviceMatrix, Stream};
use crate::DeviceError;
use sparsight_matrix::{Csr, Scalar, numbered};

/// Where the values of a matrix in a format come from.
#[derive(Debug)]
pub(super) enum ValuePlaces {
    /// Entry i stands at place i.
    AsInCsr,
    /// The number of the entry at each place of the arrays of values, by their names: see [`numbered`].
    Numbers(Vec<(&'static str, DeviceBytes)>),
    /// Nobody has found out.
    Unknown,
}

impl ValuePlaces {
    /// What is known of `matrix` without looking at its pattern.
    pub(super) fn of(matrix: &DeviceMatrix) -> Self {
        if matrix.format().stays_in_csr() { Self::AsInCsr } else { Self::Unknown }
    }

    /// Finds out, by converting `a`, of whose pattern `matrix` is, once more.
    ///
    /// # Errors
    /// [`DeviceError::OtherPattern`] if it is seen that it is not; [`DeviceError::Infeasible`] if there is not the memory to
    /// hold it twice.
    pub(super) fn find<T: Scalar>(
        gpu: &Shared,
        matrix: &DeviceMatrix,
        a: &Csr<T>,
        converts: ConvertOn,
    ) -> Result<Self, DeviceError> {
        if matrix.format().stays_in_csr() {
            return Ok(Self::AsInCsr);
        }
        let a = numbered(a)?;
        let (numbers, _) = convert::load(gpu, &a, matrix.format(), &gpu.limits(), converts)?;
        if !numbers.is_sized_as(matrix) {
            return Err(DeviceError::OtherPattern);
        }
        let is_values = |name: &str| name.rsplit('.').next() == Some("values");
        Ok(Self::Numbers(numbers.into_arrays().filter(|(name, _)| is_values(name)).collect()))
    }

    /// Whether values can be replaced.
    ///
    /// # Errors
    /// [`DeviceError::PlacesUnknown`].
    pub(super) fn require(&self, matrix: &DeviceMatrix) -> Result<(), DeviceError> {
        match self {
            Self::AsInCsr | Self::Numbers(_) => Ok(()),
            Self::Unknown => Err(DeviceError::PlacesUnknown { format: matrix.format().to_string() }),
        }
    }

    /// Queues the replacement of all values of `matrix` by those at `entries`, in the order of CSR.
    ///
    /// # Errors
    /// [`DeviceError::PlacesUnknown`]; a failed call.
    ///
    /// # Safety
    /// There are as many at `entries` as the matrix has non-zeros.
    pub(super) unsafe fn replace<T: Scalar>(
        &self,
        gpu: &Shared,
        matrix: &DeviceMatrix,
        entries: u64,
        stream: Option<Stream<'_>>,
    ) -> Result<(), DeviceError> {
        let kernels = gpu.conversion::<T>(0)?;
        let place = |name: &str, numbers: u64| {
            let values = matrix.array(name).expect("both are in one format");
            let places = values.bytes() / T::DTYPE.bytes();
            let args = [places, numbers, entries, values.address()];
            // SAFETY: there is a number for each place and, as the caller promises, an entry for each number.
            unsafe { kernels.launch_in(stream, "place_values", places, &args) }
        };
        match self {
            Self::AsInCsr => place("values", 0),
            Self::Numbers(arrays) => {
                arrays.iter().try_for_each(|(name, numbers)| place(name, numbers.address()))
            }
            Self::Unknown => self.require(matrix),
        }
    }
}
