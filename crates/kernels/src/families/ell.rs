//! `ell`: one thread per row of ELL. On a CPU a task is a tile of `block` rows, whose columns are added one after the other,
//! so that the tile's indices and values are read in the order in which they lie. Its part of y stays in the first-level
//! cache.

use super::{CUDA_OVERLAP, CUDA_STORE, CUDA_STREAM, cuda};
use crate::cpu::{CpuProducts, CpuTask, in_tiles};
use crate::family::{
    EVERYWHERE, Elsewhere, Family, Run, StripRule, TransferRule, blocks_of_threads, work_of_teams,
};
use crate::recipe::{LaunchStep, Recipe, no_shared_bytes, rows};
use crate::{BLOCKS, StripUnit};
use sparsight_matrix::{Ell, Format, Scalar};

/// One thread per row of ELL.
pub(super) static FAMILY: Family = Family {
    name: "ell",
    summary: "one thread per row of ELL",
    knobs: &[],
    variants: || vec![[0; 3]],
    retired: |_| false,
    repeatable: |_| true,
    format: |_| Format::of("ell", [0; 2]),
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
    table_2: &["ELL"],
    neighbours: 4,
    elsewhere: &[Elsewhere { library: "CUSP", name: "spmv_ell" }],
};

/// The source of the kernel, which HYB has, too.
pub(super) const CUDA_ELL: &str = cuda!("ell.cu");

/// The launch.
pub(super) const STEP: LaunchStep = LaunchStep {
    entry: "ell",
    part: "",
    teams: rows,
    args: &["nrows", "width", "stride", "col_idx", "values", "x", "y", "alpha", "beta"],
    may_overlap: false,
};

static RECIPE: Recipe = Recipe {
    sources: &[CUDA_STORE, CUDA_STREAM, CUDA_OVERLAP, CUDA_ELL],
    definitions: |_| vec![("FOLLOWED", 0)],
    reads_offsets: false,
    steps: &[STEP],
    shared_bytes: no_shared_bytes,
    is_exclusive: false,
};

fn product<T: Scalar>(task: &mut CpuTask<'_, T>) {
    multiply(task.matrix::<Ell<T>>(), (task.workers, task.block), task.x, task.y);
}

/// y = A x.
pub(super) fn multiply<T: Scalar>(a: &Ell<T>, (workers, block): (usize, usize), x: &[T], y: &mut [T]) {
    in_tiles(workers, block, y, |row, y| {
        y.fill(T::default());
        for k in 0..a.width() {
            let first = k * a.stride() + row;
            let cols = &a.col_idx()[first..first + y.len()];
            let values = &a.values()[first..first + y.len()];
            for ((y, &col), &value) in y.iter_mut().zip(cols).zip(values) {
                if col != Ell::<T>::PAD {
                    *y += value * x[col as usize];
                }
            }
        }
    });
}
