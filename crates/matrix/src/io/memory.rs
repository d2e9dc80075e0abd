//! How much memory a read may take. Counts in a header are never trusted for an allocation, but what a file
//! really holds, and the row offsets that its size line asks for, must fit too: checked here, before the
//! allocation, so that the answer is an error and not the system's out-of-memory killer. Where the system refuses all the
//! same, that is an error, too.

use super::{ReadError, ReadOptions};
use crate::{Bytes, available_memory};
use std::path::Path;

/// The memory that one read may take.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Budget {
    have: Bytes,
}

impl Budget {
    pub(crate) fn new(options: &ReadOptions<'_>) -> Self {
        Self { have: options.memory.or_else(available_memory).unwrap_or(Bytes(u64::MAX)) }
    }

    /// Whether `need` bytes fit.
    pub(crate) fn fits(self, need: u128) -> bool {
        need <= u128::from(self.have.0)
    }

    /// # Errors
    /// [`ReadError::Memory`] if `need` bytes do not fit.
    pub(crate) fn check(self, path: &Path, need: u128) -> Result<(), ReadError> {
        if self.fits(need) { Ok(()) } else { Err(self.error(path, need)) }
    }

    /// `n` elements, all of them the default.
    ///
    /// # Errors
    /// [`ReadError::Memory`] if the system does not give that much.
    pub(crate) fn zeroed<E: Clone + Default>(self, path: &Path, n: usize) -> Result<Vec<E>, ReadError> {
        // Asked for and given back, then taken as memory that the system has zeroed: `resize` would write all of it.
        self.reserved::<E>(path, n)?;
        Ok(vec![E::default(); n])
    }

    /// Room for `n` elements.
    ///
    /// # Errors
    /// [`ReadError::Memory`] if the system does not give that much.
    pub(crate) fn reserved<E>(self, path: &Path, n: usize) -> Result<Vec<E>, ReadError> {
        let mut room = Vec::new();
        room.try_reserve_exact(n).map_err(|_| self.error(path, n as u128 * size_of::<E>() as u128))?;
        Ok(room)
    }

    pub(crate) fn error(self, path: &Path, need: u128) -> ReadError {
        let need = Bytes(u64::try_from(need).unwrap_or(u64::MAX));
        ReadError::Memory { path: path.to_owned(), need, have: self.have }
    }
}
