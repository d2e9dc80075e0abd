//! `csr-vector`: a team of threads per row of CSR. On a CPU a task is about 16 `block` rows and non-zeros, counted
//! together, with as many partial sums a row of at least 64 entries.

use super::{CUDA_STORE, CUDA_TEAM, cuda};
use crate::cpu::{CpuProducts, CpuTask, rows::by_rows};
use crate::family::{Elsewhere, Family, Run, StripRule, blocks_of_threads, work_of_teams};
use crate::recipe::{LaunchStep, Recipe, Teams};
use crate::{Knobs, StripUnit};
use sparsight_matrix::{Knob, Scalar};

/// `t` threads of a warp per row of CSR.
pub(super) static FAMILY: Family = Family {
    name: "csr-vector",
    summary: "a team of threads of a warp per row of CSR",
    knobs: &[Knob { letter: 't', meaning: "threads per row" }],
    variants: || [2, 4, 8, 16, 32].map(|threads| [threads, 0, 0]).to_vec(),
    run: |_| Run::Launches(&RECIPE),
    cpu: Some(CpuProducts { f32: product, f64: product }),
    threads_per_row: |[threads, ..]| Some(threads),
    warp_work: |[threads, ..], block, f| Some(work_of_teams(threads, block, f)),
    thread_blocks: |[threads, ..], block, f| blocks_of_threads(StripUnit::Rows, threads, block, f),
    strip_rule: StripRule::Csr,
    // As for csr-scalar: a team waits for the longest row, too.
    elsewhere: &[
        Elsewhere { library: "CUSP", name: "spmv_csr_vector" },
        Elsewhere { library: "Ginkgo", name: "matrix::Csr, strategy classical" },
    ],
    ..Family::BASE
};

/// Two sums a row. Measured on an EPYC over 17 real matrices with one thread: 1.19 times the speed of scipy's loop (median, least 1.04), as
/// against 1.12 with one sum (least 0.99) and 1.17 with four (least 0.93).
pub(super) const ON_AN_UNKNOWN_CPU: (&Family, Knobs) = (&FAMILY, [2, 0, 0]);

static RECIPE: Recipe = Recipe {
    sources: &[CUDA_STORE, CUDA_TEAM, cuda!("csr_vector.cu")],
    definitions: |[threads, ..]| vec![("THREADS_PER_ROW", threads)],
    reads_offsets: true,
    steps: &[LaunchStep {
        entry: "csr_vector",
        teams: |number, [threads, ..], _| Teams { count: number("nrows"), threads },
        ..LaunchStep::BASE
    }],
    ..Recipe::BASE
};

/// y = A x with as many partial sums a row, each over every so-many-th entry.
fn product<T: Scalar>(task: &mut CpuTask<'_, T>) {
    match task.knobs[0] {
        2 => by_rows::<T, 2>(task),
        4 => by_rows::<T, 4>(task),
        8 => by_rows::<T, 8>(task),
        16 => by_rows::<T, 16>(task),
        32 => by_rows::<T, 32>(task),
        other => panic!("csr-vector has no variant with {other} threads per row"),
    }
}
