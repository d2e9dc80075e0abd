//! Features, all that models know of a matrix: one parallel pass over its pattern, never over its values, and a first look at some rows.
//!
//! ```text
//! every row's length   -> row lengths, sizes of SELL-C-sigma            ../sell_sizes.rs
//!                         rows of csr-binned's bins, tiles of csr-balanced   ../bin_counts.rs, ../tile_work.rs
//!                         work of thread blocks                         ../team_blocks.rs
//! every row, once      -> rows that are rows above them, or these moved ../moved_rows.rs
//!                         matrix band, distances, steps of teams        sweep.rs, team_steps.rs
//!                         diagonals, blocks of each size                ../diagonals.rs, ../block_counts.rs
//!                         sizes of BRO-ELL                              ../bro_ell_size.rs
//! a sample of groups   -> sectors of x, x_reuse                         sample.rs, locality.rs
//! a sample of loads    -> lines that a warp touches                     loads.rs
//! ```
//! What costs more than that is counted on the sample.

use crate::block_counts::{BLOCK_COUNT_ROWS, BLOCK_SIDES, BlockCount, BlockCounter};
use crate::diagonals::{DiagonalSet, most_diagonals};
use crate::{
    BinCounts, BroEllShape, BroEllSize, Csr, HybSplit, MatrixSize, Pattern, RowLengths, Scalar, SellShape,
    TeamBlocks, TileWork, TileWorks, sell_sizes,
};
use locality::Sampled;
use serde::{Deserialize, Serialize};
use std::ops::Range;
use sweep::{Count, ROWS_AT_ONCE, Sweep};

mod loads;
mod locality;
mod sample;
mod sweep;
mod team_steps;

pub use loads::Loads;
pub use locality::Locality;

/// The structure of a matrix in numbers.
///
/// Plain data: it is computed once, recorded beside measurements, and every prediction starts from it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Features {
    /// Rows.
    pub nrows: u64,
    /// Columns.
    pub ncols: u64,
    /// Stored non-zeros.
    pub nnz: u64,
    /// Rows without any non-zero.
    pub empty_rows: u64,
    /// Shortest row.
    pub row_min: u64,
    /// Longest row.
    pub row_max: u64,
    /// Most frequent row length.
    pub row_mode: u64,
    /// Row lengths at the quantiles of [`Features::QUANTILES`].
    pub row_quantiles: [u64; 7],
    /// Standard deviation of the row lengths.
    pub row_std: f64,
    /// Cut of HYB.
    pub hyb: HybSplit,
    /// Largest `|j - i|`.
    pub bandwidth: u64,
    /// Diagonals that hold a non-zero, counted up to those of [`Features::largest`]; one more than those stands for any larger
    /// number. `None` if not counted: in records that are older than it,
    /// and of blocks of rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diagonals: Option<u64>,
    /// Blocks of 2, 3, 4 and 6 rows and columns ([`BLOCK_SIDES`](crate::BLOCK_SIDES)) that hold a non-zero. `None` if not
    /// counted, as with `diagonals`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocks: Option<[BlockCount; 4]>,
    /// Rows that csr-binned gives to teams of each size. `None` in records that are older than it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bins: Option<BinCounts>,
    /// Steps of the tiles of csr-balanced, by shape and thread block. `None` where the
    /// order of the rows is not known, and in records that are older than it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tiles: Option<TileWorks>,
    /// Steps of thread blocks where teams of threads go along rows. `None` as with `tiles`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub team_blocks: Option<TeamBlocks>,
    /// Fraction of the non-zeros whose group of 8 columns was touched just before: by an earlier entry of the
    /// same row or by the row above. Near 1 the entries of x are found in cache, near 0 each is fetched again.
    /// Of a sample, as the sectors of [`Locality`].
    pub x_reuse: f64,
    /// Sizes of the padded formats; empty in records that are older than these.
    #[serde(default, skip_serializing_if = "PaddedSizes::is_empty")]
    pub padded: PaddedSizes,
    /// Order of the rows and place of the columns; `None` where it is not known: in records that are older than it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub locality: Option<Locality>,
}

