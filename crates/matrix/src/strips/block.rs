//! A block of neighbouring strips that grows.

use super::length_tally::LengthTally;
use super::places::Places;
use super::{StripDetail, Strips, Summary};
use crate::{Features, RowLengths};
use std::ops::Range;

/// Neighbouring strips of a matrix, the last of which was added last.
///
/// ```
/// use sparsight_matrix::{Features, StripDetail, Strips, gallery::Recipe};
/// let a = "power-law,n=10000".parse::<Recipe>()?.generate::<f64>()?;
/// let strips = Strips::of(&a, 1024, StripDetail::All);
/// let mut block = strips.block_from(2);
/// block.grow();
/// block.grow();
/// assert_eq!(block.features().nrows, 2048);
/// assert_eq!(block.features().row_std, Features::of(&a.rows(2048..4096)).row_std);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Block<'s> {
    strips: &'s Strips,
    range: Range<usize>,
    lengths: LengthTally<'s>,
    /// Non-zeros times `x_reuse` of each strip.
    reused: f64,
    places: Places,
    outline: Features,
}

impl<'s> Block<'s> {
    pub(super) fn new(strips: &'s Strips, first: usize) -> Self {
        let ncols = strips.summaries.first().map_or(0, |strip| strip.features.ncols);
        Self {
            strips,
            range: first..first,
            lengths: LengthTally::new(&strips.lengths),
            reused: 0.0,
            places: Places::default(),
            // What the bins are needs all row lengths, which the outline does not ask for.
            outline: Features {
                bins: None,
                ..Features::from_row_lengths(&RowLengths::default(), ncols, 0, 1.0)
            },
        }
    }

    /// Adds the next strip, and gives [`Block::outline`]. O(row lengths that occur in it); nothing is allocated with
    /// [`StripDetail::RowLengths`].
    ///
    /// # Panics
    /// If there is none.
    pub fn grow(&mut self) -> &Features {
        let Summary { features: strip, counts, tallied } = &self.strips.summaries[self.range.end];
        if let (Some(first), Some(last)) = (counts.first(), counts.last()) {
            self.lengths.add(tallied, (first.0, last.0), strip.nrows, strip.nnz);
        }
        self.reused += strip.nnz as f64 * strip.x_reuse;
        if self.strips.detail == StripDetail::All {
            self.places.add(strip, self.range.is_empty());
        }
        self.range.end += 1;
        let (lengths, outline) = (&self.lengths, &mut self.outline);
        outline.nrows = lengths.nrows;
        outline.nnz = lengths.nnz;
        outline.empty_rows = lengths.empty_rows();
        outline.row_min = lengths.min();
        outline.row_max = lengths.max();
        outline.row_mode = lengths.mode();
        outline.hyb = lengths.hyb_split();
        outline.bandwidth = outline.bandwidth.max(strip.bandwidth);
        outline.x_reuse = if outline.nnz == 0 { 1.0 } else { (self.reused / outline.nnz as f64).min(1.0) };
        outline
    }

    /// Features that are kept up to date: all but the quantiles and the standard deviation of the row
    /// lengths, which are 0, and what [`StripDetail::RowLengths`] leaves out of [`Block::features`]. O(1).
    pub fn outline(&self) -> &Features {
        &self.outline
    }

    /// All its row lengths, counted from the strips. O(row lengths that occur in its strips).
    fn row_lengths(&self) -> RowLengths {
        let lengths = &self.strips.lengths;
        let mut rows = vec![0_u64; lengths.len()];
        for &(place, more) in self.strips.summaries[self.range.clone()].iter().flat_map(|s| &s.counts) {
            rows[place as usize] += u64::from(more);
        }
        RowLengths::from_counts(lengths.iter().copied().zip(rows))
    }

    /// Features of the block; with [`StripDetail::RowLengths`] without sizes of padded formats and locality. See the module for
    /// what is exact. O(row lengths that occur in the matrix, or with [`StripDetail::RowLengths`] in its strips).
    pub fn features(&self) -> Features {
        let Features { ncols, bandwidth, x_reuse, .. } = self.outline;
        let of = |lengths: &RowLengths| Features::from_row_lengths(lengths, ncols, bandwidth, x_reuse);
        match self.strips.detail {
            StripDetail::RowLengths => of(&self.row_lengths()),
            StripDetail::All => {
                let known = of(&self.lengths.row_lengths());
                let (padded, locality) = self.places.padded_and_locality(known.nnz);
                let (tiles, team_blocks) = (self.places.tiles, self.places.team_blocks);
                Features { padded, locality: Some(locality), tiles, team_blocks, ..known }
            }
        }
    }
}
