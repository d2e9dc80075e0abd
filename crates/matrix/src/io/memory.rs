//! How much memory a read may take. Counts in a header are never trusted for an allocation, but what a file
//! really holds, and the row offsets that its size line asks for, must fit too: checked here, before the
//! allocation, so that the answer is an error and not the system's out-of-memory killer.

use super::{ReadError, ReadOptions};
use crate::Bytes;
use std::path::Path;

/// The memory that one read may take.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Budget {
    have: Bytes,
}

impl Budget {
    pub(crate) fn new(options: &ReadOptions<'_>) -> Self {
        Self { have: options.memory.or_else(available).unwrap_or(Bytes(u64::MAX)) }
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

    pub(crate) fn error(self, path: &Path, need: u128) -> ReadError {
        let need = Bytes(u64::try_from(need).unwrap_or(u64::MAX));
        ReadError::Memory { path: path.to_owned(), need, have: self.have }
    }
}

/// What the system could give without swapping, if it says.
fn available() -> Option<Bytes> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(Bytes(kibibytes * 1024))
}
