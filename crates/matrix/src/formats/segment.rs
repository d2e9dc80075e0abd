//! A long row cut into segments, each of which one thread block adds up by itself: shared by the two formats that
//! balance rows, [`TileTable`](crate::TileTable) and [`RowBins`](crate::RowBins).
//!
//! ```text
//! row r     . . . . . . . . . .        3 segments of 3, 3 and 4: segment i of s holds [i L / s, (i + 1) L / s)
//!           |-----|-----|-------|
//! partials  p0    p1    p2             the block that comes last adds them up, always in this order
//! ```

use super::{Element, HostArray, NamedArrays};
use crate::{Bytes, Scalar};
use rayon::prelude::*;

/// A segment of a row. Segments of a row stand one behind the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Segment {
    /// First entry, counted in the arrays of the CSR.
    pub start: u64,
    /// Entries; no more than 32 bits can count, as in any row.
    pub length: u32,
    /// The row.
    pub row: u32,
    /// Place of the row's first segment in the list of segments.
    pub first: u32,
    /// Segments of the row; 0 marks a place in the list without a segment.
    pub count: u32,
}

impl Segment {
    /// Bytes of one on a device; see [`Segment::words`].
    pub const BYTES: u64 = 32;

    /// Segment `index` of the `count` of row `row`, whose entries are `start .. start + length` and whose first
    /// segment stands at place `first`.
    pub(crate) fn of(row: u32, (start, length): (u64, u64), first: u32, count: u32, index: u32) -> Self {
        let border = |i: u32| (u128::from(length) * u128::from(i) / u128::from(count)) as u64;
        let (from, to) = (border(index), border(index + 1));
        Self { start: start + from, length: (to - from) as u32, row, first, count }
    }

    /// Words that kernels read in two loads of 16 bytes: the low and the high half of `start`, `length`, `row`, `first`,
    /// `count`, and two unused words.
    pub const fn words(&self) -> [u32; 8] {
        [self.start as u32, (self.start >> 32) as u32, self.length, self.row, self.first, self.count, 0, 0]
    }

    /// Bytes on a device of `places` for segments, with the partial sum, 8 bytes whatever it is computed in, and the counter of
    /// each.
    pub(crate) const fn device_bytes(places: u64) -> Bytes {
        Bytes(places.saturating_mul(Self::BYTES + 8 + 4))
    }

    /// `segments`, and room for what thread blocks leave for each other about them: `places` of each. The counters are 0
    /// between two products.
    pub(crate) fn arrays<T: Scalar>(segments: &[Self], places: usize) -> NamedArrays<'static, T> {
        let mut words: Vec<u32> = segments.par_iter().flat_map_iter(Self::words).collect();
        words.resize(places * 8, 0);
        let len = places as u64;
        vec![
            ("segments", HostArray::u32s(words)),
            ("partials", HostArray::Room { element: Element::U64, len, zeroed: false }),
            ("counters", HostArray::Room { element: Element::U32, len, zeroed: true }),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_segments_of_a_row_hold_it_once_and_differ_by_one_entry() {
        for (length, count) in [(10_u64, 3_u32), (7, 7), (4_000_000_000, 65_536), (u64::from(u32::MAX), 1)] {
            let of = |index| Segment::of(5, (1 << 40, length), 11, count, index);
            let mut end = 1 << 40;
            for segment in (0..count).map(of) {
                assert_eq!(segment.start, end);
                end += u64::from(segment.length);
                let even = length / u64::from(count);
                assert!((even..=even + 1).contains(&u64::from(segment.length)));
                assert_eq!((segment.row, segment.first, segment.count), (5, 11, count));
            }
            assert_eq!(end, (1 << 40) + length);
        }
        assert_eq!(Segment::of(5, (1 << 40, 10), 11, 3, 2).words(), [6, 256, 4, 5, 11, 3, 0, 0]);
        assert_eq!(4 * Segment::default().words().len() as u64, Segment::BYTES);
    }
}
