//! Decision rules that choose a kernel by row lengths alone, made by `sparsight rules` from the profiles of two GPUs.

#[rustfmt::skip]
#[allow(clippy::needless_return, clippy::unreadable_literal, clippy::too_many_lines, reason = "generated, and the same in all languages")]
mod nvidia_h100;
#[rustfmt::skip]
#[allow(clippy::needless_return, clippy::unreadable_literal, clippy::too_many_lines, reason = "generated, and the same in all languages")]
mod nvidia_h200;

use sparsight::Dtype;
use sparsight::device::cuda::RowLengthSummary;
use sparsight::kernels::{Candidate, Kernel};
use sparsight::matrix::MatrixSize;

/// A function of rows, columns, non-zeros, and of the least and largest length and the standard deviation of the rows.
type Choose = fn(f64, f64, f64, f64, f64, f64) -> &'static str;

/// The rules of one GPU for `f32` and `f64`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rules([Choose; 2]);

impl Rules {
    /// The rules for the GPU whose shipped profile has that name. GPUs that were calibrated take those of the H100: what they choose is timed
    /// beside cuSPARSE before it is used.
    pub(crate) fn of_profile(name: &str) -> Self {
        match name {
            "nvidia-h200" => Self([nvidia_h200::nvidia_h200_csr_f32, nvidia_h200::nvidia_h200_csr_f64]),
            _ => Self([nvidia_h100::nvidia_h100_csr_f32, nvidia_h100::nvidia_h100_csr_f64]),
        }
    }

    /// Candidates that need nothing but CSR, the most promising first: the one that the rules name, and the two with half and twice as
    /// many threads a row.
    pub(crate) fn choose(self, size: MatrixSize, lengths: &RowLengthSummary, dtype: Dtype) -> Vec<Candidate> {
        let (rows, nnz) = (size.nrows as f64, size.nnz as f64);
        let mean = nnz / rows.max(1.0);
        let deviation = (lengths.squares as f64 / rows.max(1.0) - mean * mean).max(0.0).sqrt();
        let choose = self.0[usize::from(dtype != Dtype::F32)];
        let id = choose(rows, size.ncols as f64, nnz, lengths.min as f64, lengths.max as f64, deviation);
        let chosen: Candidate = id.parse().expect("rules name candidates of the catalogue");
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
