//! The matrix in compressed sparse rows, on which everything else stands, and its pattern.

use crate::{Bytes, Dtype, Infeasible, Limits, MatrixSize, NoHostMemory, Scalar};
use rayon::prelude::*;
use std::ops::Range;
use thiserror::Error;

/// A sparse matrix in compressed sparse rows.
///
/// # Invariants
/// Checked by [`Csr::try_new`]; fields are private so that they hold for ever.
/// * `row_ptr` has `nrows + 1` entries, starts at 0, never decreases and ends at `nnz`.
/// * Within a row `col_idx` strictly increases: sorted, no duplicates.
/// * Every column index is below `ncols`, and `ncols <= 2^32 - 1`, so that `u32::MAX` is free to mean
///   "padding". `nnz` may exceed 2^32.
#[derive(Debug, Clone, PartialEq)]
pub struct Csr<T> {
    nrows: usize,
    ncols: usize,
    row_ptr: Vec<u64>,
    col_idx: Vec<u32>,
    values: Vec<T>,
}

/// Reasons why three arrays are not a [`Csr`].
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum CsrError {
    /// More columns than a 32-bit index can name.
    #[error("{ncols} columns are more than a 32-bit column index can name ({})", u32::MAX)]
    TooManyColumns {
        /// Declared columns.
        ncols: usize,
    },
    /// A matrix made of another one is larger than the memory that is left.
    #[error(transparent)]
    NoMemory(#[from] NoHostMemory),
    /// `row_ptr` has the wrong length, start or end.
    #[error("row_ptr must hold {expected_len} entries from 0 to {nnz}, got {len} from {first} to {last}")]
    RowPtr {
        /// `nrows + 1`.
        expected_len: usize,
        /// Number of entries given.
        len: usize,
        /// First entry, 0 when empty.
        first: u64,
        /// Last entry, 0 when empty.
        last: u64,
        /// Number of column indices.
        nnz: usize,
    },
    /// `row_ptr` decreases.
    #[error("row_ptr decreases at row {row}")]
    RowPtrDecreases {
        /// Row whose end lies before its start.
        row: usize,
    },
    /// `values` and `col_idx` differ in length.
    #[error("{values} values for {col_idx} column indices")]
    Lengths {
        /// Length of `values`.
        values: usize,
        /// Length of `col_idx`.
        col_idx: usize,
    },
    /// A column index out of range.
    #[error("row {row} names column {col} of a matrix with {ncols} columns (counted from 0)")]
    Column {
        /// Row, counted from 0.
        row: usize,
        /// Column, counted from 0.
        col: u32,
        /// Number of columns.
        ncols: usize,
    },
    /// Columns of a row do not strictly increase.
    #[error("the columns of row {row} are not sorted without duplicates")]
    Unsorted {
        /// Row, counted from 0.
        row: usize,
    },
}

impl<T: Scalar> Csr<T> {
    /// A matrix from its three arrays, every invariant checked in parallel. O(nnz).
    ///
    /// # Errors
    /// [`CsrError`] names the first broken invariant found.
    ///
    /// ```
    /// let a = sparsight_matrix::Csr::try_new(2, 3, vec![0, 2, 3], vec![0, 2, 1], vec![1.0, 2.0, 3.0])?;
    /// assert_eq!(a.nnz(), 3);
    /// # Ok::<(), sparsight_matrix::CsrError>(())
    /// ```
    pub fn try_new(
        nrows: usize,
        ncols: usize,
        row_ptr: Vec<u64>,
        col_idx: Vec<u32>,
        values: Vec<T>,
    ) -> Result<Self, CsrError> {
        if ncols >= u32::MAX as usize {
            return Err(CsrError::TooManyColumns { ncols });
        }
        let (first, last) =
            (row_ptr.first().copied().unwrap_or(0), row_ptr.last().copied().unwrap_or(u64::MAX));
        if row_ptr.len() != nrows + 1 || first != 0 || last != col_idx.len() as u64 {
            let (expected_len, len, nnz) = (nrows + 1, row_ptr.len(), col_idx.len());
            return Err(CsrError::RowPtr { expected_len, len, first, last, nnz });
        }
        if values.len() != col_idx.len() {
            return Err(CsrError::Lengths { values: values.len(), col_idx: col_idx.len() });
        }
        if let Some(row) = row_ptr.par_windows(2).position_first(|w| w[1] < w[0]) {
            return Err(CsrError::RowPtrDecreases { row });
        }
        let broken = row_ptr.par_windows(2).enumerate().find_map_first(|(row, w)| {
            let cols = &col_idx[w[0] as usize..w[1] as usize];
            if cols.windows(2).any(|c| c[0] >= c[1]) {
                return Some(CsrError::Unsorted { row });
            }
            cols.last().filter(|&&col| col as usize >= ncols).map(|&col| CsrError::Column { row, col, ncols })
        });
        match broken {
            Some(error) => Err(error),
            None => Ok(Self { nrows, ncols, row_ptr, col_idx, values }),
        }
    }

    /// Rows.
    pub fn nrows(&self) -> usize {
        self.nrows
    }

    /// Columns.
    pub fn ncols(&self) -> usize {
        self.ncols
    }

    /// Stored non-zeros.
    pub fn nnz(&self) -> usize {
        self.col_idx.len()
    }

    /// `nrows + 1` offsets into the entries.
    pub fn row_ptr(&self) -> &[u64] {
        &self.row_ptr
    }

    /// Column of every entry, row by row.
    pub fn col_idx(&self) -> &[u32] {
        &self.col_idx
    }

    /// Value of every entry, row by row.
    pub fn values(&self) -> &[T] {
        &self.values
    }

    /// Value of every entry, row by row, to be replaced.
    pub(crate) fn values_mut(&mut self) -> &mut [T] {
        &mut self.values
    }

    /// Columns and values of row `row`.
    ///
    /// # Panics
    /// If `row >= nrows`.
    pub fn row(&self, row: usize) -> (&[u32], &[T]) {
        let range = self.row_ptr[row] as usize..self.row_ptr[row + 1] as usize;
        (&self.col_idx[range.clone()], &self.values[range])
    }

    /// Some neighbouring rows as a matrix of their own, with all columns. O(their non-zeros).
    ///
    /// ```
    /// let a = sparsight_matrix::Csr::try_new(3, 3, vec![0, 1, 2, 3], vec![0, 1, 2], vec![1.0, 2.0, 3.0])?;
    /// let lower = a.rows(1..3);
    /// assert_eq!((lower.nrows(), lower.ncols(), lower.row(0)), (2, 3, (&[1][..], &[2.0][..])));
    /// # Ok::<(), sparsight_matrix::CsrError>(())
    /// ```
    ///
    /// # Panics
    /// If `rows` are not rows of this matrix.
    #[must_use]
    pub fn rows(&self, rows: Range<usize>) -> Self {
        let ptr = &self.row_ptr[rows.start..=rows.end];
        let entries = ptr[0] as usize..ptr[ptr.len() - 1] as usize;
        Self {
            nrows: rows.len(),
            ncols: self.ncols,
            row_ptr: ptr.iter().map(|at| at - ptr[0]).collect(),
            col_idx: self.col_idx[entries.clone()].to_vec(),
            values: self.values[entries].to_vec(),
        }
    }

    /// A matrix with the same pattern and other values, in the order of [`Csr::values`]. O(nnz), in parallel.
    ///
    /// # Errors
    /// [`CsrError::Lengths`] if there is not a value for each non-zero.
    pub fn with_values(&self, values: Vec<T>) -> Result<Self, CsrError> {
        if values.len() != self.nnz() {
            return Err(CsrError::Lengths { values: values.len(), col_idx: self.nnz() });
        }
        let (row_ptr, col_idx) = (self.row_ptr.par_iter(), self.col_idx.par_iter());
        let (row_ptr, col_idx) = (row_ptr.copied().collect(), col_idx.copied().collect());
        Ok(Self { nrows: self.nrows, ncols: self.ncols, row_ptr, col_idx, values })
    }

    /// A matrix with the same pattern and every value converted to `U`. O(nnz), in parallel.
    pub fn to_dtype<U: Scalar>(&self) -> Csr<U> {
        Csr {
            nrows: self.nrows,
            ncols: self.ncols,
            // New memory is touched page by page: with all threads, too.
            row_ptr: self.row_ptr.par_iter().copied().collect(),
            col_idx: self.col_idx.par_iter().copied().collect(),
            values: self.values.par_iter().map(|v| U::from_f64(v.to_f64())).collect(),
        }
    }

    /// Bytes of a matrix of that size, if it may be held with its x and y.
    ///
    /// # Errors
    /// [`Infeasible`] if `limits` are exceeded.
    pub fn check(size: MatrixSize, limits: &Limits) -> Result<Bytes, Infeasible> {
        let bytes = Self::device_bytes(size.nrows, size.nnz, T::DTYPE);
        limits.check_with_vectors(size, size.nnz.into(), bytes, T::DTYPE)
    }

    /// Bytes on a device: `nrows + 1` row offsets of [`Csr::<T>::offset_bytes`], and an index and a value a
    /// non-zero; saturates.
    pub fn device_bytes(nrows: u64, nnz: u64, dtype: Dtype) -> Bytes {
        let offsets = nrows.saturating_add(1).saturating_mul(Self::offset_bytes(nnz));
        Bytes(nnz.saturating_mul(4 + dtype.bytes()).saturating_add(offsets))
    }

    /// Bytes of one row offset on a device: 4 while `nnz` fits in 32 bits, else 8.
    pub const fn offset_bytes(nnz: u64) -> u64 {
        if nnz <= u32::MAX as u64 { 4 } else { 8 }
    }
}

impl<T: Scalar> From<&Csr<T>> for MatrixSize {
    fn from(a: &Csr<T>) -> Self {
        Self { nrows: a.nrows as u64, ncols: a.ncols as u64, nnz: a.nnz() as u64 }
    }
}

/// The rows of a matrix as sets of columns, whatever the values.
///
/// Code that reads the pattern alone takes this in place of a [`Csr`]: it is compiled once instead of for every value type, and in
/// this crate instead of the calling one, which may be compiled for size.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pattern<'a> {
    pub(crate) nrows: usize,
    pub(crate) ncols: usize,
    /// `nrows + 1` offsets into the columns.
    pub(crate) row_ptr: &'a [u64],
    /// Column of every non-zero, row by row.
    pub(crate) col_idx: &'a [u32],
}

