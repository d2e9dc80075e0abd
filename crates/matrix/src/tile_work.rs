//! Work of the tiles of csr-balanced, from the row offsets alone.
//!
//! The products of a tile lie in shared memory, where teams of threads add up its rows, and a warp waits for the longest row of its
//! teams. What a tile takes is what its slowest warp takes, round by round:
//!
//! ```text
//! 48 rows, teams of 4, 8 rows a warp and round     warp 0: rows 0 .. 8 and so on, all in one round
//! rows of 3, 3, 40, 3 ..                           10 steps: the row of 40, by 4 threads; the tile waits for it
//! a row of more than 16 steps a thread             left to the whole warp: ceil(length / 32) steps, and its shuffles
//! ```
//! Several long rows of one warp are what makes a tile slow: how long its longest row is does not tell, nor does their sum.

use crate::THREAD_BLOCKS;
use crate::longest_rows::LongestRows;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Cut of a matrix into tiles: `items` rows and non-zeros a tile, counted together: W. Its text is `i512`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TileShape {
    /// Rows plus non-zeros of a window: 1 to [`TileShape::MOST`].
    pub items: u32,
}

impl TileShape {
    /// The catalogue.
    pub const ALL: [Self; 4] =
        [Self { items: 256 }, Self { items: 512 }, Self { items: 1024 }, Self { items: 2048 }];

    /// Most items: the rows and the up to `2 items` non-zeros of a tile are counted with 16 bits each.
    pub const MOST: u32 = (1 << 15) - 1;

    pub(crate) const fn is_valid(self) -> bool {
        0 < self.items && self.items <= Self::MOST
    }
}

impl fmt::Display for TileShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("i{}", self.items))
    }
}

/// Threads of a warp.
const WARP: u64 = 32;
/// Steps of a thread beyond which its row is left to the whole warp, as in `csr_balanced.cu`.
fn most_steps(items: u64, block: u64) -> u64 {
    (2 * items / block).max(16)
}

/// Steps that a warp takes to hand a row round and add up its sum. Chosen: the shuffles of five halvings, and the row's ends.
const HANDED_ROUND: u32 = 8;
/// Tiles that are looked at, at most, evenly over the matrix. Chosen: of more of them their mean counts and not each, since a
/// GPU works on as many at once.
const MOST_TILES: u64 = 1024;

/// Work of the tiles of one shape with thread blocks of one size, in steps: a step brings each thread of a warp to its next product.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(from = "(u64, u64)", into = "(u64, u64)")]
pub struct TileWork {
    /// Steps of the slowest tile; of a large matrix, of a sample of some hundreds.
    pub longest: u64,
    /// Steps of all tiles together.
    pub steps: u64,
}

impl From<(u64, u64)> for TileWork {
    fn from((longest, steps): (u64, u64)) -> Self {
        Self { longest, steps }
    }
}

impl From<TileWork> for (u64, u64) {
    fn from(work: TileWork) -> Self {
        (work.longest, work.steps)
    }
}

/// Work of the tiles of a matrix, by [`TileWork::ITEMS`], then by [`TileWork::BLOCKS`].
pub type TileWorks = [[TileWork; TileWork::BLOCKS.len()]; TileWork::ITEMS.len()];

impl TileWork {
    /// The shapes that are looked at, all but the smallest of the catalogue.
    pub const ITEMS: [u32; 3] = [512, 1024, 2048];

    /// The thread blocks that are looked at: so many threads.
    pub const BLOCKS: [u32; 5] = THREAD_BLOCKS;

    /// Combines rows with those that follow, as if a tile began there.
    pub(crate) fn of_both(one: TileWorks, other: TileWorks) -> TileWorks {
        std::array::from_fn(|shape| std::array::from_fn(|size| one[shape][size].beside(other[shape][size])))
    }

    /// Combines tiles with others.
    fn beside(self, other: Self) -> Self {
        Self { longest: self.longest.max(other.longest), steps: self.steps.saturating_add(other.steps) }
    }

