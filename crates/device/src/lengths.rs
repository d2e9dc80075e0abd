//! Refusal of vectors of a wrong length.

use crate::DeviceError;

/// Refuses an x or y of a wrong length.
pub(crate) fn check_lengths((nrows, ncols): (usize, usize), x: usize, y: usize) -> Result<(), DeviceError> {
    check_length("x", ncols, x)?;
    check_length("y", nrows, y)
}

/// Refuses a vector of a wrong length.
pub(crate) fn check_length(vector: &'static str, expected: usize, got: usize) -> Result<(), DeviceError> {
    if expected == got { Ok(()) } else { Err(DeviceError::Length { vector, expected, got }) }
}
