//! What BRO-ELL stores, from one sweep over the columns of a matrix.
//!
//! The largest of some numbers has as many bits as their OR. So nothing is compared, and the ORs of a large slice are
//! those of the small slices that it consists of.

use super::packing::BEFORE_FIRST;
use super::{BroEllShape, Csr, Scalar};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::iter::Sum;
use std::ops::{Add, Range};

/// What a matrix takes in one shape.
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
    pub(super) fn of_slice<T: Scalar>(a: &Csr<T>, rows: Range<usize>) -> Self {
        let (mut columns, mut bits_a_row) = (0, 0);
        for_each_strip(a, rows.clone(), |ors| {
            columns += ors.len();
            bits_a_row += total_bits(ors);
        });
        Self::of_parts(rows.len(), columns, bits_a_row)
    }

    const fn of_parts(rows: usize, columns: usize, bits_a_row: u64) -> Self {
        let (rows, columns) = (rows as u64, columns as u64);
        Self { entries: rows * columns, symbols: rows * bits_a_row.div_ceil(64), columns }
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

/// Neighbouring columns that are looked at in one go: two vector registers of any processor.
const LANES: usize = 8;

/// `MASKS[n]` keeps the first n lanes.
const MASKS: [[u32; LANES]; LANES + 1] = {
    let mut masks = [[0; LANES]; LANES + 1];
    let mut at = 0;
    while at < LANES * (LANES + 1) {
        if at % LANES < at / LANES {
            masks[at / LANES][at % LANES] = u32::MAX;
        }
        at += 1;
    }
    masks
};

/// The ORs of a strip's columns.
type Ors = [[u32; LANES]; STRIP / LANES];

/// Both shapes of the catalogue; a slice of the second consists of `PARTS` slices of the first.
const SLICES: [usize; 2] = [BroEllShape::ALL[0].slice as usize, BroEllShape::ALL[1].slice as usize];
const PARTS: usize = SLICES[1] / SLICES[0];
const _: () = assert!(SLICES[1] == PARTS * SLICES[0]);

/// The size of some rows, the first of which begins a slice, in every shape of the catalogue. O(nnz), in parallel,
/// nothing is allocated for a slice.
pub(crate) fn sizes<T: Scalar>(a: &Csr<T>, rows: &Range<usize>) -> Vec<(BroEllShape, BroEllSize)> {
    let totals = (0..rows.len().div_ceil(SLICES[1]))
        .into_par_iter()
        .with_min_len(4)
        .map(|at| {
            let start = rows.start + at * SLICES[1];
            of_large_slice(a, start..(start + SLICES[1]).min(rows.end))
        })
        .reduce(<[BroEllSize; 2]>::default, |one, other| [one[0] + other[0], one[1] + other[1]]);
    BroEllShape::ALL.into_iter().zip(totals).collect()
}

/// What the rows of one slice of the second shape take in both.
fn of_large_slice<T: Scalar>(a: &Csr<T>, rows: Range<usize>) -> [BroEllSize; 2] {
    let parts = || {
        let starts = rows.clone().step_by(SLICES[0]);
        starts.map(|start| start..(start + SLICES[0]).min(rows.end))
    };
    let mut widths = [0; PARTS];
    for (width, part) in widths.iter_mut().zip(parts()) {
        *width = longest(a, &part);
    }
    let width = widths.into_iter().max().unwrap_or(0);
    let (mut bits_of_parts, mut bits_of_all) = ([0; PARTS], 0);
    let (mut of_part, mut of_all): (Ors, Ors) = Default::default();
    for start in (0..width).step_by(STRIP) {
        let of_all = strip_of(&mut of_all, width - start);
        of_all.as_flattened_mut().fill(0);
        for ((part, &width), bits) in parts().zip(&widths).zip(&mut bits_of_parts) {
            let of_part = strip_of(&mut of_part, width.saturating_sub(start));
            or_differences(a, &part, start, of_part);
            for (all, or) in of_all.as_flattened_mut().iter_mut().zip(of_part.as_flattened()) {
                *all |= or;
            }
            *bits += total_bits(of_part.as_flattened());
        }
        bits_of_all += total_bits(of_all.as_flattened());
    }
    let small = parts().zip(widths).zip(bits_of_parts);
    [
        small.map(|((part, width), bits)| BroEllSize::of_parts(part.len(), width, bits)).sum(),
        BroEllSize::of_parts(rows.len(), width, bits_of_all),
    ]
}

/// Calls `look` with the OR of the differences in every column of a slice, a strip of them at a time.
pub(super) fn for_each_strip<T: Scalar>(a: &Csr<T>, rows: Range<usize>, mut look: impl FnMut(&[u32])) {
    let width = longest(a, &rows);
    let mut ors = Ors::default();
    for start in (0..width).step_by(STRIP) {
        let left = width - start;
        let ors = strip_of(&mut ors, left);
        or_differences(a, &rows, start, ors);
        look(&ors.as_flattened()[..STRIP.min(left)]);
    }
}

/// As many of `ors` as `columns` need, or all.
fn strip_of(ors: &mut Ors, columns: usize) -> &mut [[u32; LANES]] {
    &mut ors[..columns.min(STRIP).div_ceil(LANES)]
}

/// Sets `ors` to the OR of the differences at entries `start ..` of the rows, as many as `ors` holds, and 0 where no
/// row has an entry. Branches once a row and [`LANES`] entries, since most rows are short.
fn or_differences<T: Scalar>(a: &Csr<T>, rows: &Range<usize>, start: usize, ors: &mut [[u32; LANES]]) {
    ors.as_flattened_mut().fill(0);
    let cols = a.col_idx();
    for ends in a.row_ptr()[rows.start..=rows.end].windows(2) {
        let (first, end) = (ends[0] as usize, ends[1] as usize);
        for (at, ors) in (first + start..end).step_by(LANES).zip(ors.iter_mut()) {
            let here = lanes(cols, at);
            let mut before = if at == 0 { [0; LANES] } else { lanes(cols, at - 1) };
            if at == 0 {
                before[1..].copy_from_slice(&here[..LANES - 1]);
            }
            if at == first {
                before[0] = BEFORE_FIRST;
            }
            let mask = &MASKS[LANES.min(end - at)];
            for lane in 0..LANES {
                ors[lane] |= here[lane].wrapping_sub(before[lane]) & mask[lane];
            }
        }
    }
}

/// The columns from `at` on, and 0 behind the last.
fn lanes(cols: &[u32], at: usize) -> [u32; LANES] {
    cols[at..].first_chunk().copied().unwrap_or_else(|| {
        let mut lanes = [0; LANES];
        lanes[..cols.len() - at].copy_from_slice(&cols[at..]);
        lanes
    })
}

/// Entries of the longest of `rows`.
fn longest<T: Scalar>(a: &Csr<T>, rows: &Range<usize>) -> usize {
    let ends = a.row_ptr()[rows.start..=rows.end].windows(2);
    ends.map(|ends| (ends[1] - ends[0]) as usize).max().unwrap_or(0)
}

/// Bits of a number, or of the largest of those that it is the OR of.
pub(super) const fn bits(or: u32) -> u32 {
    u32::BITS - or.leading_zeros()
}

fn total_bits(ors: &[u32]) -> u64 {
    ors.iter().map(|&or| u64::from(bits(or))).sum()
}
