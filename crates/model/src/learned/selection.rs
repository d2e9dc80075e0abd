//! Which features of a matrix `linear` and `neighbours` look at: Table 2 of Lehnert et al. 2016.
//!
//! The paper found the choice, format by format, to be essential. Its formats are COO, CSR, ELL, SELL-C-sigma and
//! BRO-ELL; a kernel of another kind takes the columns of the nearest, see [`nearest`]. The block size, in the paper a
//! feature of every model, is none here: what is learned is learned for each block size apart, as the paper does for
//! thread mappings.

use sparsight_kernels::Kernel;
use sparsight_matrix::{Features, Locality};

/// A feature of the paper's Table 1, under its name there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Quantity {
    Rows,
    NonZeros,
    RowMin,
    RowMax,
    RowMode,
    RowMedian,
    MinDistance,
    MaxDistance,
    Bandwidth,
    Dispersion,
    Density,
}

/// A column of a format in the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Method {
    Linear,
    Neighbours,
}

/// The formats of the table, in its order.
const FORMATS: [&str; 5] = ["COO", "CSR", "ELL", "SELL-C-sigma", "BRO-ELL"];

/// Table 2: what looks at a feature, for each of [`FORMATS`]; L: linear, N: neighbours.
const TABLE: [(Quantity, [&str; 5]); 11] = [
    (Quantity::Rows, ["L", "LN", "L", "", ""]),
    (Quantity::NonZeros, ["LN", "N", "LN", "LN", "LN"]),
    (Quantity::RowMin, ["L", "L", "N", "LN", "LN"]),
    (Quantity::RowMax, ["L", "", "LN", "L", "L"]),
    (Quantity::RowMode, ["L", "L", "", "L", "L"]),
    (Quantity::RowMedian, ["L", "LN", "L", "L", "L"]),
    (Quantity::MinDistance, ["L", "", "N", "L", "L"]),
    (Quantity::MaxDistance, ["", "L", "LN", "", ""]),
    (Quantity::Bandwidth, ["L", "L", "L", "L", ""]),
    (Quantity::Dispersion, ["L", "", "LN", "LN", "L"]),
    (Quantity::Density, ["", "LN", "", "L", "L"]),
];

/// What `method` looks at for `kernel`, in the order of the table.
pub(crate) fn selected(method: Method, kernel: Kernel) -> Vec<Quantity> {
    let formats = kernel.family().table_2;
    let looked_at = |cells: &[&str; 5]| {
        FORMATS
            .iter()
            .zip(cells)
            .any(|(format, cell)| formats.contains(format) && cell.contains(method.letter()))
    };
    TABLE.iter().filter(|(_, cells)| looked_at(cells)).map(|(quantity, _)| *quantity).collect()
}

/// What `method` looks at and for which formats, `nRows of COO CSR ELL`: tells one version of the table from another.
pub(crate) fn described(method: Method) -> Vec<String> {
    let entry = |(quantity, cells): &(Quantity, [&str; 5])| {
        let formats = FORMATS.iter().zip(cells).filter(|(_, cell)| cell.contains(method.letter()));
        let formats: Vec<&str> = formats.map(|(format, _)| *format).collect();
        (!formats.is_empty()).then(|| format!("{} of {}", quantity.name(), formats.join(" ")))
    };
    TABLE.iter().filter_map(entry).collect()
}

impl Method {
    /// Its mark in the table.
    const fn letter(self) -> char {
        match self {
            Self::Linear => 'L',
            Self::Neighbours => 'N',
        }
    }
}

impl Quantity {
    /// Every row of the table.
    pub(crate) const ALL: [Self; TABLE.len()] = {
        let mut all = [Self::Rows; TABLE.len()];
        let mut at = 0;
        while at < all.len() {
            all[at] = TABLE[at].0;
            at += 1;
        }
        all
    };

    /// The paper's name.
    pub(crate) const fn name(self) -> &'static str {
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
    pub(crate) fn ln(self, f: &Features) -> f64 {
        /// Where a damaged or infinite feature is cut off. Chosen: the logarithm stays finite.
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
    use Quantity::{
        Density, Dispersion, MaxDistance, MinDistance, NonZeros, RowMax, RowMedian, RowMin, Rows,
    };
    use sparsight_matrix::RowLengths;

    #[test]
    fn every_kernel_takes_features_of_formats_in_the_table() {
        for kernel in Kernel::all() {
            assert!(kernel.family().table_2.iter().all(|format| FORMATS.contains(format)), "{kernel}");
            for method in [Method::Linear, Method::Neighbours] {
                assert!(!selected(method, kernel).is_empty(), "{kernel}");
            }
        }
        let csr = Kernel::known("csr-vector/t8");
        let both = [Rows, NonZeros, RowMin, RowMax, RowMedian, MinDistance, MaxDistance, Dispersion, Density];
        assert_eq!(selected(Method::Neighbours, csr), both, "the union, in the order of the table");
        assert_eq!(selected(Method::Neighbours, Kernel::known("coo")), [NonZeros]);
        let marks = |letter| TABLE.iter().flat_map(|(_, cells)| cells).filter(|c| c.contains(letter)).count();
        assert_eq!((marks('L'), marks('N')), (40, 16), "crosses of Table 2, less blocksize");
    }

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
