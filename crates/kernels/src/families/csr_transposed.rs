//! y = alpha A^T x + beta y by CSR as it lies. It is no family of the catalogue, which computes A x: plans for A^T store it transposed.

use super::{CUDA_CLEAR, CUDA_OVERLAP, cuda};
use crate::recipe::{LaunchStep, Recipe, Teams};

/// Launches; the one knob is the number of threads a row, 1 to 32, a power of two. The part `transposed.` has a row for each column.
pub static TRANSPOSED: Recipe = Recipe {
    sources: &[CUDA_OVERLAP, CUDA_CLEAR, cuda!("csr_transposed.cu")],
    definitions: |[threads, ..]| vec![("THREADS_PER_ROW", threads)],
    reads_offsets: true,
    steps: &[
        LaunchStep { entry: "clear", part: "transposed.", ..LaunchStep::BASE },
        LaunchStep {
            entry: "csr_transposed",
            teams: |number, [threads, ..], _| Teams { count: number("nrows"), threads },
            may_overlap: true,
            ..LaunchStep::BASE
        },
    ],
    ..Recipe::BASE
};
