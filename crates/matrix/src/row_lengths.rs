//! Row lengths: the set D of the papers, as a histogram, and the statistics that models use.

use crate::{Csr, Scalar};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// Histogram of row lengths: `(length, rows of that length)`, lengths increasing.
///
/// It has at most about `sqrt(2 nnz)` entries, since distinct lengths add up, so every statistic is cheap.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RowLengths {
    counts: Vec<(u64, u64)>,
    nrows: u64,
    nnz: u64,
}

impl RowLengths {
    /// Counts the rows of `a`. O(nrows), in parallel.
    pub fn of<T: Scalar>(a: &Csr<T>) -> Self {
        Self::of_offsets(a.row_ptr())
    }

    /// Counts the rows of a matrix with these row offsets. O(nrows), in parallel.
    pub fn of_offsets(row_ptr: &[u64]) -> Self {
        let count = |mut counts: LengthCounts, w: &[u64]| {
            counts.add(w[1] - w[0], 1);
            counts
        };
        let windows = row_ptr.par_windows(2);
        windows
            .fold(LengthCounts::default, count)
            .reduce(LengthCounts::default, LengthCounts::merge)
            .histogram()
    }

    /// A histogram from `(length, rows)` pairs in any order; equal lengths add up.
    pub fn from_counts(pairs: impl IntoIterator<Item = (u64, u64)>) -> Self {
        let mut counts: Vec<(u64, u64)> = pairs.into_iter().filter(|&(_, rows)| rows > 0).collect();
        counts.sort_unstable();
        counts.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            if same {
                kept.1 += next.1;
            }
            same
        });
        let nrows = counts.iter().map(|c| c.1).sum();
        let nnz = counts.iter().map(|c| c.0 * c.1).sum();
        Self { counts, nrows, nnz }
    }

    /// `(length, rows of that length)`, lengths increasing.
    pub fn counts(&self) -> &[(u64, u64)] {
        &self.counts
    }

    /// Rows.
    pub fn nrows(&self) -> u64 {
        self.nrows
    }

    /// Non-zeros.
    pub fn nnz(&self) -> u64 {
        self.nnz
    }

    /// Shortest row, 0 without rows.
    pub fn min(&self) -> u64 {
        self.counts.first().map_or(0, |c| c.0)
    }

    /// Longest row, 0 without rows.
    pub fn max(&self) -> u64 {
        self.counts.last().map_or(0, |c| c.0)
    }

    /// Most frequent length; of several, the longest, which costs more and so errs on the safe side.
    pub fn mode(&self) -> u64 {
        self.counts.iter().max_by_key(|c| (c.1, c.0)).map_or(0, |c| c.0)
    }

    /// Mean length, 0 without rows.
    pub fn mean(&self) -> f64 {
        if self.nrows == 0 { 0.0 } else { self.nnz as f64 / self.nrows as f64 }
    }

    /// Standard deviation over all rows (division by `nrows`), 0 without rows: the `dispersion` of
    /// Lehnert et al. 2016.
    pub fn std_dev(&self) -> f64 {
        if self.nrows == 0 {
            return 0.0;
        }
        let mean = self.mean();
        let sum: f64 = self.counts.iter().map(|&(len, rows)| (len as f64 - mean).powi(2) * rows as f64).sum();
        (sum / self.nrows as f64).sqrt()
    }

    /// Smallest length that at least the fraction `q` of the rows does not exceed; 0 without rows.
    pub fn quantile(&self, q: f64) -> u64 {
        let wanted = (q.clamp(0.0, 1.0) * self.nrows as f64).ceil().max(1.0) as u64;
        let mut seen = 0;
        for &(length, rows) in &self.counts {
            seen += rows;
            if seen >= wanted {
                return length;
            }
        }
        self.max()
    }

    /// The histogram in bins that grow with the length: one for each length below 8, then four up to each doubling. Without
    /// those that hold no row, so that there are at most about 8 + 4 log2(longest).
    pub fn binned(&self) -> Vec<LengthBin> {
        let mut bins: Vec<LengthBin> = Vec::new();
        for &(length, rows) in &self.counts {
            match bins.last_mut().filter(|bin| length <= bin.to) {
                Some(bin) => bin.rows += rows,
                None => bins.push(LengthBin::around(length, rows)),
            }
        }
        bins
    }

    /// Cut of HYB: at the largest K such that at least `max(n / 3, 4096)` rows have K or more non-zeros, at 0 if there is none.
    pub fn hyb_split(&self) -> HybSplit {
        let mut rows = 0;
        let mut width = 0;
        for &(length, count) in self.counts.iter().rev() {
            rows += count;
            if is_worthwhile(rows, self.nrows) {
                width = length;
                break;
            }
        }
        let coo_nnz = self.counts.iter().map(|&(length, count)| length.saturating_sub(width) * count).sum();
        HybSplit { width, coo_nnz }
    }
}

/// Cut of a matrix into ELL and COO.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct HybSplit {
    /// Width K of the ELL part; 0 leaves it empty.
    pub width: u64,
    /// Non-zeros in the COO part.
    pub coo_nnz: u64,
}

/// Rows that must reach a width before ELL pays, at the least: Bell and Garland's choice for keeping a GPU
/// busy. Part of the format's definition, not a tuning knob.
const MIN_ROWS: u64 = 4096;

/// Returns whether `rows` of `nrows` rows are enough for ELL to be as wide as they are long.
pub(crate) const fn is_worthwhile(rows: u64, nrows: u64) -> bool {
    is_share(rows, nrows) && rows >= MIN_ROWS
}

