//! What a candidate must move and compute for one product, from the matrix' features alone.

use crate::{Candidate, Format};
use sparsight_matrix::Dtype;
use sparsight_matrix::{
    BroEll, BroEllShape, BroEllSize, Bytes, Coo, Csr, Ell, Features, Hyb, Infeasible, Jad, Limits, RowBins,
    Scalar, Sell, TileTable,
};

/// Bytes of the matrix in the candidate's format, on a device.
pub fn device_bytes(candidate: &Candidate, f: &Features) -> Bytes {
    match candidate.format() {
        Format::Csr => Csr::<f32>::device_bytes(f.nrows, f.nnz, candidate.dtype),
        Format::CsrBalanced(shape) => {
            TileTable::device_bytes(f.nrows, f.nnz, f.row_max, shape, candidate.dtype)
        }
        Format::CsrBinned => RowBins::device_bytes(f.nrows, f.nnz, f.row_max, candidate.dtype),
        Format::Coo => Coo::<f32>::device_bytes(f.nnz, candidate.dtype),
        Format::Ell => Ell::<f32>::device_bytes(f.nrows, f.row_max, candidate.dtype),
        Format::Hyb => Hyb::<f32>::device_bytes(f.nrows, f.hyb, candidate.dtype),
        Format::Jad => Jad::<f32>::device_bytes(f.nrows, f.nnz, f.row_max, candidate.dtype),
        Format::Sell(shape) => {
            let entries = stored_entries(candidate.format(), f);
            Sell::<f32>::device_bytes(f.nrows, shape, entries, candidate.dtype)
        }
        Format::BroEll(shape) => {
            let size = bro_ell_size(shape, f);
            BroEll::<f32>::device_bytes(f.nrows, shape, size, candidate.dtype)
        }
    }
}

/// Unknown only where the columns are not: in old records, and for row lengths alone. Then the non-zeros with columns of
/// 32 bits.
fn bro_ell_size(shape: BroEllShape, f: &Features) -> BroEllSize {
    let unknown = || BroEllSize { entries: f.nnz, symbols: f.nnz.div_ceil(2), columns: 0 };
    f.padded.bro_ell(shape).unwrap_or_else(unknown)
}

/// Entries that `format` stores, padding included.
pub fn stored_entries(format: Format, f: &Features) -> u64 {
    let ell = |width: u64| Ell::<f32>::stride_for(f.nrows).saturating_mul(width);
    match format {
        Format::Csr | Format::CsrBalanced(_) | Format::CsrBinned | Format::Coo | Format::Jad => f.nnz,
        Format::Ell => ell(f.row_max),
        Format::Hyb => ell(f.hyb.width).saturating_add(f.hyb.coo_nnz),
        // Unknown only in records made before these formats were there: at least the non-zeros.
        Format::Sell(shape) => f.padded.sell(shape).unwrap_or(f.nnz),
        Format::BroEll(shape) => bro_ell_size(shape, f).entries,
    }
}

/// Bytes that one product cannot avoid: the matrix in its format once, x once, y once.
pub fn compulsory_bytes(candidate: &Candidate, f: &Features) -> Bytes {
    let vectors = f.nrows.saturating_add(f.ncols).saturating_mul(candidate.dtype.bytes());
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
    match candidate.dtype {
        Dtype::F32 => feasible_as::<f32>(candidate.format(), f, limits),
        Dtype::F64 => feasible_as::<f64>(candidate.format(), f, limits),
    }
}

fn feasible_as<T: Scalar>(format: Format, f: &Features, limits: &Limits) -> Result<Bytes, Infeasible> {
    match format {
        Format::Csr => Csr::<T>::check(f.nrows, f.ncols, f.nnz, limits),
        Format::CsrBalanced(shape) => {
            TileTable::check::<T>((f.nrows, f.ncols), f.nnz, f.row_max, shape, limits)
        }
        Format::CsrBinned => RowBins::check::<T>((f.nrows, f.ncols), f.nnz, f.row_max, limits),
        Format::Coo => Coo::<T>::check(f.nrows, f.ncols, f.nnz, limits),
        Format::Ell => Ell::<T>::check(f.nrows, f.ncols, f.nnz, f.row_max, limits),
        Format::Hyb => Hyb::<T>::check(f.nrows, f.ncols, f.nnz, f.hyb, limits),
        Format::Jad => Jad::<T>::check(f.nrows, f.ncols, f.nnz, f.row_max, limits),
        Format::Sell(shape) => {
            let entries = stored_entries(format, f);
            Sell::<T>::check(f.nrows, f.ncols, f.nnz, shape, entries, limits)
        }
        Format::BroEll(shape) => {
            let size = bro_ell_size(shape, f);
            BroEll::<T>::check(f.nrows, f.ncols, f.nnz, shape, size, limits)
        }
    }
}
