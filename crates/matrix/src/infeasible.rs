//! Reasons why a candidate cannot be run on a matrix, known before a byte is converted.

use crate::{Bytes, Dtype};
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// A refusal with its numbers. It travels into every table as the reason beside the candidate.
#[derive(Debug, Clone, PartialEq, Error, Serialize, Deserialize)]
#[serde(tag = "why", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Infeasible {
    /// The converted matrix is larger than what the device has.
    #[error("needs {need}, the device has {have}")]
    DoesNotFit {
        /// Bytes of matrix, x and y in this format.
        need: Bytes,
        /// Bytes that may be used.
        have: Bytes,
    },
    /// Vectors or a matrix beside this one are larger than what the host has left.
    #[error(transparent)]
    NoHostMemory(#[from] NoHostMemory),
    /// The format would store far more padding than matrix.
    #[error("would pad by {factor:.1}x, the limit is {limit:.0}x")]
    Padding {
        /// Stored entries over non-zeros.
        factor: f64,
        /// The limit in force.
        limit: f64,
    },
    /// A benchmark matrix whose rows would be longer than it is wide.
    #[error("rows of {row_length} do not fit into {ncols} columns")]
    LongerThanWide {
        /// Non-zeros a row.
        row_length: u64,
        /// Columns.
        ncols: u64,
    },
    /// More diagonals than are counted and stored: with those, padding would exceed [`Limits::PADDING`].
    #[error("has more than {most} diagonals, which would pad by more than {:.0}x", Limits::PADDING)]
    ManyDiagonals {
        /// The most that are stored.
        most: u64,
    },
    /// The diagonals were not counted: features from an old record, or of a block of rows.
    #[error("its diagonals were not counted")]
    UnknownDiagonals,
    /// More blocks than are counted and stored: with those, more bytes would be moved than in CSR.
    #[error("blocks would be more than {:.0} % padding, the limit", 100.0 * Limits::block_padding())]
    ManyBlocks {
        /// Rows and columns of a block.
        side: u32,
        /// The most that are stored.
        most: u64,
    },
    /// Blocks would stand out over the last row or column, which libraries do not accept.
    #[error("its rows or columns are no multiple of {side}")]
    PartsOfBlocks {
        /// Rows and columns of a block.
        side: u32,
    },
    /// The blocks were not counted: features from an old record, or of a block of rows.
    #[error("its blocks were not counted")]
    UnknownBlocks,
    /// Finite values that `f32` cannot hold, where the matrix is to be stored so.
    #[error("{entries} of its values are too large for f32")]
    BeyondSingle {
        /// Count.
        entries: u64,
    },
    /// 32 bits cannot number every non-zero.
    #[error("{nnz} non-zeros are more than 32 bits can number")]
    TooManyNonZeros {
        /// Non-zeros of the matrix.
        nnz: u64,
    },
    /// A 32-bit row index cannot name every row.
    #[error("{nrows} rows are more than a 32-bit row index can name")]
    TooManyRows {
        /// Rows of the matrix.
        nrows: u64,
    },
}

/// More than what the host has left.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error, Serialize, Deserialize)]
#[error("needs {need} in the host's memory, which has {have} left")]
pub struct NoHostMemory {
    /// Bytes that are needed.
    pub need: Bytes,
    /// Bytes that this process may still take.
    pub have: Bytes,
}

/// Rows, columns and non-zeros of a matrix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MatrixSize {
    /// Rows.
    pub nrows: u64,
    /// Columns.
    pub ncols: u64,
    /// Stored non-zeros.
    pub nnz: u64,
}

/// Limits of a conversion.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limits {
    /// Bytes that matrix, x and y may take together.
    pub memory: Bytes,
    /// Largest accepted ratio of stored entries to non-zeros.
    pub padding: f64,
}

impl Limits {
    /// Padding beyond which ELL cannot win, derived: the worst that CSR with one thread per row can do is to fetch
    /// one 32-byte sector for each 4-byte index and each 4-byte value, 8 times what it needs. An ELL that
    /// stores more than 8 entries for each non-zero moves more than that, with the same imbalance of rows.
    pub const PADDING: f64 = 8.0;

    /// Entries that the blocks which hold a non-zero may have, padding included, for so many non-zeros. Derived: with as many, blocks
    /// of 2 take as many bytes as CSR in `f64`. Of 798 matrices measured on an H200 (all but those of folders e and f) none is fastest
    /// in blocks with more than 1.07 for each.
    pub const BLOCK_FILL: (u64, u64) = (4, 3);

    /// Limit on the share of the entries that is padding.
    fn block_padding() -> f64 {
        1.0 - Self::BLOCK_FILL.1 as f64 / Self::BLOCK_FILL.0 as f64
    }

    /// `memory` bytes and the derived limit on padding.
    pub const fn with_memory(memory: Bytes) -> Self {
        Self { memory, padding: Self::PADDING }
    }

    /// No limit at all, for tests and for counting.
    pub const NONE: Self = Self { memory: Bytes(u64::MAX), padding: f64::INFINITY };

    /// Checks `stored` entries, `need` bytes in all, of a matrix with `nnz` non-zeros.
    ///
    /// # Errors
    /// [`Infeasible::Padding`] or [`Infeasible::DoesNotFit`].
    pub fn check(&self, stored: u128, nnz: u64, need: u128) -> Result<(), Infeasible> {
        // Numbers of 128 bits take many instructions to convert; beyond 64 the factor does not matter. Divided only where it is
        // said: a million blocks of rows may be asked about.
        let entries = u64::try_from(stored).unwrap_or(u64::MAX) as f64;
        if nnz > 0 && entries > self.padding * nnz as f64 {
            return Err(Infeasible::Padding { factor: entries / nnz as f64, limit: self.padding });
        }
        if need > u128::from(self.memory.0) {
            let need = Bytes(u64::try_from(need).unwrap_or(u64::MAX));
            return Err(Infeasible::DoesNotFit { need, have: self.memory });
        }
        Ok(())
    }

    /// Checks a matrix of that size that takes `bytes` and stores `stored` entries, with its x and y of `dtype`; its bytes if it
    /// may be held.
    ///
    /// # Errors
    /// As [`Limits::check`].
    pub(crate) fn check_with_vectors(
        &self,
        MatrixSize { nrows, ncols, nnz }: MatrixSize,
        stored: u128,
        bytes: Bytes,
        dtype: Dtype,
    ) -> Result<Bytes, Infeasible> {
        let vectors = (u128::from(nrows) + u128::from(ncols)) * u128::from(dtype.bytes());
        self.check(stored, nnz, u128::from(bytes.0) + vectors)?;
        Ok(bytes)
    }

    /// Checks a matrix as [`Limits::check_with_vectors`] in a format that stores its non-zeros alone and names rows with 32 bits.
    ///
    /// # Errors
    /// [`Infeasible::TooManyRows`]; as [`Limits::check`].
    pub(crate) fn check_unpadded(
        &self,
        size: MatrixSize,
        bytes: Bytes,
        dtype: Dtype,
    ) -> Result<Bytes, Infeasible> {
        check_rows(size.nrows)?;
        self.check_with_vectors(size, size.nnz.into(), bytes, dtype)
    }
}

/// Refuses more rows than 32 bits can name beside the one value that stands for none.
pub(crate) fn check_rows(nrows: u64) -> Result<(), Infeasible> {
    if nrows >= u64::from(u32::MAX) { Err(Infeasible::TooManyRows { nrows }) } else { Ok(()) }
}
