//! The handful of benchmark matrices that a transfer takes of a device.
//!
//! ```text
//!                   non-zeros a row p, strips I                                     matrices
//! csr-vector        p = 4 64 | M 2M 4M at I = 1;  I = 4, 8 at p = 4 and p = M       nine; M: the largest thread block
//!   on a CPU        p = 4 64 256 at I = 1;        I = 4, 8 at p = 4                 five: there is no threshold
//! csr-scalar, ell, jad   p = 4 64 256 at I = 1;   I = 4, 8 at p = 4                 five
//! coo, csr-balanced p = 1, 10, 50 in one strip of rows or items                     three
//! hyb               those of ELL and COO                                            none
//! ```
//! How many there are and how they share rows and strips is the paper's (Guo and Wang 2013, sections 4.1.1, 4.2.1, 4.3.1,
//! 4.4.1); the values it leaves open. Here I starts with one strip, so that the matrix with the fewest strips, whose time is
//! the initialization time, is that of the lines over p; 2M stands for the threshold of a reference whose blocks are
//! twice as large. All are points of the full grid of a device whose largest block is 1,024.

use super::TransferRule;
use sparsight_kernels::Kernel;

/// Strips, I; the first is `I_0`, the second and third the paper's `I_1` and `I_2`.
pub(super) const STRIPS: [u64; 3] = [1, 4, 8];
/// The least p, `X_00` and `X_1` of the paper.
pub(super) const SHORTEST: u64 = 4;
/// p of one strip of rows, for COO.
const COO_ROW_LENGTHS: [u64; 3] = [1, 10, 50];

/// Strips of non-zeros, or of rows and non-zeros, of the benchmark matrices of a kernel that is transferred as COO.
pub(super) fn coo_strips(kernel: Kernel) -> [u64; 3] {
    COO_ROW_LENGTHS.map(|p| kernel.unit().count(1, p))
}

/// A benchmark matrix by its place on the grid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HandfulPoint {
    /// Non-zeros a row, p.
    pub row_length: u64,
    /// Strips, I: of rows, for COO of non-zeros.
    pub strips: u64,
}

/// p of one thread per row, and of a team of threads on a device without a threshold.
pub(super) const fn row_lengths() -> [u64; 3] {
    [SHORTEST, 64, 256]
}

/// p of a team of threads, up to the threshold and from it on.
pub(super) const fn row_lengths_around(threshold: u64) -> [[u64; 3]; 2] {
    [[SHORTEST, 64, threshold], [threshold, 2 * threshold, 4 * threshold]]
}

/// The benchmark matrices of `kernel` on a device with this threshold on p, its largest thread block
/// ([`DeviceFacts::max_threads_per_block`](sparsight_kernels::DeviceFacts::max_threads_per_block)); none for kernels that
/// have none of their own.
///
/// COO takes any row lengths; those named are the strips that the grid makes of one strip of rows.
pub fn handful(kernel: Kernel, threshold: Option<u64>) -> Vec<HandfulPoint> {
    let cross = |row_lengths: [u64; 3]| {
        let over_row_length = row_lengths.map(|row_length| HandfulPoint { row_length, strips: STRIPS[0] });
        let over_strips =
            [STRIPS[1], STRIPS[2]].map(|strips| HandfulPoint { row_length: row_lengths[0], strips });
        over_row_length.into_iter().chain(over_strips)
    };
    let mut points: Vec<HandfulPoint> = match TransferRule::of(kernel) {
        _ if !kernel.has_benchmark_matrices() => Vec::new(),
        TransferRule::Csr => match threshold {
            Some(threshold) => row_lengths_around(threshold).into_iter().flat_map(cross).collect(),
            None => cross(row_lengths()).collect(),
        },
        TransferRule::Ell { .. } => cross(row_lengths()).collect(),
        TransferRule::Coo { .. } => {
            let points = COO_ROW_LENGTHS.into_iter().zip(coo_strips(kernel));
            points.map(|(row_length, strips)| HandfulPoint { row_length, strips }).collect()
        }
        TransferRule::Hyb { .. } | TransferRule::None => Vec::new(),
    };
    points.sort_unstable();
    points.dedup();
    points
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nine_of_csr_five_of_ell_three_of_coo_and_none_of_the_rest() {
        let count = |kernel| handful(kernel, Some(1024)).len();
        for kernel in Kernel::all() {
            let expected = match kernel.name() {
                "csr-vector" => 9,
                "csr-scalar" | "ell" | "jad" => 5,
                "coo" | "csr-balanced" => 3,
                _ => 0,
            };
            assert_eq!(count(kernel), expected, "{kernel}");
        }
        assert_eq!(handful(Kernel::known("csr-vector/t8"), None).len(), 5, "a CPU has one side");
    }

    #[test]
    fn the_nine_benchmark_matrices_cover_both_sides_of_the_threshold() {
        // Section 4.1.1: three matrices up to the threshold, three from it on, and N_1 at the reference's threshold.
        for threshold in [512, 1024] {
            let all = handful(Kernel::known("csr-vector/t32"), Some(threshold));
            let one_strip = all.iter().filter(|p| p.strips == 1);
            let lengths: Vec<u64> = one_strip.map(|p| p.row_length).collect();
            assert_eq!(lengths.iter().filter(|p| **p <= threshold).count(), 3);
            assert_eq!(lengths.iter().filter(|p| **p >= threshold).count(), 3);
            assert!(lengths.contains(&1024), "threshold {threshold} against one of 1,024");
        }
    }
}
