#![doc = include_str!("ell.md")]

use super::array::{entries, entries_room};
use super::family::{longest_row, padded_entries};
use super::{
    CsrRows, Elsewhere, FormatFamily, FormatOf, Generator, HostArray, Layout, NamedArrays, NamedNumbers,
    PaddingBound, Shape, Step, Stored,
};
use crate::{Bytes, Csr, CsrError, Dtype, Features, Infeasible, Limits, MatrixSize, Scalar, columns};
use rayon::prelude::*;

/// A sparse matrix in ELLPACK.
///
/// # Invariants
/// Held by construction: `col_idx` and `values` have `width * stride` entries; entry `k` of row `i` lies at
/// `k * stride + i`; a row's padding stands behind its entries and has column [`Ell::<T>::PAD`] and value 0.
/// `stride` is `nrows` rounded up to [`Ell::<T>::ALIGN`] rows.
#[derive(Debug, Clone, PartialEq)]
pub struct Ell<T> {
    nrows: usize,
    width: usize,
    stride: usize,
    nnz: usize,
    col_idx: Vec<u32>,
    values: Vec<T>,
}

impl<T: Scalar> Ell<T> {
    /// Column index that marks padding.
    pub const PAD: u32 = columns::PAD;
    /// Rows to which the stride is rounded up: a warp's worth, so that every column starts on a 128-byte line.
    pub const ALIGN: u64 = 32;

    /// Converts with the width of the longest row. O(stored entries), in parallel.
    ///
    /// # Errors
    /// [`Infeasible`] if `limits` are exceeded; nothing has been allocated then.
    pub fn from_csr(a: &Csr<T>, limits: &Limits) -> Result<Self, Infeasible> {
        let width = longest_row(a.row_ptr());
        Self::check(a.into(), width, limits)?;
        Ok(Self::first_entries(a, width as usize))
    }

    /// The first `width` entries of each row; the rest is left out. For HYB.
    pub(crate) fn first_entries(a: &Csr<T>, width: usize) -> Self {
        let stride = Self::stride_for(a.nrows() as u64) as usize;
        let mut col_idx = vec![0; width * stride];
        let mut values = vec![T::default(); width * stride];
        let row_at = |place| (place < a.nrows()).then_some(place);
        let lengths = std::iter::repeat_n(stride, width);
        columns::fill(a, lengths, row_at, &mut col_idx, &mut values);
        let nnz = a.row_ptr().par_windows(2).map(|w| (w[1] - w[0]).min(width as u64)).sum::<u64>() as usize;
        Self { nrows: a.nrows(), width, stride, nnz, col_idx, values }
    }

    /// A matrix in which every row has `width` entries, `entry(row, k)` giving column and value of entry `k`.
    /// O(stored entries), in parallel, without a CSR beside it.
    ///
    /// # Errors
    /// [`CsrError`] if there are too many columns, or a row's are out of range or not strictly increasing.
    pub fn with_full_rows(
        nrows: usize,
        ncols: usize,
        width: usize,
        entry: impl Fn(usize, usize) -> (u32, T) + Sync,
    ) -> Result<Self, CsrError> {
        if ncols >= u32::MAX as usize {
            return Err(CsrError::TooManyColumns { ncols });
        }
        let stride = Self::stride_for(nrows as u64) as usize;
        let mut col_idx = vec![0_u32; width * stride];
        let mut values = vec![T::default(); width * stride];
        if stride > 0 {
            let columns = col_idx.par_chunks_mut(stride).zip(values.par_chunks_mut(stride)).enumerate();
            columns.for_each(|(k, (cols, vals))| {
                for (row, (col, val)) in cols.iter_mut().zip(vals).enumerate().take(nrows) {
                    (*col, *val) = entry(row, k);
                }
                cols[nrows..].fill(Self::PAD);
            });
        }
        // Checked column by column, as they lie.
        let broken = (0..width).into_par_iter().find_map_first(|k| {
            let cols = &col_idx[k * stride..k * stride + nrows];
            let before = &col_idx[k.saturating_sub(1) * stride..][..nrows];
            (0..nrows).find_map(|row| match cols[row] {
                col if col as usize >= ncols => Some(CsrError::Column { row, col, ncols }),
                col if k > 0 && before[row] >= col => Some(CsrError::Unsorted { row }),
                _ => None,
            })
        });
        match broken {
            Some(error) => Err(error),
            None => Ok(Self { nrows, width, stride, nnz: nrows * width, col_idx, values }),
        }
    }

    /// Bytes of a matrix of that size whose longest row has `width` entries, if it may be converted.
    ///
    /// # Errors
    /// As [`Ell::from_csr`].
    pub fn check(size: MatrixSize, width: u64, limits: &Limits) -> Result<Bytes, Infeasible> {
        // Padding counts what the rows lack; the few rows that only align the stride are not held against it.
        let stored = u128::from(size.nrows) * u128::from(width);
        limits.check_with_vectors(size, stored, Self::device_bytes(size.nrows, width, T::DTYPE), T::DTYPE)
    }

