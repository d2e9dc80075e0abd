//! What a candidate must move and compute for one product, from the matrix' features alone.

use crate::Candidate;
use sparsight_matrix::{Bytes, Dtype, Features, Format, Infeasible, Limits};

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
    compulsory_bytes_in(candidate.format(), candidate.dtype, f)
}

/// The same of any kernel that reads `format`.
pub fn compulsory_bytes_in(format: Format, dtype: Dtype, f: &Features) -> Bytes {
    let vectors = f.nrows.saturating_add(f.ncols).saturating_mul(dtype.vector_bytes());
    Bytes(format.device_bytes(f, dtype).0.saturating_add(vectors))
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
