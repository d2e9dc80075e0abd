//! Indices of a maker's library, which are signed and have 32 bits where ours are unsigned or have 64.

use crate::DeviceError;
use crate::gpu::{DeviceArray, DeviceMatrix, Memory};
use std::sync::Arc;

/// Largest index that the libraries can read where we store 32 bits.
const LARGEST: u64 = i32::MAX as u64;

/// The indices of one library.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Indices {
    /// Name of the library.
    pub(crate) library: &'static str,
}

impl Indices {
    /// Refuses a `count` that they cannot name.
    ///
    /// # Errors
    /// [`DeviceError::CannotRun`].
    pub(crate) fn limit(self, matrix: &DeviceMatrix, what: &str, count: u64) -> Result<(), DeviceError> {
        if count <= LARGEST {
            return Ok(());
        }
        Err(self.refused(matrix, format!("{count} {what} are more than its 32-bit indices can name")))
    }

    /// The refusal of a matrix.
    pub(crate) fn refused(self, matrix: &DeviceMatrix, reason: String) -> DeviceError {
        DeviceError::CannotRun { kernel: format!("{} on {}", self.library, matrix.format()), reason }
    }
}

/// Offsets of slices in 32 bits, made for the library alone.
#[derive(Debug)]
pub(crate) struct Offsets(DeviceArray<u32>);

impl Offsets {
    /// `slice_ptr` narrowed to 32 bits; `None` where the `stored` entries or blocks are more than the library can name so.
    pub(crate) fn narrowed(
        matrix: &DeviceMatrix,
        stored: u64,
        memory: &Arc<dyn Memory>,
    ) -> Result<Option<Self>, DeviceError> {
        if stored > LARGEST {
            return Ok(None);
        }
        let wide: Vec<u64> = matrix.words("slice_ptr")?;
        let narrow: Vec<u32> = wide.into_iter().map(|at| at as u32).collect();
        Ok(Some(Self(DeviceArray::of(memory, &narrow)?)))
    }

    pub(crate) fn address(&self) -> u64 {
        self.0.address()
    }
}
