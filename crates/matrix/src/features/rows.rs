//! Neighbouring rows of a matrix, looked at as a matrix of their own without being copied.

use crate::Pattern;
use std::ops::Range;

/// Rows of a matrix. They and their entries keep their numbers.
#[derive(Debug, Clone)]
pub(crate) struct Rows<'a> {
    pub(crate) a: Pattern<'a>,
    pub(crate) range: Range<usize>,
}

impl<'a> Rows<'a> {
    /// All rows.
    pub(crate) fn all(a: Pattern<'a>) -> Self {
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
