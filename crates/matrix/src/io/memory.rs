//! Memory of a read. Counts in a header are never trusted for an allocation, but what a file
//! really holds, and the row offsets that its size line asks for, must fit too: checked here, before the
//! allocation, so that the answer is an error and not the system's out-of-memory killer. Where the system refuses all the
//! same, that is an error, too.

use super::{ReadError, ReadOptions};
use crate::{Bytes, available_memory};
use bytemuck::{Zeroable, allocation::try_zeroed_vec};
use std::path::Path;

/// Rows, or columns, that any file may have: their offsets take 34 MB. Chosen, so that a small file takes less than 100 MB and a second.
const FREE_ROWS: u64 = 1 << 22;
/// Rows for each entry beyond that. Chosen: graphs of which most vertices have no edge stay far below.
const ROWS_PER_ENTRY: u64 = 100;

/// The memory that one read may take.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Budget {
    have: Bytes,
}

impl Budget {
    pub(crate) fn new(options: &ReadOptions<'_>) -> Self {
        Self { have: options.memory.or_else(available_memory).unwrap_or(Bytes(u64::MAX)) }
    }

    /// Memory that may be taken, in KiB, as far as 32 bits say.
    pub(crate) fn kibibytes(self) -> u32 {
        u32::try_from(self.have.0 >> 10).unwrap_or(u32::MAX)
    }

    /// Returns whether `need` bytes fit.
    pub(crate) fn fits(self, need: u128) -> bool {
        need <= u128::from(self.have.0)
    }

    /// # Errors
    /// [`ReadError::Memory`] if `need` bytes do not fit.
    pub(crate) fn check(self, path: &Path, need: u128) -> Result<(), ReadError> {
        if self.fits(need) { Ok(()) } else { Err(self.error(path, need)) }
    }

    pub(crate) fn error(self, path: &Path, need: u128) -> ReadError {
        let need = Bytes(u64::try_from(need).unwrap_or(u64::MAX));
        ReadError::Memory { path: path.to_owned(), need, have: self.have }
    }
}

/// Returns whether a matrix of so many entries may have so many rows or columns: what a file costs follows from what it holds, not from what its
/// size line promises.
///
/// # Errors
/// [`ReadError::MostlyEmpty`] beyond [`FREE_ROWS`] if hardly a row holds an entry.
pub(crate) fn check_rows(path: &Path, rows: u64, entries: u64) -> Result<(), ReadError> {
    if rows <= FREE_ROWS || rows <= entries.saturating_mul(ROWS_PER_ENTRY) {
        return Ok(());
    }
    Err(ReadError::MostlyEmpty { path: path.to_owned(), rows, entries })
}

/// Memory that the system refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Refused {
    /// Bytes asked for at once.
    pub(crate) need: Bytes,
}

impl Refused {
    /// Converts into an error of reading `path`.
    pub(crate) fn error(self, path: &Path) -> ReadError {
        ReadError::OutOfMemory { path: path.to_owned(), need: self.need }
    }
}

/// Makes room for `n` more elements.
///
/// # Errors
/// [`Refused`] if the system does not give that much.
pub(crate) fn make_room<E>(into: &mut Vec<E>, n: usize) -> Result<(), Refused> {
    let need = Bytes(((into.len() + n) as u64).saturating_mul(size_of::<E>() as u64));
    into.try_reserve(n).map_err(|_| Refused { need })
}

/// `n` zeros. The system zeroes the memory when it is first touched.
///
/// # Errors
/// As [`make_room`].
pub(crate) fn zeroed<E: Zeroable>(n: usize) -> Result<Vec<E>, Refused> {
    let need = Bytes((n as u64).saturating_mul(size_of::<E>() as u64));
    try_zeroed_vec(n).map_err(|()| Refused { need })
}
