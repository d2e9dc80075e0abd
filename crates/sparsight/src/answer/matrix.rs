//! A matrix in short.

use serde::Serialize;
use sparsight_matrix::Features;

/// A matrix in short.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MatrixSummary {
    /// As people call it: the name of its file, or the recipe of the gallery as it was written.
    pub name: String,
    /// Rows.
    pub nrows: u64,
    /// Columns.
    pub ncols: u64,
    /// Stored non-zeros.
    pub nnz: u64,
    /// Mean row length, non-zeros; 0 without rows.
    pub row_mean: f64,
    /// Shortest row, non-zeros.
    pub row_min: u64,
    /// Longest row, non-zeros.
    pub row_max: u64,
}

impl MatrixSummary {
    /// Of the matrix called `name` with these features.
    pub fn of(name: impl Into<String>, features: &Features) -> Self {
        let Features { nrows, ncols, nnz, row_min, row_max, .. } = *features;
        Self { name: name.into(), nrows, ncols, nnz, row_mean: features.row_mean(), row_min, row_max }
    }
}
