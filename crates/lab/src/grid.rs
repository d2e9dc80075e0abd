//! The grids of a profile that is measured for a transfer, or in a limited time.

use crate::papers::guo_wang_2013::handful;
use sparsight::calibrate::{Grid, Point};
use sparsight_kernels::{DeviceFacts, Kernel, RowLengthDistribution, StripUnit};
use sparsight_matrix::{Bytes, Dtype};

/// The benchmark matrices that a transfer takes of a device, and no others: the [`handful`] of each kernel, both placements.
pub fn quick_grid(facts: &DeviceFacts, dtypes: &[Dtype], bound: Bytes) -> Grid {
    let threshold = facts.max_threads_per_block.map(u64::from);
    let places = |kernel: Kernel, lengths: RowLengthDistribution| {
        let points = if lengths.is_drawn() { Vec::new() } else { handful(kernel, threshold) };
        // What counts non-zeros has p strips of them in one of rows.
        let of_rows = |strips| if kernel.unit() == StripUnit::Rows { strips } else { 1 };
        points.into_iter().map(|point| (point.row_length, of_rows(point.strips))).collect()
    };
    Grid::of(places, facts, dtypes, bound)
}

/// The points of `grid` in an order for a run that may be cut short: those of the quick grid first, then the others in eight
/// rounds, each spread over all kernels and sizes.
pub fn informative_first(grid: Grid, facts: &DeviceFacts) -> Grid {
    const ROUNDS: f64 = 8.0;
    let quick = quick_grid(facts, &Dtype::ALL, grid.bound);
    let round = |at: usize, point: &Point| {
        if quick.points.contains(point) { 0 } else { 1 + (ROUNDS * evenly_spread(at)) as usize }
    };
    let numbered = grid.points.into_iter().enumerate();
    let mut placed: Vec<(usize, Point)> = numbered.map(|(at, point)| (round(at, &point), point)).collect();
    placed.sort_by_key(|&(round, point)| (round, point.dtype));
    Grid { points: placed.into_iter().map(|(_, point)| point).collect(), bound: grid.bound }
}

/// A place between 0 and 1 for number `at` of a list, by the golden ratio: any number of first places are spread over the whole list.
pub fn evenly_spread(at: usize) -> f64 {
    let golden = (5_f64.sqrt() - 1.0) / 2.0;
    (at as f64 * golden).fract()
}
