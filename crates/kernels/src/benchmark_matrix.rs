//! The benchmark matrices with which a device is instrumented, as data and as a formula.
//!
//! Every entry follows from the seed, its row and its place in the row, so a device generates them in place
//! (copying gigabytes there would take longer than the benchmark) and the host can check any of them.
//! The same arithmetic stands in `cuda/benchmark_matrix.cu`.
//!
//! Sources: Guo, Wang and Chen 2014, section 3.2. Where the columns lie is not in the papers ("the value of C
//! does not affect the performance"); on a GPU with a large L2 it decides up to a factor of 3.

use crate::Format;
use serde::{Deserialize, Serialize};
use sparsight_matrix::{Bytes, Csr, Dtype, Scalar, mix};
use std::fmt;

/// Where the columns of a benchmark matrix lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Placement {
    /// Neighbouring columns next to the diagonal: x is found in cache.
    Banded,
    /// One column at random in each of p equal parts of x: every entry of x is fetched anew.
    Strewn,
}

impl Placement {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Banded, Self::Strewn];

    /// The one name used in records and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Banded => "banded",
            Self::Strewn => "strewn",
        }
    }
}

impl fmt::Display for Placement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A square benchmark matrix with `row_length` non-zeros in each row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct BenchmarkMatrix {
    /// Rows and columns.
    pub nrows: u64,
    /// Non-zeros a row, p; at most `nrows`.
    pub row_length: u64,
    /// Where they lie.
    pub placement: Placement,
    /// Seed of columns and values.
    pub seed: u64,
}

impl BenchmarkMatrix {
    /// Non-zeros.
    pub const fn nnz(&self) -> u64 {
        self.nrows * self.row_length
    }

    /// Bytes that matrix, x and y take in `format`: the papers' memory bound on p, solved for the memory.
    pub fn bytes(&self, format: Format, dtype: Dtype) -> Bytes {
        let matrix = match format {
            Format::Csr => Csr::<f32>::device_bytes(self.nrows, self.nnz(), dtype).0,
            Format::Ell => sparsight_matrix::Ell::<f32>::device_bytes(self.nrows, self.row_length, dtype).0,
            Format::Coo | Format::Hyb => (8 + dtype.bytes()) * self.nnz(),
            Format::Jad => {
                let (n, longest) = (self.nrows, self.row_length);
                sparsight_matrix::Jad::<f32>::device_bytes(n, self.nnz(), longest, dtype).0
            }
            // Have no benchmark matrices; equal rows are not padded.
            Format::Sell(_) | Format::BroEll(_) => (4 + dtype.bytes()) * self.nnz(),
        };
        Bytes(matrix + 2 * dtype.bytes() * self.nrows)
    }

    /// Column of entry `k` of row `row`; strictly increasing in `k`, below `nrows`.
    pub fn column(&self, row: u64, k: u64) -> u32 {
        let (n, p) = (self.nrows, self.row_length);
        match self.placement {
            Placement::Banded => {
                let first = row.saturating_sub(p / 2).min(n - p);
                (first + k) as u32
            }
            Placement::Strewn => {
                // Part k is [k n / p, (k + 1) n / p); it has at least one column since p <= n.
                let (start, end) = (k * n / p, (k + 1) * n / p);
                let r = mix(self.seed ^ mix(row * p + k));
                (start + (((r >> 32) * (end - start)) >> 32)) as u32
            }
        }
    }

    /// Value of entry `k` of row `row`: in [-1, 1), never 0, exact in f32.
    pub fn value(&self, row: u64, k: u64) -> f64 {
        let r = mix(!self.seed ^ mix(row * self.row_length + k));
        // 23 random bits m give (2 m + 1) / 2^23 - 1: odd numerators, so 0 does not occur.
        ((2 * (r >> 41) + 1) as f64) / f64::from(1 << 23) - 1.0
    }

    /// The matrix on the host. O(nnz).
    ///
    /// # Panics
    /// If `row_length > nrows`.
    pub fn to_csr<T: Scalar>(&self) -> Csr<T> {
        assert!(self.row_length <= self.nrows, "a row cannot be longer than the matrix is wide");
        let entries = || (0..self.nrows).flat_map(|row| (0..self.row_length).map(move |k| (row, k)));
        let row_ptr = (0..=self.nrows).map(|row| row * self.row_length).collect();
        let col_idx = entries().map(|(row, k)| self.column(row, k)).collect();
        let values = entries().map(|(row, k)| T::from_f64(self.value(row, k))).collect();
        let n = self.nrows as usize;
        Csr::try_new(n, n, row_ptr, col_idx, values).expect("columns increase within a row by construction")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_placements_are_matrices_with_p_entries_in_every_row() {
        for placement in Placement::ALL {
            for (nrows, row_length) in [(1, 1), (7, 7), (100, 3), (64, 0), (33, 32)] {
                let m = BenchmarkMatrix { nrows, row_length, placement, seed: 1 };
                let a = m.to_csr::<f32>();
                assert_eq!(a.nnz() as u64, m.nnz());
                assert!(a.values().iter().all(|v| *v != 0.0 && (-1.0..1.0).contains(v)));
            }
        }
    }

    #[test]
    fn banded_columns_stay_next_to_the_diagonal_and_strewn_ones_cover_x() {
        let m = |placement| BenchmarkMatrix { nrows: 1000, row_length: 10, placement, seed: 3 };
        let far = |placement| {
            (0..1000).flat_map(|r| (0..10).map(move |k| m(placement).column(r, k).abs_diff(r as u32))).max()
        };
        assert!(far(Placement::Banded).unwrap() <= 10);
        assert!(far(Placement::Strewn).unwrap() > 900);
    }
}