    /// Counts the steps of each shape and block. O(rows of some hundred tiles), in parallel.
    pub(crate) fn of(row_ptr: &[u64]) -> TileWorks {
        Self::ITEMS.map(|items| Self::of_shape(row_ptr, TileShape { items }))
    }

    fn of_shape(row_ptr: &[u64], shape: TileShape) -> [Self; Self::BLOCKS.len()] {
        let (tiles, nrows) = (Tiles { row_ptr, items: shape.items.into() }, row_ptr.len() as u64 - 1);
        let count = (nrows + row_ptr[row_ptr.len() - 1] - row_ptr[0]).div_ceil(tiles.items);
        let looked_at = count.min(MOST_TILES);
        let none = [Self::default(); Self::BLOCKS.len()];
        if looked_at == 0 {
            return none;
        }
        // Evenly over the matrix; below 2^64, as there are no more of them than tiles.
        let tile = |at: u32| (u128::from(at) * u128::from(count) / u128::from(looked_at)) as u64;
        let each = |a: [Self; Self::BLOCKS.len()], b: [Self; Self::BLOCKS.len()]| {
            std::array::from_fn(|at| a[at].beside(b[at]))
        };
        let found = (0..looked_at as u32)
            .into_par_iter()
            .with_min_len(16)
            .map_init(Vec::new, |room, at| {
                tiles.steps(tile(at), room).map(|steps| Self { longest: steps, steps })
            })
            .reduce(|| none, each);
        let of_all = |steps: u64| u128::from(steps) * u128::from(count) / u128::from(looked_at);
        found.map(|one| Self { steps: u64::try_from(of_all(one.steps)).unwrap_or(u64::MAX), ..one })
    }
}

/// Row offsets cut into windows of `items` rows and non-zeros, counted together, by the position `row_ptr[r] - row_ptr[0] + r` of
/// each row.
pub(crate) struct Tiles<'a> {
    pub(crate) row_ptr: &'a [u64],
    pub(crate) items: u64,
}

