//! Locality of the non-zeros, which decides how often an entry of x is fetched, and how long threads of one
//! warp wait for each other.

use super::sample::{Piece, Sampling};
use super::sweep::Sweep;
use super::{Loads, Rows};
use crate::Dtype;
use serde::{Deserialize, Serialize};

/// Columns of x that one memory sector of 32 bytes holds in f32; the unit in which `x_reuse` thinks.
const SECTOR_COLUMNS: u32 = 8;

/// Sample of what a warp reads with one thread per row. As the next one chosen, for a cost that stays below that of a product on
/// matrices worth asking about: together they look at 262,144 non-zeros at the most.
const WARP: Sampling = Sampling { rows: 32, most: 1024, pieces: 128 };
/// Sample of what a multiprocessor reads while its first-level cache holds x: its resident rows, or fewer if they are long.
const MULTIPROCESSOR: Sampling = Sampling { rows: 1024, most: 8192, pieces: 16 };

/// Sample for [`x_reuse`] of a strip. Chosen: sixteen strips have as many pieces as a matrix.
const STRIP: Sampling = Sampling { pieces: 8, ..WARP };

/// Order of the rows and place of the columns.
///
/// Shares count each memory sector of x, 32 bytes, that some non-zeros touch once, over these non-zeros: 1 where each
/// fetches its own, 1/8 in f32 where rows are dense.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Locality {
    /// Least distance of neighbouring non-zeros of a row, over all rows; 0 where no row has two. `minDist` of Lehnert et
    /// al. 2016.
    pub min_distance: u64,
    /// Largest such distance: `maxDist`.
    pub max_distance: u64,
    /// Steps that all warps take together with 1, 2, 4, 8, 16 and 32 threads a row: in a step a thread takes one
    /// non-zero, and a warp waits for the longest of its neighbouring rows.
    pub team_steps: [u64; 6],
    /// Sectors that up to 32 rows touch, over their non-zeros; for f32 and for f64. Of a sample.
    pub warp_sectors: [f64; 2],
    /// Sectors that up to 1024 rows touch, over their non-zeros; for f32 and for f64. Of a sample.
    pub multiprocessor_sectors: [f64; 2],
    /// Lines that loads touch; `None` in records that are older than they.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loads: Option<Loads>,
}

impl Locality {
    /// Place of a team size in `team_steps`; threads a row are a power of two of at most 32.
    pub const fn team(threads_per_row: u32) -> usize {
        threads_per_row.trailing_zeros() as usize
    }

    /// Place of what x consists of in `warp_sectors` and `multiprocessor_sectors`.
    pub const fn sector(dtype: Dtype) -> usize {
        match dtype.of_vectors() {
            Dtype::F32 => 0,
            Dtype::F64 | Dtype::Mixed => 1,
        }
    }

    pub(super) fn of(rows: &Rows<'_>, sweep: &Sweep, sampled: &Sampled) -> Self {
        let (min, max) = sweep.distances;
        Self {
            min_distance: u64::from(min),
            max_distance: u64::from(max),
            team_steps: sweep.team_steps,
            warp_sectors: sampled.by_warps,
            multiprocessor_sectors: sampled.by_multiprocessors,
            loads: Some(Loads::of(rows, sweep)),
        }
    }
}

/// What is counted on samples of the rows.
pub(super) struct Sampled {
    /// Share of reused non-zeros, `x_reuse`: 1 without any non-zero.
    pub(super) reuse: f64,
    by_warps: [f64; 2],
    by_multiprocessors: [f64; 2],
}

impl Sampled {
    /// Counts. O(1) in the rows, in parallel.
    pub(super) fn of(rows: &Rows<'_>) -> Self {
        let a = rows.a;
        let [reuse, single, double] = WARP.shares(rows, |sectors: &mut Sectors, piece: &Piece| {
            let [single, double] = sectors.count(&a.col_idx[piece.entries.clone()]);
            [reused(rows, piece), single, double]
        });
        let by_multiprocessors = MULTIPROCESSOR.shares(rows, |sectors: &mut Sectors, piece: &Piece| {
            sectors.count(&a.col_idx[piece.entries.clone()])
        });
        let reuse = if rows.nnz() == 0 { 1.0 } else { reuse };
        Self { reuse, by_warps: [single, double], by_multiprocessors }
    }
}

/// Only the share of reused non-zeros, of a smaller sample: for strips, of which there are many.
pub(super) fn x_reuse(rows: &Rows<'_>) -> f64 {
    let [reuse] = STRIP.shares(rows, |(): &mut (), piece: &Piece| [reused(rows, piece)]);
    if rows.nnz() == 0 { 1.0 } else { reuse }
}

