//! Size of a matrix in BRO-ELL, from one pass over its columns.
//!
//! The largest of some numbers has as many bits as their OR. So nothing is compared, and the ORs of a large slice are
//! those of the small slices that it consists of.

mod short;

use crate::Pattern;
use crate::csr::offsets;
use crate::moved_rows::distinct;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::iter::Sum;
use std::ops::{Add, Range};
use std::str::FromStr;

/// Column before the first of a row: the first difference, the column plus 1, wraps around to the column when it is added.
pub(crate) const BEFORE_FIRST: u32 = u32::MAX;

/// Rows of a slice. Its text is `r256`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BroEllShape {
    /// Rows of a slice, at least 1.
    pub slice: u32,
}

impl BroEllShape {
    /// The catalogue: a warp's worth of rows, and the shape of Lehnert et al. 2016.
    pub const ALL: [Self; 2] = [Self { slice: 32 }, Self { slice: 256 }];

    /// First column of each slice of a matrix with these row offsets, counted over all slices, and the end of the last:
    /// `column_ptr` of BRO-ELL. O(nrows), in parallel.
    pub fn column_ptr(self, row_ptr: &[u64]) -> Vec<u64> {
        let nrows = row_ptr.len() - 1;
        let width = |at| {
            let rows = self.rows(at, nrows);
            row_ptr[rows.start..=rows.end].windows(2).map(|w| w[1] - w[0]).max().unwrap_or(0)
        };
        let slices = nrows.div_ceil(self.slice as usize);
        let widths: Vec<u64> = (0..slices).into_par_iter().with_min_len(256).map(width).collect();
        offsets(widths)
    }

    /// Stored values of a matrix whose slices begin at these columns, padding included.
    pub fn entries(self, nrows: u64, column_ptr: &[u64]) -> u64 {
        let Some(full) = column_ptr.len().checked_sub(2) else { return 0 };
        let slice = u64::from(self.slice);
        let last_rows = nrows - full as u64 * slice;
        column_ptr[full] * slice + (column_ptr[full + 1] - column_ptr[full]) * last_rows
    }

    /// The rows of slice `at` of a matrix with `nrows` rows.
    pub(crate) const fn rows(self, at: usize, nrows: usize) -> Range<usize> {
        let (start, end) = (at * self.slice as usize, (at + 1) * self.slice as usize);
        start..if end < nrows { end } else { nrows }
    }
}

impl fmt::Display for BroEllShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("r{}", self.slice))
    }
}

impl FromStr for BroEllShape {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let slice = text.strip_prefix('r').and_then(|s| s.parse().ok()).filter(|&s| s > 0);
        slice.map(|slice| Self { slice }).ok_or_else(|| format!("'{text}' is no shape such as r256"))
    }
}

serde_as_text!(BroEllShape);

/// Size of a matrix in one shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct BroEllSize {
    /// Stored values, padding included.
    pub entries: u64,
    /// 64-bit symbols that hold the columns.
    pub symbols: u64,
    /// Columns of all slices: a bit width is stored for each.
    pub columns: u64,
}

impl BroEllSize {
    /// Bits that hold one column index of a matrix with `nnz` non-zeros, everything that stands in for the indices
    /// shared out among the non-zeros: symbols with their padding, and bit widths. 32 in CSR; 0 without non-zeros.
    pub fn bits_a_column(&self, nnz: u64) -> f64 {
        let bits = 64.0 * self.symbols as f64 + 8.0 * self.columns as f64;
        if nnz == 0 { 0.0 } else { bits / nnz as f64 }
    }

    /// A slice of `a`.
    pub(crate) fn of_slice(a: Pattern<'_>, rows: Range<usize>) -> Self {
        let (mut columns, mut bits_per_row) = (0, 0);
        for_each_strip(a, rows.clone(), |ors| {
            columns += ors.len();
            bits_per_row += total_bits(ors);
        });
        Self::of_parts(rows.len(), columns, bits_per_row)
    }

    const fn of_parts(rows: usize, columns: usize, bits_per_row: u64) -> Self {
        let (rows, columns) = (rows as u64, columns as u64);
        Self { entries: rows * columns, symbols: rows * bits_per_row.div_ceil(64), columns }
    }
}

impl Add for BroEllSize {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self {
            entries: self.entries + other.entries,
            symbols: self.symbols + other.symbols,
            columns: self.columns + other.columns,
        }
    }
}

impl Sum for BroEllSize {
    fn sum<I: Iterator<Item = Self>>(sizes: I) -> Self {
        sizes.fold(Self::default(), Self::add)
    }
}

/// Columns of a slice that are looked at together, so that their ORs take no memory that grows with the matrix.
/// Chosen: 1 kB of them, and rows that are longer are rare.
const STRIP: usize = 256;

/// Both shapes of the catalogue; a slice of the second consists of `PARTS` slices of the first.
const SLICES: [usize; 2] = [BroEllShape::ALL[0].slice as usize, BroEllShape::ALL[1].slice as usize];
pub(crate) const PARTS: usize = SLICES[1] / SLICES[0];
const _: () = assert!(SLICES[1] == PARTS * SLICES[0]);

