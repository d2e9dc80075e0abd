//! Bytes that a candidate must move and operations that it must compute for one product, from the features of a matrix alone.

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

/// Bytes that one product reads and writes at least where it skips nothing: the matrix in its format once, padding included,
/// x once, y once. What models count by; [`useful_bytes`] says what of it is work.
pub fn compulsory_bytes(candidate: &Candidate, f: &Features) -> Bytes {
    with_vectors(device_bytes(candidate, f), candidate.dtype, f)
}

/// Bytes that one product cannot avoid moving in a kernel that reads `format`: without padding, which is no work and which a
/// kernel may skip. The non-zeros with the indices and tables that the format has for them once, x once, y once.
pub fn useful_bytes(format: Format, dtype: Dtype, f: &Features) -> Bytes {
    with_vectors(format.useful_bytes(f, dtype), dtype, f)
}

fn with_vectors(matrix: Bytes, dtype: Dtype, f: &Features) -> Bytes {
    let vectors = f.nrows.saturating_add(f.ncols).saturating_mul(dtype.vector_bytes());
    Bytes(matrix.0.saturating_add(vectors))
}

/// Returns whether the matrix can be held in the candidate's format.
///
/// # Errors
/// [`Infeasible`] with the numbers.
pub fn feasible(candidate: &Candidate, f: &Features, limits: &Limits) -> Result<Bytes, Infeasible> {
    candidate.format().check(f, candidate.dtype, limits)
}

#[cfg(test)]
mod tests {
    use super::*;
    use sparsight_matrix::Csr;

    /// Features of as many rows of one entry as an array of ELL aligns to, but for the first, which has eight.
    fn one_long_row() -> Features {
        let n = 1024;
        let row_ptr = std::iter::once(0).chain((0..n).map(|row| row + 8)).collect();
        let col_idx = (0..8).map(|k| k * 100).chain(1..n as u32).collect();
        Features::of(
            &Csr::try_new(n as usize, n as usize, row_ptr, col_idx, vec![1.0_f64; n as usize + 7]).unwrap(),
        )
    }

    /// Features of a matrix with its main diagonal and two on either side.
    fn five_diagonals() -> Features {
        let n = 1000;
        let rows = (0..n).map(|row: u32| row.saturating_sub(2)..(row + 3).min(n));
        let ends = rows.clone().scan(0, |end, row| {
            *end += row.len() as u64;
            Some(*end)
        });
        let (row_ptr, col_idx) = (std::iter::once(0).chain(ends).collect(), rows.flatten().collect());
        let values = vec![1.0_f64; 5 * n as usize - 6];
        Features::of(&Csr::try_new(n as usize, n as usize, row_ptr, col_idx, values).unwrap())
    }

    #[test]
    fn padding_is_no_work() {
        let f = one_long_row();
        let (vectors, entries) = (2 * 1024 * 8, f.nnz * (4 + 8));
        let useful = |format: &str| useful_bytes(Format::known(format), Dtype::F64, &f).0;
        let held = |format: &str| Format::known(format).device_bytes(&f, Dtype::F64).0;
        assert_eq!((held("ell"), useful("ell")), (8 * 1024 * 12, entries + vectors));
        assert_eq!(useful("csr"), held("csr") + vectors);
        // An offset each slice of 32 rows, and one behind the last.
        assert_eq!(useful("sell/c32/s1"), entries + 8 * 33 + vectors);
        // What is saved of blocks and diagonals are zeros; their columns and offsets have to be there.
        let f = five_diagonals();
        let dia = useful_bytes(Format::known("dia"), Dtype::F64, &f).0;
        assert_eq!(dia, f.nnz * 8 + 5 * 8 + 2 * 1000 * 8);
        // Blocks of 2 x 2: three in a row of blocks, but for the first and the last.
        let bsr = useful_bytes(Format::known("bcsr/b2"), Dtype::F64, &f).0;
        assert_eq!(bsr, f.nnz * 8 + 1498 * 4 + 501 * 8 + 2 * 1000 * 8);
    }

    #[test]
    fn only_formats_that_fill_up_have_bytes_that_are_no_work() {
        let f = one_long_row();
        for format in Format::all().filter(|format| format.stored_entries(&f) < u64::MAX) {
            let (useful, held) = (format.useful_bytes(&f, Dtype::F64), format.device_bytes(&f, Dtype::F64));
            let is_filled = format.stored_entries(&f) > f.nnz;
            assert_eq!(useful < held, is_filled, "{format}");
            assert!(useful.0 >= f.nnz * 8 && (format.is_padded() || !is_filled), "{format}");
        }
    }
}
