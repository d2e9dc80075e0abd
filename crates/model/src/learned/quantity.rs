//! The features of a matrix by which Lehnert et al. 2016 describe it (their Table 1), as logarithms.

use sparsight_matrix::{Features, Locality};

/// A feature of the paper's Table 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Quantity {
    /// Rows.
    Rows,
    /// Non-zeros.
    NonZeros,
    /// Non-zeros of the shortest row.
    RowMin,
    /// Non-zeros of the longest row.
    RowMax,
    /// Most frequent number of non-zeros of a row.
    RowMode,
    /// Median of the non-zeros of a row.
    RowMedian,
    /// Least distance of neighbouring non-zeros of a row.
    MinDistance,
    /// Largest distance of neighbouring non-zeros of a row.
    MaxDistance,
    /// Largest distance of a non-zero from the diagonal.
    Bandwidth,
    /// Standard deviation of the non-zeros of a row.
    Dispersion,
    /// Non-zeros over rows times columns.
    Density,
}

impl Quantity {
    /// All, in the order of the table.
    pub const ALL: [Self; 11] = [
        Self::Rows,
        Self::NonZeros,
        Self::RowMin,
        Self::RowMax,
        Self::RowMode,
        Self::RowMedian,
        Self::MinDistance,
        Self::MaxDistance,
        Self::Bandwidth,
        Self::Dispersion,
        Self::Density,
    ];

    /// The paper's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Rows => "nRows",
            Self::NonZeros => "nnz",
            Self::RowMin => "minNnz",
            Self::RowMax => "maxNnz",
            Self::RowMode => "modeNnz",
            Self::RowMedian => "medianNnz",
            Self::MinDistance => "minDist",
            Self::MaxDistance => "maxDist",
            Self::Bandwidth => "bandwidth",
            Self::Dispersion => "dispersion",
            Self::Density => "density",
        }
    }

    /// Natural logarithm of the feature; finite. Distances are 0 where the features hold no locality.
    ///
    /// All are counts, or spread in the unit of counts, and many are 0: below one half they count as one half. Unlike
    /// ln(1 + v) this leaves every power law exact, and 0 is as far from 1 as 1 from 2.
    pub fn ln(self, f: &Features) -> f64 {
        /// Limit at which a damaged or infinite feature is cut off. Chosen: the logarithm stays finite.
        const MOST: f64 = 1e300;
        let ln = |v: f64| {
            // `clamp` would keep a NaN.
            let at_least = v.max(0.5);
            at_least.min(MOST).ln()
        };
        let count = |v: u64| ln(v as f64);
        let distance = |of: fn(&Locality) -> u64| count(f.locality.as_ref().map_or(0, of));
        match self {
            Self::Rows => count(f.nrows),
            Self::NonZeros => count(f.nnz),
            Self::RowMin => count(f.row_min),
            Self::RowMax => count(f.row_max),
            Self::RowMode => count(f.row_mode),
            Self::RowMedian => count(f.row_quantiles[2]),
            Self::MinDistance => distance(|l| l.min_distance),
            Self::MaxDistance => distance(|l| l.max_distance),
            Self::Bandwidth => count(f.bandwidth),
            Self::Dispersion => ln(f.row_std),
            Self::Density => count(f.nnz) - count(f.nrows) - count(f.ncols),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Quantity::{Density, NonZeros, RowMedian, Rows};
    use sparsight_matrix::RowLengths;

    #[test]
    fn logarithms_are_those_worked_by_hand() {
        // Two empty rows and one of 4, of 8 columns: density 4 / 24, median 0.
        let f = Features::from_row_lengths(&RowLengths::from_counts([(0, 2), (4, 1)]), 8, 3, 0.0);
        let of = |q: Quantity| q.ln(&f).exp();
        assert!((of(Density) - 4.0 / 24.0).abs() < 1e-15);
        assert!((of(RowMedian) - 0.5).abs() < 1e-15, "0 counts as one half");
        assert!((of(NonZeros) - 4.0).abs() < 1e-14 && (of(Rows) - 3.0).abs() < 1e-14);
        let f = Features { row_std: f64::NAN, ..f };
        assert!(Quantity::Dispersion.ln(&f).is_finite());
    }
}
