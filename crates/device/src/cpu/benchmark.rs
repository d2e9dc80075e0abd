//! Benchmark matrices made in parallel, entry by entry from their formula, in the format wanted.

use super::operand::Held;
use crate::DeviceError;
use rayon::prelude::*;
use sparsight_kernels::{BenchmarkMatrix, Format};
use sparsight_matrix::{BroEll, Bytes, Coo, Csr, Ell, Hyb, Limits, Scalar};

/// Non-zeros that one task makes, at least. Chosen: some 10 us of work.
const NON_ZEROS_A_TASK: usize = 4096;

/// The matrix in `format`. CSR and ELL are made in place; the others are made of CSR, which needs memory for both for
/// a moment.
///
/// # Errors
/// [`DeviceError::Infeasible`] before anything is allocated.
///
/// # Panics
/// If a row is longer than the matrix is wide.
pub(super) fn generate<T: Scalar>(
    m: &BenchmarkMatrix,
    format: Format,
    limits: &Limits,
) -> Result<Held<T>, DeviceError> {
    assert!(m.row_length <= m.nrows, "a row cannot be longer than the matrix is wide");
    Ok(match format {
        Format::Csr => Held::Csr(csr(m, limits)?),
        Format::Coo => Held::Coo(Coo::from_csr(&csr(m, limits)?, &left::<T>(m, limits))?),
        Format::Hyb => Held::Hyb(Hyb::from_csr(&csr(m, limits)?, &left::<T>(m, limits))?),
        Format::BroEll(shape) => {
            Held::BroEll(BroEll::from_csr(&csr(m, limits)?, shape, &left::<T>(m, limits))?)
        }
        Format::Jad => todo!(),
        Format::Sell(_) => todo!(),
        Format::Ell => {
            Ell::<T>::check(m.nrows, m.nrows, m.nnz(), m.row_length, limits)?;
            let entry = |row, k| (m.column(row as u64, k as u64), T::from_f64(m.value(row as u64, k as u64)));
            let (n, p) = (m.nrows as usize, m.row_length as usize);
            Held::Ell(Ell::with_full_rows(n, n, p, entry).expect("columns increase by construction"))
        }
    })
}

/// What `limits` leave beside the matrix in CSR.
fn left<T: Scalar>(m: &BenchmarkMatrix, limits: &Limits) -> Limits {
    let taken = m.bytes(Format::Csr, T::DTYPE).0;
    Limits { memory: Bytes(limits.memory.0.saturating_sub(taken)), ..*limits }
}

fn csr<T: Scalar>(m: &BenchmarkMatrix, limits: &Limits) -> Result<Csr<T>, DeviceError> {
    Csr::<T>::check(m.nrows, m.nrows, m.nnz(), limits)?;
    let n = m.nrows as usize;
    let row_ptr = (0..=m.nrows).into_par_iter().map(|row| row * m.row_length).collect();
    let col_idx = entries(m, |row, k| m.column(row, k));
    let values = entries(m, |row, k| T::from_f64(m.value(row, k)));
    Ok(Csr::try_new(n, n, row_ptr, col_idx, values).expect("columns increase by construction"))
}

/// `entry(row, k)` of every entry, row by row.
fn entries<E: Default + Copy + Send>(m: &BenchmarkMatrix, entry: impl Fn(u64, u64) -> E + Sync) -> Vec<E> {
    let mut all = vec![E::default(); m.nnz() as usize];
    let p = m.row_length as usize;
    if p > 0 {
        let rows = NON_ZEROS_A_TASK.div_ceil(p);
        all.par_chunks_mut(rows * p).enumerate().for_each(|(task, part)| {
            for (row, part) in ((task * rows) as u64..).zip(part.chunks_exact_mut(p)) {
                for (k, place) in (0..).zip(part) {
                    *place = entry(row, k);
                }
            }
        });
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use sparsight_kernels::Placement;
    use sparsight_matrix::BroEllShape;

    #[test]
    fn every_format_holds_the_matrix_of_the_formula() {
        for placement in Placement::ALL {
            for (nrows, row_length) in [(1, 1), (33, 32), (64, 0), (5_000, 3), (5_000, 0), (300, 300)] {
                let m = BenchmarkMatrix { nrows, row_length, placement, seed: 7 };
                let a = m.to_csr::<f32>();
                let made = |format| generate::<f32>(&m, format, &Limits::NONE).unwrap();
                assert_eq!(made(Format::Csr), Held::Csr(a.clone()));
                assert_eq!(made(Format::Coo), Held::Coo(Coo::from_csr(&a, &Limits::NONE).unwrap()));
                assert_eq!(made(Format::Ell), Held::Ell(Ell::from_csr(&a, &Limits::NONE).unwrap()));
                assert_eq!(made(Format::Hyb), Held::Hyb(Hyb::from_csr(&a, &Limits::NONE).unwrap()));
                for shape in BroEllShape::ALL {
                    let converted = BroEll::from_csr(&a, shape, &Limits::NONE).unwrap();
                    assert_eq!(made(Format::BroEll(shape)), Held::BroEll(converted));
                }
            }
        }
    }

    #[test]
    fn a_matrix_beyond_memory_is_refused_in_every_format() {
        let m = BenchmarkMatrix { nrows: 1 << 31, row_length: 1000, placement: Placement::Banded, seed: 0 };
        let limits = Limits::with_memory(Bytes(1 << 30));
        for format in Format::ALL {
            let refused = generate::<f64>(&m, format, &limits);
            assert!(matches!(refused, Err(DeviceError::Infeasible(_))), "{format}");
        }
    }
}
