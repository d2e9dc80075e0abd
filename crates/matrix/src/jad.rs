//! Jagged diagonals: rows sorted by decreasing length, then the first entries of all rows, the second ones of those
//! that have two, and so on. No padding; neighbouring threads, one a row, read neighbouring words.
//!
//! ```text
//! A = | 1 . 2 |     permutation  = 0 2 1        row permutation[i] of A is row i here
//!     | . . . |     diagonal_ptr = 0 2 3
//!     | . 3 . |     col_idx      = 0 1 | 2
//!                   values       = 1 3 | 2
//! ```
//! Source: Saad, SIAM J. Sci. Stat. Comput. 10, 1989; Wang, Gu and Li 2017 for its use here.

use crate::{Bytes, Csr, Dtype, Infeasible, Limits, Scalar};

/// A sparse matrix in jagged diagonals.
///
/// # Invariants
/// Held by construction: `permutation` holds every row once, lengths never increase along it, equal lengths keep the
/// order of the rows; entry `k` of row `permutation[i]` lies at `diagonal_ptr[k] + i`.
#[derive(Debug, Clone, PartialEq)]
pub struct Jad<T> {
    nrows: usize,
    ncols: usize,
    permutation: Vec<u32>,
    diagonal_ptr: Vec<u64>,
    col_idx: Vec<u32>,
    values: Vec<T>,
}

impl<T: Scalar> Jad<T> {
    /// Converts. O(nnz), in parallel.
    ///
    /// # Errors
    /// [`Infeasible`] if `limits` are exceeded; nothing has been allocated then.
    pub fn from_csr(a: &Csr<T>, limits: &Limits) -> Result<Self, Infeasible> {
        todo!()
    }

    /// Whether a matrix whose longest row has `longest` entries may be converted; its bytes if so.
    ///
    /// # Errors
    /// As [`Jad::from_csr`].
    pub fn check(nrows: u64, ncols: u64, nnz: u64, longest: u64, limits: &Limits) -> Result<Bytes, Infeasible> {
        todo!()
    }

    /// Bytes of all four arrays; saturates.
    pub fn device_bytes(nrows: u64, nnz: u64, longest: u64, dtype: Dtype) -> Bytes {
        todo!()
    }
}
