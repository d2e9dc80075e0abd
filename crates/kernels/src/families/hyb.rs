//! `hyb`: ELL, then COO added to it.

use super::coo::{self, CUDA_COO, Start};
use super::ell::{self, CUDA_ELL};
use super::{CUDA_OVERLAP, CUDA_STORE, CUDA_STREAM};
use crate::cpu::{CpuProducts, CpuTask};
use crate::family::{Elsewhere, Family, Run, StripRule, WarpWork, work_of_teams};
use crate::recipe::{LaunchStep, Recipe};
use sparsight_matrix::{Format, Hyb, Scalar};

/// ELL, then COO.
pub(super) static FAMILY: Family = Family {
    name: "hyb",
    summary: "one thread per row of the ELL part, then a warp per run of the COO part",
    // COO adds to rows of the first part by atomics.
    repeatable: |_| false,
    format: |_| Format::of("hyb", [0; 2]),
    run: |_| Run::Launches(&RECIPE),
    cpu: Some(CpuProducts { f32: product, f64: product }),
    // No row of the first part is longer than that is wide.
    warp_work: |_, block, f| {
        let (width, of_teams) = (f.hyb.width as f64, work_of_teams(1, block, f));
        let most = width * f.nrows.div_ceil(32) as f64;
        Some(WarpWork {
            longest: width,
            steps: of_teams.steps.min(most),
            heaviest: of_teams.heaviest.min(width * f64::from(block) / 32.0),
            kept: of_teams.kept.min(most),
        })
    },
    strip_rule: StripRule::Parts { ell: "ell", coo: "coo" },
    // Those of its two parts.
    elsewhere: &[Elsewhere { library: "CUSP", name: "spmv_hyb" }],
    ..Family::BASE
};

static RECIPE: Recipe = Recipe {
    sources: &[CUDA_STORE, CUDA_STREAM, CUDA_OVERLAP, CUDA_ELL, CUDA_COO],
    definitions: |_| vec![("ITEMS", coo::items([0; 3])), ("ACCUMULATE", 1), ("FOLLOWED", 1)],
    steps: &[
        // With width 0 this only scales y.
        LaunchStep { part: "ell.", ..ell::STEP },
        LaunchStep { part: "coo.", ..coo::ADD },
    ],
    ..Recipe::BASE
};

/// y = A x.
fn product<T: Scalar>(task: &mut CpuTask<'_, T>) {
    let a = task.matrix::<Hyb<T>>();
    let tasks = (task.workers, task.block);
    ell::multiply(a.ell(), tasks, task.x, task.y);
    coo::add_or_set(a.coo(), tasks, Start::AsItIs, task.x, task.y, &mut task.scratch.carries);
}
