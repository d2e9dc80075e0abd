//! Errors of reading a file, with their place.

use super::rows::InfiniteSum;
use super::{BoeingFault, Foreign, MatrixMarketFault, NpzFault};
use crate::{Bytes, CsrError};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Reasons why a file could not be read. Prints as one line that starts with the place, `a.mtx:1042:7: ...`;
/// [`ReadError::hint`] is apart.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The content does not say what kind of file it is.
    #[error("{}: this is no matrix file that is known", path.display())]
    UnknownContent {
        /// The file.
        path: PathBuf,
    },
    /// A known format that is not read.
    #[error("{}: this is {format}, which is not read", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// Name or number.
        format: Foreign,
    },
    /// Compressed data within compressed data within ...
    #[error("{}: it is packed more than {most} times", path.display())]
    PackedTooOften {
        /// The file.
        path: PathBuf,
        /// Times that it may be packed.
        most: usize,
    },
    /// A size line that promises rows or columns which hold nothing.
    #[error("{}: {rows} rows or columns for {entries} entries: hardly one of them would hold anything", path.display())]
    MostlyEmpty {
        /// The file.
        path: PathBuf,
        /// Rows or columns, whichever are more.
        rows: u64,
        /// Entries.
        entries: u64,
    },
    /// The system could not open or read the file.
    #[error("{}: {cause}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Error of the operating system.
        cause: io::Error,
    },
    /// The file is compressed and its content does not decompress.
    #[error("{}: the compressed data are damaged or cut off: {}", path.display(), in_one_line(cause))]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Message of the decompressor.
        cause: io::Error,
    },
    /// An archive without a matrix.
    #[error("{}: the archive holds no matrix file that is stored whole", path.display())]
    NoMatrix {
        /// The archive.
        path: PathBuf,
    },
    /// The matrix needs more memory than there is, or than the caller allows.
    #[error("{}: the matrix needs {need} of memory, {have} may be used", path.display())]
    Memory {
        /// The file.
        path: PathBuf,
        /// Bytes needed, as far as they were counted.
        need: Bytes,
        /// Bytes that may be used.
        have: Bytes,
    },
    /// The system refused memory that may be used.
    #[error("{}: the system has no {need} of memory left", path.display())]
    OutOfMemory {
        /// The file.
        path: PathBuf,
        /// Bytes asked for at once.
        need: Bytes,
    },
    /// A fault in a Matrix Market file.
    #[error("{place}: {fault}")]
    MatrixMarket {
        /// Place in the file.
        place: Place,
        /// The fault.
        fault: MatrixMarketFault,
    },
    /// A fault in a Harwell-Boeing or Rutherford-Boeing file.
    #[error("{place}: {fault}")]
    Boeing {
        /// Place in the file.
        place: Place,
        /// The fault.
        fault: BoeingFault,
    },
    /// A fault in an `.npz` file.
    #[error("{}: {fault}", path.display())]
    Npz {
        /// The file.
        path: PathBuf,
        /// The fault.
        fault: NpzFault,
    },
    /// Finite values that are stored for one place add up to one that is not.
    #[error("{}: the values stored for row {row}, column {column} add up to no finite number", path.display())]
    InfiniteSum {
        /// The file.
        path: PathBuf,
        /// Row, counted from 1.
        row: u64,
        /// Column, counted from 1.
        column: u64,
    },
    /// The arrays read are no matrix.
    #[error("{}: {cause}", path.display())]
    Structure {
        /// The file.
        path: PathBuf,
        /// The broken invariant.
        cause: CsrError,
    },
}

/// Hint for a value that is not finite.
pub(super) const FINITE_VALUES: &str = "f64 holds values up to 1.8e308, f32 up to 3.4e38";

impl ReadError {
    /// Arrays that were read and are no matrix.
    pub(super) fn structure(path: &Path) -> impl Fn(CsrError) -> Self + '_ {
        |cause| Self::Structure { path: path.to_owned(), cause }
    }

    pub(super) fn infinite_sum(path: &Path, place: InfiniteSum) -> Self {
        let (row, column) = (u64::from(place.row) + 1, u64::from(place.col) + 1);
        Self::InfiniteSum { path: path.to_owned(), row, column }
    }

    /// Hint for the user, which the program prints apart.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::MatrixMarket { fault, .. } => fault.hint(),
            Self::Npz { fault, .. } => fault.hint(),
            Self::Damaged { .. } => Some("download or copy the file again"),
            Self::UnknownContent { .. } => Some(
                "Matrix Market, Harwell-Boeing and Rutherford-Boeing text and .npz of scipy.sparse are read, plain, compressed (.gz, .xz, \
                 .bz2, .zst) or in a tar or zip archive",
            ),
            Self::Foreign { format, .. } => Some(format.conversion()),
            Self::PackedTooOften { .. } => Some("unpack it first"),
            Self::MostlyEmpty { .. } => Some(
                "if the size line is right, leave out what is empty; in Python: A = A[A.getnnz(1) > 0][:, A.getnnz(0) > 0]",
            ),
            Self::NoMatrix { .. } => Some("the Matrix Market download of a collection holds NAME/NAME.mtx"),
            Self::Boeing { fault: BoeingFault::Elements, .. } => {
                Some("add up its elements first, and write the sum in Matrix Market")
            }
            Self::InfiniteSum { .. } => Some(FINITE_VALUES),
            Self::Boeing { .. }
            | Self::Io { .. }
            | Self::Memory { .. }
            | Self::OutOfMemory { .. }
            | Self::Structure { .. } => None,
        }
    }
}

/// Message of a decompressor, which may hold bytes of the file: control characters are written out.
fn in_one_line(cause: &io::Error) -> String {
    let shown = |c: char| if c.is_control() { c.escape_debug().to_string() } else { c.to_string() };
    cause.to_string().chars().map(shown).collect()
}

/// A place in a file, printed as `path:line:column`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The file; of a compressed file or an archive, that file.
    pub path: PathBuf,
    /// Line of the decompressed text, counted from 1.
    pub line: Option<u64>,
    /// Byte of the line, counted from 1.
    pub column: Option<u32>,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.path.display())?;
        match (self.line, self.column) {
            (None, _) => Ok(()),
            (Some(line), None) => write!(f, ":{line}"),
            (Some(line), Some(column)) => write!(f, ":{line}:{column}"),
        }
    }
}
