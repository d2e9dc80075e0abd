//! Operands of products with an epilogue, and what is refused of them.

use crate::lengths::check_length;
use crate::{DeviceError, DeviceSlice, DeviceSliceMut};
use sparsight_kernels::Epilogue;

/// Operands on the host, each list in the order of the epilogue's names.
#[derive(Debug)]
pub struct HostOperands<'a, 'v, T> {
    /// Vectors that are read, an entry for each row.
    pub vectors: &'a [&'v [T]],
    /// Vectors that are written, an entry for each row.
    pub outputs: &'a mut [&'v mut [T]],
    /// Scalars.
    pub scalars: &'a [f64],
}

/// Operands on a device, each list in the order of the epilogue's names.
///
/// A vector that is read may be y or an output: the line then sees the old entry. x must be none that is written.
#[derive(Debug, Clone, Copy)]
pub struct DeviceOperands<'a, T> {
    /// Vectors that are read, an entry for each row.
    pub vectors: &'a [DeviceSlice<'a, T>],
    /// Vectors that are written, an entry for each row.
    pub outputs: &'a [DeviceSliceMut<'a, T>],
    /// Scalars.
    pub scalars: &'a [DeviceScalar<'a>],
}

/// A scalar of a product on a device.
#[derive(Debug, Clone, Copy)]
pub enum DeviceScalar<'a> {
    /// A number, taken when the product is queued; in a graph it stays what it was when captured.
    Number(f64),
    /// A place in an array on the device, read while the product runs: what a product before it has added up.
    At(DeviceSlice<'a, f64>, usize),
}

impl<T> HostOperands<'_, '_, T> {
    /// No operands.
    pub fn none() -> Self {
        Self { vectors: &[], outputs: &mut [], scalars: &[] }
    }

    /// Refuses what is not as the epilogue of a matrix of `nrows` rows has it.
    pub(crate) fn check(&self, epilogue: &Epilogue, nrows: usize, dots: usize) -> Result<(), DeviceError> {
        let vectors = self.vectors.iter().map(|vector| vector.len());
        let outputs = self.outputs.iter().map(|output| output.len());
        check(epilogue, nrows, vectors, outputs, self.scalars.len(), dots)
    }
}

impl<T> DeviceOperands<'_, T> {
    /// No operands.
    pub fn none() -> Self {
        Self { vectors: &[], outputs: &[], scalars: &[] }
    }

    /// Refuses what is not as the epilogue of a matrix of `nrows` rows has it, or known to be on another device than `memory`.
    pub(crate) fn check(
        &self,
        epilogue: &Epilogue,
        nrows: usize,
        dots: usize,
        is_here: impl Fn(Option<usize>, &'static str) -> Result<(), DeviceError>,
    ) -> Result<(), DeviceError> {
        let vectors = self.vectors.iter().map(DeviceSlice::len);
        let outputs = self.outputs.iter().map(DeviceSliceMut::len);
        check(epilogue, nrows, vectors, outputs, self.scalars.len(), dots)?;
        self.vectors.iter().try_for_each(|vector| is_here(vector.of, VECTOR))?;
        self.outputs.iter().try_for_each(|output| is_here(output.of, OUTPUT))?;
        self.scalars.iter().try_for_each(|scalar| match scalar {
            DeviceScalar::Number(_) => Ok(()),
            DeviceScalar::At(array, place) if *place < array.len() => is_here(array.of, SCALAR),
            DeviceScalar::At(array, place) => {
                Err(DeviceError::Length { vector: SCALAR, expected: place + 1, got: array.len() })
            }
        })
    }
}

impl DeviceScalar<'_> {
    /// Its bits, or those of its address.
    pub(crate) fn word(&self) -> u64 {
        match self {
            Self::Number(number) => number.to_bits(),
            Self::At(array, place) => array.address + (*place * size_of::<f64>()) as u64,
        }
    }

    /// Returns whether it lies on the device.
    pub(crate) fn is_address(&self) -> bool {
        matches!(self, Self::At(..))
    }
}

const VECTOR: &str = "a vector of the epilogue";
const OUTPUT: &str = "an output of the epilogue";
const SCALAR: &str = "the array of a scalar of the epilogue";

/// Refuses lengths that are not those of an epilogue of a matrix of `nrows` rows.
fn check(
    epilogue: &Epilogue,
    nrows: usize,
    mut vectors: impl ExactSizeIterator<Item = usize>,
    mut outputs: impl ExactSizeIterator<Item = usize>,
    scalars: usize,
    dots: usize,
) -> Result<(), DeviceError> {
    check_length("the list of vectors of the epilogue", epilogue.vectors().len(), vectors.len())?;
    check_length("the list of outputs of the epilogue", epilogue.outputs().len(), outputs.len())?;
    check_length("the list of scalars of the epilogue", epilogue.scalars().len(), scalars)?;
    check_length("the array for dot products", epilogue.dots().len(), dots)?;
    vectors.try_for_each(|length| check_length(VECTOR, nrows, length))?;
    outputs.try_for_each(|length| check_length(OUTPUT, nrows, length))
}

/// Refuses an epilogue that reads x by the number of the row if the matrix is not square.
pub(crate) fn check_reads_x(epilogue: &Epilogue, (nrows, ncols): (usize, usize)) -> Result<(), DeviceError> {
    if epilogue.reads_x() {
        check_length("x, which the epilogue reads at the number of a row,", nrows, ncols)
    } else {
        Ok(())
    }
}