impl Features {
    /// The quantiles held in `row_quantiles`.
    pub const QUANTILES: [f64; 7] = [0.05, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99];

    /// Features of `a`. O(nnz), in parallel; allocates a bit for each row and column.
    ///
    /// ```
    /// use sparsight_matrix::{Csr, Features};
    /// let a = Csr::try_new(2, 3, vec![0, 2, 3], vec![0, 2, 1], vec![1.0, 2.0, 3.0])?;
    /// let f = Features::of(&a);
    /// assert_eq!((f.row_max, f.bandwidth), (2, 2));
    /// # Ok::<(), sparsight_matrix::CsrError>(())
    /// ```
    pub fn of<T: Scalar>(a: &Csr<T>) -> Self {
        Self::of_pattern(a.into())
    }

    fn of_pattern(a: Pattern<'_>) -> Self {
        const { assert!(ROWS_AT_ONCE.is_multiple_of(BLOCK_COUNT_ROWS), "whole slices of blocks") };
        let (diagonals, blocks) = (DiagonalSet::for_matrix(a), BlockCounter::for_matrix(a));
        let (features, _) = Self::of_swept(&Rows::all(a), &|rows, copies| {
            let mut diagonals = || diagonals.add(a, rows.clone(), copies);
            a.in_parallel(&rows, &mut diagonals, &|| blocks.add(a, rows.clone(), copies));
        });
        Self { diagonals: Some(diagonals.count()), blocks: Some(blocks.counts()), ..features }
    }

    /// Features of some neighbouring rows, and how long these are: what [`Features::of`] says of the matrix that they
    /// are by themselves, except that the band is measured from the diagonal of the whole, since rows that lie in a band
    /// still do when they stand alone, and that diagonals and blocks are not counted.
    pub(crate) fn of_rows(rows: &Rows<'_>) -> (Self, RowLengths) {
        Self::of_swept(rows, &|_, _| ())
    }

    /// `count` is given all rows, some neighbouring ones at a time and which of these are copies of rows above them, in parallel.
    fn of_swept(rows: &Rows<'_>, count: &Count<'_>) -> (Self, RowLengths) {
        let ptr = rows.row_ptr();
        // Side by side, so that no thread waits for the last piece of one before it begins another.
        let ((sweep, windows), (sampled, tiles, team_blocks)) = rayon::join(
            || rayon::join(|| Sweep::of(rows, count), || sell_sizes::windows(ptr)),
            || (Sampled::of(rows), TileWork::of(ptr), TeamBlocks::of(ptr)),
        );
        let (lengths, sell) = (windows.lengths(), windows.sizes(sweep.team_steps[0]));
        let bro_ell = BroEllShape::ALL.into_iter().zip(sweep.bro_ell).collect();
        let (padded, locality) = (PaddedSizes::new(sell, bro_ell), Locality::of(rows, &sweep, &sampled));
        let known = Self::from_row_lengths(&lengths, rows.a.ncols as u64, sweep.bandwidth, sampled.reuse);
        let (tiles, team_blocks, locality) = (Some(tiles), Some(team_blocks), Some(locality));
        (Self { tiles, team_blocks, padded, locality, ..known }, lengths)
    }

    /// Computes [`Features::of_rows`] without sizes of padded formats and locality, `x_reuse` of a smaller sample.
    pub(crate) fn outline_of_rows(rows: &Rows<'_>) -> (Self, RowLengths) {
        let lengths = sell_sizes::windows(rows.row_ptr()).lengths();
        let (bandwidth, x_reuse) = (sweep::bandwidth(rows), locality::x_reuse(rows));
        (Self::from_row_lengths(&lengths, rows.a.ncols as u64, bandwidth, x_reuse), lengths)
    }

