//! `ell`: one thread per row of ELL. On a CPU a task is a tile of `block` rows, whose columns are added one after the other,
//! so that the tile's indices and values are read in the order in which they lie. Its part of y stays in the first-level
//! cache.

use super::{CUDA_OVERLAP, CUDA_STORE, CUDA_STREAM, cuda};
use crate::cpu::{CpuProducts, CpuTask, in_tiles};
use crate::family::{Elsewhere, Family, Run, StripRule};
use crate::recipe::{LaunchStep, Recipe};
use sparsight_matrix::{Ell, Format, Scalar};

/// One thread per row of ELL.
pub(super) static FAMILY: Family = Family {
    name: "ell",
    summary: "one thread per row of ELL",
    format: |_| Format::of("ell", [0; 2]),
    run: |_| Run::Launches(&RECIPE),
    cpu: Some(CpuProducts { f32: product, f64: product }),
    strip_rule: StripRule::Ell,
    elsewhere: &[Elsewhere { library: "CUSP", name: "spmv_ell" }],
    ..Family::BASE
};

/// The source of the kernel, which HYB has, too.
pub(super) const CUDA_ELL: &str = cuda!("ell.cu");

/// The launch.
pub(super) const STEP: LaunchStep = LaunchStep { entry: "ell", ..LaunchStep::BASE };

static RECIPE: Recipe = Recipe {
    sources: &[CUDA_STORE, CUDA_STREAM, CUDA_OVERLAP, CUDA_ELL],
    definitions: |_| vec![("FOLLOWED", 0)],
    steps: &[STEP],
    ..Recipe::BASE
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
