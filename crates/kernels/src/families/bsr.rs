//! `bsr`: one or several threads per row of BSR in slices. On a CPU a task is a tile of `block` rows, to which column after column
//! of the blocks is added, as in `sell`.

use super::{CUDA_STORE, CUDA_STREAM, cuda};
use crate::cpu::{CpuProducts, CpuTask, has_nan, in_tiles};
use crate::family::{Family, Run, blocks_of_threads, work_of_blocks};
use crate::recipe::{LaunchStep, Recipe, Teams};
use crate::{BLOCKS, Knobs, StripUnit};
use sparsight_matrix::{BLOCK_SIDES, Bsr, Format, Knob, Scalar};

/// One thread per row of BSR; with `t` as many, of as many warps.
pub(super) static FAMILY: Family = Family {
    name: "bsr",
    summary: "one thread per row of BSR in slices, or several of as many warps",
    knobs: &[
        Knob { letter: 'b', meaning: "rows and columns of a block" },
        Knob { letter: 't', meaning: "threads per row" },
    ],
    variants: || BLOCK_SIDES.into_iter().flat_map(|side| [0, 2, 4].map(|t| [side, t, 0])).collect(),
    retired: |[side, threads, _]| (side, threads) == (6, 0),
    format: |[side, ..]| Format::of("bsr", [side, 0]),
    // On a CPU a row is done by one thread.
    on_cpu: |[_, threads, _]| threads == 0,
    // A warp's worth of rows takes a warp for each of its threads per row.
    blocks: |[_, threads, _]| if threads == 4 { BLOCKS.split_at(1).1 } else { &BLOCKS },
    run: |_| Run::Launches(&RECIPE),
    cpu: Some(CpuProducts { f32: product, f64: product }),
    threads_per_row: |knobs| Some(threads(knobs)),
    warp_work: |knobs, _, f| Some(work_of_blocks(knobs[0], threads(knobs), f)),
    thread_blocks: |knobs, block, f| blocks_of_threads(StripUnit::Rows, threads(knobs), block, f),
    // No strip rule: the papers do not have it; their benchmark matrices hold a non-zero or two in each block.
    // It gives threads to rows, and they read neighbouring words, as those of ELL do.
    ..Family::BASE
};

fn threads([_, threads, _]: Knobs) -> u32 {
    threads.max(1)
}

static RECIPE: Recipe = Recipe {
    sources: &[CUDA_STORE, CUDA_STREAM, cuda!("bsr.cu")],
    definitions: |knobs| vec![("SIDE", knobs[0]), ("TEAM", threads(knobs))],
    steps: &[LaunchStep {
        entry: "bsr",
        teams: |number, knobs, _| Teams { count: number("nrows"), threads: threads(knobs) },
        ..LaunchStep::BASE
    }],
    // Of a team a sum per thread, in the largest block.
    shared_bytes: |knobs, dtype| match threads(knobs) {
        1 => 0,
        _ => u64::from(BLOCKS[BLOCKS.len() - 1]) * dtype.vector_bytes(),
    },
    ..Recipe::BASE
};

fn product<T: Scalar>(task: &mut CpuTask<'_, T>) {
    let (a, x) = (task.matrix::<Bsr<T>>(), task.x);
    let slice = a.slice_rows();
    in_tiles(task.workers, task.block, task.y, |mut first, mut y| {
        while !y.is_empty() {
            // The rows of the tile that lie in one slice.
            let (part, rest) = y.split_at_mut(y.len().min(slice - first % slice));
            in_slice(a, first, x, part, |_, _| true);
            if has_nan(part) {
                // Perhaps of padding and an x that is not finite.
                in_slice(a, first, x, part, |column, row| a.is_entry(first / slice, column, row));
            }
            first += part.len();
            y = rest;
        }
    });
}

/// Sets `y` to the product of rows of one slice, from row `first` of the matrix on, over the values of which `counts` says so: of the
/// k-th block and its column c in the row of that number in the slice.
fn in_slice<T: Scalar>(
    a: &Bsr<T>,
    first: usize,
    x: &[T],
    y: &mut [T],
    counts: impl Fn((usize, usize), usize) -> bool,
) {
    let (side, slice) = (a.side(), a.slice_rows());
    let lane = first % slice;
    y.fill(T::default());
    for (k, (cols, values)) in a.slice(first / slice).enumerate() {
        for (c, values) in values.chunks_exact(slice).enumerate() {
            for ((sum, &value), row) in y.iter_mut().zip(&values[lane..]).zip(lane..) {
                // Behind the last column, where blocks of padding stand, too, there is no x.
                if let Some(&x) = x.get(cols[row / side] as usize * side + c)
                    && counts((k, c), row)
                {
                    *sum += value * x;
                }
            }
        }
    }
}