impl<'a, T: Scalar> From<&'a Csr<T>> for Pattern<'a> {
    fn from(a: &'a Csr<T>) -> Self {
        Self { nrows: a.nrows(), ncols: a.ncols(), row_ptr: a.row_ptr(), col_idx: a.col_idx() }
    }
}

impl<'a> Pattern<'a> {
    /// Columns of row `row`, ascending.
    ///
    /// # Panics
    /// If `row >= nrows`.
    pub(crate) fn row(self, row: usize) -> &'a [u32] {
        &self.col_idx[self.row_ptr[row] as usize..self.row_ptr[row + 1] as usize]
    }

    /// Columns of neighbouring rows, row by row.
    pub(crate) fn rows(self, rows: &Range<usize>) -> &'a [u32] {
        &self.col_idx[self.row_ptr[rows.start] as usize..self.row_ptr[rows.end] as usize]
    }

    /// Does both, side by side where `rows` have so many non-zeros that it pays: a matrix may have few and long rows.
    pub(crate) fn in_parallel(
        self,
        rows: &Range<usize>,
        one: &mut (dyn FnMut() + Send),
        other: &(dyn Fn() + Sync),
    ) {
        /// Chosen: some 30 us of work of one thread.
        const MANY: u64 = 1 << 15;
        if self.row_ptr[rows.end] - self.row_ptr[rows.start] > MANY {
            rayon::join(one, other);
        } else {
            one();
            other();
        }
    }
}

