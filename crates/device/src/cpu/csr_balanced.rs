//! `csr-balanced`: a task is a run of tiles with about 16 `block` rows and non-zeros, counted together.
//!
//! The rows of a task are neighbours, so it writes a part of y of its own; a long row belongs to the task in whose tiles it
//! starts, and is added up by all threads.

use super::csr::{LANES, long_row, strided};
use rayon::prelude::*;
use sparsight_matrix::{Csr, Scalar, TileTable};

/// Rows and non-zeros of a task for each row that a task of the other kernels has, as in COO.
const ITEMS_A_ROW: usize = 16;

/// y = A x. `tiles` are those of `a`.
pub(super) fn product<T: Scalar>(a: &Csr<T>, tiles: &TileTable, block: usize, x: &[T], y: &mut [T]) {
    let tiles_a_task = (ITEMS_A_ROW * block).div_ceil(tiles.shape().items as usize);
    let mut rest = y;
    let mut tasks = Vec::with_capacity(tiles.tiles().len().div_ceil(tiles_a_task));
    let firsts = tiles.tiles().iter().step_by(tiles_a_task).map(|tile| tile.first_row as usize);
    let ends = firsts.clone().skip(1).chain([a.nrows()]);
    for (first, end) in firsts.zip(ends) {
        let (part, behind) = rest.split_at_mut(end - first);
        tasks.push((first, part));
        rest = behind;
    }
    tasks.into_par_iter().for_each(|(first, part)| {
        for (row, y) in (first..).zip(part) {
            let (cols, values) = a.row(row);
            *y = if cols.len() > tiles.shape().items as usize {
                long_row(cols, values, x)
            } else {
                strided::<T, LANES>(cols, values, x)
            };
        }
    });
}
