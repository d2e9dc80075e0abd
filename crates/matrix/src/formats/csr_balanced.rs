#![doc = include_str!("csr_balanced.md")]

use super::csr::{CsrTable, TableFormat};
use super::segment::Segment;
use super::{CsrRows, CsrWith, FormatFamily, HostArray, Knob, NamedArrays, NamedNumbers, Shape};
use crate::tile_work::Tiles;
use crate::{Bytes, Csr, Dtype, Features, Infeasible, Limits, MatrixSize, Scalar, TileShape};
use rayon::prelude::*;
use std::marker::PhantomData;

/// The whole rows of a tile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tile {
    /// First row; where there is none, the row that the next tile begins with or a long row before it.
    pub first_row: u32,
    /// Rows; at most W.
    pub rows: u32,
    /// First entry of the tile.
    pub start: u64,
    /// Number of entries; at most 2 W.
    pub non_zeros: u32,
    /// True if a segment of a long row belongs to the tile as well.
    pub has_segment: bool,
}

impl Tile {
    /// Bytes of one on a device; see [`Tile::words`].
    pub const BYTES: u64 = 16;

    /// Words that kernels read in one load of 16 bytes: `first_row`; `rows` and above 16 bits `non_zeros`; the low half of
    /// `start`; its high half and in the top bit `has_segment`.
    pub const fn words(&self) -> [u32; 4] {
        let high = (self.start >> 32) as u32 | (self.has_segment as u32) << 31;
        [self.first_row, self.rows | self.non_zeros << 16, self.start as u32, high]
    }
}

/// The tiles of a matrix; its entries stay where the [`Csr`] has them.
#[derive(Debug, Clone, PartialEq)]
pub struct TileTable {
    shape: TileShape,
    tiles: Vec<Tile>,
    /// Segments, a place for each tile if there are long rows, else none.
    segments: Vec<Segment>,
}

impl Tiles<'_> {
    fn tile(&self, window: u64) -> (Tile, Segment) {
        let (first, end) = self.whole_rows(window);
        let start = self.row_ptr[first];
        let segment = self.segment(window, first);
        let tile = Tile {
            first_row: first as u32,
            rows: (end - first) as u32,
            start,
            non_zeros: (self.row_ptr[end] - start) as u32,
            has_segment: segment.count > 0,
        };
        (tile, segment)
    }

    /// Segment of the row before `first`, the first that starts in the window, that reaches into it.
    fn segment(&self, window: u64, first: usize) -> Segment {
        let Some(row) = first.checked_sub(1).filter(|&row| self.is_long(row)) else {
            return Segment::default();
        };
        let (begins, last) = (self.position(row) / self.items, (self.position(first) - 1) / self.items);
        if last < window {
            return Segment::default();
        }
        let place = |window: u64| u32::try_from(window).expect("2^32 tiles have more entries than memory");
        let entries = (self.row_ptr[row], self.row_ptr[first] - self.row_ptr[row]);
        let (count, index) = (last - begins, window - begins - 1);
        Segment::of(row as u32, entries, place(begins + 1), count as u32, index as u32)
    }
}

impl TileTable {
    /// Finds the tiles of a matrix with these row offsets. O(nrows + tiles log nrows), in parallel.
    ///
    /// # Panics
    /// If there are 2^32 rows or more, or the shape has 0 or more than [`TileShape::MOST`] items.
    pub fn of(row_ptr: &[u64], shape: TileShape) -> Self {
        assert!(shape.is_valid(), "1 to {} items, unlike in {shape}", TileShape::MOST);
        let windows = Tiles { row_ptr, items: shape.items.into() };
        let nrows = row_ptr.len() - 1;
        assert!(u32::try_from(nrows).is_ok(), "rows are named with 32 bits");
        let count = Self::tile_count(nrows as u64, row_ptr[nrows], shape);
        let has_long_rows = (0..nrows).into_par_iter().any(|row| windows.is_long(row));
        let (tiles, segments) = (0..count).into_par_iter().map(|window| windows.tile(window)).unzip();
        Self { shape, tiles, segments: if has_long_rows { segments } else { Vec::new() } }
    }

    /// Tiles of a matrix: `ceil((nrows + nnz) / items)`.
    pub const fn tile_count(nrows: u64, nnz: u64, shape: TileShape) -> u64 {
        nrows.saturating_add(nnz).div_ceil(shape.items as u64)
    }

    /// Bytes of a matrix of that size with its tiles, if it may be held with its x and y.
    ///
    /// # Errors
    /// [`Infeasible`] if `limits` are exceeded, or if there are more rows than 32 bits can name.
    pub fn check<T: Scalar>(
        size: MatrixSize,
        row_max: u64,
        shape: TileShape,
        limits: &Limits,
    ) -> Result<Bytes, Infeasible> {
        limits.check_unpadded(
            size,
            Self::device_bytes(size.nrows, size.nnz, row_max, shape, T::DTYPE),
            T::DTYPE,
        )
    }

