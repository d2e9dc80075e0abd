//! Row lengths of a growing block, their mode and where HYB cuts, kept up to date with every strip.
//!
//! Lengths are named by their place among all that occur in the matrix, so that short ones and a few very long ones are
//! counted alike, by index. The mode can only become a length that was just counted. Where HYB cuts moves up or down
//! from where it was, over as many lengths as it moves:
//!
//! ```text
//! place   0   1   2   3   4       at = 2: rows and non-zeros of the lengths at places 2, 3, 4 are known as sums;
//! length  1   2   5   9  70       one step adds or takes away those of a single length. Kept are the sums of places
//! rows    5   8   6   0   1       0, 1, which are fewer where lengths are many: long rows are rare and of all lengths
//! ```

use crate::{HybSplit, RowLengths, row_lengths};

/// Places of `lengths` that have to be counted for modes and cuts of any block of these strips, given by the rows of each
/// place. Most of many lengths are never either:
///
/// * The mode of a block is the most frequent length of all, or one that is no rarer than that in some strip.
/// * HYB cuts where a share of the rows, a third, is at least as long, which holds of a block only if it holds of one of its strips.
///   Of longer rows it has to be known how many there are, not which.
pub(super) fn needed<'s>(
    lengths: usize,
    strips: impl Iterator<Item = &'s [(u32, u32)]> + Clone,
) -> Vec<bool> {
    let mut totals = vec![0_u64; lengths];
    for &(place, rows) in strips.clone().flatten() {
        totals[place as usize] += u64::from(rows);
    }
    let most = (0..lengths).max_by_key(|&place| totals[place]);
    let mut needed = vec![false; lengths];
    let mut longest_cut = 0;
    for counts in strips {
        let of_most = counts.iter().find(|count| Some(count.0 as usize) == most).map_or(0, |count| count.1);
        for &(place, _) in counts.iter().filter(|count| count.1 >= of_most) {
            needed[place as usize] = true;
        }
        let nrows: u64 = counts.iter().map(|count| u64::from(count.1)).sum();
        let mut longer = 0;
        for &(place, rows) in counts.iter().rev() {
            longer += u64::from(rows);
            if row_lengths::is_share(longer, nrows) {
                longest_cut = longest_cut.max(place as usize);
                break;
            }
        }
    }
    needed.iter_mut().take(longest_cut + 1).for_each(|needed| *needed = true);
    needed
}

#[derive(Debug, Clone)]
pub(super) struct LengthTally<'s> {
    /// All lengths that occur in the matrix, increasing.
    lengths: &'s [u64],
    /// Rows of each.
    counts: Vec<u32>,
    pub(super) nrows: u64,
    pub(super) nnz: u64,
    /// Smallest and largest place that was counted, once a row was.
    ends: Option<(u32, u32)>,
    /// Rows of the most frequent length in the upper half, its place in the lower; of several the longest:
    /// [`RowLengths::mode`]. One number, so that one instruction compares.
    mode: u64,
    /// Place of HYB's width.
    at: usize,
    /// Rows that are shorter, and their non-zeros.
    rows_below: u64,
    nnz_below: u64,
}

impl<'s> LengthTally<'s> {
    pub(super) fn new(lengths: &'s [u64]) -> Self {
        let counts = vec![0; lengths.len()];
        Self { lengths, counts, nrows: 0, nnz: 0, ends: None, mode: 0, at: 0, rows_below: 0, nnz_below: 0 }
    }

    /// Counts the rows of a strip: `(place of the length, rows)`, increasing, of the [`needed`] ones, the ends of all places,
    /// and all its rows and non-zeros.
    pub(super) fn add(&mut self, counts: &[(u32, u32)], (first, last): (u32, u32), nrows: u64, nnz: u64) {
        self.ends = Some(self.ends.map_or((first, last), |(least, most)| (least.min(first), most.max(last))));
        self.nrows += nrows;
        self.nnz += nnz;
        let (tally, mut mode) = (self.counts.as_mut_slice(), self.mode);
        for &(place, rows) in counts {
            let count = &mut tally[place as usize];
            *count += rows;
            mode = mode.max(u64::from(*count) << 32 | u64::from(place));
        }
        self.mode = mode;
        for &(place, rows) in counts.iter().take_while(|count| (count.0 as usize) < self.at) {
            self.rows_below += u64::from(rows);
            self.nnz_below += u64::from(rows) * self.lengths[place as usize];
        }
        self.move_cut();
    }