/// Rows that [`of_block`] looks at: a slice of the largest shape.
pub(crate) const BLOCK_ROWS: usize = SLICES[1];

/// A slice of the second shape of the catalogue, or the slices of the first that it consists of.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Block {
    /// Sizes in every shape of the catalogue.
    pub(crate) sizes: [BroEllSize; 2],
    /// No two neighbouring entries of a row are farther apart; 0 if no row has two.
    pub(crate) farthest: u32,
}

/// Sizes of up to [`BLOCK_ROWS`] rows that begin at a multiple of them, of which are known the longest row of each slice of the first shape
/// and the `steps` of [`moved_rows`](crate::moved_rows::steps). Allocates nothing.
pub(crate) fn of_block(
    a: Pattern<'_>,
    rows: Range<usize>,
    widths: [usize; PARTS],
    steps: &[Option<usize>],
) -> Block {
    let parts = || {
        let starts = rows.clone().step_by(SLICES[0]);
        starts.map(|start| start..(start + SLICES[0]).min(rows.end))
    };
    let width = widths.into_iter().max().unwrap_or(0);
    let (mut bits_of_parts, mut bits_of_all, mut farthest) = ([0; PARTS], 0, 0);
    let (mut of_part, mut of_all) = ([0; STRIP], [0; STRIP]);
    for start in (0..width).step_by(STRIP) {
        let of_all = strip_of(&mut of_all, width - start);
        of_all.fill(0);
        let wide_parts = parts().zip(steps).zip(widths).zip(&mut bits_of_parts);
        for (((part, step), width), bits) in wide_parts.filter(|((_, width), _)| *width > start) {
            let of_part = strip_of(&mut of_part, width - start);
            or_differences(a, distinct(part.clone(), *step), start, of_part);
            if let (0, Some(_), [first, ..]) = (start, step, &mut *of_part) {
                // These rows have the same differences behind their first entries.
                let firsts = a.rows(&part).iter().step_by(width);
                *first |= firsts.fold(0, |or, col| or | col.wrapping_sub(BEFORE_FIRST));
            }
            for (all, or) in of_all.iter_mut().zip(of_part.iter()) {
                *all |= or;
            }
            *bits += total_bits(of_part);
        }
        bits_of_all += total_bits(of_all);
        // The difference of a row's first entry is none of neighbours.
        let of_neighbours = &of_all[usize::from(start == 0)..];
        farthest = of_neighbours.iter().fold(farthest, |most, &or| most.max(or));
    }
    let small = parts().zip(widths).zip(bits_of_parts);
    let sizes = [
        small.map(|((part, width), bits)| BroEllSize::of_parts(part.len(), width, bits)).sum(),
        BroEllSize::of_parts(rows.len(), width, bits_of_all),
    ];
    Block { sizes, farthest }
}

/// Calls `look` with the OR of the differences in every column of a slice, a strip of them at a time.
pub(crate) fn for_each_strip(a: Pattern<'_>, rows: Range<usize>, mut look: impl FnMut(&[u32])) {
    let width = longest(a, &rows);
    let mut ors = [0; STRIP];
    for start in (0..width).step_by(STRIP) {
        let ors = strip_of(&mut ors, width - start);
        or_differences(a, rows.clone(), start, ors);
        look(ors);
    }
}

/// Part of `ors` that `columns` need, or all.
fn strip_of(ors: &mut [u32; STRIP], columns: usize) -> &mut [u32] {
    &mut ors[..columns.min(STRIP)]
}

/// Sets `ors` to the OR of the differences at entries `start ..` of the rows, as many as `ors` holds, and to 0 where no
/// row has an entry.
fn or_differences(a: Pattern<'_>, rows: Range<usize>, start: usize, ors: &mut [u32]) {
    let offsets = &a.row_ptr[rows.start..=rows.end];
    if start == 0 && ors.len() <= short::LANES {
        return short::or_differences(a.col_idx, offsets, ors);
    }
    ors.fill(0);
    let Some((first, others)) = ors.split_first_mut() else { return };
    for ends in offsets.windows(2) {
        let row = &a.col_idx[ends[0] as usize..ends[1] as usize];
        let Some(&col) = row.get(start) else { continue };
        *first |= col.wrapping_sub(if start == 0 { BEFORE_FIRST } else { row[start - 1] });
        for (or, neighbours) in others.iter_mut().zip(row[start..].windows(2)) {
            *or |= neighbours[1].wrapping_sub(neighbours[0]);
        }
    }
}

/// Entries of the longest of `rows`.
fn longest(a: Pattern<'_>, rows: &Range<usize>) -> usize {
    let ends = a.row_ptr[rows.start..=rows.end].windows(2);
    ends.map(|ends| (ends[1] - ends[0]) as usize).max().unwrap_or(0)
}

/// Bits of a number, or of the largest of those that it is the OR of.
pub(crate) const fn bits(or: u32) -> u32 {
    u32::BITS - or.leading_zeros()
}

fn total_bits(ors: &[u32]) -> u64 {
    ors.iter().map(|&or| u64::from(bits(or))).sum()
}