    /// Bytes on a device: those of the CSR, 16 a tile, and, if the longest row is beyond a tile, a [`Segment`] with a
    /// partial sum and a counter a tile; saturates.
    pub fn device_bytes(nrows: u64, nnz: u64, row_max: u64, shape: TileShape, dtype: Dtype) -> Bytes {
        let tiles = Self::tile_count(nrows, nnz, shape);
        let places = if row_max > shape.items.into() { tiles } else { 0 };
        let table = tiles.saturating_mul(Tile::BYTES);
        let segments = Segment::device_bytes(places).0;
        let csr = Csr::<f32>::device_bytes(nrows, nnz, dtype).0;
        Bytes(csr.saturating_add(table).saturating_add(segments))
    }

    /// Size of the tiles.
    pub fn shape(&self) -> TileShape {
        self.shape
    }

    /// The tiles, in the order of their rows.
    pub fn tiles(&self) -> &[Tile] {
        &self.tiles
    }

    /// The segment of each tile, with a count of 0 where a tile has none; empty if no row is longer than W.
    pub fn segments(&self) -> &[Segment] {
        &self.segments
    }
}

/// A matrix with its tiles.
pub type BalancedCsr<T> = CsrWith<T, TileTable>;

/// CSR with tiles as one of the storage formats.
pub(super) static FORMAT: FormatFamily = FormatFamily {
    name: "csr-balanced",
    knobs: &[Knob { letter: 'i', meaning: "rows and non-zeros of a tile" }],
    shapes: || TileShape::ALL.map(|shape| [shape.items, 0]).to_vec(),
    description: include_str!("csr_balanced.md"),
    stays_in_csr: true,
    device_bytes: |shape, f, dtype| {
        TileTable::device_bytes(f.nrows, f.nnz, f.row_max, TileShape::from(shape), dtype)
    },
    ..FormatFamily::base(&TableFormat::<TileTable>(PhantomData))
};

impl From<Shape> for TileShape {
    fn from([items, _]: Shape) -> Self {
        Self { items }
    }
}

impl CsrTable for TileTable {
    const KEEPS: &'static [&'static str] = &["row_ptr", "col_idx", "values"];

    fn check_features<T: Scalar>(shape: Shape, f: &Features, limits: &Limits) -> Result<Bytes, Infeasible> {
        Self::check::<T>(f.into(), f.row_max, shape.into(), limits)
    }

    fn try_of<T: Scalar>(shape: Shape, csr: CsrRows<'_>, limits: &Limits) -> Result<Self, Infeasible> {
        Self::check::<T>(csr.size(), csr.longest(), shape.into(), limits)?;
        Ok(Self::of(csr.row_ptr, shape.into()))
    }

    fn numbers(&self) -> NamedNumbers {
        vec![("tile_count", self.tiles.len() as u64)]
    }

    fn arrays<T: Scalar>(&self, _: u64) -> NamedArrays<'static, T> {
        let tiles: Vec<u32> = self.tiles.par_iter().flat_map_iter(Tile::words).collect();
        let mut arrays = vec![("tiles", HostArray::u32s(tiles))];
        arrays.extend(Segment::arrays(&self.segments, self.segments.len()));
        arrays
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::csr::offsets;

    fn row_ptr(lengths: &[u64]) -> Vec<u64> {
        offsets(lengths.iter().copied())
    }

    #[test]
    fn the_tiles_of_a_small_matrix_are_those_worked_by_hand() {
        // Positions 0 3 4 | 6 10 | 23; windows of 4: rows 0 and 1 start in the first (row 2 at 4 in the second), ...
        let table = TileTable::of(&row_ptr(&[2, 0, 1, 3, 12]), TileShape { items: 4 });
        let tile = |first_row, rows, start, non_zeros, has_segment| Tile {
            first_row,
            rows,
            start,
            non_zeros,
            has_segment,
        };
        let wanted = [
            tile(0, 2, 0, 2, false),
            tile(2, 2, 2, 4, false),
            // The long row starts here, at position 10, and ends at 22.
            tile(4, 0, 6, 0, false),
            tile(5, 0, 18, 0, true),
            tile(5, 0, 18, 0, true),
            tile(5, 0, 18, 0, true),
        ];
        assert_eq!(table.tiles(), wanted);
        let segment = |start, length| Segment { start, length, row: 4, first: 3, count: 3 };
        let none = Segment::default();
        assert_eq!(table.segments(), [none, none, none, segment(6, 4), segment(10, 4), segment(14, 4)]);
    }

    #[test]
    fn a_row_as_long_as_a_tile_stays_whole_and_one_longer_is_cut() {
        let shape = TileShape { items: 8 };
        assert!(TileTable::of(&row_ptr(&[1, 8, 8]), shape).segments().is_empty());
        let cut = TileTable::of(&row_ptr(&[1, 9, 8]), shape);
        assert_eq!(cut.segments().iter().filter(|s| s.count > 0).count(), 1);
        assert!(cut.tiles().iter().all(|tile| tile.non_zeros <= 16));
    }

    #[test]
    fn a_tile_is_packed_into_four_words() {
        let tile = Tile { first_row: 7, rows: 3, start: 5 << 32 | 9, non_zeros: 20, has_segment: true };
        assert_eq!(tile.words(), [7, 20 << 16 | 3, 9, 1 << 31 | 5]);
        assert_eq!(size_of_val(&tile.words()) as u64, Tile::BYTES);
    }

    #[test]
    fn no_rows_have_no_tiles() {
        assert_eq!(TileTable::of(&[0], TileShape { items: 256 }).tiles(), []);
    }
}
