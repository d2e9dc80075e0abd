//! Faults of a Matrix Market file, and hints for its owner.

use super::super::Symmetry;
use super::super::blocks::BLOCK;
use crate::io::error::FINITE_VALUES;
use std::fmt;
use thiserror::Error;

/// Blocks of text without an entry that are read: far more than any file's comments. Chosen.
pub(super) const MOST_EMPTY_BLOCKS: usize = 64;

/// Fault at a place of a Matrix Market file.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum MatrixMarketFault {
    /// No byte at all.
    #[error("the file is empty")]
    Empty,
    /// The first line is no banner.
    #[error("expected '%%MatrixMarket matrix ...', found {found}")]
    NotMatrixMarket {
        /// Beginning of the first line.
        found: Found,
    },
    /// A word of the banner is missing or unknown.
    #[error("expected {expected}, found {found}")]
    Banner {
        /// The words that may stand here.
        expected: &'static str,
        /// The text found here.
        found: Found,
    },
    /// Complex values.
    #[error("complex values cannot be read")]
    Complex,
    /// `array pattern`, which would say nothing.
    #[error("'array' cannot be combined with 'pattern'")]
    PatternArray,
    /// The file ends before its size line.
    #[error("the file ends before the size line")]
    NoSizeLine,
    /// Lines that end as those of old Macs do make the whole file one line.
    #[error("lines end with CR alone, LF is needed")]
    CarriageReturns,
    /// The size line is not made of the right numbers.
    #[error("expected {expected} in the size line, found {found}")]
    Size {
        /// The number that belongs here.
        expected: &'static str,
        /// The text found here.
        found: Found,
    },
    /// The size line is missing: an entry stands in its place.
    #[error("line {line} looks like an entry: the size line is missing")]
    SizeMissing {
        /// The line, counted from 1.
        line: u64,
    },
    /// A symmetry needs as many columns as rows.
    #[error("a {symmetry} matrix must be square, this one is {nrows} x {ncols}")]
    NotSquare {
        /// The symmetry of the banner.
        symmetry: Symmetry,
        /// Declared rows.
        nrows: u64,
        /// Declared columns.
        ncols: u64,
    },
    /// More rows or columns than 32 bits can name.
    #[error("{n} {what}s are more than 32-bit indices are used for, {}", u32::MAX - 1)]
    TooMany {
        /// `row` or `column`.
        what: &'static str,
        /// Number that is declared.
        n: u64,
    },
    /// Something else stands where an index or a value belongs.
    #[error("expected a {what}, found {found}")]
    Expected {
        /// `row index`, `column index` or `value`.
        what: &'static str,
        /// The text found here.
        found: Found,
    },
    /// Index 0.
    #[error("{what} index 0 is below 1")]
    IndexZero {
        /// `row` or `column`.
        what: &'static str,
    },
    /// An index beyond the size line.
    #[error("{what} index {index} is outside the declared {declared} {what}s")]
    Outside {
        /// `row` or `column`.
        what: &'static str,
        /// The index, counted from 1.
        index: Found,
        /// Rows or columns of the size line.
        declared: u64,
    },
    /// A value that is not finite in the value type asked for.
    #[error("value {found} is not a finite number that fits the value type")]
    NotFinite {
        /// The text found here.
        found: Found,
    },
    /// A fraction in a file of whole numbers.
    #[error("value {found} is no whole number, the header says integer")]
    NotInteger {
        /// The text found here.
        found: Found,
    },
    /// Something follows a complete entry on its line.
    #[error("unexpected {found} after the entry")]
    Trailing {
        /// The text that follows.
        found: Found,
        /// Numbers that make a value: none in a pattern, two if it is complex.
        numbers: usize,
        /// True if a line holds a value alone.
        is_array: bool,
    },
    /// The size line declares more entries than there are.
    #[error("declared {declared} entries, the file holds {found}")]
    Count {
        /// Entries of the size line.
        declared: u64,
        /// Entries read.
        found: u64,
    },
    /// More entries than the size line declares.
    #[error("declared {declared} entries, the file holds more")]
    More {
        /// Entries of the size line.
        declared: u64,
    },
    /// Text without an end in which there is nothing.
    #[error("{} bytes of blank lines and comments follow each other", MOST_EMPTY_BLOCKS * BLOCK)]
    NothingButComments,
    /// A line longer than any sensible one.
    #[error("the line is longer than {BLOCK} bytes")]
    LongLine,
}

/// A piece of the file, cut short and made printable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    text: Option<Box<str>>,
    quoted: bool,
}

impl Found {
    /// Longest piece shown, in characters: an error stays one line.
    const LONGEST: usize = 32;

    pub(super) fn token(token: &[u8]) -> Self {
        Self { text: Self::shown(token), quoted: true }
    }

    pub(super) fn number(token: &[u8]) -> Self {
        Self { text: Self::shown(token), quoted: false }
    }

    fn shown(token: &[u8]) -> Option<Box<str>> {
        if token.is_empty() {
            return None;
        }
        // Four bytes a character at most.
        let head = &token[..token.len().min(4 * (Self::LONGEST + 1))];
        let mut text: String =
            String::from_utf8_lossy(head).chars().take(Self::LONGEST).flat_map(char::escape_debug).collect();
        if String::from_utf8_lossy(head).chars().count() > Self::LONGEST {
            text.push_str("...");
        }
        Some(text.into())
    }
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.text {
            None => f.write_str("the end of the line"),
            Some(text) if self.quoted => write!(f, "'{text}'"),
            Some(text) => f.write_str(text),
        }
    }
}

impl MatrixMarketFault {
    /// Hint for the owner of the file.
    pub fn hint(&self) -> Option<&'static str> {
        Some(match self {
            Self::NotMatrixMarket { .. } => "the first line must be a Matrix Market banner",
            Self::Complex => "keep the pattern or the absolute values: scipy.io.mmwrite(path, abs(A))",
            Self::IndexZero { .. } => "the file may count from 0; Matrix Market counts from 1",
            Self::SizeMissing { .. } => {
                "put a line 'rows columns entries' before the entries: the largest row, the largest column, and how many lines follow"
            }
            Self::Outside { .. } => {
                "the size line is 'rows columns entries'; two of them may be swapped, or the line is missing"
            }
            Self::Count { .. } => "the file may have been cut off, or the size line may be missing",
            Self::More { .. } => "the size line may belong to another matrix, or be missing",
            Self::NotFinite { .. } => FINITE_VALUES,
            Self::NotInteger { .. } => "write 'real' instead of 'integer' in the first line",
            Self::CarriageReturns => "convert it: tr '\\r' '\\n' < A.mtx > A.lf.mtx",
            Self::Trailing { is_array: true, .. } => {
                "an array has one value a line, column after column; of a file with a row of the matrix on each line, in Python \
                 (skiprows: lines up to the size line):\n    \
                 scipy.sparse.save_npz('A.npz', scipy.sparse.csr_array(numpy.loadtxt('A.mtx', skiprows=2, ndmin=2)))"
            }
            Self::Trailing { numbers: 0, .. } => {
                "a line holds one entry; values need 'real', not 'pattern', in the first line"
            }
            Self::Trailing { numbers: 1, .. } => {
                "a line holds one entry: row, column and one value; two numbers a value need 'complex' in the first line"
            }
            Self::Trailing { .. } => {
                "a line holds one entry: row, column and the two numbers of a complex value"
            }
            Self::TooMany { .. } => "split the matrix into blocks of rows or columns",
            _ => return None,
        })
    }
}
