//! Remarks of a reader: what it passed over or took on trust.

use super::{PassedOver, Symmetry};
use std::fmt;

/// Something about a file that its owner should know although it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Remark {
    /// Member of an archive that was read, and what was passed over.
    Member {
        /// Name with its folders.
        member: String,
        /// Files with names of matrices that are none, or others.
        passed_over: Vec<PassedOver>,
    },
    /// The banner is not as the format wants it.
    Banner,
    /// Words follow the banner on its line.
    TextBehindBanner,
    /// Comments begin with `#` in place of `%`.
    HashComments,
    /// A skew-symmetric matrix, whose diagonal is 0, has entries there that are not: they are kept.
    SkewDiagonal {
        /// Count.
        entries: u64,
    },
    /// A file that says that it stores one triangle stores both, so that each entry off the diagonal is there twice.
    BothTriangles {
        /// Symmetry that the file states.
        symmetry: Symmetry,
        /// True if there are no values that were added up.
        is_pattern: bool,
    },
    /// Right-hand sides, which follow the matrix, were not read.
    RightHandSides,
    /// Arrays of a square matrix that do not say whether rows or columns are compressed were taken for rows.
    TakenForRows,
}

/// Names that a remark lists.
const MOST_NAMES: usize = 4;

impl Remark {
    /// Returns whether it says more than a reader of the file expects: not of an archive with one matrix.
    pub fn is_worth_saying(&self) -> bool {
        !matches!(self, Self::Member { passed_over, .. } if passed_over.is_empty())
    }
}

impl fmt::Display for Remark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Member { member, passed_over } => {
                write!(f, "{} is read", member.escape_debug())?;
                for (at, passed) in passed_over.iter().take(MOST_NAMES).enumerate() {
                    write!(f, "{} {}", if at == 0 { ", passed over:" } else { "," }, passed.to_string().escape_debug())?;
                }
                match passed_over.len().saturating_sub(MOST_NAMES) {
                    0 => Ok(()),
                    more => write!(f, " and {more} more"),
                }
            }
            Self::Banner => f.write_str("the first line is read as the banner '%%MatrixMarket', from which it differs"),
            Self::TextBehindBanner => f.write_str("the words behind the banner are ignored"),
            Self::HashComments => f.write_str("lines that begin with '#' are taken for comments, which begin with '%'"),
            Self::SkewDiagonal { entries } => {
                write!(f, "{entries} values on the diagonal of a skew-symmetric matrix, where 0 belongs, are kept")
            }
            Self::BothTriangles { symmetry, is_pattern: true } => {
                write!(f, "each entry off the diagonal of the {symmetry} matrix is there twice: if both triangles are stored, the first line should say 'general'")
            }
            Self::BothTriangles { symmetry, is_pattern: false } => write!(
                f,
                "each entry off the diagonal of the {symmetry} matrix is there twice, and their values are added up: if both triangles are stored, \
                 write 'general' in the first line"
            ),
            Self::RightHandSides => f.write_str("right-hand sides behind the matrix are not read"),
            Self::TakenForRows => {
                f.write_str("the arrays of this square matrix do not say whether they are by rows or by columns: taken for rows (CSR)")
            }
        }
    }
}