    /// Features of a matrix that is known only by its row lengths: benchmark matrices and tests.
    pub fn from_row_lengths(lengths: &RowLengths, ncols: u64, bandwidth: u64, x_reuse: f64) -> Self {
        let empty_rows = lengths.counts().first().filter(|c| c.0 == 0).map_or(0, |c| c.1);
        Self {
            nrows: lengths.nrows(),
            ncols,
            nnz: lengths.nnz(),
            empty_rows,
            row_min: lengths.min(),
            row_max: lengths.max(),
            row_mode: lengths.mode(),
            row_quantiles: Self::QUANTILES.map(|q| lengths.quantile(q)),
            row_std: lengths.std_dev(),
            hyb: lengths.hyb_split(),
            bandwidth,
            bins: Some(BinCounts::of(lengths)),
            x_reuse,
            ..Self::default()
        }
    }

    /// Features of a square matrix of which only its non-zeros and its `longest` row are known, from which sizes of formats follow. HYB
    /// counts as COO: the ELL part of rows of one length takes no more; DIA has as many diagonals, and BSR as many blocks, as it
    /// stores at all.
    pub fn largest(nrows: u64, nnz: u64, longest: u64) -> Self {
        let most_blocks = BLOCK_SIDES.map(|side| {
            let most = BlockCount::most(nnz, side);
            BlockCount { blocks: most, stored: most, longest: 0 }
        });
        Self {
            nrows,
            ncols: nrows,
            nnz,
            row_max: longest,
            row_mode: longest,
            row_quantiles: [longest; 7],
            hyb: HybSplit { width: 0, coo_nnz: nnz },
            diagonals: Some(most_diagonals(nrows, nnz)),
            blocks: Some(most_blocks),
            ..Self::default()
        }
    }

    /// Blocks of `side` rows and columns; `None` if they were not counted.
    pub fn blocks_of(&self, side: u32) -> Option<BlockCount> {
        let at = BLOCK_SIDES.iter().position(|known| *known == side)?;
        self.blocks.map(|blocks| blocks[at])
    }

    /// Lines that loads touch; `None` where they are not known: in records that are older than they.
    pub fn loads(&self) -> Option<&Loads> {
        self.locality.as_ref()?.loads.as_ref()
    }

    /// Mean row length, 0 without rows.
    pub fn row_mean(&self) -> f64 {
        if self.nrows == 0 { 0.0 } else { self.nnz as f64 / self.nrows as f64 }
    }

    /// The quantiles of the row lengths, each with the share of the rows that it stands for: those between the middles to its neighbours.
    pub fn shares_of_rows(&self) -> impl Iterator<Item = (f64, f64)> {
        let q = Self::QUANTILES;
        self.row_quantiles.into_iter().enumerate().map(move |(at, length)| {
            let from = if at == 0 { 0.0 } else { f64::midpoint(q[at - 1], q[at]) };
            let to = if at + 1 == q.len() { 1.0 } else { f64::midpoint(q[at], q[at + 1]) };
            (to - from, length as f64)
        })
    }
}

/// Sizes of the padded formats, known before a byte is converted: stored entries of each shape of SELL-C-sigma, and the parts of each
/// shape of BRO-ELL.
///
/// Recorded by the name of the shape, so that a catalogue may gain shapes: records made before that lack them.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct PaddedSizes {
    sell: Vec<(SellShape, u64)>,
    bro_ell: Vec<(BroEllShape, BroEllSize)>,
}

impl PaddedSizes {
    /// Builds sizes from those of the shapes.
    pub fn new(sell: Vec<(SellShape, u64)>, bro_ell: Vec<(BroEllShape, BroEllSize)>) -> Self {
        Self { sell, bro_ell }
    }

    /// Returns whether no shape was counted.
    pub fn is_empty(&self) -> bool {
        self.sell.is_empty() && self.bro_ell.is_empty()
    }

    /// Adds the sizes of rows that follow, shape by shape: exact where the rows so far fill their slices and windows, and
    /// else too much by less than what a slice or window at the border is padded by. Shapes that either lacks are lost.
    pub(crate) fn add(&mut self, following: &Self) {
        self.sell.retain_mut(|(shape, size)| following.sell(*shape).map(|more| *size += more).is_some());
        let bro_ell = |(shape, size): &mut (_, BroEllSize)| {
            following.bro_ell(*shape).map(|more| *size = *size + more).is_some()
        };
        self.bro_ell.retain_mut(bro_ell);
    }

