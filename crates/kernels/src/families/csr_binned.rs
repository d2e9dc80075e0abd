//! `csr-binned`: as many threads per row of CSR as its length asks for.
//!
//! On a CPU a task is `block` places in the order of the bins, so that its rows are about as long; rows beyond the bins are
//! added up by all threads.

use super::{CUDA_SEGMENT, CUDA_STORE, CUDA_TEAM, cuda, segment_bytes};
use crate::StripUnit;
use crate::cpu::rows::{LANES, Products};
use crate::cpu::{CpuProducts, CpuTask};
use crate::family::{Elsewhere, Family, Run, WarpWork, blocks_of_threads};
use crate::recipe::{LaunchStep, Recipe, Teams};
use sparsight_matrix::{BinCounts, BinnedCsr, CsrWith, Format, NumberOf, Scalar};

/// Teams of threads per row of CSR, larger ones for longer rows.
pub(super) static FAMILY: Family = Family {
    name: "csr-binned",
    summary: "teams of threads per row of CSR, larger ones for longer rows",
    // Longer rows are cut into segments.
    shares_rows: |_, f| f.row_max > BinCounts::LONGEST[0],
    format: |_| Format::of("csr-binned", [0; 2]),
    run: |_| Run::Launches(&RECIPE),
    cpu: Some(CpuProducts { f32: product, f64: product }),
    warp_work: |_, block, f| f.bins.map(|bins| work(&bins, block, f.row_max)),
    thread_blocks: |_, block, f| match f.bins {
        Some(bins) => bins.thread_blocks(block) as f64,
        None => blocks_of_threads(StripUnit::NonZeros, 1, block, f),
    },
    // It gives threads to non-zeros in proportion, as csr-balanced does.
    elsewhere: &[Elsewhere { library: "Ashari et al.", name: "ACSR" }],
    ..Family::BY_NON_ZEROS
};

/// Warps of a thread block of 256, the middle size, which stand for those of all sizes: the longest warp of a kernel is one number.
const MIDDLE_WARPS: f64 = 8.0;

/// Work of the warps, one thread block a segment and as many a bin as hold its teams. Where a bin's longest row is not known, it is taken
/// to be as long as its bin allows.
fn work(bins: &BinCounts, block: u32, row_max: u64) -> WarpWork {
    let warps = f64::from(block) / 32.0;
    let of_segments = bins.in_segments as f64 / 32.0;
    let a_segment = if bins.segments == 0 { 0.0 } else { of_segments / bins.segments as f64 };
    let steps = bins.steps as f64 / 32.0 + of_segments;
    let mut work =
        WarpWork { longest: a_segment / MIDDLE_WARPS, steps, heaviest: a_segment, kept: of_segments };
    let longest = bins.longest.unwrap_or(BinCounts::LONGEST.map(|longest| longest.min(row_max)));
    for ((rows, threads), longest) in bins.rows.into_iter().zip(BinCounts::THREADS).zip(longest) {
        if rows > 0 {
            let teams = u64::from((block / threads).max(1));
            let threads = u64::from(threads);
            let slowest = longest.div_ceil(threads) as f64;
            let warps_at_work = (rows.min(teams) * threads).div_ceil(32) as f64;
            work.longest = work.longest.max(slowest);
            work.heaviest = work.heaviest.max(warps_at_work * slowest);
            work.kept += rows.div_ceil(teams) as f64 * warps * slowest;
        }
    }
    work
}

static RECIPE: Recipe = Recipe {
    sources: &[CUDA_STORE, CUDA_TEAM, CUDA_SEGMENT, cuda!("csr_binned.cu")],
    reads_offsets: true,
    steps: &[LaunchStep {
        entry: "csr_binned",
        teams: |number, _, block| Teams { count: blocks(number, block), threads: block },
        ..LaunchStep::BASE
    }],
    shared_bytes: |_, dtype| segment_bytes(dtype),
    is_exclusive: true,
    ..Recipe::BASE
};