impl Tiles<'_> {
    pub(crate) fn position(&self, row: usize) -> u64 {
        self.row_ptr[row] - self.row_ptr[0] + row as u64
    }

    /// Returns whether a row has more entries than a tile and is cut into segments.
    pub(crate) fn is_long(&self, row: usize) -> bool {
        self.row_ptr[row + 1] - self.row_ptr[row] > self.items
    }

    /// First row, or the number of rows, that starts in this window or behind it. O(log nrows).
    pub(crate) fn first_row(&self, window: u64) -> usize {
        self.first_row_between(window, 0, self.row_ptr.len() - 1)
    }

    /// [`Tiles::first_row`], which is known to lie between these two.
    fn first_row_between(&self, window: u64, mut low: usize, mut high: usize) -> usize {
        while low < high {
            let middle = low.midpoint(high);
            if self.position(middle) < window * self.items {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    /// First row of a window and the end of the rows that are whole in its tile. A long row reaches over the end of its window: it
    /// is the last that starts there.
    pub(crate) fn whole_rows(&self, window: u64) -> (usize, usize) {
        let first = self.first_row(window);
        // Each row takes a place of the window.
        let end = self.first_row_between(
            window + 1,
            first,
            (self.row_ptr.len() - 1).min(first + self.items as usize),
        );
        (first, if end > first && self.is_long(end - 1) { end - 1 } else { end })
    }

    /// Steps of the slowest warp of a tile, by the thread blocks.
    fn steps(&self, window: u64, room: &mut Vec<u32>) -> [u64; TileWork::BLOCKS.len()] {
        // Segments of longer rows take no more than other tiles.
        let (first, end) = self.whole_rows(window);
        let offsets = &self.row_ptr[first..=end];
        let longest = LongestRows::of(offsets, WARP as usize, room);
        TileWork::BLOCKS.map(|block| slowest_warp(offsets, &longest, self.items, block.into()))
    }
}

/// Steps of the slowest warp of a thread block that adds up the rows between `offsets`.
fn slowest_warp(offsets: &[u64], longest_rows: &LongestRows<'_>, items: u64, block: u64) -> u64 {
    let (rows, non_zeros) = (offsets.len() as u64 - 1, offsets[offsets.len() - 1] - offsets[0]);
    let mut threads = 1;
    while threads < WARP && 2 * threads * rows <= block && threads * rows < non_zeros {
        threads *= 2;
    }
    let (log, most) = (threads.trailing_zeros(), (most_steps(items, block) * threads) as u32);
    let of_warps = longest_rows.of_rows(WARP.ilog2() - log);
    let longest = of_warps.iter().copied().max().unwrap_or(0);
    let (mut warps, all) = ([0; 32], (block / WARP) as usize);
    let steps = |longest: u32| (longest + threads as u32 - 1) >> log;
    for round in of_warps.chunks(all) {
        for (warp, &longest) in warps.iter_mut().zip(round) {
            *warp += steps(longest);
        }
    }
    if longest > most && threads < WARP {
        // Longer rows are left to whole warps, one after the other.
        for (at, rows) in longest_rows.of_rows(0).chunks((WARP / threads) as usize).enumerate() {
            if of_warps[at] > most {
                let (mut longest, mut alone) = (0, 0);
                for &row in rows {
                    if row > most {
                        alone += row.div_ceil(WARP as u32) + HANDED_ROUND;
                    } else {
                        longest = longest.max(row);
                    }
                }
                let warp = &mut warps[at % all];
                *warp = *warp - steps(of_warps[at]) + steps(longest) + alone;
            }
        }
    }
    warps.into_iter().max().unwrap_or(0).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offsets(lengths: &[u64]) -> Vec<u64> {
        crate::csr::offsets(lengths.iter().copied()).iter().map(|offset| 7 + offset).collect()
    }

    /// Work with 256 threads.
    fn of(lengths: &[u64], items: u32) -> TileWork {
        TileWork::of_shape(&offsets(lengths), TileShape { items })[2]
    }

    #[test]
    fn steps_of_a_tile_are_those_worked_by_hand() {
        // 48 rows of 3: 192 items, one tile. Teams of 4, 8 rows a warp, one step each.
        assert_eq!(of(&[3; 48], 512), TileWork { longest: 1, steps: 1 });
        // One of them has 40: 10 steps by 4 threads. One has 70, more than 16 steps: 3 by the warp, 8 for handing it round,
        // beside the one step of the others of its warp.
        let mut lengths = [3; 48];
        lengths[2] = 40;
        assert_eq!(of(&lengths, 512).longest, 10);
        lengths[2] = 70;
        assert_eq!(of(&lengths, 512).longest, 3 + 8 + 1);
        // Two long rows of one warp wait for each other, of two warps they do not.
        lengths[5] = 70;
        assert_eq!(of(&lengths, 512).longest, 2 * 11 + 1);
        lengths[5] = 3;
        lengths[20] = 70;
        assert_eq!(of(&lengths, 512).longest, 12);
    }

    #[test]
    fn rows_that_take_several_rounds_are_added_up() {
        // 400 rows of 1 in tiles of 1,024 items: one thread each, 256 in the first round and 144 in the second. 800 items.
        assert_eq!(of(&[1; 400], 1024), TileWork { longest: 2, steps: 2 });
    }

    #[test]
    fn a_row_beyond_a_tile_is_cut() {
        // Windows of 512: the row of 5,000 starts in the first; of the tiles behind it only the last has rows.
        let work = of(&[2, 5000, 2], 512);
        assert!(work.longest <= 1 && work.steps <= 2, "{work:?}");
    }

    #[test]
    fn many_tiles_are_sampled() {
        // 10^6 rows of 7: 8 x 10^6 items in 15,625 tiles of 64 rows, teams of 4: 2 steps each.
        assert_eq!(of(&vec![7; 1_000_000], 512), TileWork { longest: 2, steps: 31_250 });
        assert_eq!(of(&[], 512), TileWork::default());
        assert_eq!(of(&[0; 3], 512), TileWork::default());
    }
}