    /// Stored entries, padding included; `None` if this shape was not counted.
    pub fn sell(&self, shape: SellShape) -> Option<u64> {
        self.sell.iter().find(|s| s.0 == shape).map(|s| s.1)
    }

    /// Parts of BRO-ELL; `None` if this shape was not counted.
    pub fn bro_ell(&self, shape: BroEllShape) -> Option<BroEllSize> {
        self.bro_ell.iter().find(|s| s.0 == shape).map(|s| s.1)
    }
}

/// Neighbouring rows of a matrix, counted as a matrix of their own without a copy. They and their entries keep their numbers.
#[derive(Debug, Clone)]
pub(crate) struct Rows<'a> {
    pub(crate) a: Pattern<'a>,
    pub(crate) range: Range<usize>,
}

impl<'a> Rows<'a> {
    /// All rows.
    pub(crate) fn all(a: Pattern<'a>) -> Self {
        Self { a, range: 0..a.nrows }
    }

    /// Count.
    pub(crate) fn count(&self) -> usize {
        self.range.len()
    }

    /// Non-zeros of the rows.
    pub(crate) fn nnz(&self) -> usize {
        self.entries().len()
    }

    /// Offsets of the rows, one more than rows; the first is where their entries begin.
    pub(crate) fn row_ptr(&self) -> &'a [u64] {
        &self.a.row_ptr[self.range.start..=self.range.end]
    }

    /// Places of their entries in `col_idx`.
    pub(crate) fn entries(&self) -> Range<usize> {
        let ptr = self.a.row_ptr;
        ptr[self.range.start] as usize..ptr[self.range.end] as usize
    }
}

impl From<&Features> for MatrixSize {
    fn from(f: &Features) -> Self {
        Self { nrows: f.nrows, ncols: f.ncols, nnz: f.nnz }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_of_a_small_matrix_are_those_worked_by_hand() {
        // Row 0: 0 and 20; row 1: 1 (beside 0 above) and 40; row 2 empty; row 3: 32, 33 (beside 32) and 60.
        let a = Csr::try_new(4, 64, vec![0, 2, 4, 4, 7], vec![0, 20, 1, 40, 32, 33, 60], vec![1.0_f32; 7])
            .unwrap();
        let f = Features::of(&a);
        assert_eq!((f.nrows, f.ncols, f.nnz, f.empty_rows), (4, 64, 7, 1));
        assert_eq!((f.row_min, f.row_max, f.row_mode), (0, 3, 2));
        assert_eq!(f.bandwidth, 57, "row 3, column 60");
        assert!((f.x_reuse - 2.0 / 7.0).abs() < 1e-15);
    }

    #[test]
    fn a_tridiagonal_matrix_reuses_x_and_scattered_columns_do_not() {
        let n = 10_000_u32;
        let ptr = (0..=u64::from(n)).map(|i| 2 * i).collect::<Vec<_>>();
        let near = (0..n).flat_map(|i| [i, i + 1]).collect();
        let far = (0..n).flat_map(|i| [(i * 7919) % n * 8, n * 8 + (i * 104_729) % n * 8]).collect();
        let of = |cols| {
            Features::of(
                &Csr::try_new(n as usize, 16 * n as usize, ptr.clone(), cols, vec![1.0; 2 * n as usize])
                    .unwrap(),
            )
        };
        assert!(of(near).x_reuse > 0.9);
        assert!(of(far).x_reuse < 0.01);
    }

    #[test]
    fn an_empty_matrix_has_finite_features() {
        let f = Features::of(&Csr::<f32>::try_new(0, 0, vec![0], vec![], vec![]).unwrap());
        assert_eq!((f.nnz, f.row_max, f.bandwidth), (0, 0, 0));
        assert!(f.x_reuse.is_finite() && f.row_std == 0.0 && f.row_mean() == 0.0);
    }
}
