//! `csr-scalar`: one thread per row of CSR. On a CPU a task is about 16 `block` rows and non-zeros, counted together.

use super::{CUDA_STORE, cuda};
use crate::cpu::{CpuProducts, CpuTask, rows::by_rows};
use crate::family::{Elsewhere, Family, Run, StripRule};
use crate::recipe::{LaunchStep, Recipe};
use sparsight_matrix::Scalar;

/// One thread per row of CSR.
pub(super) static FAMILY: Family = Family {
    name: "csr-scalar",
    summary: "one thread per row of CSR",
    run: |_| Run::Launches(&RECIPE),
    cpu: Some(CpuProducts { f32: product, f64: product }),
    strip_rule: StripRule::Ell,
    // CSR in the paper is without the longest row, for which a thread waits as in ELL: the error of `neighbours` in
    // cross-validation on an H200 falls by a third with it, that of `linear` by more.
    elsewhere: &[Elsewhere { library: "CUSP", name: "spmv_csr_scalar" }],
    ..Family::BASE
};

static RECIPE: Recipe = Recipe {
    sources: &[CUDA_STORE, cuda!("csr_scalar.cu")],
    reads_offsets: true,
    steps: &[LaunchStep { entry: "csr_scalar", ..LaunchStep::BASE }],
    ..Recipe::BASE
};

/// y = A x with one sum a row.
fn product<T: Scalar>(task: &mut CpuTask<'_, T>) {
    by_rows::<T, 1>(task);
}
