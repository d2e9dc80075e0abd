//! Quantities that rules use: numbers that row offsets alone give.

use serde::Serialize;
use sparsight_matrix::{Features, display_as_serialized};

/// A number of a matrix. Displayed by its name in generated texts and answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Quantity {
    /// Rows.
    Rows,
    /// Columns.
    Columns,
    /// Stored non-zeros.
    #[serde(rename = "nnz")]
    NonZeros,
    /// Length of the longest row.
    RowMax,
    /// Length of the shortest row.
    RowMin,
    /// Mean row length; 0 without rows.
    RowMean,
    /// Standard deviation of the row lengths.
    RowStd,
    /// Standard deviation over mean of the row lengths; 0 without non-zeros.
    RowStdOverMean,
    /// Longest row over mean; 0 without non-zeros.
    RowMaxOverMean,
}

impl Quantity {
    /// Arguments of a generated function; the other three follow from them.
    pub const ARGUMENTS: [Self; 6] =
        [Self::Rows, Self::Columns, Self::NonZeros, Self::RowMin, Self::RowMax, Self::RowStd];

    /// All, in the order in which a split is looked for: of equally good ones the first counts.
    pub const ALL: [Self; 9] = [
        Self::NonZeros,
        Self::Rows,
        Self::Columns,
        Self::RowMean,
        Self::RowMax,
        Self::RowMin,
        Self::RowStd,
        Self::RowStdOverMean,
        Self::RowMaxOverMean,
    ];

    /// Value; finite.
    pub fn of(self, f: &Features) -> f64 {
        let over_mean = |value: f64| if f.nnz == 0 { 0.0 } else { value / f.row_mean() };
        match self {
            Self::Rows => f.nrows as f64,
            Self::Columns => f.ncols as f64,
            Self::NonZeros => f.nnz as f64,
            Self::RowMax => f.row_max as f64,
            Self::RowMin => f.row_min as f64,
            Self::RowMean => f.row_mean(),
            Self::RowStd => f.row_std,
            Self::RowStdOverMean => over_mean(f.row_std),
            Self::RowMaxOverMean => over_mean(f.row_max as f64),
        }
    }
}

display_as_serialized!(Quantity);
