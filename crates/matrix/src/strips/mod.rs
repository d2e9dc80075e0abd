//! Features of any block of neighbouring strips, without a second look at the matrix.
//!
//! ```text
//! rows of a strip  -> its features, how many rows have which length      once, O(nnz), in parallel
//! strips i .. j-1  -> + strip j                                           O(lengths that occur in strip j)
//! ```
//! There are N (N + 1) / 2 blocks of N strips: a [`Block`] starts with one strip and grows by the next, so that all
//! blocks take one pass over the strips for each strip that they start with.
//!
//! | feature of a block | how it is known |
//! |---|---|
//! | rows, non-zeros, row lengths and all their statistics, where HYB cuts | exactly: as [`Features::of`] the rows alone |
//! | `bandwidth` | the largest of its strips, exactly; counted from the diagonal of the whole matrix, so that rows of a band stay rows of a band |
//! | `x_reuse`, sectors, lines of loads | mean of the strips', each non-zero counting the same; what the first row of a strip shares with the row above is not seen |
//! | lines of the heaviest warp | those of one strip's |
//! | distances | exactly |
//! | `team_steps` | sum of the strips': exactly if strips are multiples of 32 rows |
//! | sizes of padded formats | sum of the strips': exactly if strips are multiples of the format's slices and windows |
//!
//! Source: what Guo, Wang and Chen 2014, section 4, ask of every block.

mod block;
mod length_tally;
mod places;

pub use block::Block;

use crate::features::Rows;
use crate::{Csr, Features, RowLengths, Scalar};
use rayon::prelude::*;
use std::ops::Range;

/// Detail that is kept of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StripDetail {
    /// Row lengths, band and `x_reuse`: what the strip models look at.
    RowLengths,
    /// All features.
    All,
}

/// A matrix cut into strips of equally many rows (the last one may have fewer), each one summarised.
#[derive(Debug, Clone)]
pub struct Strips {
    rows_per_strip: usize,
    nrows: usize,
    detail: StripDetail,
    /// All row lengths that occur, increasing; a strip names them by their place here.
    lengths: Vec<u64>,
    summaries: Vec<Summary>,
    /// Non-zeros before each strip, and in all of them.
    starts: Vec<u64>,
}

/// Summary of a strip.
#[derive(Debug, Clone)]
struct Summary {
    features: Features,
    /// `(place of a length, rows of that length)`, increasing.
    counts: Vec<(u32, u32)>,
    /// Lengths that a growing block has to count.
    tallied: Vec<(u32, u32)>,
}

impl Strips {
    /// Summarises every `rows_per_strip` rows of `a`. O(nnz), in parallel.
    ///
    /// # Panics
    /// If a strip has no rows.
    pub fn of<T: Scalar>(a: &Csr<T>, rows_per_strip: usize, detail: StripDetail) -> Self {
        assert!(rows_per_strip > 0, "a strip has at least one row");
        let nrows = a.nrows();
        let summary = |strip: usize| {
            let start = strip * rows_per_strip;
            let rows = Rows { a: a.into(), range: start..(start + rows_per_strip).min(nrows) };
            match detail {
                StripDetail::RowLengths => Features::outline_of_rows(&rows),
                StripDetail::All => Features::of_rows(&rows),
            }
        };
        let summaries: Vec<(Features, RowLengths)> =
            (0..nrows.div_ceil(rows_per_strip)).into_par_iter().map(summary).collect();
        let mut lengths: Vec<u64> =
            summaries.iter().flat_map(|(_, lengths)| lengths.counts().iter().map(|c| c.0)).collect();
        lengths.sort_unstable();
        lengths.dedup();
        let place = |length| lengths.binary_search(&length).expect("every length was collected") as u32;
        let known = |(features, own): (Features, RowLengths)| Summary {
            features,
            counts: own.counts().iter().map(|&(length, rows)| (place(length), rows as u32)).collect(),
            tallied: Vec::new(),
        };
        let mut summaries: Vec<Summary> = summaries.into_par_iter().map(known).collect();
        let needed = match detail {
            StripDetail::RowLengths => {
                length_tally::needed(lengths.len(), summaries.iter().map(|s| &*s.counts))
            }
            StripDetail::All => vec![true; lengths.len()],
        };
        for Summary { counts, tallied, .. } in &mut summaries {
            tallied.extend(counts.iter().filter(|count| needed[count.0 as usize]));
        }
        let border = |strip: usize| a.row_ptr()[(strip * rows_per_strip).min(nrows)];
        let starts = (0..=nrows.div_ceil(rows_per_strip)).map(border).collect();
        Self { rows_per_strip, nrows, detail, lengths, summaries, starts }
    }

    /// Number of strips N; 0 without rows.
    pub fn count(&self) -> usize {
        self.summaries.len()
    }

    /// Rows of neighbouring strips.
    pub fn rows(&self, strips: &Range<usize>) -> Range<u64> {
        let row = |strip: usize| (strip * self.rows_per_strip).min(self.nrows) as u64;
        row(strips.start)..row(strips.end)
    }

    /// Non-zeros of neighbouring strips. O(1).
    ///
    /// # Panics
    /// If there are no such strips.
    pub fn nnz(&self, strips: &Range<usize>) -> u64 {
        self.starts[strips.end] - self.starts[strips.start]
    }

    /// The block of neighbouring strips. O(what they hold).
    ///
    /// # Panics
    /// If there are no such strips.
    pub fn block(&self, strips: Range<usize>) -> Block<'_> {
        let mut block = self.block_from(strips.start);
        strips.for_each(|_| {
            block.grow();
        });
        block
    }

    /// A block that is empty and grows from strip `first` on.
    pub fn block_from(&self, first: usize) -> Block<'_> {
        Block::new(self, first)
    }
}
