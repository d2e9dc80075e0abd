//! Benchmark matrices made in parallel, entry by entry from their formula, in the format wanted.

use crate::DeviceError;
use rayon::prelude::*;
use sparsight_kernels::{BenchmarkMatrix, BenchmarkRows, Format};
use sparsight_matrix::{Bytes, Csr, Ell, Limits, MatrixSize, Scalar, Stored};

/// Non-zeros that one task makes, at least. Chosen: some 10 us of work.
const NON_ZEROS_PER_TASK: u64 = 4096;

/// The matrix in `format`. CSR, and ELL with rows of one length, are made in place; the others are made of CSR, which
/// needs memory for both for a moment.
///
/// # Errors
/// [`DeviceError::Infeasible`] before anything large is allocated.
pub(super) fn generate<T: Scalar>(
    m: &BenchmarkMatrix,
    format: Format,
    limits: &Limits,
) -> Result<Box<dyn Stored<T>>, DeviceError> {
    let rows = m.rows(limits.memory)?;
    let is_ell = format == Format::known("ell");
    if is_ell {
        let size = MatrixSize { nrows: m.nrows, ncols: m.nrows, nnz: rows.nnz() };
        Ell::<T>::check(size, rows.longest(), limits)?;
    }
    if is_ell && !m.lengths.is_drawn() {
        let p = m.row_length;
        let entry = |row, k| (m.column(row as u64, p, k as u64), T::from_f64(m.value(row as u64, k as u64)));
        let n = m.nrows as usize;
        let made = Ell::with_full_rows(n, n, p as usize, entry);
        return Ok(Box::new(made.expect("columns increase by construction")));
    }
    let taken = rows.bytes(Format::csr(), T::DTYPE).0;
    let a = csr(m, rows, limits)?;
    let left = Limits { memory: Bytes(limits.memory.0.saturating_sub(taken)), ..*limits };
    if format.is_csr() {
        return Ok(Box::new(a));
    }
    Ok(format.convert(&a, &left)?)
}

fn csr<T: Scalar>(m: &BenchmarkMatrix, rows: BenchmarkRows, limits: &Limits) -> Result<Csr<T>, DeviceError> {
    Csr::<T>::check(MatrixSize { nrows: m.nrows, ncols: m.nrows, nnz: rows.nnz() }, limits)?;
    let n = m.nrows as usize;
    let col_idx = entries(m, &rows, |row, length, k| m.column(row, length, k));
    let values = entries(m, &rows, |row, _, k| T::from_f64(m.value(row, k)));
    let made = Csr::try_new(n, n, rows.into_offsets(), col_idx, values);
    Ok(made.expect("columns increase by construction"))
}

/// `entry(row, length, k)` of every entry, row by row.
fn entries<E: Default + Copy + Send>(
    m: &BenchmarkMatrix,
    rows: &BenchmarkRows,
    entry: impl Fn(u64, u64, u64) -> E + Sync,
) -> Vec<E> {
    let mut all = vec![E::default(); rows.nnz() as usize];
    let rows_per_task = NON_ZEROS_PER_TASK.div_ceil(m.row_length.max(1));
    let mut tasks = Vec::with_capacity(m.nrows.div_ceil(rows_per_task) as usize);
    let mut rest = all.as_mut_slice();
    for first in (0..m.nrows).step_by(rows_per_task as usize) {
        let end = (first + rows_per_task).min(m.nrows);
        let (part, behind) = rest.split_at_mut((rows.start(end) - rows.start(first)) as usize);
        tasks.push((first..end, part));
        rest = behind;
    }
    tasks.into_par_iter().for_each(|(range, mut part)| {
        for row in range {
            let length = rows.start(row + 1) - rows.start(row);
            let (own, behind) = part.split_at_mut(length as usize);
            for (k, place) in (0..).zip(own) {
                *place = entry(row, length, k);
            }
            part = behind;
        }
    });
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use sparsight_kernels::{Placement, RowLengthDistribution};

    #[test]
    fn every_format_holds_the_matrix_of_the_formula() {
        for (placement, lengths) in
            Placement::ALL.into_iter().flat_map(|p| RowLengthDistribution::ALL.map(|d| (p, d)))
        {
            for (nrows, row_length) in [(1, 1), (33, 32), (64, 0), (5_000, 3), (5_000, 0), (300, 300)] {
                let m = BenchmarkMatrix { nrows, row_length, lengths, placement, seed: 7 };
                let a = m.to_csr::<f32>();
                for format in Format::all() {
                    let made = generate::<f32>(&m, format, &Limits::NONE);
                    let converted = match format.convert(&a, &Limits::NONE) {
                        Ok(converted) => converted,
                        // Too many diagonals, whatever the limits.
                        Err(refused) => {
                            assert_eq!(made.unwrap_err(), refused.into());
                            continue;
                        }
                    };
                    let made = made.unwrap();
                    assert_eq!(made.numbers(), converted.numbers(), "{format}");
                    assert_eq!(made.arrays(), converted.arrays(), "{format}");
                }
            }
        }
    }

    #[test]
    fn a_matrix_beyond_memory_is_refused_in_every_format() {
        let limits = Limits::with_memory(Bytes(1 << 30));
        for lengths in RowLengthDistribution::ALL {
            let (nrows, row_length, placement) = (1 << 31, 1000, Placement::Banded);
            let m = BenchmarkMatrix { nrows, row_length, lengths, placement, seed: 0 };
            for format in Format::all() {
                let refused = generate::<f64>(&m, format, &limits);
                assert!(matches!(refused, Err(DeviceError::Infeasible(_))), "{format} {lengths}");
            }
        }
    }
}