/// Number of non-zeros that share a group of columns with the entry before or with any of the row above; both are sorted.
fn reused(rows: &Rows<'_>, piece: &Piece) -> u64 {
    let a = rows.a;
    let group = |at: usize| a.col_idx[at] / SECTOR_COLUMNS;
    let mut count = 0;
    for row in piece.rows.clone() {
        let part = piece.part(a, row);
        if part.is_empty() {
            continue;
        }
        let begins_before = part.start > a.row_ptr[row] as usize;
        let mut previous = begins_before.then(|| group(part.start - 1));
        let above = if row == rows.range.start { &[] } else { a.row(row - 1) };
        let first = group(part.start);
        let mut at = above.partition_point(|&col| col / SECTOR_COLUMNS < first);
        for entry in part {
            let group = group(entry);
            while at < above.len() && above[at] / SECTOR_COLUMNS < group {
                at += 1;
            }
            let from_above = at < above.len() && above[at] / SECTOR_COLUMNS == group;
            count += u64::from(previous == Some(group) || from_above);
            previous = Some(group);
        }
    }
    count
}

/// The golden ratio of 2^32, an odd number: D. Knuth, The Art of Computer Programming, volume 3, 6.4.
const SPREAD: u32 = 0x9E37_79B9;

/// Counts distinct sectors: an open-addressed set that is emptied by another stamp.
#[derive(Debug, Default)]
struct Sectors {
    /// Slots: from the top 32 bits of stamp, 30 bits of the group of 8 columns, and the halves of it that were seen.
    slots: Vec<u64>,
    stamp: u64,
}

impl Sectors {
    /// Groups of 8 and of 4 columns, a sector of f32 and of f64, that occur in `cols`.
    fn count(&mut self, cols: &[u32]) -> [u64; 2] {
        let size = (2 * cols.len()).next_power_of_two();
        if self.slots.len() < size {
            self.slots = vec![0; size];
        }
        self.stamp += 1;
        let (mask, mut eights, mut fours) = (self.slots.len() - 1, 0, 0);
        let shift = u32::BITS - self.slots.len().ilog2();
        for &col in cols {
            let group = col / SECTOR_COLUMNS;
            let wanted = self.stamp << 32 | u64::from(group) << 2;
            let half = 1 << (col / (SECTOR_COLUMNS / 2) % 2);
            // Twice: by one product, groups at equal distances may all take neighbouring slots.
            let spread = group.wrapping_mul(SPREAD);
            let mut at = ((spread ^ spread >> 15).wrapping_mul(SPREAD) >> shift) as usize;
            // At most half of the slots are taken: there is a free one.
            loop {
                let slot = &mut self.slots[at];
                if *slot & !3 == wanted {
                    fours += u64::from(*slot & half == 0);
                    *slot |= half;
                    break;
                }
                if *slot >> 32 != self.stamp {
                    *slot = wanted | half;
                    (eights, fours) = (eights + 1, fours + 1);
                    break;
                }
                at = (at + 1) & mask;
            }
        }
        [eights, fours]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Csr, Features};

    fn features(nrows: usize, ncols: usize, ptr: Vec<u64>, cols: Vec<u32>) -> Features {
        let values = vec![1.0_f32; cols.len()];
        Features::of(&Csr::try_new(nrows, ncols, ptr, cols, values).unwrap())
    }

    #[test]
    fn locality_of_a_small_matrix_is_that_worked_by_hand() {
        // Row 0: 0 3 5; row 1: 1 40; row 2 empty; row 3: 4 6 44.
        let f = features(4, 64, vec![0, 3, 5, 5, 8], vec![0, 3, 5, 1, 40, 4, 6, 44]);
        let l = f.locality.unwrap();
        assert_eq!((l.min_distance, l.max_distance), (2, 39));
        // One warp with one thread per row, of 3 steps. With 2 threads: 2. From 8 threads on, 4 rows a warp, again 1; 16: two
        // warps of 1; 32: three warps of 1 and one of 0.
        assert_eq!(l.team_steps, [3, 2, 1, 1, 2, 3]);
        // Groups of 8 columns: 0 and 5. Of 4 columns: 0, 1, 10 and 11.
        let shares = [2.0 / 8.0, 4.0 / 8.0];
        assert_eq!((l.warp_sectors, l.multiprocessor_sectors), (shares, shares), "one piece holds all rows");
    }

    #[test]
    fn sectors_are_counted_separately_for_every_32_rows_and_for_every_1024() {
        // 2048 rows, each with column 0 alone: 64 warps, 2 multiprocessors' worth.
        let n = 2048;
        let f = features(n, 1, (0..=n as u64).collect(), vec![0; n]);
        let l = f.locality.unwrap();
        assert_eq!(l.warp_sectors.map(|share| (share * n as f64) as u64), [64; 2]);
        assert_eq!(l.multiprocessor_sectors.map(|share| (share * n as f64) as u64), [2; 2]);
        assert_eq!((l.min_distance, l.max_distance), (0, 0), "no row has two");
        assert!((f.x_reuse - (n - 1) as f64 / n as f64).abs() < 1e-15);
    }

    #[test]
    fn a_reused_set_is_empty() {
        let mut sectors = Sectors::default();
        assert_eq!(sectors.count(&[0, 4, 5, 8, 800, 801]), [3, 4]);
        assert_eq!(sectors.count(&[0, 4]), [1, 2]);
        assert_eq!(sectors.count(&(0..64).collect::<Vec<_>>()), [8, 16]);
        assert_eq!(sectors.count(&[]), [0, 0]);
    }
}
