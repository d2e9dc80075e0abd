#![doc = include_str!("bro_ell.md")]

mod format;
mod packing;

pub(super) use format::FORMAT;
pub use packing::BroEllColumns;

use crate::bro_ell_size as size;
use crate::csr::{offsets, pieces};
use crate::{BroEllShape, BroEllSize, Bytes, Csr, Dtype, Infeasible, Limits, MatrixSize, Scalar};
use rayon::prelude::*;
use std::ops::Range;

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
        Self::check(a.into(), shape, size, limits)?;

        let mut bits = vec![0; size.columns as usize];
        let mut symbols = vec![0; size.symbols as usize];
        let mut values = vec![T::default(); size.entries as usize];
        let each = |count: fn(&BroEllSize) -> u64| sizes.iter().map(move |size| count(size) as usize);
        let parts: Vec<SliceMut<'_, T>> = pieces(&mut bits, each(|size| size.columns))
            .zip(pieces(&mut symbols, each(|size| size.symbols)))
            .zip(pieces(&mut values, each(|size| size.entries)))
            .enumerate()
            .map(|(slice, ((bits, symbols), values))| SliceMut { rows: rows(slice), bits, symbols, values })
            .collect();
        parts.into_par_iter().for_each(|part| part.fill(a));
        Ok(Self {
            nrows: a.nrows(),
            shape,
            column_ptr: offsets(sizes.iter().map(|size| size.columns)),
            symbol_ptr: offsets(sizes.iter().map(|size| size.symbols)),
            bits,
            symbols,
            values,
        })
    }

    /// Bytes of a matrix of that size that takes `stored`, if it may be converted.
    ///
    /// # Errors
    /// As [`BroEll::from_csr`].
    pub fn check(
        size: MatrixSize,
        shape: BroEllShape,
        stored: BroEllSize,
        limits: &Limits,
    ) -> Result<Bytes, Infeasible> {
        let bytes = Self::device_bytes(size.nrows, shape, stored, T::DTYPE);
        limits.check_with_vectors(size, stored.entries.into(), bytes, T::DTYPE)
    }

    /// Bytes of all five arrays; saturates.
    pub fn device_bytes(nrows: u64, shape: BroEllShape, size: BroEllSize, dtype: Dtype) -> Bytes {
        let pointers = 2 * (u128::from(nrows.div_ceil(shape.slice.into())) + 1);
        let words = 8 * (pointers + u128::from(size.symbols));
        let values = u128::from(size.entries) * u128::from(dtype.bytes());
        Bytes(u64::try_from(words + u128::from(size.columns) + values).unwrap_or(u64::MAX))
    }

    /// Values, slice by slice and in it column by column.
    pub fn values(&self) -> &[T] {
        &self.values
    }

    /// Rows.
    pub fn nrows(&self) -> usize {
        self.nrows
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
    /// Rows of the slice in the matrix.
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

#[cfg(test)]
mod tests;
