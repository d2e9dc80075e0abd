//! Decision rules that choose a kernel by row lengths alone, learned from the profiles of two GPUs.
//!
//! The `.json` files beside this one hold two answers each, one a value type, of
//! `sparsight rules profiles/NAME --candidates csr --leaves 128 --dtype f32 --format json`, without their text in a language.

use serde::Deserialize;
use sparsight::Dtype;
use sparsight::device::cuda::RowLengthSummary;
use sparsight::kernels::{Candidate, Kernel};
use sparsight::matrix::MatrixSize;

/// The rules of one GPU for `f32` and `f64`.
#[derive(Debug, Deserialize)]
pub(crate) struct Rules {
    f32: Learned,
    f64: Learned,
}

/// What is read of an answer.
#[derive(Debug, Deserialize)]
struct Learned {
    rule: Rule,
}

/// A node of the tree.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Rule {
    Take { id: Candidate },
    Ask { quantity: Quantity, threshold: f64, at_most: Box<Rule>, more: Box<Rule> },
}

/// A number of a matrix that row offsets give.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Quantity {
    Rows,
    Columns,
    Nnz,
    RowMin,
    RowMax,
    RowMean,
    RowStd,
    RowStdOverMean,
    RowMaxOverMean,
}

impl Rule {
    /// The candidate for a matrix with these numbers.
    fn take(&self, value: &impl Fn(Quantity) -> f64) -> Candidate {
        match self {
            Self::Take { id } => *id,
            Self::Ask { quantity, threshold, at_most, more } => {
                if value(*quantity) <= *threshold {
                    at_most.take(value)
                } else {
                    more.take(value)
                }
            }
        }
    }
}

impl Rules {
    /// The rules for the GPU whose shipped profile has that name. GPUs that were calibrated take those of the H100: what they choose is timed
    /// beside cuSPARSE before it is used.
    pub(crate) fn of_profile(name: &str) -> Self {
        let answers = match name {
            "nvidia-h200" => include_str!("nvidia-h200.json"),
            _ => include_str!("nvidia-h100.json"),
        };
        serde_json::from_str(answers).expect("the answers in this folder are rules of the catalogue")
    }

    /// Candidates that need nothing but CSR, the most promising first: the one that the rules name, and the two with half and twice as
    /// many threads a row.
    pub(crate) fn choose(
        &self,
        size: MatrixSize,
        lengths: &RowLengthSummary,
        dtype: Dtype,
    ) -> Vec<Candidate> {
        let (rows, nnz) = (size.nrows as f64, size.nnz as f64);
        let mean = nnz / rows.max(1.0);
        let deviation = (lengths.squares as f64 / rows.max(1.0) - mean * mean).max(0.0).sqrt();
        let over_mean = |value: f64| if nnz > 0.0 { value / mean } else { 0.0 };
        let value = |quantity: Quantity| match quantity {
            Quantity::Rows => rows,
            Quantity::Columns => size.ncols as f64,
            Quantity::Nnz => nnz,
            Quantity::RowMin => lengths.min as f64,
            Quantity::RowMax => lengths.max as f64,
            Quantity::RowMean => mean,
            Quantity::RowStd => deviation,
            Quantity::RowStdOverMean => over_mean(deviation),
            Quantity::RowMaxOverMean => over_mean(lengths.max as f64),
        };
        let learned = if dtype == Dtype::F32 { &self.f32 } else { &self.f64 };
        let chosen = learned.rule.take(&value);
        let mut by_threads: Vec<Kernel> = of_csr().collect();
        by_threads.sort_by_key(|kernel| kernel.threads_per_row());
        let at = by_threads.iter().position(|kernel| *kernel == chosen.kernel).unwrap_or_default();
        let near = [Some(at), at.checked_sub(1), Some(at + 1)];
        let kernels = near.into_iter().flatten().filter_map(|at| by_threads.get(at));
        kernels.map(|kernel| Candidate { kernel: *kernel, ..chosen }).collect()
    }
}

/// Our kernels that read plain CSR.
fn of_csr() -> impl Iterator<Item = Kernel> {
    Kernel::all().filter(|kernel| kernel.format().is_csr() && !kernel.is_vendors())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_choose_known_kernels_for_all_shapes_of_rows() {
        for profile in ["nvidia-h100", "nvidia-h200", "a calibrated GPU"] {
            for dtype in [Dtype::F32, Dtype::F64] {
                for (nrows, length, max) in
                    [(10, 1, 1), (100_000, 3, 40), (3_000_000, 27, 27), (5, 90_000, 200_000)]
                {
                    let size = MatrixSize { nrows, ncols: nrows, nnz: nrows * length };
                    let lengths = RowLengthSummary { min: 0, max, squares: nrows * length * length };
                    let chosen = Rules::of_profile(profile).choose(size, &lengths, dtype);
                    assert!((2..=3).contains(&chosen.len()), "{chosen:?}");
                    assert!(chosen.iter().all(|one| one.dtype == dtype && one.format().is_csr()));
                }
            }
        }
    }
}
