//! Choices that take no model: what people do who have none. A model that does not choose better is not worth
//! its measurements.
//!
//! A team as large as the mean row is how libraries such as CUSP size their vector kernel; "ELL if max / mean < 3" is
//! a rule of thumb. Their thresholds are quoted, not measured, which is why they stand here and nowhere else. The
//! default CSR of the vendor's library is what most people run; it has a row where the corpus holds its times.

use sparsight_kernels::{Candidate, Kernel, feasible};
use sparsight_matrix::{Dtype, Features, Limits};
use std::fmt;

/// A way to choose a candidate without predicting a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Baseline {
    /// `csr-vector` with as many threads a row as the mean row length, as the nearest power of two (by ratio) from 2
    /// to 32; below a mean of 2 `csr-scalar`. Blocks of 256.
    CsrByMean,
    /// `ell` if the longest row is less than 3 times the mean and ELL can hold the matrix, else
    /// [`Baseline::CsrByMean`]. Blocks of 256.
    EllRule,
    /// A warp a row of CSR in blocks of 256, whatever the matrix.
    CsrWarp,
    /// The vendor's library as it comes: CSR, algorithm 1.
    VendorCsr,
    /// The one candidate that turned out best on average: an upper bound for every fixed choice, which
    /// that is known only after everything is measured.
    BestSingle(Candidate),
}

/// Threads a block of the rules: the middle of the catalogue.
const BLOCK: u32 = 256;

impl Baseline {
    /// Rules that look at one matrix at a time.
    pub(super) const RULES: [Self; 4] = [Self::CsrByMean, Self::EllRule, Self::CsrWarp, Self::VendorCsr];

    /// The candidate for a matrix with features `f` on a device with `limits`.
    pub fn choose(self, f: &Features, dtype: Dtype, limits: &Limits) -> Candidate {
        let of = |kernel| Candidate { kernel, block: BLOCK, dtype };
        match self {
            Self::CsrByMean => of(by_mean(f.row_mean())),
            Self::EllRule => {
                let ell = of(Kernel::known("ell"));
                let even = (f.row_max as f64) < 3.0 * f.row_mean();
                if even && feasible(&ell, f, limits).is_ok() { ell } else { of(by_mean(f.row_mean())) }
            }
            Self::CsrWarp => of(Kernel::known("csr-vector/t32")),
            Self::VendorCsr => Candidate { block: 0, ..of(Kernel::known("cusparse-csr/a1")) },
            Self::BestSingle(candidate) => candidate,
        }
    }
}

/// The team for a mean row length.
fn by_mean(mean: f64) -> Kernel {
    if mean < 2.0 {
        return Kernel::known("csr-scalar");
    }
    let exponent = mean.log2().round().clamp(1.0, 5.0);
    Kernel::known(&format!("csr-vector/t{}", 1 << exponent as u32))
}

impl fmt::Display for Baseline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::CsrByMean => "csr-by-mean",
            Self::EllRule => "ell-rule",
            Self::CsrWarp => "csr-vector/t32/b256",
            Self::VendorCsr => "vendor-csr",
            Self::BestSingle(_) => "best-single",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sparsight_matrix::{Bytes, RowLengths};

    fn features(lengths: &[u64]) -> Features {
        let lengths = RowLengths::from_counts(lengths.iter().map(|&length| (length, 1)));
        Features::from_row_lengths(&lengths, 100, 0, 0.0)
    }

    fn chosen(baseline: Baseline, lengths: &[u64]) -> String {
        let limits = Limits::with_memory(Bytes(1 << 30));
        baseline.choose(&features(lengths), Dtype::F64, &limits).to_string()
    }

    #[test]
    fn the_team_is_the_power_of_two_nearest_to_the_mean() {
        let teams = [1.9, 2.0, 2.9, 5.0, 5.7, 23.0, 4000.0].map(|mean| by_mean(mean).to_string());
        // 2.9 = 2^1.54 and 5.7 = 2^2.51 round up, 5.0 = 2^2.32 down, 23 = 2^4.52 up.
        let expected = ["csr-scalar", "csr-vector/t2", "csr-vector/t4", "csr-vector/t4", "csr-vector/t8"];
        assert_eq!(teams[..5], expected);
        assert_eq!(teams[5..], ["csr-vector/t32", "csr-vector/t32"]);
    }

    #[test]
    fn ell_is_chosen_for_even_rows_that_fit() {
        assert_eq!(chosen(Baseline::EllRule, &[4, 4, 8]), "ell/b256/f64", "8 < 16");
        // Three rows: 3 times their mean is their sum.
        assert_eq!(chosen(Baseline::EllRule, &[1, 1, 7]), "ell/b256/f64", "7 < 9");
        let uneven = chosen(Baseline::EllRule, &[0, 0, 10]);
        assert_eq!(uneven, "csr-vector/t4/b256/f64", "10 is not less than 10, and 10 / 3 is nearest to 4");
        let full = Limits::with_memory(Bytes(1));
        let crowded = Baseline::EllRule.choose(&features(&[4, 4, 8]), Dtype::F32, &full);
        assert_eq!(crowded.to_string(), "csr-vector/t4/b256/f32", "16 / 3 is nearest to 4");
    }

    #[test]
    fn the_fixed_choices_do_not_look_at_the_matrix() {
        for lengths in [&[0][..], &[1, 1000]] {
            assert_eq!(chosen(Baseline::CsrWarp, lengths), Baseline::CsrWarp.to_string() + "/f64");
            assert_eq!(chosen(Baseline::VendorCsr, lengths), "cusparse-csr/a1/f64");
        }
    }
}
