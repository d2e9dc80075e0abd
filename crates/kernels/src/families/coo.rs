//! `coo`: a warp per run of non-zeros, segmented reduction.
//!
//! On a CPU a task is a run of 16 `block` non-zeros:
//!
//! ```text
//! row_idx   0 0 1 1 | 1 1 1 1 | 1 3 3 5        three runs of four
//! writes    y0 y1   |         |   y2 y3 y4 y5  a run owns the rows that start in it, and the empty ones before
//! carries           | to y1   | to y1          sums for a row that an earlier run owns, added at the end
//! ```
//! Carried sums are added in the order of the runs, so y depends on `block` but not on the threads.

use super::{CUDA_CLEAR, CUDA_OVERLAP, CUDA_STREAM, cuda};
use crate::Knobs;
use crate::cpu::rows::ITEMS_PER_ROW;
use crate::cpu::{Carry, CpuProducts, CpuTask, in_tiles};
use crate::family::{Elsewhere, Family, Run, StripRule, WarpWork};
use crate::recipe::{LaunchStep, Recipe, Teams};
use sparsight_matrix::{Coo, Features, Format, Knob, Scalar, TeamBlocks};
use std::ops::Range;

/// A warp per run of non-zeros of COO: 128 of them, with `i` fewer, which gives a small matrix to more warps.
pub(super) static FAMILY: Family = Family {
    name: "coo",
    summary: "a warp per run of non-zeros of COO, segmented reduction",
    knobs: &[Knob { letter: 'i', meaning: "non-zeros that a thread takes of a run" }],
    variants: || vec![[0; 3], [1, 0, 0], [2, 0, 0]],
    // A row over three or more runs is added up by atomics.
    repeatable: |_| false,
    format: |_| Format::of("coo", [0; 2]),
    // On a CPU runs are as long as the block size says.
    on_cpu: |[items, ..]| items == 0,
    run: |_| Run::Launches(&RECIPE),
    cpu: Some(CpuProducts { f32: product, f64: product }),
    // In steps all warps work alike; what they wait for is each other's additions to y.
    warp_work: |knobs, _, f| Some(additions(items(knobs), f)),
    strip_rule: StripRule::Coo,
    elsewhere: &[Elsewhere { library: "CUSP", name: "spmv_coo_flat" }],
    ..Family::BY_NON_ZEROS
};

/// The source of the kernel, which HYB has, too.
pub(super) const CUDA_COO: &str = cuda!("coo.cu");

/// The launch that adds COO to what y is.
pub(super) const ADD: LaunchStep = LaunchStep {
    entry: "coo",
    teams: |number, knobs, _| Teams {
        count: number("nnz").div_ceil(u64::from(32 * items(knobs))),
        threads: 32,
    },
    may_overlap: true,
    ..LaunchStep::BASE
};

/// Neighbouring rows of y to which additions are done one after another, whichever of them they are for. Found by records on an H100, in
/// f32 (a line of 128 bytes) and in f64 (two): 16 rows explain their times less well in both.
const NEIGHBOURS: f64 = 32.0;

/// Warps at work at once, as many as an H100 or H200 holds: 64 on each of 132 multiprocessors, rounded.
const AT_ONCE: f64 = 8192.0;

/// Additions to y by atomics, in place of steps, as far as features tell. A row that lies in several runs is added to by each of them.
/// `longest`: those to the [`NEIGHBOURS`] that get most, of each row a 32nd of its non-zeros, rounded up, over `items`. So a row within a run
/// counts as one at the most, though it seldom needs any: 32 of them take less than a launch differs by.
/// `heaviest`: those to rows of more than two runs, by the quantiles of the lengths, shared out over the groups of neighbours that the
/// warps at work add to at once, rows being as long as that of the average entry. Shorter rows, of which a run's end cuts one at the
/// most, are left out. Measured on an H100: 1.4 to 1.9 ns each, in f32 and f64, where nothing else takes as long.
fn additions(items: u32, f: &Features) -> WarpWork {
    /// Place of a team of 32, and of the thread block that gives one to each of 32 rows.
    const TEAM: usize = 5;
    const BLOCK: usize = TeamBlocks::BLOCKS.len() - 1;
    let (nnz, mean, run) = (f.nnz as f64, f.row_mean(), f64::from(32 * items));
    let of_neighbours =
        f.team_blocks.map_or(0.0, |blocks| blocks.heaviest[TEAM][BLOCK] as f64 / f64::from(items));
    let short = f.shares_of_rows().filter(|(_, length)| *length <= 2.0 * run);
    let in_short = short.map(|(share, length)| share * length).sum::<f64>() * f.nrows as f64;
    let of_average_entry = (mean + f.row_std * f.row_std / mean.max(1.0)).max(1.0);
    let groups = 1.0 + AT_ONCE * run / of_average_entry / NEIGHBOURS;
    WarpWork {
        longest: of_neighbours.max(f.row_max as f64 / run),
        heaviest: (nnz - in_short).max(0.0) / run / groups,
        steps: 0.0,
        kept: 0.0,
    }
}

static RECIPE: Recipe = Recipe {
    sources: &[CUDA_STREAM, CUDA_OVERLAP, CUDA_CLEAR, CUDA_COO],
    definitions: |knobs| vec![("ITEMS", items(knobs)), ("ACCUMULATE", 0)],
    steps: &[LaunchStep { entry: "clear", ..LaunchStep::BASE }, ADD],
    ..Recipe::BASE
};

