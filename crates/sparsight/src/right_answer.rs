//! What every y is held to, of the matrix as candidates store it.

use sparsight_kernels::Candidate;
use sparsight_matrix::{Csr, Dtype, Narrowing, Reference, Scalar, reference};
use std::sync::OnceLock;

/// A x on the host, of the matrix as it is and as it is in mixed precision: each computed once, when it is first asked for.
pub(crate) struct RightAnswer<'a, T> {
    a: &'a Csr<T>,
    x: &'a [T],
    exact: OnceLock<Reference>,
    rounded: OnceLock<Reference>,
}

impl<'a, T: Scalar> RightAnswer<'a, T> {
    pub(crate) fn new(a: &'a Csr<T>, x: &'a [T]) -> Self {
        Self { a, x, exact: OnceLock::new(), rounded: OnceLock::new() }
    }

    pub(crate) fn a(&self) -> &'a Csr<T> {
        self.a
    }

    pub(crate) fn x(&self) -> &'a [T] {
        self.x
    }

    /// What candidates that are computed in `dtype` are held to.
    pub(crate) fn of(&self, dtype: Dtype) -> &Reference {
        match dtype {
            Dtype::Mixed => self.rounded.get_or_init(|| reference(&Narrowing::rounded(self.a), self.x)),
            Dtype::F32 | Dtype::F64 => self.exact.get_or_init(|| reference(self.a, self.x)),
        }
    }
}

/// What all of them are computed in; `otherwise` where that differs, and of none.
pub(crate) fn common_dtype(candidates: &[Candidate], otherwise: Dtype) -> Dtype {
    let first = candidates.first().map_or(otherwise, |candidate| candidate.dtype);
    if candidates.iter().all(|candidate| candidate.dtype == first) { first } else { otherwise }
}
