//! Size of a matrix in BRO-ELL, from one pass over its columns.
//!
//! The largest of some numbers has as many bits as their OR. So nothing is compared, and the ORs of a large slice are
//! those of the small slices that it consists of.

use crate::Pattern;
use crate::csr::offsets;
use crate::moved_rows::Copies;
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

/// Entries of a row that are looked at together: four vector registers of any processor.
const LANES: usize = 16;
const _: () = assert!(STRIP.is_multiple_of(LANES));

/// `MASKS[n]` keeps the first n lanes.
const MASKS: [[u32; LANES]; LANES] = {
    let mut masks = [[0; LANES]; LANES];
    let mut at = 0;
    while at < LANES * LANES {
        if at % LANES < at / LANES {
            masks[at / LANES][at % LANES] = u32::MAX;
        }
        at += 1;
    }
    masks
};

/// Both shapes of the catalogue; a slice of the second consists of `PARTS` slices of the first.
const SLICES: [usize; 2] = [BroEllShape::ALL[0].slice as usize, BroEllShape::ALL[1].slice as usize];
pub(crate) const PARTS: usize = SLICES[1] / SLICES[0];
const _: () = assert!(SLICES[1] == PARTS * SLICES[0]);

/// Rows that [`of_block`] looks at: a slice of the largest shape.
pub(crate) const BLOCK_ROWS: usize = SLICES[1];

/// What is known of a slice of the first shape of the catalogue.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Part {
    /// Entries of the longest row.
    pub(crate) width: usize,
    /// OR of the [`first_difference`] of all rows.
    pub(crate) first: u32,
}

/// A slice of the second shape of the catalogue, or the slices of the first that it consists of.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Block {
    /// Sizes in every shape of the catalogue.
    pub(crate) sizes: [BroEllSize; 2],
    /// Neighbouring entries of a row may be farther apart than was known.
    pub(crate) is_wider: bool,
}

/// Sizes of up to [`BLOCK_ROWS`] rows that begin at a multiple of them, of which are known the `parts`, the `copies` of
/// [`moved_rows`](crate::moved_rows::copies), and `known`, a distance that some neighbouring entries have. Allocates nothing.
pub(crate) fn of_block(
    a: Pattern<'_>,
    rows: Range<usize>,
    parts: [Part; PARTS],
    copies: &[Copies],
    known: u32,
) -> Block {
    let ranges = || {
        let starts = rows.clone().step_by(SLICES[0]);
        starts.map(|start| start..(start + SLICES[0]).min(rows.end))
    };
    let width = parts.iter().map(|part| part.width).max().unwrap_or(0);
    let of_first = |or: u32| u64::from(bits(or));
    let mut bits_of_parts = parts.map(|part| of_first(part.first));
    let mut bits_of_all = of_first(parts.iter().fold(0, |or, part| or | part.first));
    let mut is_wider = false;
    let (mut of_part, mut of_all) = ([0; STRIP], [0; STRIP]);
    for start in (1..width).step_by(STRIP) {
        let of_all = strip_of(&mut of_all, width - start);
        of_all.fill(0);
        let wide = ranges().zip(copies).zip(&parts).zip(&mut bits_of_parts);
        for (((range, copies), part), bits) in wide.filter(|((_, part), _)| part.width > start) {
            let of_part = strip_of(&mut of_part, part.width - start);
            is_wider |= or_differences(a, copies.distinct(range), start, of_part, known);
            for (all, or) in of_all.iter_mut().zip(of_part.iter()) {
                *all |= or;
            }
            *bits += total_bits(of_part);
        }
        bits_of_all += total_bits(of_all);
    }
    let small = ranges().zip(parts).zip(bits_of_parts);
    let sizes = [
        small.map(|((range, part), bits)| BroEllSize::of_parts(range.len(), part.width, bits)).sum(),
        BroEllSize::of_parts(rows.len(), width, bits_of_all),
    ];
    Block { sizes, is_wider }
}

/// Calls `look` with the OR of the differences in every column of a slice, some of them at a time.
pub(crate) fn for_each_strip(a: Pattern<'_>, rows: Range<usize>, mut look: impl FnMut(&[u32])) {
    let width = longest(a, &rows);
    if width > 0 {
        look(&[rows.clone().fold(0, |or, row| or | first_difference(a.row(row)))]);
    }
    let mut ors = [0; STRIP];
    for start in (1..width).step_by(STRIP) {
        let ors = strip_of(&mut ors, width - start);
        or_differences(a, rows.clone(), start, ors, u32::MAX);
        look(&ors[..ors.len().min(width - start)]);
    }
}

/// Part of `ors` that `columns` need, and those that are looked at with them, or all.
fn strip_of(ors: &mut [u32; STRIP], columns: usize) -> &mut [u32] {
    &mut ors[..columns.min(STRIP).next_multiple_of(LANES)]
}

