//! Statements of a file about its matrix, kept beside the matrix because a report names them.

use super::Remark;
use crate::Csr;
use std::fmt;

/// A matrix and what its file said.
#[derive(Debug, Clone, PartialEq)]
pub struct Loaded<T> {
    /// The matrix: symmetric storage expanded, duplicates merged, rows sorted.
    pub matrix: Csr<T>,
    /// Content of the file.
    pub stored: Stored,
    /// Remarks for the owner of the file.
    pub remarks: Vec<Remark>,
}

impl<T> Loaded<T> {
    pub(super) fn new(matrix: Csr<T>, stored: Stored) -> Self {
        Self { matrix, stored, remarks: Vec::new() }
    }

    /// Adds a remark in front.
    pub(super) fn remarked(mut self, remark: Remark) -> Self {
        self.remarks.insert(0, remark);
        self
    }
}

/// Storage of a matrix in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stored {
    /// Kind of file and layout in it.
    pub layout: Layout,
    /// Kind of values.
    pub field: Field,
    /// Half that was stored.
    pub symmetry: Symmetry,
    /// Entries in the file, before mirroring and merging; for an array, zeros included.
    pub entries: u64,
    /// Entries of the expanded matrix that fell on a place already taken. Their values were added up; in a
    /// pattern, which is a set of places, they changed nothing.
    pub duplicates: u64,
}

/// Kind of file and layout in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Layout {
    /// Matrix Market, a line for each entry.
    MatrixMarketCoordinate,
    /// Matrix Market, every value of a dense matrix.
    MatrixMarketArray,
    /// `scipy.sparse.save_npz`, compressed rows.
    NpzCsr,
    /// `scipy.sparse.save_npz`, compressed columns.
    NpzCsc,
    /// `scipy.sparse.save_npz`, coordinates.
    NpzCoo,
    /// `scipy.sparse.save_npz`, compressed rows of dense blocks.
    NpzBsr,
    /// `scipy.sparse.save_npz`, diagonals.
    NpzDia,
    /// Harwell-Boeing or Rutherford-Boeing, compressed columns.
    Boeing,
}

/// Kind of values in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Field {
    /// Floating point.
    Real,
    /// Whole numbers.
    Integer,
    /// None: places only, each of which is 1.
    Pattern,
    /// Pairs of a real and an imaginary part, of which only the places are read.
    Complex,
}

/// Part of a matrix that a file stores.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Symmetry {
    /// All of it.
    General,
    /// A triangle; the other is its mirror image.
    Symmetric,
    /// A triangle without the diagonal; the other is its negated mirror image.
    SkewSymmetric,
    /// A triangle like that of `Symmetric`, with real values.
    Hermitian,
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::MatrixMarketCoordinate => "Matrix Market coordinate",
            Self::MatrixMarketArray => "Matrix Market array",
            Self::NpzCsr => "npz csr",
            Self::NpzCsc => "npz csc",
            Self::NpzCoo => "npz coo",
            Self::NpzBsr => "npz bsr",
            Self::NpzDia => "npz dia",
            Self::Boeing => "Harwell-Boeing",
        })
    }
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Real => "real",
            Self::Integer => "integer",
            Self::Pattern => "pattern",
            Self::Complex => "complex",
        })
    }
}

impl fmt::Display for Symmetry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::General => "general",
            Self::Symmetric => "symmetric",
            Self::SkewSymmetric => "skew-symmetric",
            Self::Hermitian => "hermitian",
        })
    }
}