/// Returns whether they are a large enough share: `n / 3` is compared exactly, as `3 rows >= n`.
pub(crate) const fn is_share(rows: u64, nrows: u64) -> bool {
    3 * rows >= nrows
}

/// Rows of about one length.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LengthBin {
    /// Least length in it.
    pub from: u64,
    /// Largest length in it.
    pub to: u64,
    /// Rows as long as that.
    pub rows: u64,
}

impl LengthBin {
    /// The bin that holds `length`, with `rows` in it.
    fn around(length: u64, rows: u64) -> Self {
        // A quarter of the power of two below.
        let width = 1 << length.checked_ilog2().unwrap_or(0).saturating_sub(2);
        let from = length - length % width;
        Self { from, to: from + (width - 1), rows }
    }
}

/// Rows of each length, while they are counted: short ones by index, since nearly all are short, the others
/// in a map.
#[derive(Debug, Default)]
pub(crate) struct LengthCounts {
    /// Empty until the first row.
    short: Vec<u64>,
    long: HashMap<u64, u64>,
}

/// Lengths counted by index. Chosen: 8 KiB a thread, which stay in its cache.
const SHORT: usize = 1024;

impl LengthCounts {
    /// Counts rows of one length.
    pub(crate) fn add(&mut self, length: u64, rows: u64) {
        if self.short.is_empty() {
            self.short.resize(SHORT, 0);
        }
        match self.short.get_mut(length as usize) {
            Some(short) => *short += rows,
            None => *self.long.entry(length).or_default() += rows,
        }
    }

    /// Combines two parts of the rows.
    pub(crate) fn merge(mut self, other: Self) -> Self {
        if self.short.is_empty() {
            return other;
        }
        for (rows, more) in self.short.iter_mut().zip(other.short) {
            *rows += more;
        }
        for (length, more) in other.long {
            *self.long.entry(length).or_default() += more;
        }
        self
    }

    pub(crate) fn histogram(&self) -> RowLengths {
        let short = self.short.iter().enumerate().map(|(length, &rows)| (length as u64, rows));
        RowLengths::from_counts(short.chain(self.long.iter().map(|(&length, &rows)| (length, rows))))
    }
}

/// Length of the rows between these offsets, if there are any and all are as long.
pub(crate) fn common_length(offsets: &[u64]) -> Option<u64> {
    let [first, second, .., last] = *offsets else {
        return (offsets.len() == 2).then(|| offsets[1] - offsets[0]);
    };
    let (rows, length) = (offsets.len() as u64 - 1, second - first);
    // The sum is wrong at once in most places; then a loop without an early end, which the compiler turns into wide instructions.
    let unlike = || offsets.windows(2).fold(0, |unlike, ends| unlike | ((ends[1] - ends[0]) ^ length));
    (last - first == rows * length && unlike() == 0).then_some(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_are_exact_for_short_rows_and_hold_every_row() {
        let d = RowLengths::from_counts([
            (0, 3),
            (1, 1),
            (7, 2),
            (8, 1),
            (9, 4),
            (10, 1),
            (1000, 1),
            (1 << 40, 1),
        ]);
        let bins: Vec<_> = d.binned().into_iter().map(|bin| (bin.from, bin.to, bin.rows)).collect();
        let longest = (1 << 40, (5 << 38) - 1, 1);
        assert_eq!(bins, [(0, 0, 3), (1, 1, 1), (7, 7, 2), (8, 9, 5), (10, 11, 1), (896, 1023, 1), longest]);
    }

    #[test]
    fn the_width_is_the_largest_that_a_third_of_the_rows_and_4096_rows_reach() {
        // 12,300 rows: a third is 4,100. 4,100 rows have 9, the rest 2.
        let d = RowLengths::from_counts([(9, 4_100), (2, 8_200)]);
        assert_eq!(d.hyb_split(), HybSplit { width: 9, coo_nnz: 0 });
        // One row fewer is less than a third.
        let d = RowLengths::from_counts([(9, 4_099), (2, 8_201)]);
        assert_eq!(d.hyb_split(), HybSplit { width: 2, coo_nnz: 4_099 * 7 });
        // Fewer than 4,096 rows in all: everything is COO.
        let d = RowLengths::from_counts([(7, 4_095)]);
        assert_eq!(d.hyb_split(), HybSplit { width: 0, coo_nnz: 7 * 4_095 });
    }

    #[test]
    fn statistics_of_a_small_set_are_those_worked_by_hand() {
        // D = {0, 2, 2, 5, 1, 1}: mean 11/6, variance (0 + 4+4 + 25 + 1+1)/6 - (11/6)^2 = 35/6 - 121/36
        let d = RowLengths::from_counts([(2, 2), (0, 1), (5, 1), (1, 2)]);
        assert_eq!((d.nrows(), d.nnz(), d.min(), d.max()), (6, 11, 0, 5));
        assert_eq!(d.mode(), 2, "of the two most frequent lengths the longer one");
        assert!((d.mean() - 11.0 / 6.0).abs() < 1e-15);
        assert!((d.std_dev() - (35.0 / 6.0 - 121.0 / 36.0_f64).sqrt()).abs() < 1e-12);
        assert_eq!((d.quantile(0.0), d.quantile(0.5), d.quantile(0.51), d.quantile(1.0)), (0, 1, 2, 5));
    }

    #[test]
    fn an_empty_set_has_zero_statistics_and_no_nan() {
        let d = RowLengths::default();
        assert_eq!((d.min(), d.max(), d.mode(), d.quantile(0.5)), (0, 0, 0, 0));
        assert!(d.mean() == 0.0 && d.std_dev() == 0.0);
    }
}