/// Difference of a row's first entry; 0 of an empty row.
pub(crate) fn first_difference(cols: &[u32]) -> u32 {
    cols.first().map_or(0, |col| col.wrapping_sub(BEFORE_FIRST))
}

/// Sets `ors` to the OR of the differences of the entries `start ..` of the rows, `start` at least 1, as many as `ors` holds, and to 0
/// where no row has an entry. Returns whether neighbouring entries may be farther apart than `known`.
///
/// Nearly all rows are short, and a loop over the few entries of one costs more than what it does with them. So as many as fit into some
/// vector registers are taken at once, less those behind the row's end.
#[inline(never)]
fn or_differences(
    a: Pattern<'_>,
    rows: impl Iterator<Item = usize>,
    start: usize,
    ors: &mut [u32],
    known: u32,
) -> bool {
    // Compared as numbers with a sign, for which all processors have wide instructions; larger ones are not.
    let may_be_wider = i32::try_from(a.ncols).is_err();
    let known = known as i32;
    let mut wider = [0; LANES];
    ors.fill(0);
    let (ors, _) = ors.as_chunks_mut::<LANES>();
    for row in rows {
        let (begin, end) = (a.row_ptr[row] as usize, a.row_ptr[row + 1] as usize);
        // From the entry before.
        let row = a.col_idx.get(begin + start - 1..end).unwrap_or_default();
        let mut behind = row.len().saturating_sub(1);
        for (ors, at) in ors.iter_mut().zip((0..).step_by(LANES)) {
            if behind >= LANES {
                let entries = row[at..].first_chunk().expect("one more than the differences");
                add_differences(ors, &mut wider, entries, known, |_| u32::MAX);
                behind -= LANES;
            } else {
                if behind > 0 {
                    // Behind the last row there is nothing to take.
                    let mut room = [0; LANES + 1];
                    let entries = &a.col_idx[end - behind - 1..];
                    let entries = entries.first_chunk().unwrap_or_else(|| {
                        room[..entries.len()].copy_from_slice(entries);
                        &room
                    });
                    let mask = &MASKS[behind];
                    add_differences(ors, &mut wider, entries, known, |lane| mask[lane]);
                }
                break;
            }
        }
    }
    may_be_wider || wider != [0; LANES]
}

#[inline]
fn add_differences(
    ors: &mut [u32; LANES],
    wider: &mut [u32; LANES],
    entries: &[u32; LANES + 1],
    known: i32,
    mask: impl Fn(usize) -> u32,
) {
    for lane in 0..LANES {
        let difference = entries[lane + 1].wrapping_sub(entries[lane]) & mask(lane);
        ors[lane] |= difference;
        wider[lane] |= u32::from(difference as i32 > known).wrapping_neg();
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

/// Sum of the [`bits`] of each. The exponent of a number says how many it has, for which all processors have wide instructions. The bit
/// below the highest is cleared first, and others that do not matter, so that rounding to 24 bits cannot carry into the next power of two.
fn total_bits(ors: &[u32]) -> u64 {
    let bits = |or: &u32| ((or & !(or >> 1)) as f32).to_bits() / (1 << 23) - if *or == 0 { 0 } else { 126 };
    ors.iter().map(bits).sum::<u32>().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_of_rows_of_any_length_have_the_bits_of_their_columns() {
        let lengths = [3, 0, 16, 17, 18, 33, 256, 257, 258, 600, 1, 274];
        let row = |(at, &length): (u32, &u32)| (0..length).map(move |k| at + k * (k + at) / 2).collect();
        let rows: Vec<Vec<u32>> = (0..).zip(&lengths).map(row).collect();
        let (ptr, cols) = (offsets(rows.iter().map(|row| row.len() as u64)), rows.concat());
        let a = Pattern { nrows: rows.len(), ncols: 1 << 20, row_ptr: &ptr, col_idx: &cols };
        let or = |k: usize| {
            let difference =
                |row: &Vec<u32>| row.get(k).map_or(0, |&col| if k == 0 { col + 1 } else { col - row[k - 1] });
            rows.iter().map(difference).fold(0, |or, one| or | one)
        };
        let bits_per_row = (0..600).map(|k| u64::from(bits(or(k)))).sum();
        assert_eq!(
            BroEllSize::of_slice(a, 0..rows.len()),
            BroEllSize::of_parts(rows.len(), 600, bits_per_row)
        );
    }

    #[test]
    fn bits_of_many_numbers_are_those_of_each() {
        let numbers: Vec<u32> = (0..32).flat_map(|bit| [0, 1 << bit, u32::MAX >> bit, 3 << bit]).collect();
        assert_eq!(total_bits(&numbers), numbers.iter().map(|&one| u64::from(bits(one))).sum());
    }
}