    /// Moves to the longest length that enough rows reach, or to the shortest of all if there is none.
    fn move_cut(&mut self) {
        while self.at > 0 && !row_lengths::is_worthwhile(self.rows_above(), self.nrows) {
            self.at -= 1;
            self.rows_below -= u64::from(self.counts[self.at]);
            self.nnz_below -= self.at_cut();
        }
        loop {
            let shorter = self.rows_below + u64::from(self.counts[self.at]);
            if !row_lengths::is_worthwhile(self.nrows - shorter, self.nrows) {
                return;
            }
            self.nnz_below += self.at_cut();
            self.rows_below = shorter;
            self.at += 1;
        }
    }

    /// Rows that are at least as long as the cut is wide.
    fn rows_above(&self) -> u64 {
        self.nrows - self.rows_below
    }

    /// Non-zeros of the rows that are as long as the cut is wide.
    fn at_cut(&self) -> u64 {
        u64::from(self.counts[self.at]) * self.lengths[self.at]
    }

    pub(super) fn empty_rows(&self) -> u64 {
        if self.lengths.first() == Some(&0) { self.counts[0].into() } else { 0 }
    }

    pub(super) fn min(&self) -> u64 {
        self.ends.map_or(0, |ends| self.lengths[ends.0 as usize])
    }

    pub(super) fn max(&self) -> u64 {
        self.ends.map_or(0, |ends| self.lengths[ends.1 as usize])
    }

    pub(super) fn mode(&self) -> u64 {
        self.ends.map_or(0, |_| self.lengths[self.mode as u32 as usize])
    }

    pub(super) fn hyb_split(&self) -> HybSplit {
        let rows = self.rows_above();
        if !row_lengths::is_worthwhile(rows, self.nrows) {
            return HybSplit { width: 0, coo_nnz: self.nnz };
        }
        let width = self.lengths[self.at];
        HybSplit { width, coo_nnz: self.nnz - self.nnz_below - width * rows }
    }

    /// All that were counted.
    pub(super) fn row_lengths(&self) -> RowLengths {
        let counts = self.lengths.iter().zip(&self.counts);
        RowLengths::from_counts(counts.map(|(&length, &rows)| (length, rows.into())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cut_moves_up_and_down_with_the_rows() {
        let lengths = [0, 2, 7, 100];
        let mut tally = LengthTally::new(&lengths);
        let mut add = |counts: &[(u32, u32)]| {
            let rows = counts.iter().map(|c| u64::from(c.1)).sum();
            let nnz = counts.iter().map(|c| u64::from(c.1) * lengths[c.0 as usize]).sum();
            tally.add(counts, (counts[0].0, counts[counts.len() - 1].0), rows, nnz);
            assert_eq!(tally.hyb_split(), tally.row_lengths().hyb_split());
            assert_eq!(tally.mode(), tally.row_lengths().mode());
            (tally.hyb_split().width, tally.hyb_split().coo_nnz)
        };
        assert_eq!(add(&[(3, 4095)]), (0, 409_500), "fewer than 4096 rows");
        assert_eq!(add(&[(3, 1)]), (100, 0));
        assert_eq!(add(&[(1, 8192)]), (100, 0), "4096 of 12,288 rows are a third");
        assert_eq!(add(&[(1, 1)]), (2, 98 * 4096), "now they are not");
        assert_eq!(add(&[(0, 10), (3, 10_000)]), (100, 0));
        assert_eq!(add(&[(0, 1_000_000)]), (0, 2 * 8193 + 100 * 14_096));
        assert_eq!((tally.min(), tally.max(), tally.empty_rows()), (0, 100, 1_000_010));
    }

    #[test]
    fn an_empty_tally_has_no_lengths() {
        let tally = LengthTally::new(&[]);
        assert_eq!((tally.min(), tally.max(), tally.mode(), tally.empty_rows()), (0, 0, 0, 0));
        assert_eq!(tally.hyb_split(), HybSplit::default());
    }
}
