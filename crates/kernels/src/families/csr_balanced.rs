//! `csr-balanced`: a thread block per tile of CSR, about as many rows and non-zeros in each.
//!
//! On a CPU a task is a run of tiles with about 16 `block` rows and non-zeros, counted together. The rows of a task are
//! neighbours, so it writes a part of y of its own; a long row belongs to the task in whose tiles it starts, and is added up
//! by all threads.

use super::{CUDA_SEGMENT, CUDA_STORE, CUDA_STREAM, CUDA_TEAM, cuda, segment_bytes};
use crate::StripUnit;
use crate::cpu::rows::{ITEMS_PER_ROW, LANES, Products};
use crate::cpu::{CpuProducts, CpuTask};
use crate::family::{Elsewhere, Family, Run, StripRule, WarpWork};
use crate::recipe::{LaunchStep, Recipe, Teams};
use rayon::prelude::*;
use sparsight_matrix::{BalancedCsr, CsrWith, Format, Knob, Scalar, TileShape, TileTable, TileWork};

/// A thread block per tile of CSR.
pub(super) static FAMILY: Family = Family {
    name: "csr-balanced",
    summary: "a thread block per tile of CSR, of about as many rows and non-zeros",
    knobs: &[Knob { letter: 'i', meaning: "rows and non-zeros of a tile" }],
    variants: || TileShape::ALL.map(|shape| [shape.items, 0, 0]).to_vec(),
    retired: |[items, ..]| items == 256,
    // Longer rows than a tile are cut.
    shares_rows: |[items, ..], f| f.row_max > items.into(),
    format: |[items, ..]| Format::of("csr-balanced", [items, 0]),
    run: |_| Run::Launches(&RECIPE),
    cpu: Some(CpuProducts { f32: product, f64: product }),
    unit: StripUnit::Items,
    threads_per_row: |_| None,
    // A tile lasts as long as its slowest warp, whose places the others of its block keep meanwhile.
    warp_work: |[items, ..], block, f| {
        let shape = TileWork::ITEMS.iter().position(|known| *known == items)?;
        let work = f.tiles?[shape][TileWork::BLOCKS.iter().position(|known| *known == block)?];
        Some(WarpWork::of_warps(work.longest as f64, work.steps as f64 * f64::from(block / 32)))
    },
    // One a tile, however large it is.
    thread_blocks: |[items, ..], _, f| TileTable::tile_count(f.nrows, f.nnz, TileShape { items }) as f64,
    strip_rule: StripRule::Coo,
    // What balances by non-zeros waits for no longest row, but reads the row offsets.
    elsewhere: &[
        Elsewhere { library: "rocSPARSE", name: "rocsparse_spmv, algorithm csr_adaptive" },
        Elsewhere { library: "Ginkgo", name: "matrix::Csr, strategy merge_path" },
    ],
    ..Family::BASE
};

static RECIPE: Recipe = Recipe {
    sources: &[CUDA_STORE, CUDA_STREAM, CUDA_TEAM, CUDA_SEGMENT, cuda!("csr_balanced.cu")],
    definitions: |[items, ..]| vec![("ITEMS", items)],
    reads_offsets: true,
    steps: &[LaunchStep {
        entry: "csr_balanced",
        teams: |number, _, block| Teams { count: number("tile_count"), threads: block },
        ..LaunchStep::BASE
    }],
    // The products of a tile, one place in 33 left out, and what long rows take.
    shared_bytes: |[items, ..], dtype| {
        u64::from(2 * items + 2 * items / 32) * dtype.vector_bytes() + segment_bytes(dtype)
    },
    is_exclusive: true,
};

/// y = A x.
fn product<T: Scalar>(task: &mut CpuTask<'_, T>) {
    let CsrWith { csr: a, table: tiles } = task.matrix::<BalancedCsr<T>>();
    let (block, workers, y) = (task.block, task.workers, &mut *task.y);
    let products = Products::of(a, task.x);
    let rows = |first: usize, y: &mut [T]| {
        for (row, y) in (first..).zip(y) {
            let entries = products.entries(row);
            *y = if entries.len() > tiles.shape().items as usize {
                products.long_sum(entries, workers)
            } else {
                products.sum::<LANES>(entries)
            };
        }
    };
    if workers == 1 {
        return rows(0, y);
    }
    let tiles_per_task = (ITEMS_PER_ROW * block).div_ceil(tiles.shape().items as usize);
    let mut rest = y;
    let mut tasks = Vec::with_capacity(tiles.tiles().len().div_ceil(tiles_per_task));
    let firsts = tiles.tiles().iter().step_by(tiles_per_task).map(|tile| tile.first_row as usize);
    let ends = firsts.clone().skip(1).chain([a.nrows()]);
    for (first, end) in firsts.zip(ends) {
        let (part, behind) = rest.split_at_mut(end - first);
        tasks.push((first, part));
        rest = behind;
    }
    tasks.into_par_iter().for_each(|(first, part)| rows(first, part));
}
