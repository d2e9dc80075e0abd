//! Locality of a growing block and its sizes in padded formats: sums over its strips.

use crate::{Features, Locality, PaddedSizes, TeamBlocks, TileWork, TileWorks};

/// Sums over the strips of a block.
#[derive(Debug, Clone, Default)]
pub(super) struct Places {
    padded: PaddedSizes,
    min_distance: u64,
    max_distance: u64,
    team_steps: [u64; 6],
    /// Times the non-zeros of each strip.
    warp_sectors: [f64; 2],
    multiprocessor_sectors: [f64; 2],
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
        let Some(locality) = &strip.locality else { return };
        // 0 says that no row has two non-zeros.
        self.min_distance = match (self.min_distance, locality.min_distance) {
            (0, only) | (only, 0) => only,
            (one, other) => one.min(other),
        };
        self.max_distance = self.max_distance.max(locality.max_distance);
        for (steps, more) in self.team_steps.iter_mut().zip(locality.team_steps) {
            *steps += more;
        }
        let weighted = |sums: &mut [f64; 2], shares: [f64; 2]| {
            sums.iter_mut().zip(shares).for_each(|(sum, share)| *sum += share * strip.nnz as f64);
        };
        weighted(&mut self.warp_sectors, locality.warp_sectors);
        weighted(&mut self.multiprocessor_sectors, locality.multiprocessor_sectors);
    }

    /// Sums for a block with `nnz` non-zeros.
    pub(super) fn padded_and_locality(&self, nnz: u64) -> (PaddedSizes, Locality) {
        let share = |sum: f64| if nnz == 0 { 0.0 } else { sum / nnz as f64 };
        let locality = Locality {
            min_distance: self.min_distance,
            max_distance: self.max_distance,
            team_steps: self.team_steps,
            warp_sectors: self.warp_sectors.map(share),
            multiprocessor_sectors: self.multiprocessor_sectors.map(share),
        };
        (self.padded.clone(), locality)
    }
}