/// Non-zeros that a thread takes of a run.
pub(super) const fn items(knobs: Knobs) -> u32 {
    if knobs[0] == 0 { 4 } else { knobs[0] }
}

fn product<T: Scalar>(task: &mut CpuTask<'_, T>) {
    let a = task.matrix::<Coo<T>>();
    add_or_set(a, (task.workers, task.block), Start::Zero, task.x, task.y, &mut task.scratch.carries);
}

/// Start of the sums.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Start {
    /// y = A x.
    Zero,
    /// y = y + A x.
    AsItIs,
}

/// y = A x or y = y + A x. `carries` is scratch.
pub(super) fn add_or_set<T: Scalar>(
    a: &Coo<T>,
    (workers, block): (usize, usize),
    start: Start,
    x: &[T],
    y: &mut [T],
    carries: &mut Vec<Carry<T>>,
) {
    let length = ITEMS_PER_ROW * block;
    let count = a.nnz().div_ceil(length);
    if count == 0 {
        if start == Start::Zero {
            in_tiles(workers, length, y, |_, y| y.fill(T::default()));
        }
        return;
    }
    carries.resize(count, Carry::default());
    let runs = Runs { a, x, start, length, count, workers };
    runs.multiply(0..count, y, carries);
    // The first run carries nothing: no row starts before it.
    for carry in &carries[1..] {
        y[carry.row] += carry.sum;
    }
}

/// The non-zeros of a matrix in runs of `length`.
struct Runs<'a, T> {
    a: &'a Coo<T>,
    x: &'a [T],
    start: Start,
    length: usize,
    count: usize,
    workers: usize,
}

impl<T: Scalar> Runs<'_, T> {
    /// First row that `run` owns: the one after the row of the last entry before it.
    fn first_row(&self, run: usize) -> usize {
        match run {
            0 => 0,
            run if run == self.count => self.a.nrows(),
            run => self.a.row_idx()[run * self.length - 1] as usize + 1,
        }
    }

    /// Multiplies `runs`, in halves, in parallel with several workers; `y` is the rows that they own, `carries` has one entry a run.
    fn multiply(&self, runs: Range<usize>, y: &mut [T], carries: &mut [Carry<T>]) {
        if let [carry] = carries {
            *carry = self.multiply_one(runs.start, y);
            return;
        }
        let middle = runs.start + runs.len() / 2;
        let (y1, y2) = y.split_at_mut(self.first_row(middle) - self.first_row(runs.start));
        let (carries1, carries2) = carries.split_at_mut(middle - runs.start);
        let mut before = || self.multiply(runs.start..middle, y1, carries1);
        let mut behind = || self.multiply(middle..runs.end, y2, carries2);
        if self.workers > 1 {
            rayon::join(before, behind);
        } else {
            before();
            behind();
        }
    }

    /// Multiplies one run into the rows that it owns, `y`, and gives what belongs to the row before them.
    fn multiply_one(&self, run: usize, y: &mut [T]) -> Carry<T> {
        if self.start == Start::Zero {
            y.fill(T::default());
        }
        let first_row = self.first_row(run);
        let range = run * self.length..((run + 1) * self.length).min(self.a.nnz());
        let rows = &self.a.row_idx()[range.clone()];
        let cols = &self.a.col_idx()[range.clone()];
        let values = &self.a.values()[range];

        let mut carry = Carry { row: first_row.saturating_sub(1), sum: T::default() };
        let (mut row, mut sum) = (carry.row, T::default());
        let mut finish = |row: usize, sum: T| {
            if row < first_row {
                carry.sum = sum;
            } else {
                y[row - first_row] += sum;
            }
        };
        for ((&entry_row, &col), &value) in rows.iter().zip(cols).zip(values) {
            let entry_row = entry_row as usize;
            if entry_row != row {
                finish(row, sum);
                (row, sum) = (entry_row, T::default());
            }
            sum += value * self.x[col as usize];
        }
        finish(row, sum);
        carry
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sparsight_matrix::RowLengths;

    #[test]
    fn additions_to_neighbouring_rows_are_those_worked_by_hand() {
        // 1,024 rows of 256: 8 runs of 32 each, of 8,192 at once on 32 groups of 32 rows and the one that is begun.
        let f = Features::from_row_lengths(&RowLengths::from_counts([(256, 1024)]), 4096, 0, 0.0);
        let [one, four] = [1, 4].map(|items| additions(items, &f));
        assert!((one.longest - 8.0).abs() < 1e-12 && (one.heaviest - 8192.0 / 33.0).abs() < 1e-9, "{one:?}");
        // In runs of 128 the longest row has two, and none a third.
        assert!((four.longest - 2.0).abs() < 1e-12 && four.heaviest.abs() < 1e-9, "{four:?}");
        // 32 neighbours of 8 steps each.
        let mut blocks = TeamBlocks::default();
        blocks.heaviest[5][4] = 256;
        let f = Features { team_blocks: Some(blocks), ..f };
        assert!((additions(1, &f).longest - 256.0).abs() < 1e-12);
        assert_eq!(additions(1, &Features::default()).heaviest.to_bits(), 0.0_f64.to_bits());
    }
}
