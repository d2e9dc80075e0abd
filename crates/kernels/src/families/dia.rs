//! `dia`: one thread per row of DIA. On a CPU a task is a tile of `block` rows, to which diagonal after diagonal is added: loops
//! over neighbouring values and entries of x, which the compiler turns into wide instructions.

use super::{CUDA_STORE, cuda};
use crate::cpu::{CpuProducts, CpuTask, has_nan, in_tiles};
use crate::family::{Elsewhere, Family, Run, WarpWork};
use crate::recipe::{LaunchStep, Recipe};
use sparsight_matrix::{Dia, Format, Scalar};

/// One thread per row of DIA.
pub(super) static FAMILY: Family = Family {
    name: "dia",
    summary: "one thread per row of DIA",
    format: |_| Format::of("dia", [0; 2]),
    run: |_| Run::Launches(&RECIPE),
    cpu: Some(CpuProducts { f32: product, f64: product }),
    // Every row goes along all diagonals.
    warp_work: |_, _, f| {
        let diagonals = f.diagonals.unwrap_or(f.row_max) as f64;
        Some(WarpWork::of_warps(diagonals, diagonals * f.nrows.div_ceil(32) as f64))
    },
    // No strip rule: the papers name it as future work; their benchmark matrices scatter the columns over more diagonals than it stores.
    // It gives threads to rows, and they read neighbouring words, as those of ELL do.
    elsewhere: &[Elsewhere { library: "CUSP", name: "spmv_dia" }],
    ..Family::BASE
};

static RECIPE: Recipe = Recipe {
    sources: &[CUDA_STORE, cuda!("dia.cu")],
    steps: &[LaunchStep { entry: "dia", ..LaunchStep::BASE }],
    ..Recipe::BASE
};

fn product<T: Scalar>(task: &mut CpuTask<'_, T>) {
    let (a, x) = (task.matrix::<Dia<T>>(), task.x);
    in_tiles(task.workers, task.block, task.y, |first, y| {
        in_tile(a, first, x, y, |_, _| true);
        if has_nan(y) {
            // Perhaps of padding and an x that is not finite.
            in_tile(a, first, x, y, |diagonal, row| a.is_entry(diagonal, row));
        }
    });
}

/// Sets `y` to the product of the rows from `first` on, over the values of which `counts` says so, by diagonal and row.
fn in_tile<T: Scalar>(a: &Dia<T>, first: usize, x: &[T], y: &mut [T], counts: impl Fn(usize, usize) -> bool) {
    y.fill(T::default());
    for (diagonal, &offset) in a.offsets().iter().enumerate() {
        // Rows of the tile whose entry of this diagonal lies inside of the matrix.
        let inside = |row: i64| row.clamp(first as i64, (first + y.len()) as i64) as usize;
        let (start, end) = (inside(-offset), inside(a.ncols() as i64 - offset));
        if start >= end {
            continue;
        }
        let values = &a.diagonal(diagonal)[start..end];
        let x = &x[(start as i64 + offset) as usize..][..end - start];
        let each = y[start - first..end - first].iter_mut().zip(values).zip(x);
        for (row, ((y, &value), &x)) in (start..).zip(each) {
            if counts(diagonal, row) {
                *y += value * x;
            }
        }
    }
}
