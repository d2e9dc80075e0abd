#![doc = include_str!("bro_ell.md")]

mod format;
mod packing;
mod short;
mod size;

pub(super) use format::FORMAT;
pub use packing::BroEllColumns;
pub use size::BroEllSize;
pub(crate) use size::{BLOCK_ROWS, of_block};

use crate::{Bytes, Csr, Dtype, Infeasible, Limits, Scalar};
use rayon::prelude::*;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::ops::Range;
use std::str::FromStr;

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
    /// [`BroEll::column_ptr`], for those who pack the entries themselves. O(nrows), in parallel.
    pub fn column_ptr(self, row_ptr: &[u64]) -> Vec<u64> {
        let nrows = row_ptr.len() - 1;
        let width = |at| {
            let rows = self.rows(at, nrows);
            row_ptr[rows.start..=rows.end].windows(2).map(|w| w[1] - w[0]).max().unwrap_or(0)
        };
        let slices = nrows.div_ceil(self.slice as usize);
        let widths: Vec<u64> = (0..slices).into_par_iter().with_min_len(256).map(width).collect();
        starts(widths.into_iter())
    }

    /// Stored values of a matrix whose slices begin at these columns, padding included.
    pub fn entries(self, nrows: u64, column_ptr: &[u64]) -> u64 {
        let Some(full) = column_ptr.len().checked_sub(2) else { return 0 };
        let slice = u64::from(self.slice);
        let last_rows = nrows - full as u64 * slice;
        column_ptr[full] * slice + (column_ptr[full + 1] - column_ptr[full]) * last_rows
    }

    /// The rows of slice `at` of a matrix with `nrows` rows.
    const fn rows(self, at: usize, nrows: usize) -> Range<usize> {
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

impl Serialize for BroEllShape {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for BroEllShape {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// A sparse matrix in BRO-ELL.
///
/// # Invariants
/// Held by construction, for slice s with r rows and w = `column_ptr[s + 1] - column_ptr[s]` columns, w being its
/// longest row:
/// * the bit width of its column k is `bits[column_ptr[s] + k]`, from 1 to 32, the least that holds each of its
///   differences;
/// * entry k of its row i has its value at `column_ptr[s] slice + k r + i`, and padding stands behind a row's entries
///   with difference 0 and value 0;
/// * symbol j of its row i lies at `symbol_ptr[s] + j r + i`; a row has as many as its bits fill.
#[derive(Debug, Clone, PartialEq)]
pub struct BroEll<T> {
    nrows: usize,
    ncols: usize,
    nnz: usize,
    shape: BroEllShape,
    column_ptr: Vec<u64>,
    symbol_ptr: Vec<u64>,
    bits: Vec<u8>,
    symbols: Vec<u64>,
    values: Vec<T>,
}

impl<T: Scalar> BroEll<T> {
    /// Converts. O(stored entries), in parallel.
    ///
    /// # Errors
    /// [`Infeasible`] if `limits` are exceeded; only a few words a slice have been allocated then.
    pub fn from_csr(a: &Csr<T>, shape: BroEllShape, limits: &Limits) -> Result<Self, Infeasible> {
        let rows = |slice| shape.rows(slice, a.nrows());
        let slices = a.nrows().div_ceil(shape.slice as usize);
        let sizes: Vec<BroEllSize> =
            (0..slices).into_par_iter().map(|slice| BroEllSize::of_slice(a.into(), rows(slice))).collect();
        let size: BroEllSize = sizes.iter().copied().sum();
        Self::check(a.nrows() as u64, a.ncols() as u64, a.nnz() as u64, shape, size, limits)?;

        let mut bits = vec![0; size.columns as usize];
        let mut symbols = vec![0; size.symbols as usize];
        let mut values = vec![T::default(); size.entries as usize];
        let (mut bits_left, mut symbols_left, mut values_left) =
            (bits.as_mut_slice(), symbols.as_mut_slice(), values.as_mut_slice());
        let mut parts = Vec::with_capacity(slices);
        for (slice, size) in sizes.iter().enumerate() {
            let (bits, symbols, values);
            (bits, bits_left) = bits_left.split_at_mut(size.columns as usize);
            (symbols, symbols_left) = symbols_left.split_at_mut(size.symbols as usize);
            (values, values_left) = values_left.split_at_mut(size.entries as usize);
            parts.push(SliceMut { rows: rows(slice), bits, symbols, values });
        }
        parts.into_par_iter().for_each(|part| part.fill(a));
        Ok(Self {
            nrows: a.nrows(),
            ncols: a.ncols(),
            nnz: a.nnz(),
            shape,
            column_ptr: starts(sizes.iter().map(|size| size.columns)),
            symbol_ptr: starts(sizes.iter().map(|size| size.symbols)),
            bits,
            symbols,
            values,
        })
    }

    /// Whether a matrix of this size may be converted; its bytes if so.
    ///
    /// # Errors
    /// As [`BroEll::from_csr`].
    pub fn check(
        nrows: u64,
        ncols: u64,
        nnz: u64,
        shape: BroEllShape,
        size: BroEllSize,
        limits: &Limits,
    ) -> Result<Bytes, Infeasible> {
        let bytes = Self::device_bytes(nrows, shape, size, T::DTYPE);
        limits.check_with_vectors((nrows, ncols), (size.entries.into(), nnz), bytes, T::DTYPE)
    }

    /// Bytes of all five arrays; saturates.
    pub fn device_bytes(nrows: u64, shape: BroEllShape, size: BroEllSize, dtype: Dtype) -> Bytes {
        let pointers = 2 * (u128::from(nrows.div_ceil(shape.slice.into())) + 1);
        let words = 8 * (pointers + u128::from(size.symbols));
        let values = u128::from(size.entries) * u128::from(dtype.bytes());
        Bytes(u64::try_from(words + u128::from(size.columns) + values).unwrap_or(u64::MAX))
    }

    /// Rows.
    pub fn nrows(&self) -> usize {
        self.nrows
    }

    /// Columns.
    pub fn ncols(&self) -> usize {
        self.ncols
    }

    /// Non-zeros held, padding excluded.
    pub fn nnz(&self) -> usize {
        self.nnz
    }

    /// Rows of a slice.
    pub fn shape(&self) -> BroEllShape {
        self.shape
    }

    /// First column of each slice, counted over all slices, and the end of the last.
    pub fn column_ptr(&self) -> &[u64] {
        &self.column_ptr
    }

    /// First symbol of each slice, and the end of the last.
    pub fn symbol_ptr(&self) -> &[u64] {
        &self.symbol_ptr
    }

    /// Bit width of the differences in each column of each slice.
    pub fn bits(&self) -> &[u8] {
        &self.bits
    }

    /// The packed differences, slice by slice.
    pub fn symbols(&self) -> &[u64] {
        &self.symbols
    }

    /// Values, slice by slice and in it column by column.
    pub fn values(&self) -> &[T] {
        &self.values
    }

    /// The slice that holds `row`.
    ///
    /// # Panics
    /// If `row >= nrows`.
    pub fn slice_of(&self, row: usize) -> BroEllSlice<'_, T> {
        let slice = self.shape.slice as usize;
        let at = row / slice;
        let rows = self.shape.rows(at, self.nrows);
        let of = |ptr: &[u64]| ptr[at] as usize..ptr[at + 1] as usize;
        let columns = of(&self.column_ptr);
        let first_value = columns.start * slice;
        BroEllSlice {
            values: &self.values[first_value..first_value + columns.len() * rows.len()],
            bits: &self.bits[columns],
            symbols: &self.symbols[of(&self.symbol_ptr)],
            rows,
        }
    }

    /// Columns and values of row `row`, unpacked.
    ///
    /// # Panics
    /// If `row >= nrows`.
    pub fn row(&self, row: usize) -> impl Iterator<Item = (u32, T)> {
        let slice = self.slice_of(row);
        let at = row - slice.rows.start;
        let values = slice.values.iter().skip(at).step_by(slice.rows.len());
        slice.columns_of(at).zip(values.copied())
    }
}

/// Neighbouring rows of a [`BroEll`] that share their bit widths.
#[derive(Debug, Clone)]
pub struct BroEllSlice<'a, T> {
    rows: Range<usize>,
    bits: &'a [u8],
    symbols: &'a [u64],
    values: &'a [T],
}

impl<'a, T> BroEllSlice<'a, T> {
    /// Its rows of the matrix.
    pub fn rows(&self) -> Range<usize> {
        self.rows.clone()
    }

    /// Entries of its longest row.
    pub fn width(&self) -> usize {
        self.bits.len()
    }

    /// Values of entry `k` of all its rows.
    ///
    /// # Panics
    /// If `k >= width`.
    pub fn values(&self, k: usize) -> &'a [T] {
        &self.values[k * self.rows.len()..(k + 1) * self.rows.len()]
    }

    /// Columns of its row `at`, unpacked.
    pub fn columns_of(&self, at: usize) -> BroEllColumns<'a> {
        BroEllColumns::new(self.bits, self.symbols, at, self.rows.len())
    }
}

/// A slice while it is filled; its arrays hold zeros at first.
struct SliceMut<'a, T> {
    rows: Range<usize>,
    bits: &'a mut [u8],
    symbols: &'a mut [u64],
    values: &'a mut [T],
}

impl<T: Scalar> SliceMut<'_, T> {
    fn fill(self, a: &Csr<T>) {
        let mut bits = self.bits.iter_mut();
        size::for_each_strip(a.into(), self.rows.clone(), |ors| {
            for (&or, bits) in ors.iter().zip(bits.by_ref()) {
                *bits = size::bits(or) as u8;
            }
        });
        let stride = self.rows.len();
        for (at, row) in self.rows.enumerate() {
            let (cols, values) = a.row(row);
            packing::pack(cols, self.bits, self.symbols, at, stride);
            for (place, &value) in self.values.iter_mut().skip(at).step_by(stride).zip(values) {
                *place = value;
            }
        }
    }
}

/// Where each of neighbouring parts of these lengths starts, and where the last ends.
fn starts(lengths: impl Iterator<Item = u64>) -> Vec<u64> {
    let ends = lengths.scan(0, |end, length| {
        *end += length;
        Some(*end)
    });
    std::iter::once(0).chain(ends).collect()
}

#[cfg(test)]
mod tests;
