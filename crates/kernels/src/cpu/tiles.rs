//! Entries of y in tiles, each computed by one worker.

use rayon::prelude::*;

/// Gives `work` each `block` neighbouring entries of `y` (the last tile may be shorter) with the number of the first: in parallel with
/// several `workers`, in turn on the calling thread with one, which asks no pool.
pub(crate) fn in_tiles<T: Send>(
    workers: usize,
    block: usize,
    y: &mut [T],
    work: impl Fn(usize, &mut [T]) + Sync,
) {
    if workers > 1 {
        y.par_chunks_mut(block).enumerate().for_each(|(tile, y)| work(tile * block, y));
    } else {
        y.chunks_mut(block).enumerate().for_each(|(tile, y)| work(tile * block, y));
    }
}
