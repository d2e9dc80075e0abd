//! Statements of a file about its matrix, kept beside the matrix because a report names them.

use super::Remark;
use crate::Csr;
use serde::Serialize;

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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub enum Layout {
    /// Matrix Market, a line for each entry.
    #[serde(rename = "Matrix Market coordinate")]
    MatrixMarketCoordinate,
    /// Matrix Market, every value of a dense matrix.
    #[serde(rename = "Matrix Market array")]
    MatrixMarketArray,
    /// `scipy.sparse.save_npz`, compressed rows.
    #[serde(rename = "npz csr")]
    NpzCsr,
    /// `scipy.sparse.save_npz`, compressed columns.
    #[serde(rename = "npz csc")]
    NpzCsc,
    /// `scipy.sparse.save_npz`, coordinates.
    #[serde(rename = "npz coo")]
    NpzCoo,
    /// `scipy.sparse.save_npz`, compressed rows of dense blocks.
    #[serde(rename = "npz bsr")]
    NpzBsr,
    /// `scipy.sparse.save_npz`, diagonals.
    #[serde(rename = "npz dia")]
    NpzDia,
    /// Harwell-Boeing or Rutherford-Boeing, compressed columns.
    #[serde(rename = "Harwell-Boeing")]
    Boeing,
}

/// Kind of values in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
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

display_as_serialized!(Layout, Field, Symmetry);
