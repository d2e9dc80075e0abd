//! Faults of an `.npz` file, and hints for its owner.

use crate::io::error::FINITE_VALUES;
use thiserror::Error;

/// Fault of an `.npz` file.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum NpzFault {
    /// Not a zip archive, or a damaged one.
    #[error("not a readable zip archive: {}", .0.escape_debug())]
    Zip(String),
    /// A member that is compressed in a way that is not read.
    #[error("a member of the archive is compressed by {method}, which is not read")]
    Compression {
        /// Name of the compression, or its number.
        method: String,
    },
    /// Members that a password protects.
    #[error("the archive is encrypted")]
    Encrypted,
    /// Elements that are objects of Python, which only Python can read.
    #[error("array '{array}' holds objects of Python (dtype 'object')")]
    Objects {
        /// Name of the array.
        array: &'static str,
    },
    /// Elements of a type that is not read.
    #[error("array '{array}' is of dtype {dtype}, which is not read")]
    Dtype {
        /// Name of the array.
        array: &'static str,
        /// The type as the file names it, and as `NumPy` does where that is another name.
        dtype: String,
    },
    /// An array of one dimension, or of more than two.
    #[error("the sparse array has {}, a matrix has two", dimensions(*found))]
    Dimensions {
        /// Dimensions of it.
        found: u64,
    },
    /// An array that the format needs is missing.
    #[error("the archive holds no array '{array}'")]
    Missing {
        /// Name of the array.
        array: &'static str,
    },
    /// An array cannot be read.
    #[error("array '{array}': {why}")]
    Array {
        /// Name of the array.
        array: &'static str,
        /// Fault of it.
        why: String,
    },
    /// A format of scipy.sparse that is not read.
    #[error("format '{}' is not read: csr, csc, coo, bsr or dia", format.escape_debug())]
    Format {
        /// Value in the file.
        format: String,
    },
    /// Complex values.
    #[error("complex values cannot be read")]
    Complex,
    /// More rows or columns than 32 bits can name.
    #[error("{n} {what}s are more than 32-bit indices are used for, {}", u32::MAX - 1)]
    TooMany {
        /// `row` or `column`.
        what: &'static str,
        /// Number that is declared.
        n: u64,
    },
    /// An index out of range.
    #[error("array '{array}': entry {at} is {index}, which is not below {limit}")]
    Index {
        /// Name of the array.
        array: &'static str,
        /// Position, counted from 0.
        at: u64,
        /// The index, which may be negative or need 64 bits.
        index: Box<str>,
        /// Rows or columns of the matrix.
        limit: u64,
    },
    /// Arrays that must be equally long are not.
    #[error("array '{array}' holds {found} entries, {expected} are needed")]
    Length {
        /// Name of the array.
        array: &'static str,
        /// Entries in it.
        found: u64,
        /// Entries that belong in it.
        expected: u64,
    },
    /// Offsets that decrease or do not start at 0.
    #[error("array 'indptr': entry {at} is {offset}, offsets must start at 0 and never decrease")]
    Offsets {
        /// Position, counted from 0.
        at: u64,
        /// The offset, which may be negative.
        offset: Box<str>,
    },
    /// A value that is not finite in the value type asked for.
    #[error("array 'data': entry {at} is {value}, not a finite number that fits the value type")]
    NotFinite {
        /// Position, counted from 0.
        at: u64,
        /// The value.
        value: String,
    },
}

fn dimensions(found: u64) -> String {
    match found {
        1 => "one dimension".to_owned(),
        more => format!("{more} dimensions"),
    }
}

impl NpzFault {
    /// Hint for the owner of the file.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Complex => {
                Some("keep the pattern or the absolute values: scipy.sparse.save_npz(path, abs(A))")
            }
            Self::Compression { .. } => Some(
                "unpack it first; an .npz can be saved again in Python:\n    \
                 scipy.sparse.save_npz('A.npz', scipy.sparse.load_npz('A.npz'))",
            ),
            Self::Encrypted => {
                Some("unpack it with its password first, and pack arrays of an .npz again: zip A.npz *.npy")
            }
            Self::Objects { .. } => Some(
                "convert them in Python; allow_pickle runs code that the file may hold, so only its owner should:\n    \
                 d = dict(numpy.load('A.npz', allow_pickle=True)); d['data'] = d['data'].astype('float64'); numpy.savez('B.npz', **d)",
            ),
            Self::Dtype { .. } => Some(
                "convert it in Python (complex values: abs(A) in place of A):\n    \
                 A = scipy.sparse.load_npz('A.npz'); scipy.sparse.save_npz('A.npz', A.astype('float64'))",
            ),
            Self::Dimensions { .. } => Some(
                "make it a matrix in Python, here one of a single row:\n    \
                 A = scipy.sparse.load_npz('A.npz'); scipy.sparse.save_npz('A.npz', A.reshape(1, -1))",
            ),
            Self::Format { .. } => Some("convert it first: scipy.sparse.save_npz(path, A.tocsr())"),
            Self::Missing { .. } => Some("write the file with scipy.sparse.save_npz"),
            Self::NotFinite { .. } => Some(FINITE_VALUES),
            _ => None,
        }
    }
}
