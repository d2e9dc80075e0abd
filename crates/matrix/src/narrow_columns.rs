//! Which groups of 32 entries have columns that 16 bits tell apart: counted with the other features, listed for SELL16.
//!
//! Entry k of 32 neighbouring rows is such a group, as SELL with slices of 32 stores them. Where the columns of a group span at
//! most [`MOST_SPAN`], it is narrow: one base for all, and 16 bits each. On a mesh the k-th neighbours of neighbouring points lie
//! close together, wherever they lie.
//!
//! ```text
//! row 0:  7  90005        lowest columns   7  90005     spans  2  40000: both are narrow
//! row 1:  8  130005       highest          9  130005
//! row 2:  9
//! ```

use crate::{Csr, Scalar, row_order};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Windows in which rows are sorted, as many as there are in the catalogue; 1 leaves the rows as they are.
pub const NARROW_SIGMAS: [u32; 2] = [1, 256];

/// The largest distance of two columns of a narrow group: 16 bits, of which one value marks padding.
pub(crate) const MOST_SPAN: u32 = 65_534;

/// Rows of a slice.
pub(crate) const SLICE: usize = 32;

/// Entries of a row that are looked at before the next row is. Chosen: the lowest and highest columns of so many groups stay in
/// the first cache.
const GROUPS_AT_ONCE: usize = 2_048;

/// Slices that one task looks at, at least. Chosen: some 10 us of work.
const SLICES_PER_TASK: usize = 32;

/// The groups of a matrix in slices of 32 rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct NarrowCount {
    /// Pairs of groups: of each slice half as many as its longest row has entries, rounded up.
    pub pairs: u64,
    /// Groups whose columns span more than 16 bits can tell apart.
    pub wide: u64,
}

impl NarrowCount {
    /// Entries that are stored, padding included.
    pub const fn stored(self) -> u64 {
        self.pairs.saturating_mul(2 * SLICE as u64)
    }

    /// The most wide groups that are stored: with more, columns of 32 bits take fewer bytes. Derived: of 32 columns, 128 bytes in
    /// SELL, a narrow group takes 64 and 4 for its base, a wide one 128 beside those.
    pub const fn most_wide(pairs: u64) -> u64 {
        (2 * pairs).saturating_mul(60) / 128
    }

    /// Whether there are too many wide groups.
    pub const fn is_over(self) -> bool {
        self.wide > Self::most_wide(self.pairs)
    }

    fn add(self, other: Self) -> Self {
        Self { pairs: self.pairs + other.pairs, wide: self.wide + other.wide }
    }
}

/// The groups of `a`, by [`NARROW_SIGMAS`]. O(nnz), in parallel; 4 bytes a row.
pub(crate) fn narrow_counts<T: Scalar>(a: &Csr<T>) -> [NarrowCount; 2] {
    NARROW_SIGMAS.map(|sigma| narrow_count(a, sigma))
}

/// The groups if rows are sorted by length within windows of `sigma`; of none beyond as many rows as 32 bits name.
fn narrow_count<T: Scalar>(a: &Csr<T>, sigma: u32) -> NarrowCount {
    if sigma > 1 && u32::try_from(a.nrows()).is_err() {
        return NarrowCount::default();
    }
    let permutation = permutation(a.row_ptr(), sigma);
    let of_slice = |(spans, mut count): (Spans, NarrowCount), slice: usize| {
        let mut spans = spans;
        let mut width = 0;
        spans.each(a, &rows(&permutation, a.nrows(), slice), |_, lowest, highest| {
            width += lowest.len() as u64;
            let wide = lowest.iter().zip(highest).filter(|(low, high)| **high - **low > MOST_SPAN);
            count.wide += wide.count() as u64;
        });
        count.pairs += width.div_ceil(2);
        (spans, count)
    };
    (0..a.nrows().div_ceil(SLICE))
        .into_par_iter()
        .with_min_len(SLICES_PER_TASK)
        .fold(|| (Spans::default(), NarrowCount::default()), of_slice)
        .map(|(_, count)| count)
        .reduce(NarrowCount::default, NarrowCount::add)
}

/// The row at each place; empty if they stay where they are.
pub(crate) fn permutation(row_ptr: &[u64], sigma: u32) -> Vec<u32> {
    if sigma > 1 { row_order::by_decreasing_length(row_ptr, sigma as usize) } else { Vec::new() }
}