    /// Bytes of both arrays for `nrows` rows of `width`; saturates.
    pub fn device_bytes(nrows: u64, width: u64, dtype: Dtype) -> Bytes {
        let stored = u128::from(Self::stride_for(nrows)) * u128::from(width);
        Bytes(u64::try_from(stored * u128::from(4 + dtype.bytes())).unwrap_or(u64::MAX))
    }

    /// `nrows` rounded up to [`Ell::<T>::ALIGN`].
    pub const fn stride_for(nrows: u64) -> u64 {
        nrows.div_ceil(Self::ALIGN) * Self::ALIGN
    }

    /// Rows.
    pub fn nrows(&self) -> usize {
        self.nrows
    }

    /// Stored entries of a row, padding included.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Distance between neighbouring entries of a row.
    pub fn stride(&self) -> usize {
        self.stride
    }

    /// Non-zeros held, padding excluded.
    pub fn nnz(&self) -> usize {
        self.nnz
    }

    /// Columns, entry `k` of row `i` at `k * stride + i`.
    pub fn col_idx(&self) -> &[u32] {
        &self.col_idx
    }

    /// Values, laid out as the columns.
    pub fn values(&self) -> &[T] {
        &self.values
    }
}

/// ELL as one of the storage formats.
pub(super) static FORMAT: FormatFamily = FormatFamily {
    name: "ell",
    description: include_str!("ell.md"),
    padding_bound: |_| PaddingBound::LongestRow,
    generator: Some(Generator {
        routine: "generate_ell",
        threads: |number| number("width") * number("stride"),
        args: &["width", "stride", "col_idx", "values"],
    }),
    elsewhere: &[Elsewhere { library: "Ginkgo", name: "matrix::Ell" }],
    device_bytes: |_, f, dtype| Ell::<f32>::device_bytes(f.nrows, f.row_max, dtype),
    stored_entries: |_, f| stored_entries(f),
    padding: Some(|_, f, dtype| padded_entries(stored_entries(f), f, dtype)),
    ..FormatFamily::base(&EllFormat)
};

fn stored_entries(f: &Features) -> u64 {
    Ell::<f32>::stride_for(f.nrows).saturating_mul(f.row_max)
}

/// ELL as one slice of all places, in the order of the rows.
pub(super) const ONE_SLICE: [(&str, &str); 3] =
    [("places", "stride"), ("slice", "stride"), ("permutation", "null")];

struct EllFormat;

impl<T: Scalar> FormatOf<T> for EllFormat {
    fn check(&self, _: Shape, f: &Features, limits: &Limits) -> Result<Bytes, Infeasible> {
        Ell::<T>::check(f.into(), f.row_max, limits)
    }

    fn convert(&self, _: Shape, a: &Csr<T>, limits: &Limits) -> Result<Box<dyn Stored<T>>, Infeasible> {
        Ok(Box::new(Ell::from_csr(a, limits)?))
    }

    /// A single slice, of all rows and those that align the stride.
    fn layout(&self, _: Shape, csr: CsrRows<'_>, limits: &Limits) -> Result<Layout<T>, Infeasible> {
        let width = csr.longest();
        let most = Ell::<T>::check(csr.size(), width, limits)?;
        let stride = Ell::<T>::stride_for(csr.size().nrows);
        let stored = width * stride;
        Ok(Layout {
            numbers: vec![("width", width), ("stride", stride)],
            arrays: entries_room(stored),
            scratch: vec![("slice_ptr", HostArray::u64s(vec![0, stored]))],
            steps: vec![Step::Run { routine: "lay_slices", threads: stride, part: "", with: &ONE_SLICE }],
            most,
            ..Layout::default()
        })
    }
}

impl<T: Scalar> Stored<T> for Ell<T> {
    fn numbers(&self) -> NamedNumbers {
        vec![("width", self.width as u64), ("stride", self.stride as u64)]
    }

    fn arrays(&self) -> NamedArrays<'_, T> {
        entries(&self.col_idx, &self.values).into()
    }

    fn values_mut(&mut self) -> Vec<&mut [T]> {
        vec![&mut self.values]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn full_rows_are_the_matrix_that_csr_converts_to() {
        let a =
            Csr::try_new(3, 5, vec![0, 2, 4, 6], vec![0, 2, 1, 4, 3, 4], (1..=6).map(f64::from).collect())
                .unwrap();
        let entry = |row: usize, k: usize| (a.row(row).0[k], a.row(row).1[k]);
        assert_eq!(Ell::with_full_rows(3, 5, 2, entry).unwrap(), Ell::from_csr(&a, &Limits::NONE).unwrap());
    }

    #[test]
    fn full_rows_that_are_no_rows_are_refused() {
        let try_with = |entry: fn(usize, usize) -> (u32, f32)| Ell::with_full_rows(3, 5, 2, entry);
        assert_eq!(try_with(|row, _| (row as u32, 1.0)), Err(CsrError::Unsorted { row: 0 }));
        let wide = try_with(|row, k| ((4 * k + row) as u32, 1.0));
        assert_eq!(wide, Err(CsrError::Column { row: 1, col: 5, ncols: 5 }));
    }
}
