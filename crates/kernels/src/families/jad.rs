//! `jad`: one thread per row of JAD. On a CPU a task is a tile of `block` places, whose diagonals are added one after the
//! other; sums are then gathered in the order of the rows.

use super::{CUDA_STORE, cuda};
use crate::cpu::{CpuProducts, CpuTask};
use crate::family::{Family, Run, StripRule, WarpWork, work_of_teams};
use crate::recipe::{LaunchStep, Recipe};
use sparsight_matrix::{Format, Jad, Scalar};

/// One thread per row of JAD.
pub(super) static FAMILY: Family = Family {
    name: "jad",
    summary: "one thread per row of JAD",
    format: |_| Format::of("jad", [0; 2]),
    run: |_| Run::Launches(&RECIPE),
    cpu: Some(CpuProducts { f32: product, f64: product }),
    // Rows are sorted: those of a warp are about as long as each other.
    warp_work: |_, block, f| {
        let of_teams = work_of_teams(1, block, f);
        let steps = of_teams.steps.min(f.nnz as f64 / 32.0);
        let of_longest = of_teams.longest * f64::from(block) / 32.0;
        Some(WarpWork { steps, heaviest: of_longest.min(steps), kept: steps, ..of_teams })
    },
    strip_rule: StripRule::Ell,
    // One thread per row, as in ELL, without the padding.
    ..Family::BASE
};

static RECIPE: Recipe = Recipe {
    sources: &[CUDA_STORE, cuda!("jad.cu")],
    steps: &[LaunchStep { entry: "jad", ..LaunchStep::BASE }],
    ..Recipe::BASE
};

/// y = A x.
fn product<T: Scalar>(task: &mut CpuTask<'_, T>) {
    let (a, x) = (task.matrix::<Jad<T>>(), task.x);
    task.scratch.places.to_rows((task.workers, task.block), task.y, &mut task.scratch.sums, |place, sums| {
        sums.fill(T::default());
        for diagonal in a.diagonal_ptr().windows(2) {
            let first = diagonal[0] as usize + place;
            let end = (first + sums.len()).min(diagonal[1] as usize);
            // Diagonals never get longer.
            if first >= end {
                break;
            }
            let (cols, values) = (&a.col_idx()[first..end], &a.values()[first..end]);
            for ((sum, &col), &value) in sums.iter_mut().zip(cols).zip(values) {
                *sum += value * x[col as usize];
            }
        }
    });
}
