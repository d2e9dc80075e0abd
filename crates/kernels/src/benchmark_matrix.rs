//! The benchmark matrices with which a device is instrumented, as data and as a formula.
//!
//! Every entry follows from the seed, its row and its place in the row, so a device generates them in place
//! (copying gigabytes there would take longer than the benchmark) and the host can check any of them.
//! The same arithmetic stands in `cuda/benchmark_matrix.cu`, but for the lengths of the rows: where they differ, the
//! host draws them and a device is told.
//!
//! Sources: Guo, Wang and Chen 2014, section 3.2; Wang, Gu and Li 2017, section 3.1, for drawn lengths. Where the columns lie is not in the papers ("the value of C
//! does not affect the performance"); on a GPU with a large L2 it decides up to a factor of 3.

use crate::RowLengthDistribution;
use serde::{Deserialize, Serialize};
use sparsight_matrix::{Bytes, Csr, Dtype, Features, Format, Scalar, mix};
use std::fmt;

/// Placement of the columns of a benchmark matrix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Placement {
    /// Neighbouring columns next to the diagonal: x is found in cache.
    Banded,
    /// A random column in each of as many equal parts of x as the row has entries: every entry of x is fetched
    /// again. Recorded as `strewn`.
    #[serde(rename = "strewn")]
    Scattered,
}

impl Placement {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Banded, Self::Scattered];

    /// The one name used in records and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Banded => "banded",
            Self::Scattered => "strewn",
        }
    }
}

impl fmt::Display for Placement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Set in the seed of the row lengths, so that they and the values do not follow from the same numbers.
const LENGTHS: u64 = 0x6c65_6e67_7468_7321;

/// A square benchmark matrix with `row_length` non-zeros in each row, or so many on average.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct BenchmarkMatrix {
    /// Rows and columns.
    pub nrows: u64,
    /// Mean of the non-zeros a row, p; at most `nrows`.
    pub row_length: u64,
    /// Distribution of the row lengths around it. A row drawn longer than the matrix is wide is cut to its width, which
    /// lowers the mean where `2 row_length` is beyond `nrows`.
    #[serde(default)]
    pub lengths: RowLengthDistribution,
    /// Placement of the columns.
    pub placement: Placement,
    /// Seed of lengths, columns and values.
    pub seed: u64,
}

impl BenchmarkMatrix {
    /// The longest row that can come up; entries are numbered as if every row had so many.
    pub const fn longest(&self) -> u64 {
        match self.lengths {
            RowLengthDistribution::Constant => self.row_length,
            drawn => {
                let longest = drawn.longest(self.row_length);
                if longest < self.nrows { longest } else { self.nrows }
            }
        }
    }

    /// Non-zeros of `row`.
    pub fn length(&self, row: u64) -> u64 {
        match self.lengths {
            RowLengthDistribution::Constant => self.row_length,
            drawn => drawn.draw(self.row_length, mix(self.seed ^ LENGTHS ^ mix(row))).min(self.nrows),
        }
    }

    /// Bytes that matrix, x and y take in `format`: the papers' memory bound on p, solved for the memory. With drawn
    /// lengths that of their mean, in ELL that of the longest row that can come up;
    /// [`BenchmarkRows::bytes`](crate::BenchmarkRows::bytes) counts what was drawn.
    pub fn bytes(&self, format: Format, dtype: Dtype) -> Bytes {
        self.bytes_with(self.nrows.saturating_mul(self.row_length), self.longest(), format, dtype)
    }

    /// Bytes with `nnz` non-zeros, `longest` of them in the longest row.
    pub(crate) fn bytes_with(&self, nnz: u64, longest: u64, format: Format, dtype: Dtype) -> Bytes {
        let matrix = format.device_bytes(&Features::largest(self.nrows, nnz, longest), dtype).0;
        Bytes(matrix.saturating_add(self.nrows.saturating_mul(2 * dtype.bytes())))
    }