/// Thread blocks of a launch: one per segment, and for each bin as many as hold its teams. The same arithmetic stands in
/// `csr_binned.cu`.
fn blocks(number: &NumberOf<'_>, block: u32) -> u64 {
    let ends = ["cut", "end_32", "end_16", "end_8", "end_4", "end_2", "end_1"].map(number);
    let bins = ends.windows(2).zip(BinCounts::THREADS);
    number("segment_count")
        + bins.map(|(ends, threads)| (ends[1] - ends[0]).div_ceil((block / threads).into())).sum::<u64>()
}

/// y = A x.
fn product<T: Scalar>(task: &mut CpuTask<'_, T>) {
    let CsrWith { csr: a, table: bins } = task.matrix::<BinnedCsr<T>>();
    let (products, cut, workers) = (Products::of(a, task.x), bins.ends()[0] as usize, task.workers);
    task.scratch.places.to_rows((workers, task.block), task.y, &mut task.scratch.sums, |first, sums| {
        for (place, sum) in (first..).zip(sums) {
            let entries = products.entries(bins.order()[place] as usize);
            *sum = if place < cut {
                products.long_sum(entries, workers)
            } else {
                products.sum::<LANES>(entries)
            };
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use sparsight_matrix::{Csr, Limits, RowLengths};

    #[test]
    fn the_work_of_segments_and_bins_is_that_worked_by_hand() {
        let bins = |lengths: &[(u64, u64)]| BinCounts::of(&RowLengths::from_counts(lengths.iter().copied()));
        // Two segments of 2,560 entries; 3 rows of 100, a warp each: 2 blocks of 2 warps, 4 steps; 65 rows of 1 entry: 2 blocks.
        let counts = bins(&[(5_120, 1), (100, 3), (1, 65)]);
        let mixed = work(&counts, 64, 5_120);
        assert_eq!(
            (mixed.longest, mixed.heaviest),
            (10.0, 80.0),
            "a segment's 80 steps are 10 of each of 8 warps"
        );
        assert!((mixed.steps - (160.0 + (3.0 * 128.0 + 65.0) / 32.0)).abs() < 1e-9);
        assert!((mixed.kept - (160.0 + 2.0 * 2.0 * 4.0 + 2.0 * 2.0)).abs() < 1e-9);
        // A record that does not hold the longest rows of the bins: up to 16 steps, and up to 4.
        let older = work(&BinCounts { longest: None, ..counts }, 64, 5_120);
        assert_eq!(older.longest.to_bits(), 16_f64.to_bits());
        assert!((older.kept - (160.0 + 2.0 * 2.0 * 16.0 + 2.0 * 2.0 * 4.0)).abs() < 1e-9);
        let short = work(&bins(&[(1, 65)]), 64, 1);
        assert_eq!(
            (short.longest, short.heaviest, short.kept),
            (1.0, 2.0, 4.0),
            "no row is longer than the longest"
        );
        let one = work(&bins(&[(100, 1)]), 1024, 100);
        assert_eq!(
            (one.heaviest, one.kept),
            (4.0, 32.0 * 4.0),
            "one warp works, and the others' places are kept"
        );
    }

    #[test]
    fn blocks_of_bins_are_those_worked_by_hand() {
        let of = |lengths: &[u64]| {
            let mut row_ptr = vec![0];
            for length in lengths {
                row_ptr.push(row_ptr[row_ptr.len() - 1] + length);
            }
            let layout = Format::known("csr-binned").layout::<f32>(&row_ptr, 9_000, &Limits::NONE).unwrap();
            let number = |name: &str| layout.numbers.iter().find(|(known, _)| *known == name).unwrap().1;
            blocks(&number, 64)
        };
        // 5,000 entries: 2 segments. 3 rows of 100, a warp each: 2 blocks of 64. 65 rows of 1 entry: 2 blocks.
        assert_eq!(of(&[vec![5_000], vec![100; 3], vec![1; 65]].concat()), 2 + 2 + 2);
        assert_eq!(of(&[]), 0);
        let empty = Csr::<f32>::try_new(0, 0, vec![0], vec![], vec![]).unwrap();
        let stored = Format::known("csr-binned").convert(&empty, &Limits::NONE).unwrap();
        assert!(stored.numbers().iter().all(|(_, number)| *number == 0));
    }
}
