//! Locality of a growing block and its sizes in padded formats: sums over its strips.

use crate::{Features, Loads, Locality, PaddedSizes, TeamBlocks, TileWork, TileWorks};

/// Sums over the strips of a block.
#[derive(Debug, Clone, Default)]
pub(super) struct Places {
    padded: PaddedSizes,
    /// Shares and lines times the non-zeros of each strip.
    locality: Locality,
    /// Tiles, as if a tile and a thread block began with each strip.
    pub(super) tiles: Option<TileWorks>,
    pub(super) team_blocks: Option<TeamBlocks>,
}

impl Places {
    /// Adds a strip that follows; the first one if `is_first`.
    pub(super) fn add(&mut self, strip: &Features, is_first: bool) {
        if is_first {
            self.padded = strip.padded.clone();
        } else {
            self.padded.add(&strip.padded);
        }
        self.tiles = match (self.tiles.filter(|_| !is_first), strip.tiles) {
            (Some(before), Some(more)) => Some(TileWork::of_both(before, more)),
            (_, more) => more,
        };
        self.team_blocks = match (self.team_blocks.filter(|_| !is_first), strip.team_blocks) {
            (Some(before), Some(more)) => Some(before.merge(more)),
            (_, more) => more,
        };
        let (Some(more), sums) = (&strip.locality, &mut self.locality) else { return };
        // 0 says that no row has two non-zeros.
        sums.min_distance = match (sums.min_distance, more.min_distance) {
            (0, only) | (only, 0) => only,
            (one, other) => one.min(other),
        };
        sums.max_distance = sums.max_distance.max(more.max_distance);
        sums.team_steps.iter_mut().zip(more.team_steps).for_each(|(steps, more)| *steps += more);
        let weighted = |sums: &mut [f64; 2], shares: [f64; 2]| {
            sums.iter_mut().zip(shares).for_each(|(sum, share)| *sum += share * strip.nnz as f64);
        };
        weighted(&mut sums.warp_sectors, more.warp_sectors);
        weighted(&mut sums.multiprocessor_sectors, more.multiprocessor_sectors);
        let before = if is_first { Some(Loads::default()) } else { sums.loads };
        sums.loads = before.zip(more.loads).map(|(before, more)| before.followed_by(more.of_all(strip.nnz)));
    }

    /// Sums for a block with `nnz` non-zeros.
    pub(super) fn padded_and_locality(&self, nnz: u64) -> (PaddedSizes, Locality) {
        let share = |sum: f64| if nnz == 0 { 0.0 } else { sum / nnz as f64 };
        let Locality { warp_sectors, multiprocessor_sectors, loads, .. } = self.locality;
        let loads = loads.map(|loads| loads.of_each(nnz));
        let [warp_sectors, multiprocessor_sectors] =
            [warp_sectors, multiprocessor_sectors].map(|sectors| sectors.map(share));
        (self.padded.clone(), Locality { warp_sectors, multiprocessor_sectors, loads, ..self.locality })
    }
}
