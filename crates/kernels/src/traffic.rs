//! What a candidate must move and compute for one product, from the matrix' features alone.

use crate::Candidate;
use sparsight_matrix::{Bytes, Features, Format, Infeasible, Limits};

/// Bytes of the matrix in the candidate's format, on a device.
pub fn device_bytes(candidate: &Candidate, f: &Features) -> Bytes {
    candidate.format().device_bytes(f, candidate.dtype)
}

/// Entries that `format` stores, padding included.
pub fn stored_entries(format: Format, f: &Features) -> u64 {
    format.stored_entries(f)
}

/// Bytes that one product cannot avoid: the matrix in its format once, x once, y once.
pub fn compulsory_bytes(candidate: &Candidate, f: &Features) -> Bytes {
    let vectors = f.nrows.saturating_add(f.ncols).saturating_mul(candidate.dtype.vector_bytes());
    Bytes(device_bytes(candidate, f).0.saturating_add(vectors))
}

/// Multiplications plus additions: `2 nnz`.
pub const fn flops(f: &Features) -> u64 {
    2 * f.nnz
}

/// Whether the matrix can be held in the candidate's format.
///
/// # Errors
/// [`Infeasible`] with the numbers.
pub fn feasible(candidate: &Candidate, f: &Features, limits: &Limits) -> Result<Bytes, Infeasible> {
    candidate.format().check(f, candidate.dtype, limits)
}
