//! `sell16`: one or several threads per row of SELL16. On a CPU a task is a tile of `block` places, group after group of each slice,
//! as in `sell`.

use super::{CUDA_STORE, cuda};
use crate::cpu::{CpuProducts, CpuTask};
use crate::family::{
    EVERYWHERE, Elsewhere, Family, ON_GPUS, Run, StripRule, TransferRule, blocks_of_threads,
};
use crate::recipe::{LaunchStep, Recipe, Teams};
use crate::{BLOCKS, Knobs, StripUnit};
use sparsight_matrix::{Format, Knob, NARROW_SIGMAS, Scalar, Sell16};

/// Rows of a slice.
const SLICE: u32 = 32;

/// One thread per row of SELL16; with `t` as many, of as many warps.
pub(super) static FAMILY: Family = Family {
    name: "sell16",
    summary: "one thread per row of SELL with columns of 16 bits, or several of as many warps",
    knobs: &[
        Knob { letter: 'c', meaning: "rows of a slice" },
        Knob { letter: 's', meaning: "rows of a window in which they are sorted by length" },
        Knob { letter: 't', meaning: "threads per row" },
    ],
    variants: || NARROW_SIGMAS.into_iter().flat_map(|sigma| [0, 2, 4].map(|t| [SLICE, sigma, t])).collect(),
    format: |[slice, sigma, _]| Format::of("sell16", [slice, sigma]),
    // On a CPU a row is done by one thread.
    runs_on: |[.., threads]| if threads == 0 { EVERYWHERE } else { ON_GPUS },
    // A slice takes a warp for each of its threads per row.
    blocks: |[.., threads]| if threads == 4 { BLOCKS.split_at(1).1 } else { &BLOCKS },
    run: |_| Run::Launches(&RECIPE),
    cpu: Some(CpuProducts { f32: product, f64: product }),
    unit: StripUnit::Rows,
    threads_per_row: |knobs| Some(threads(knobs)),
    thread_blocks: |knobs, block, f| blocks_of_threads(StripUnit::Rows, threads(knobs), block, f),
    // The papers do not have it; it is learned.
    strip_rule: StripRule::None,
    // On rows of one length SELL is ELL slice by slice.
    transfer_rule: TransferRule::Ell { measured: Some("ell") },
    table_2: &["SELL-C-sigma"],
    neighbours: 2,
    elsewhere: &[] as &[Elsewhere],
};

fn threads([.., threads]: Knobs) -> u32 {
    threads.max(1)
}

static RECIPE: Recipe = Recipe {
    sources: &[CUDA_STORE, cuda!("sell16.cu")],
    definitions: |knobs| vec![("TEAM", threads(knobs)), ("SORTED", u32::from(knobs[1] > 1))],
    reads_offsets: false,
    steps: &[LaunchStep {
        entry: "sell16",
        part: "",
        teams: |number, knobs, _| Teams { count: number("nrows"), threads: threads(knobs) },
        args: &[
            "nrows",
            "slice_ptr",
            "permutation",
            "bases",
            "offsets",
            "wide_cols",
            "values",
            "x",
            "y",
            "alpha",
            "beta",
        ],
        may_overlap: false,
    }],
    // Of a team a sum per thread, in the largest block.
    shared_bytes: |knobs, dtype| match threads(knobs) {
        1 => 0,
        _ => u64::from(BLOCKS[BLOCKS.len() - 1]) * dtype.bytes(),
    },
    is_exclusive: false,
};

/// y = A x.
fn product<T: Scalar>(task: &mut CpuTask<'_, T>) {
    let (a, x) = (task.matrix::<Sell16<T>>(), task.x);
    task.scratch
        .places
        .to_rows(task.block, task.y, &mut task.scratch.sums, |first, sums| tile(a, first, x, sums));
}

/// The sums of the places from `first` on.
fn tile<T: Scalar>(a: &Sell16<T>, mut first: usize, x: &[T], mut sums: &mut [T]) {
    let slice = SLICE as usize;
    while !sums.is_empty() {
        let lane = first % slice;
        let (part, rest) = sums.split_at_mut(sums.len().min(slice - lane));
        part.fill(T::default());
        for (columns, values) in a.slice(first / slice) {
            for ((sum, place), &value) in part.iter_mut().zip(lane..).zip(&values[lane..]) {
                if let Some(col) = columns.column(place) {
                    *sum += value * x[col];
                }
            }
        }
        first += part.len();
        sums = rest;
    }
}
