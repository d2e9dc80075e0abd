//! Work of thread blocks when teams of threads go along rows, from row lengths in their order.
//!
//! ```text
//! blocks of 4 warps, one row a warp; rows of 3, 3, 3, 9 and of 1, 1, 1, 1 steps
//!   heaviest   18 steps: a multiprocessor does the steps of a block by itself, however idle the others are
//!   dragged    9 + 1: a block keeps its places until its slowest warp has ended
//! ```
//! Where long rows lie beside each other, one block has most of them. How many steps all warps take does not tell.

use crate::longest_rows::LongestRows;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// Threads of a warp.
const WARP: usize = 32;
/// Rows of the largest block, with one thread per row.
const ROWS: usize = 1024;
/// Pieces of [`ROWS`] rows that are looked at, at most, evenly over the matrix. Chosen: some milliseconds of one thread.
const MOST_PIECES: usize = 256;
/// Threads a block that kernels of the catalogue are launched with: the one list of them, for what is counted here and for what is
/// launched.
pub const THREAD_BLOCKS: [u32; 5] = [64, 128, 256, 512, 1024];
/// Team sizes: 1, 2, 4, 8, 16 and 32 threads.
const TEAMS: usize = 6;

/// Work of thread blocks for 1, 2, 4, 8, 16 and 32 threads a row, by [`TeamBlocks::BLOCKS`], in steps: a step takes each thread of a
/// warp to the next entry of its row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TeamBlocks {
    /// Steps of all warps of the block that has most of them.
    pub heaviest: [[u64; 5]; TEAMS],
    /// Sum over all blocks of the steps of their slowest warp.
    pub dragged: [[u64; 5]; TEAMS],
}

impl TeamBlocks {
    /// The thread blocks that are looked at: so many threads.
    pub const BLOCKS: [u32; 5] = THREAD_BLOCKS;

    /// Counts rows with these offsets; of a large matrix a sample stands for all. O(rows), in parallel.
    pub(crate) fn of(row_ptr: &[u64]) -> Self {
        let rows = row_ptr.len() - 1;
        let (pieces, looked_at) = (rows.div_ceil(ROWS), rows.div_ceil(ROWS).min(MOST_PIECES));
        let piece = |room: &mut Vec<u32>, at: usize| {
            let first = at * pieces / looked_at * ROWS;
            Self::of_piece(&LongestRows::of(&row_ptr[first..=(first + ROWS).min(rows)], ROWS, room))
        };
        let found = (0..looked_at)
            .into_par_iter()
            .with_min_len(8)
            .map_init(Vec::new, piece)
            .reduce(Self::default, Self::merge);
        let of_all = |steps: u64| {
            let all = u128::from(steps) * pieces as u128 / looked_at.max(1) as u128;
            u64::try_from(all).unwrap_or(u64::MAX)
        };
        Self { dragged: found.dragged.map(|team| team.map(of_all)), ..found }
    }

    /// Counts [`ROWS`] rows that begin a block.
    fn of_piece(longest: &LongestRows<'_>) -> Self {
        let mut all = Self::default();
        let mut heavy = [0_u64; ROWS];
        for team in 0..TEAMS {
            let steps = |longest: &u32| (u64::from(*longest) + (1 << team) - 1) >> team;
            // A warp of 32 rows with one thread per row; of half as many with twice the threads.
            let rows_of_warp = (TEAMS - 1 - team) as u32;
            let warps = longest.of_rows(rows_of_warp);
            for (heavy, longest) in heavy.iter_mut().zip(warps) {
                *heavy = steps(longest);
            }
            let mut blocks = warps.len();
            for size in 0..Self::BLOCKS.len() {
                // A block of twice as many warps.
                blocks /= 2;
                for at in 0..blocks {
                    heavy[at] = heavy[2 * at] + heavy[2 * at + 1];
                }
                all.heaviest[team][size] = heavy[..blocks].iter().copied().max().unwrap_or(0);
                // The slowest warp is that of the longest row.
                all.dragged[team][size] =
                    longest.of_rows(rows_of_warp + 1 + size as u32).iter().map(steps).sum();
            }
        }
        all
    }

    /// Combines rows with those that follow, as if a block began there.
    pub(crate) fn merge(self, other: Self) -> Self {
        let each = |a: [[u64; 5]; TEAMS], b: [[u64; 5]; TEAMS], join: fn(u64, u64) -> u64| {
            std::array::from_fn(|team| std::array::from_fn(|size| join(a[team][size], b[team][size])))
        };
        Self {
            heaviest: each(self.heaviest, other.heaviest, u64::max),
            dragged: each(self.dragged, other.dragged, |a, b| a + b),
        }
    }
}

// Blocks of the smallest size have two warps, and a piece has whole blocks of the largest.
const _: () = assert!(TeamBlocks::BLOCKS[0] as usize == 2 * WARP && TeamBlocks::BLOCKS[4] as usize == ROWS);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::csr::offsets;

    fn of(lengths: &[u64]) -> TeamBlocks {
        let offsets: Vec<u64> = offsets(lengths.iter().copied()).iter().map(|offset| 5 + offset).collect();
        TeamBlocks::of(&offsets)
    }

    #[test]
    fn steps_of_blocks_are_those_worked_by_hand() {
        let mut lengths = [1_u64; 200];
        (lengths[3], lengths[40], lengths[70]) = (70, 10, 33);
        let found = of(&lengths);
        // One thread per row: warps of 70, 10, 33, 1, 1, 1 and (8 rows) 1 step. Blocks of two warps: 80, 34, 2, 1.
        assert_eq!(found.heaviest[0][..2], [80, 114]);
        assert_eq!(found.dragged[0][..2], [70 + 33 + 1 + 1, 70 + 1]);
        // 32 threads: a warp each; two rows a block. The row of 70 takes 3 steps, that of 33 two, others one.
        assert_eq!((found.heaviest[5][0], found.dragged[5][0]), (4, 100 + 2 + 1));
        assert_eq!((found.heaviest[5][4], found.dragged[5][4]), (31 + 3, 3 + 1 + 2 + 1 + 1 + 1 + 1));
    }

    #[test]
    fn many_rows_are_sampled() {
        let found = of(&vec![7; 1_000_000]);
        assert_eq!((found.heaviest[0][0], found.heaviest[2][4]), (14, 64));
        // Of 977 pieces 256 are looked at, each with 16 blocks of 7 steps; the last has 576 rows, 9 blocks.
        let blocks = found.dragged[0][0] / 7;
        assert!((15_500..=15_700).contains(&blocks), "{blocks}");
        assert_eq!(of(&[]), TeamBlocks::default());
    }
}
