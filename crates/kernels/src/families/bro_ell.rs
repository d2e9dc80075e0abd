//! `bro-ell`: one thread per row of BRO-ELL. On a CPU a task is a tile of `block` rows; up to 32 rows of a slice are unpacked
//! side by side, column by column, so that symbols and values are read about in the order in which they lie.

use super::{CUDA_STORE, CUDA_STREAM, cuda};
use crate::cpu::{CpuProducts, CpuTask, in_tiles};
use crate::family::{Elsewhere, Family, Run};
use crate::recipe::{LaunchStep, Recipe};
use sparsight_matrix::{BroEll, BroEllShape, BroEllSlice, Format, Knob, Scalar};

/// One thread per row of BRO-ELL.
pub(super) static FAMILY: Family = Family {
    name: "bro-ell",
    summary: "one thread per row of BRO-ELL",
    knobs: &[Knob { letter: 'r', meaning: "rows of a slice" }],
    variants: || BroEllShape::ALL.map(|shape| [shape.slice, 0, 0]).to_vec(),
    format: |[slice, ..]| Format::of("bro-ell", [slice, 0]),
    run: |_| Run::Launches(&RECIPE),
    cpu: Some(CpuProducts { f32: product, f64: product }),
    // No strip rule: it is learned alone (Lehnert et al. 2016).

    // What packing saves is in the time on the reference: only the ratio of the two devices is borrowed, which takes it for
    // granted that unpacking costs as much, beside memory, on the one as on the other.
    elsewhere: &[Elsewhere { library: "Tang et al.", name: "BRO-ELL" }],
    ..Family::BASE
};

static RECIPE: Recipe = Recipe {
    sources: &[CUDA_STORE, CUDA_STREAM, cuda!("bro_ell.cu")],
    definitions: |[slice, ..]| vec![("SLICE", slice)],
    steps: &[LaunchStep { entry: "bro_ell", ..LaunchStep::BASE }],
    ..Recipe::BASE
};

/// Rows that are unpacked side by side: every block size and every slice of the catalogue is a multiple of it.
const LANES: usize = 32;

/// y = A x.
fn product<T: Scalar>(task: &mut CpuTask<'_, T>) {
    let (a, x) = (task.matrix::<BroEll<T>>(), task.x);
    in_tiles(task.workers, task.block, task.y, |mut row, mut y| {
        while !y.is_empty() {
            let slice = a.slice_of(row);
            let count = LANES.min(slice.rows().end - row).min(y.len());
            let lanes;
            (lanes, y) = y.split_at_mut(count);
            multiply(&slice, row - slice.rows().start, x, lanes);
            row += count;
        }
    });
}

/// Sets `y`, at least one and at most [`LANES`] entries, to the product of the slice's rows from `first` on.
fn multiply<T: Scalar>(slice: &BroEllSlice<'_, T>, first: usize, x: &[T], y: &mut [T]) {
    // Lanes behind the last row repeat it and are not looked at.
    let mut columns: [_; LANES] = std::array::from_fn(|lane| slice.columns_of(first + lane.min(y.len() - 1)));
    y.fill(T::default());
    for k in 0..slice.width() {
        let values = &slice.values(k)[first..first + y.len()];
        for ((y, columns), &value) in y.iter_mut().zip(&mut columns).zip(values) {
            if let Some(col) = columns.next() {
                *y += value * x[col as usize];
            }
        }
    }
}
