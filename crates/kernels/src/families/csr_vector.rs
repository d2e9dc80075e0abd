//! `csr-vector`: a team of threads per row of CSR. On a CPU a task is `block` rows, with as many partial sums a row, which
//! the compiler can vectorise.

use super::{CUDA_STORE, CUDA_TEAM, cuda};
use crate::cpu::{CpuProducts, CpuTask, rows::by_rows, rows::strided};
use crate::family::{
    EVERYWHERE, Elsewhere, Family, Run, StripRule, TransferRule, blocks_of_threads, work_of_teams,
};
use crate::recipe::{LaunchStep, Recipe, Teams, no_shared_bytes};
use crate::{BLOCKS, StripUnit};
use sparsight_matrix::{Csr, Format, Knob, Scalar};

/// `t` threads of a warp per row of CSR.
pub(super) static FAMILY: Family = Family {
    name: "csr-vector",
    summary: "a team of threads of a warp per row of CSR",
    knobs: &[Knob { letter: 't', meaning: "threads per row" }],
    variants: || [2, 4, 8, 16, 32].map(|threads| [threads, 0, 0]).to_vec(),
    retired: |_| false,
    repeatable: |_| true,
    format: |_| Format::csr(),
    runs_on: |_| EVERYWHERE,
    blocks: |_| &BLOCKS,
    run: |_| Run::Launches(&RECIPE),
    cpu: Some(CpuProducts { f32: product, f64: product }),
    unit: StripUnit::Rows,
    threads_per_row: |[threads, ..]| Some(threads),
    warp_work: |[threads, ..], block, f| Some(work_of_teams(threads, block, f)),
    thread_blocks: |[threads, ..], block, f| blocks_of_threads(StripUnit::Rows, threads, block, f),
    strip_rule: StripRule::Csr,
    transfer_rule: TransferRule::Csr,
    // As for csr-scalar: a team waits for the longest row, too.
    table_2: &["CSR", "ELL"],
    neighbours: 4,
    elsewhere: &[
        Elsewhere { library: "CUSP", name: "spmv_csr_vector" },
        Elsewhere { library: "Ginkgo", name: "matrix::Csr, strategy classical" },
    ],
};

static RECIPE: Recipe = Recipe {
    sources: &[CUDA_STORE, CUDA_TEAM, cuda!("csr_vector.cu")],
    definitions: |[threads, ..]| vec![("THREADS_PER_ROW", threads)],
    reads_offsets: true,
    steps: &[LaunchStep {
        entry: "csr_vector",
        part: "",
        teams: |number, [threads, ..], _| Teams { count: number("nrows"), threads },
        args: &["nrows", "row_ptr", "col_idx", "values", "x", "y", "alpha", "beta"],
        may_overlap: false,
    }],
    shared_bytes: no_shared_bytes,
    is_exclusive: false,
};

/// y = A x with as many partial sums a row, each over every so-many-th entry.
fn product<T: Scalar>(task: &mut CpuTask<'_, T>) {
    let (a, block, x, y) = (task.matrix::<Csr<T>>(), task.block, task.x, &mut *task.y);
    match task.knobs[0] {
        2 => by_rows(a, block, y, |cols, values| strided::<T, 2>(cols, values, x)),
        4 => by_rows(a, block, y, |cols, values| strided::<T, 4>(cols, values, x)),
        8 => by_rows(a, block, y, |cols, values| strided::<T, 8>(cols, values, x)),
        16 => by_rows(a, block, y, |cols, values| strided::<T, 16>(cols, values, x)),
        32 => by_rows(a, block, y, |cols, values| strided::<T, 32>(cols, values, x)),
        other => panic!("csr-vector has no variant with {other} threads per row"),
    }
}
