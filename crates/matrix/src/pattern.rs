//! Where the non-zeros of a matrix are, whatever their values.
//!
//! What looks at the pattern alone takes this in place of a [`Csr`]: it is compiled once and not for every type of values, and here
//! and not in the crate that asks, which may be compiled to be small and not fast.

use crate::{Csr, Scalar};

/// The rows of a matrix as sets of columns.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pattern<'a> {
    nrows: usize,
    ncols: usize,
    row_ptr: &'a [u64],
    col_idx: &'a [u32],
}

impl<'a, T: Scalar> From<&'a Csr<T>> for Pattern<'a> {
    fn from(a: &'a Csr<T>) -> Self {
        Self { nrows: a.nrows(), ncols: a.ncols(), row_ptr: a.row_ptr(), col_idx: a.col_idx() }
    }
}

impl<'a> Pattern<'a> {
    pub(crate) fn nrows(self) -> usize {
        self.nrows
    }

    pub(crate) fn ncols(self) -> usize {
        self.ncols
    }

    pub(crate) fn nnz(self) -> usize {
        self.col_idx.len()
    }

    /// `nrows + 1` offsets into the columns.
    pub(crate) fn row_ptr(self) -> &'a [u64] {
        self.row_ptr
    }

    /// Column of every non-zero, row by row.
    pub(crate) fn col_idx(self) -> &'a [u32] {
        self.col_idx
    }

    /// Columns of row `row`, ascending.
    ///
    /// # Panics
    /// If `row >= nrows`.
    pub(crate) fn row(self, row: usize) -> &'a [u32] {
        &self.col_idx[self.row_ptr[row] as usize..self.row_ptr[row + 1] as usize]
    }
}