/// The rows of a slice, by place.
pub(crate) fn rows(permutation: &[u32], nrows: usize, slice: usize) -> SliceRows {
    let places = slice * SLICE..((slice + 1) * SLICE).min(nrows);
    let mut rows = SliceRows { rows: [0; SLICE], count: places.len() };
    for (row, place) in rows.rows.iter_mut().zip(places) {
        *row = permutation.get(place).map_or(place, |&row| row as usize);
    }
    rows
}

/// The rows of a slice, by place: 32, but for the last one.
pub(crate) struct SliceRows {
    rows: [usize; SLICE],
    count: usize,
}

impl SliceRows {
    pub(crate) fn as_slice(&self) -> &[usize] {
        &self.rows[..self.count]
    }
}

/// Lowest and highest column of neighbouring groups of a slice: room for some of them.
#[derive(Debug, Default)]
pub(crate) struct Spans {
    lowest: Vec<u32>,
    highest: Vec<u32>,
}

impl Spans {
    /// Calls `found` with some groups of a slice after the other: which they are, their lowest and their highest columns.
    pub(crate) fn each<T: Scalar>(
        &mut self,
        a: &Csr<T>,
        rows: &SliceRows,
        mut found: impl FnMut(Range<usize>, &[u32], &[u32]),
    ) {
        let ptr = a.row_ptr();
        let length = |row: &usize| (ptr[row + 1] - ptr[*row]) as usize;
        let width = rows.as_slice().iter().map(length).max().unwrap_or(0);
        for from in (0..width).step_by(GROUPS_AT_ONCE) {
            let groups = from..(from + GROUPS_AT_ONCE).min(width);
            self.lowest.clear();
            self.lowest.resize(groups.len(), u32::MAX);
            self.highest.clear();
            self.highest.resize(groups.len(), 0);
            for &row in rows.as_slice() {
                let cols = a.row(row).0;
                let cols = &cols[groups.start.min(cols.len())..groups.end.min(cols.len())];
                let each = self.lowest.iter_mut().zip(&mut self.highest).zip(cols);
                each.for_each(|((lowest, highest), &col)| {
                    *lowest = (*lowest).min(col);
                    *highest = (*highest).max(col);
                });
            }
            found(groups, &self.lowest, &self.highest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gallery::Recipe;

    #[test]
    fn groups_are_those_of_the_definition() {
        for recipe in [
            "stencil2d,n=300",
            "random,rows=900,cols=300000,row=9",
            "arrow,n=70000",
            "long-rows,n=90000,long=3,length=70000",
            "power-law,n=80000,degree=4",
        ] {
            let a = recipe.parse::<Recipe>().unwrap().generate::<f32>().unwrap();
            for (sigma, count) in NARROW_SIGMAS.into_iter().zip(narrow_counts(&a)) {
                let permutation = permutation(a.row_ptr(), sigma);
                let mut expected = NarrowCount::default();
                for slice in 0..a.nrows().div_ceil(SLICE) {
                    let rows = rows(&permutation, a.nrows(), slice);
                    let cols: Vec<&[u32]> = rows.as_slice().iter().map(|row| a.row(*row).0).collect();
                    let width = cols.iter().map(|cols| cols.len()).max().unwrap();
                    expected.pairs += width.div_ceil(2) as u64;
                    for k in 0..width {
                        let group = || cols.iter().filter_map(|cols| cols.get(k));
                        let span = group().max().unwrap() - group().min().unwrap();
                        expected.wide += u64::from(span > MOST_SPAN);
                    }
                }
                assert_eq!(count, expected, "{recipe}, sigma = {sigma}");
            }
        }
    }

    #[test]
    fn columns_that_span_one_more_than_16_bits_tell_apart_are_wide() {
        let of = |far: u32| {
            let a = Csr::try_new(2, 70_000, vec![0, 1, 2], vec![3, far], vec![1.0_f32; 2]).unwrap();
            narrow_counts(&a)[0]
        };
        assert_eq!(of(3 + MOST_SPAN), NarrowCount { pairs: 1, wide: 0 });
        assert_eq!(of(4 + MOST_SPAN), NarrowCount { pairs: 1, wide: 1 });
        assert!(!of(3 + MOST_SPAN).is_over() && of(4 + MOST_SPAN).is_over());
    }
}
