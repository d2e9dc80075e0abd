//! Neighbouring rows of a matrix, looked at as a matrix of their own without being copied.

use crate::{Csr, Scalar};
use std::ops::Range;

/// Rows of a matrix. They and their entries keep their numbers.
#[derive(Debug, Clone)]
pub(crate) struct Rows<'a, T> {
    pub(crate) a: &'a Csr<T>,
    pub(crate) range: Range<usize>,
}

impl<'a, T: Scalar> Rows<'a, T> {
    /// All rows.
    pub(crate) fn all(a: &'a Csr<T>) -> Self {
        Self { a, range: 0..a.nrows() }
    }

    /// How many.
    pub(crate) fn count(&self) -> usize {
        self.range.len()
    }

    /// Their non-zeros.
    pub(crate) fn nnz(&self) -> usize {
        self.entries().len()
    }

    /// Their offsets, one more than rows; the first is where their entries begin.
    pub(crate) fn row_ptr(&self) -> &'a [u64] {
        &self.a.row_ptr()[self.range.start..=self.range.end]
    }

    /// Places of their entries in `col_idx`.
    pub(crate) fn entries(&self) -> Range<usize> {
        let ptr = self.a.row_ptr();
        ptr[self.range.start] as usize..ptr[self.range.end] as usize
    }
}
