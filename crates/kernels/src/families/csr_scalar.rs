//! `csr-scalar`: one thread per row of CSR. On a CPU a task is about 16 `block` rows and non-zeros, counted together.

use super::{CUDA_STORE, cuda};
use crate::cpu::{CpuProducts, CpuTask, rows::by_rows};
use crate::family::{
    EVERYWHERE, Elsewhere, Family, Run, StripRule, TransferRule, blocks_of_threads, work_of_teams,
};
use crate::recipe::{LaunchStep, Recipe, no_shared_bytes, rows};
use crate::{BLOCKS, StripUnit};
use sparsight_matrix::{Format, Scalar};

/// One thread per row of CSR.
pub(super) static FAMILY: Family = Family {
    name: "csr-scalar",
    summary: "one thread per row of CSR",
    knobs: &[],
    variants: || vec![[0; 3]],
    retired: |_| false,
    repeatable: |_| true,
    format: |_| Format::csr(),
    runs_on: |_| EVERYWHERE,
    blocks: |_| &BLOCKS,
    run: |_| Run::Launches(&RECIPE),
    cpu: Some(CpuProducts { f32: product, f64: product }),
    unit: StripUnit::Rows,
    threads_per_row: |_| Some(1),
    warp_work: |_, block, f| Some(work_of_teams(1, block, f)),
    thread_blocks: |_, block, f| blocks_of_threads(StripUnit::Rows, 1, block, f),
    strip_rule: StripRule::Ell,
    transfer_rule: TransferRule::Ell { measured: None },
    // CSR in the paper is without the longest row, for which a thread waits as in ELL: the error of `neighbours` in
    // cross-validation on an H200 falls by a third with it, that of `linear` by more.
    table_2: &["CSR", "ELL"],
    neighbours: 4,
    elsewhere: &[Elsewhere { library: "CUSP", name: "spmv_csr_scalar" }],
};

static RECIPE: Recipe = Recipe {
    sources: &[CUDA_STORE, cuda!("csr_scalar.cu")],
    definitions: |_| Vec::new(),
    reads_offsets: true,
    steps: &[LaunchStep {
        entry: "csr_scalar",
        part: "",
        teams: rows,
        args: &["nrows", "row_ptr", "col_idx", "values", "x", "y", "alpha", "beta"],
        may_overlap: false,
    }],
    shared_bytes: no_shared_bytes,
    is_exclusive: false,
};

/// y = A x with one sum a row.
fn product<T: Scalar>(task: &mut CpuTask<'_, T>) {
    by_rows::<T, 1>(task);
}
