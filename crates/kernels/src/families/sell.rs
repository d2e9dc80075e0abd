//! `sell`: one or several threads per row of SELL-C-sigma. On a CPU a task is a tile of `block` places, within each slice
//! column by column, as in `ell`; sums are then gathered in the order of the rows.

use super::{CUDA_STORE, CUDA_STREAM, cuda};
use crate::cpu::{CpuProducts, CpuTask};
use crate::family::{Family, Run, WarpWork, blocks_of_threads, work_of_teams};
use crate::recipe::{LaunchStep, Recipe, Teams};
use crate::{BLOCKS, Knobs, StripUnit};
use sparsight_matrix::{Format, Knob, Scalar, Sell, SellShape};

/// One thread per row of SELL-C-sigma; with `t` as many, of as many warps, where slices have 32 rows.
pub(super) static FAMILY: Family = Family {
    name: "sell",
    summary: "one thread per row of SELL-C-sigma, or several of as many warps",
    knobs: &[
        Knob { letter: 'c', meaning: "rows of a slice" },
        Knob { letter: 's', meaning: "rows of a window in which they are sorted by length" },
        Knob { letter: 't', meaning: "threads per row" },
    ],
    variants,
    retired: is_retired,
    format: |[slice, sigma, _]| Format::of("sell", [slice, sigma]),
    // On a CPU a row is done by one thread.
    on_cpu: |[.., threads]| threads == 0,
    // A slice takes a warp for each of its threads per row.
    blocks: |[.., threads]| if threads == 4 { BLOCKS.split_at(1).1 } else { &BLOCKS },
    run: |[.., threads]| Run::Launches(if threads == 0 { &ONE_THREAD } else { &TEAM }),
    cpu: Some(CpuProducts { f32: product, f64: product }),
    threads_per_row: |knobs| Some(threads(knobs)),
    // A warp goes along a slice, or with as many others each along its share of it.
    warp_work: |knobs @ [slice, sigma, _], block, f| {
        // A block has the rows of so many threads of one each, and as many steps.
        let of_rows = work_of_teams(1, block / threads(knobs), f);
        let of_teams = WarpWork { longest: of_rows.longest / f64::from(threads(knobs)), ..of_rows };
        let stored = f.padded.sell(SellShape { slice, sigma }).filter(|_| of_teams.steps > 0.0);
        Some(WarpWork { steps: stored.map_or(of_teams.steps, |stored| stored as f64 / 32.0), ..of_teams })
    },
    thread_blocks: |knobs, block, f| blocks_of_threads(StripUnit::Rows, threads(knobs), block, f),
    // No strip rule: it is learned alone (Lehnert et al. 2016). On rows of one length SELL is ELL slice by slice.
    ..Family::BASE
};

/// Several threads per row without sorting and with the smallest window that does. Chosen: on the meshes for which a team is
/// faster, larger windows, which scatter x more, are not.
fn variants() -> Vec<Knobs> {
    let of = |SellShape { slice, sigma }| {
        let has_teams = slice == 32 && (sigma == 1 || sigma == 256);
        let threads: &[u32] = if has_teams { &[0, 2, 4] } else { &[0] };
        threads.iter().map(move |&threads| [slice, sigma, threads])
    };
    SellShape::ALL.into_iter().flat_map(of).collect()
}

/// Slices of more than a warp: on no matrix that was measured more than 1 % faster than those of 32 rows.
fn is_retired([slice, ..]: Knobs) -> bool {
    slice > 32
}

fn threads([.., threads]: Knobs) -> u32 {
    threads.max(1)
}

fn is_sorted([_, sigma, _]: Knobs) -> u32 {
    u32::from(sigma > 1)
}

static ONE_THREAD: Recipe = Recipe {
    sources: &[CUDA_STORE, CUDA_STREAM, cuda!("sell.cu")],
    definitions: |knobs| vec![("SLICE", knobs[0]), ("SORTED", is_sorted(knobs))],
    steps: &[LaunchStep { entry: "sell", ..LaunchStep::BASE }],
    ..Recipe::BASE
};

static TEAM: Recipe = Recipe {
    sources: &[CUDA_STORE, CUDA_STREAM, cuda!("sell_team.cu")],
    definitions: |knobs| vec![("TEAM", knobs[2]), ("SORTED", is_sorted(knobs))],
    steps: &[LaunchStep {
        entry: "sell_team",
        teams: |number, knobs, _| Teams { count: number("nrows"), threads: threads(knobs) },
        ..LaunchStep::BASE
    }],
    // A sum per thread, in the largest block.
    shared_bytes: |_, dtype| u64::from(BLOCKS[BLOCKS.len() - 1]) * dtype.vector_bytes(),
    ..Recipe::BASE
};

/// y = A x.
fn product<T: Scalar>(task: &mut CpuTask<'_, T>) {
    let (a, x) = (task.matrix::<Sell<T>>(), task.x);
    task.scratch.places.to_rows((task.workers, task.block), task.y, &mut task.scratch.sums, |first, sums| {
        tile(a, first, x, sums);
    });
}

/// The sums of the places from `first` on.
fn tile<T: Scalar>(a: &Sell<T>, mut first: usize, x: &[T], mut sums: &mut [T]) {
    let slice = a.shape().slice as usize;
    while !sums.is_empty() {
        let (s, lane) = (first / slice, first % slice);
        let (part, rest) = sums.split_at_mut(sums.len().min(slice - lane));
        part.fill(T::default());
        let stored = a.slice_ptr()[s] as usize..a.slice_ptr()[s + 1] as usize;
        let lanes = lane..lane + part.len();
        let columns = a.col_idx()[stored.clone()].chunks_exact(slice);
        for (cols, values) in columns.zip(a.values()[stored].chunks_exact(slice)) {
            let (cols, values) = (&cols[lanes.clone()], &values[lanes.clone()]);
            for ((sum, &col), &value) in part.iter_mut().zip(cols).zip(values) {
                if col != Sell::<T>::PAD {
                    *sum += value * x[col as usize];
                }
            }
        }
        first += part.len();
        sums = rest;
    }
}
