//! Bins of csr-binned: threads a row by its length, and how many rows of a matrix each bin has.

use crate::RowLengths;
use serde::{Deserialize, Serialize};

/// Rows and segments of each bin of csr-binned, from the row lengths of a matrix alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct BinCounts {
    /// Rows that get 32, 16, 8, 4, 2 threads and one: [`BinCounts::THREADS`].
    pub rows: [u64; BinCounts::BINS],
    /// Segments of longer rows, for a thread block each.
    pub segments: u64,
    /// Non-zeros in them.
    pub in_segments: u64,
    /// Steps of the threads of all teams: of a row as many as its threads times what each of them goes along, `t ceil(l / t)`.
    pub steps: u64,
    /// Longest row of each bin, 0 of an empty one. `None` in records that are older than it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub longest: Option<[u64; BinCounts::BINS]>,
}

impl BinCounts {
    /// Threads a row of each bin.
    pub const THREADS: [u32; 6] = [32, 16, 8, 4, 2, 1];

    /// Longest row of each bin. Chosen: up to a warp's width a thread has four entries to wait for at once at the most,
    /// and twice that would leave half of a team idle in the shortest rows; a warp has at most 16, one after the other
    /// as long as a product of a small matrix may take.
    pub const LONGEST: [u64; 6] = [512, 64, 32, 16, 8, 4];

    /// Bins of rows that are not cut.
    pub const BINS: usize = Self::THREADS.len();

    /// Entries of a segment that are worth another thread block. Chosen: 8 a thread for a block of 256. A row has
    /// `max(1, length / 2048)` segments.
    pub const SEGMENT: u64 = 2048;

    /// Counts rows of these lengths. O(different lengths).
    pub fn of(lengths: &RowLengths) -> Self {
        let (mut counts, mut longest) = (Self::default(), [0; Self::BINS]);
        for &(length, rows) in lengths.counts() {
            match Self::bin_of(length).checked_sub(1) {
                None => {
                    counts.segments += rows * Self::segments_of(length);
                    counts.in_segments += rows * length;
                }
                Some(bin) => {
                    counts.rows[bin] += rows;
                    longest[bin] = length.max(longest[bin]);
                    counts.steps += rows * length.next_multiple_of(Self::THREADS[bin].into());
                }
            }
        }
        Self { longest: Some(longest), ..counts }
    }

    /// 0 for a row that is cut into segments, else one more than the place of its bin.
    pub(crate) fn bin_of(length: u64) -> usize {
        Self::LONGEST.iter().take_while(|&&most| length <= most).count()
    }

    /// Segments of a row that is cut.
    pub(crate) fn segments_of(length: u64) -> u64 {
        (length / Self::SEGMENT).max(1)
    }

    /// Thread blocks of `block` threads that work on them: one a segment, and of each bin as many as hold its teams.
    pub fn thread_blocks(&self, block: u32) -> u64 {
        let of_bin = |(rows, threads): (u64, u32)| rows.div_ceil((block / threads).max(1).into());
        self.segments + self.rows.into_iter().zip(Self::THREADS).map(of_bin).sum::<u64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_of_a_few_rows_are_those_worked_by_hand() {
        let counts =
            BinCounts::of(&RowLengths::from_counts([(1, 1), (2, 1), (3, 1), (5, 1), (70, 1), (9000, 1)]));
        // 70 entries by 32 threads: 3 steps of each; 5 by 2: 3 of each; the others by one.
        assert_eq!((counts.rows, counts.steps), ([1, 0, 0, 0, 1, 3], 96 + 6 + 3 + 2 + 1));
        assert_eq!((counts.segments, counts.in_segments), (4, 9000));
        assert_eq!(counts.longest, Some([70, 0, 0, 0, 5, 3]));
        assert_eq!(counts.thread_blocks(64), 4 + 3);
    }
}
