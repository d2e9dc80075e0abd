//! `csr-segmented`: a warp per run of non-zeros of CSR, segmented sums by a bit an entry.

use super::{CUDA_OVERLAP, CUDA_STORE, CUDA_STREAM, CUDA_TEAM, cuda};
use crate::StripUnit;
use crate::family::{Elsewhere, Family, Run, blocks_of_threads};
use crate::recipe::{LaunchStep, Recipe, Teams};
use sparsight_matrix::Format;

/// A warp per run of 1,024 non-zeros. Not on a CPU, where rows are found by their offsets at no cost.
pub(super) static FAMILY: Family = Family {
    name: "csr-segmented",
    summary: "a warp per run of non-zeros of CSR, segmented sums by a bit an entry",
    format: |_| Format::of("csr-segmented", [0; 2]),
    // Its warps know nothing of each other, so that the size matters little.
    blocks: |_| &[128, 256, 512],
    run: |_| Run::Launches(&RECIPE),
    // A thread takes 32 of them, in 8 steps of 4.
    thread_blocks: |_, block, f| blocks_of_threads(StripUnit::NonZeros, 1, block, f) / 32.0,
    // It gives threads to non-zeros, as COO does.
    elsewhere: &[Elsewhere { library: "Liu and Vinter", name: "CSR5, nearest" }],
    ..Family::BY_NON_ZEROS
};

static RECIPE: Recipe = Recipe {
    sources: &[CUDA_STORE, CUDA_STREAM, CUDA_TEAM, CUDA_OVERLAP, cuda!("csr_segmented.cu")],
    steps: &[
        LaunchStep {
            entry: "csr_segmented",
            teams: |number, _, _| Teams { count: number("run_count"), threads: 32 },
            ..LaunchStep::BASE
        },
        LaunchStep {
            entry: "csr_segmented_rest",
            teams: |number, _, _| Teams { count: number("carry_count") + number("empty_count"), threads: 1 },
            may_overlap: true,
            ..LaunchStep::BASE
        },
    ],
    is_exclusive: true,
    ..Recipe::BASE
};