/// Consecutive pieces of `all`, of these lengths.
///
/// # Panics
/// If `all` ends within a piece.
pub(crate) fn pieces<T>(
    mut all: &mut [T],
    lengths: impl Iterator<Item = usize>,
) -> impl Iterator<Item = &mut [T]> {
    lengths.map(move |length| all.split_off_mut(..length).expect("the pieces are no longer than all"))
}

/// Offsets of consecutive rows or pieces of these lengths: 0, and the end of each.
pub(crate) fn offsets(lengths: impl IntoIterator<Item = u64>) -> Vec<u64> {
    let ends = lengths.into_iter().scan(0, |end, length| {
        *end += length;
        Some(*end)
    });
    std::iter::once(0).chain(ends).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_broken_invariant_has_its_own_error() {
        let try_new = |ptr: &[u64], col: &[u32], n: usize| {
            Csr::try_new(2, 3, ptr.to_vec(), col.to_vec(), vec![1.0_f32; n])
        };
        assert!(try_new(&[0, 1, 2], &[0, 2], 2).is_ok());
        assert!(matches!(try_new(&[0, 2], &[0, 2], 2), Err(CsrError::RowPtr { .. })));
        assert!(matches!(try_new(&[0, 1, 3], &[0, 2], 2), Err(CsrError::RowPtr { .. })));
        assert!(matches!(try_new(&[0, 3, 2], &[0, 2], 2), Err(CsrError::RowPtrDecreases { row: 1 })));
        assert!(matches!(try_new(&[0, 1, 2], &[0, 2], 1), Err(CsrError::Lengths { .. })));
        assert!(matches!(try_new(&[0, 1, 2], &[0, 3], 2), Err(CsrError::Column { row: 1, col: 3, .. })));
        assert!(matches!(try_new(&[0, 2, 2], &[1, 1], 2), Err(CsrError::Unsorted { row: 0 })));
        let wide = Csr::<f32>::try_new(0, usize::MAX, vec![0], vec![], vec![]);
        assert!(matches!(wide, Err(CsrError::TooManyColumns { .. })));
    }

    #[test]
    fn an_empty_matrix_is_a_matrix() {
        let a = Csr::<f64>::try_new(0, 0, vec![0], vec![], vec![]).unwrap();
        assert_eq!((a.nrows(), a.ncols(), a.nnz()), (0, 0, 0));
    }

    #[test]
    fn row_offsets_widen_beyond_32_bits() {
        assert_eq!(Csr::<f32>::device_bytes(10, 100, Dtype::F32), Bytes(4 * 11 + 8 * 100));
        let nnz = u64::from(u32::MAX) + 1;
        assert_eq!(Csr::<f64>::device_bytes(1, nnz, Dtype::F64), Bytes(8 * 2 + 12 * nnz));
    }
}