    /// Column of entry `k` of row `row`, which has `length` entries; strictly increasing in `k`, below `nrows`.
    ///
    /// `length` is that of [`BenchmarkMatrix::length`], drawn once a row and not once an entry.
    pub fn column(&self, row: u64, length: u64, k: u64) -> u32 {
        let n = self.nrows;
        match self.placement {
            Placement::Banded => {
                let first = row.saturating_sub(length / 2).min(n - length);
                (first + k) as u32
            }
            Placement::Scattered => {
                // Part k is [k n / length, (k + 1) n / length); it has at least one column since length <= n.
                let (start, end) = (k * n / length, (k + 1) * n / length);
                let r = mix(self.seed ^ mix(self.number(row, k)));
                (start + (((r >> 32) * (end - start)) >> 32)) as u32
            }
        }
    }

    /// Number that is unique to an entry.
    const fn number(&self, row: u64, k: u64) -> u64 {
        row * self.longest() + k
    }

    /// Value of entry `k` of row `row`: in [-1, 1), never 0, exact in f32.
    pub fn value(&self, row: u64, k: u64) -> f64 {
        let r = mix(!self.seed ^ mix(self.number(row, k)));
        // 23 random bits m give (2 m + 1) / 2^23 - 1: odd numerators, so 0 does not occur.
        ((2 * (r >> 41) + 1) as f64) / f64::from(1 << 23) - 1.0
    }

