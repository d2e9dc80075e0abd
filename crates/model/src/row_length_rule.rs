//! Statistic that stands for the row lengths: p of the strip models.
//!
//! | kernel | the papers' p |
//! |---|---|
//! | `csr-vector`, any team | mode |
//! | `csr-scalar`, `ell` | maximum |
//! | `coo` | none |
//! | `hyb` | K, the width of its ELL part, whatever the rule |
//!
//! Sources: Guo, Wang and Chen 2014, section 3.4.2; Wang, Gu and Li 2017 for `csr-scalar` (their CSR-S). The other
//! rules are this project's, to see what the choice is worth.

use sparsight_kernels::{Kernel, StripRule};
use sparsight_matrix::{Features, serialize_as_text};
use std::fmt;
use std::str::FromStr;

/// The statistic that stands for the row lengths of a matrix in a strip model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum RowLengthRule {
    /// Statistic by kernel: see the table of the module.
    #[default]
    Paper,
    /// The most frequent length.
    Mode,
    /// The longest row.
    Max,
    /// Non-zeros over rows, to the nearest whole number.
    Mean,
    /// The length that a quantile of the rows does not exceed: an index into [`Features::QUANTILES`].
    Quantile(KnownQuantile),
}

/// A quantile that [`Features`] hold, and so exactly known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KnownQuantile(usize);

impl KnownQuantile {
    /// All.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..Features::QUANTILES.len()).map(Self)
    }

    /// Percentage: 95 for the length that 95 % of the rows do not exceed.
    pub fn percent(self) -> u32 {
        (100.0 * Features::QUANTILES[self.0]).round() as u32
    }
}

/// A statistic of the row lengths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Statistic {
    Mode,
    Max,
    Mean,
    Quantile(KnownQuantile),
    /// K of HYB.
    HybWidth,
}

impl Statistic {
    /// The one that stands for the row lengths in the strip model of `kernel`; `None` if that has no p.
    pub(crate) fn of(kernel: Kernel, rule: RowLengthRule) -> Option<Self> {
        match (kernel.strip_rule(), rule) {
            (StripRule::Coo, _) => None,
            (StripRule::Parts { .. }, _) => Some(Self::HybWidth),
            (StripRule::Csr, RowLengthRule::Paper) | (_, RowLengthRule::Mode) => Some(Self::Mode),
            (_, RowLengthRule::Paper | RowLengthRule::Max) => Some(Self::Max),
            (_, RowLengthRule::Mean) => Some(Self::Mean),
            (_, RowLengthRule::Quantile(quantile)) => Some(Self::Quantile(quantile)),
        }
    }

    /// Value of the statistic.
    #[inline]
    pub(crate) fn value(self, features: &Features) -> u64 {
        match self {
            Self::Mode => features.row_mode,
            Self::Max => features.row_max,
            Self::Mean => rounded_mean(features),
            Self::Quantile(KnownQuantile(at)) => features.row_quantiles[at],
            Self::HybWidth => features.hyb.width,
        }
    }
}

/// Apart, so that the compiler does not round first and look at the statistic then.
#[inline(never)]
fn rounded_mean(features: &Features) -> u64 {
    features.row_mean().round() as u64
}

/// `P_NZ`, the row length that stands for a matrix in the strip model of `kernel`; `None` for COO and
/// csr-balanced, whose models have none.
pub fn representative_row_length(kernel: Kernel, features: &Features, rule: RowLengthRule) -> Option<u64> {
    Statistic::of(kernel, rule).map(|statistic| statistic.value(features))
}

/// The one name used in flags and reports: `paper`, `mode`, `max`, `mean`, `median`, `p95`.
impl fmt::Display for RowLengthRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Paper => f.pad("paper"),
            Self::Mode => f.pad("mode"),
            Self::Max => f.pad("max"),
            Self::Mean => f.pad("mean"),
            Self::Quantile(quantile) if quantile.percent() == 50 => f.pad("median"),
            Self::Quantile(quantile) => f.pad(&format!("p{}", quantile.percent())),
        }
    }
}

impl FromStr for RowLengthRule {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let quantiles = || KnownQuantile::all().map(Self::Quantile);
        if text == "p50" {
            return "median".parse();
        }
        let mut rules = [Self::Paper, Self::Mode, Self::Max, Self::Mean].into_iter().chain(quantiles());
        rules.find(|rule| rule.to_string() == text).ok_or_else(|| {
            let known: Vec<String> = quantiles().map(|rule| rule.to_string()).collect();
            let is_quantile = text.strip_prefix('p').is_some_and(|percent| percent.parse::<f64>().is_ok());
            if is_quantile {
                format!("the quantile {text} is not among the features of a matrix: {}", known.join(", "))
            } else {
                format!("unknown row length '{text}': paper, mode, max, mean, {}", known.join(", "))
            }
        })
    }
}

serialize_as_text!(RowLengthRule);

#[cfg(test)]
mod tests {
    use super::*;
    use sparsight_matrix::RowLengths;

    #[test]
    fn each_rule_takes_its_statistic_and_the_papers_that_of_the_kernel() {
        // 50 rows of 1, 45 of 10, 5 of 200: mean (50 + 450 + 1000) / 100 = 15.
        let lengths = RowLengths::from_counts([(1, 50), (10, 45), (200, 5)]);
        let f = Features::from_row_lengths(&lengths, 1000, 0, 1.0);
        let [team, scalar, ell] = ["csr-vector/t8", "csr-scalar", "ell"].map(Kernel::known);
        let p = |rule: &str, kernel| representative_row_length(kernel, &f, rule.parse().unwrap());
        for (rule, value) in
            [("mode", 1), ("max", 200), ("mean", 15), ("median", 1), ("p75", 10), ("p99", 200)]
        {
            for kernel in [team, scalar, ell] {
                assert_eq!(p(rule, kernel), Some(value), "{rule} {kernel}");
            }
            let [coo, hyb] = ["coo", "hyb"].map(Kernel::known);
            assert_eq!((p(rule, coo), p(rule, hyb)), (None, Some(f.hyb.width)), "{rule}");
        }
        assert_eq!([team, scalar, ell].map(|k| p("paper", k)), [1, 200, 200].map(Some));
    }

    #[test]
    fn names_read_back_and_quantiles_that_were_not_computed_are_refused() {
        for name in ["paper", "mode", "max", "mean", "p5", "p25", "median", "p75", "p90", "p95", "p99"] {
            assert_eq!(name.parse::<RowLengthRule>().unwrap().to_string(), name);
        }
        assert_eq!("p50".parse::<RowLengthRule>(), "median".parse());
        let refused = |text: &str| text.parse::<RowLengthRule>().unwrap_err();
        assert!(refused("p98").contains("p95, p99") && refused("p98").contains("not among the features"));
        assert!(refused("longest").contains("unknown row length 'longest': paper, mode"));
    }
}