    /// The matrix on the host. O(nnz).
    ///
    /// # Panics
    /// If `row_length > nrows`.
    pub fn to_csr<T: Scalar>(&self) -> Csr<T> {
        let rows = self.rows(Bytes(u64::MAX)).expect("a row cannot be longer than the matrix is wide");
        let entries = || {
            let lengths = (0..self.nrows).map(|row| (row, self.length(row)));
            lengths.flat_map(|(row, length)| (0..length).map(move |k| (row, length, k)))
        };
        let col_idx = entries().map(|(row, length, k)| self.column(row, length, k)).collect();
        let values = entries().map(|(row, _, k)| T::from_f64(self.value(row, k))).collect();
        let n = self.nrows as usize;
        Csr::try_new(n, n, rows.into_offsets(), col_idx, values)
            .expect("columns increase within a row by construction")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sparsight_matrix::{Infeasible, RowLengths};

    fn matrix(nrows: u64, row_length: u64, lengths: RowLengthDistribution) -> BenchmarkMatrix {
        BenchmarkMatrix { nrows, row_length, lengths, placement: Placement::Scattered, seed: 1 }
    }

    #[test]
    fn both_placements_are_matrices_with_rows_of_the_lengths_drawn() {
        for placement in Placement::ALL {
            for lengths in RowLengthDistribution::ALL {
                // In the second, third and last, rows of twice the mean would be longer than the matrix is wide.
                for (nrows, row_length) in [(1, 1), (7, 7), (9, 5), (100, 3), (64, 0), (33, 32)] {
                    let m = BenchmarkMatrix { placement, ..matrix(nrows, row_length, lengths) };
                    let a = m.to_csr::<f32>();
                    let rows = m.rows(Bytes(u64::MAX)).unwrap();
                    assert_eq!(a.nnz() as u64, rows.nnz(), "{m:?}");
                    assert_eq!(RowLengths::of(&a), *rows.lengths(), "{m:?}");
                    assert!(rows.longest() <= m.longest() && m.longest() <= nrows, "{m:?}");
                    let starts: Vec<u64> = (0..=nrows).map(|row| rows.start(row)).collect();
                    assert_eq!(a.row_ptr(), starts, "{m:?}");
                    assert!(a.values().iter().all(|v| *v != 0.0 && (-1.0..1.0).contains(v)));
                }
            }
        }
    }

    #[test]
    fn banded_columns_stay_next_to_the_diagonal_and_scattered_ones_cover_x() {
        let m =
            |placement| BenchmarkMatrix { placement, ..matrix(1000, 10, RowLengthDistribution::Constant) };
        let far = |placement| {
            let column = move |r, k| m(placement).column(r, 10, k);
            (0..1000).flat_map(|r| (0..10).map(move |k| column(r, k).abs_diff(r as u32))).max()
        };
        assert!(far(Placement::Banded).unwrap() <= 10);
        assert!(far(Placement::Scattered).unwrap() > 900);
    }

    #[test]
    fn drawn_lengths_have_the_mean_and_the_spread_that_are_promised() {
        let n = 200_000;
        for p in [1_u64, 4, 64, 1024, 3072] {
            let mean = p as f64;
            // Uniform: variance p (p + 1) / 3. Normal: (p / 3)^2 of the draw, rounding adds up to 1/12 and cutting takes
            // up to 0.5 % (a true normal draw cut at three standard deviations loses that; this one loses less).
            let drawn = (mean / 3.0).powi(2);
            for (lengths, least, most) in [
                (RowLengthDistribution::Uniform, mean * (mean + 1.0) / 3.0, mean * (mean + 1.0) / 3.0),
                (RowLengthDistribution::Normal, 0.995 * drawn, drawn + 1.0 / 12.0),
            ] {
                let rows = matrix(n, p, lengths).rows(Bytes(u64::MAX)).unwrap();
                let d = rows.lengths();
                // The mean of n draws is off by sigma / sqrt(n), hardly ever by five times that. The variance of n
                // draws by at most sqrt(2 / n) of itself, since neither has heavier tails than a normal draw.
                assert!(
                    (d.mean() - mean).abs() < 5.0 * (most / n as f64).sqrt(),
                    "{lengths} {p}: {}",
                    d.mean()
                );
                let (variance, slack) = (d.std_dev().powi(2), 5.0 * (2.0 / n as f64).sqrt());
                assert!(
                    variance > least * (1.0 - slack) && variance < most * (1.0 + slack),
                    "{lengths} {p}: {variance}"
                );
                assert_eq!((d.nrows(), d.nnz()), (n, rows.start(n)));
            }
        }
    }

    #[test]
    fn normal_lengths_lie_in_the_shares_of_a_normal_distribution() {
        // 68.27 and 95.45 % within one and two standard deviations; twelve uniform draws are at most 0.3 % off (their
        // kurtosis is 2.9), a length more or less at the ends makes 2/1000 of a density of 0.24, and the share of
        // n = 200,000 draws is off by less than 5 sqrt(0.22 / n) = 0.5 %.
        let rows = matrix(200_000, 3000, RowLengthDistribution::Normal).rows(Bytes(u64::MAX)).unwrap();
        for (sigmas, share) in [(1, 0.6827), (2, 0.9545)] {
            let within = rows.lengths().counts().iter().filter(|(d, _)| d.abs_diff(3000) <= 1000 * sigmas);
            let found = within.map(|c| c.1).sum::<u64>() as f64 / 200_000.0;
            assert!((found - share).abs() < 0.009, "{found} within {sigmas} sigma");
        }
    }

    #[test]
    fn a_seed_draws_its_lengths_again_and_another_one_others() {
        for lengths in [RowLengthDistribution::Uniform, RowLengthDistribution::Normal] {
            let m = matrix(40_000, 16, lengths);
            let rows = |m: BenchmarkMatrix| m.rows(Bytes(u64::MAX)).unwrap();
            let one_thread = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
            assert_eq!(rows(m), one_thread.install(|| rows(m)), "with any number of threads");
            assert_ne!(rows(m).offsets(), rows(BenchmarkMatrix { seed: 2, ..m }).offsets());
            assert_eq!(
                rows(m).offsets(),
                rows(BenchmarkMatrix { placement: Placement::Banded, ..m }).offsets()
            );
        }
    }

    #[test]
    fn rows_that_cannot_be_are_refused_before_anything_is_drawn() {
        let m = matrix(1 << 40, 8, RowLengthDistribution::Uniform);
        assert!(matches!(m.rows(Bytes(1 << 30)), Err(Infeasible::DoesNotFit { .. })));
        let wide = matrix(10, 11, RowLengthDistribution::Normal).rows(Bytes(1 << 30));
        assert_eq!(wide, Err(Infeasible::LongerThanWide { row_length: 11, ncols: 10 }));
    }
}
