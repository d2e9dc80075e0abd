//! A matrix in row blocks, each in its own format. A CPU has no launches to save: both executions run the parts one after
//! another, each on all workers.

use super::Cpu;
use super::operand::{Held, Scratch};
use crate::cuda::{DeviceArray, Stream};
use crate::product::check_lengths;
use crate::timing::Caches;
use crate::{DeviceError, Partition, Preparation, Product};
use rayon::prelude::*;
use sparsight_kernels::Candidate;
use sparsight_matrix::{Csr, Limits, Scalar, Seconds};
use std::ops::Range;
use std::time::Instant;

/// Rows that a task scales. Chosen: some microseconds of work.
const ROWS_A_TASK: usize = 1 << 12;

/// [`Product`] of [`Cpu`].
pub(super) struct CpuPartitioned<'d, T> {
    cpu: &'d Cpu,
    /// Rows and columns.
    size: (usize, usize),
    parts: Vec<Part<T>>,
    /// A x of the longest part, where y is more than that.
    sums: Vec<T>,
    /// x and y of products that are timed, made when first needed.
    own: Option<(Vec<T>, Vec<T>)>,
    preparation: Preparation,
}

struct Part<T> {
    rows: Range<usize>,
    candidate: Candidate,
    held: Held<T>,
    scratch: Scratch<T>,
}

impl<'d, T: Scalar> CpuPartitioned<'d, T> {
    /// Cutting the parts out counts as conversion.
    pub(super) fn load(
        cpu: &'d Cpu,
        a: &Csr<T>,
        partition: &Partition,
        limits: &Limits,
    ) -> Result<Self, DeviceError> {
        partition.check(a)?;
        let start = Instant::now();
        let parts: Result<Vec<_>, DeviceError> = partition
            .parts()
            .iter()
            .map(|(rows, candidate)| {
                let held = Held::convert(&a.rows(rows.clone()), candidate.format(), limits)?;
                Ok(Part { rows: rows.clone(), candidate: *candidate, held, scratch: Scratch::default() })
            })
            .collect();
        let convert = Seconds(start.elapsed().as_secs_f64());
        let preparation = Preparation { convert, ..Preparation::default() };
        let size = (a.nrows(), a.ncols());
        Ok(Self { cpu, size, parts: parts?, sums: Vec::new(), own: None, preparation })
    }
}

/// y = A x, part after part.
fn product<T: Scalar>(parts: &mut [Part<T>], x: &[T], y: &mut [T]) {
    for Part { rows, candidate, held, scratch } in parts {
        held.product(candidate, x, &mut y[rows.clone()], scratch);
    }
}

/// y = alpha A x + beta y, rounded as the CUDA kernels do it.
fn scaled_product<T: Scalar>(
    parts: &mut [Part<T>],
    sums: &mut Vec<T>,
    (alpha, beta): (f64, f64),
    x: &[T],
    y: &mut [T],
) {
    sums.resize(parts.iter().map(|part| part.rows.len()).max().unwrap_or_default(), T::default());
    let factors = (T::from_f64(alpha), T::from_f64(beta));
    for Part { rows, candidate, held, scratch } in parts {
        let sums = &mut sums[..rows.len()];
        held.product(candidate, x, sums, scratch);
        let tasks = y[rows.clone()].par_chunks_mut(ROWS_A_TASK).zip(sums.par_chunks(ROWS_A_TASK));
        tasks.for_each(|(y, sums)| {
            for (y, &sum) in y.iter_mut().zip(sums) {
                let product = factors.0 * sum;
                // With beta = 0, y is not read: it may be NaN.
                *y = if beta == 0.0 { product } else { product + factors.1 * *y };
            }
        });
    }
}

impl<T: Scalar> Product<T> for CpuPartitioned<'_, T> {
    fn preparation(&self) -> Preparation {
        self.preparation
    }

    fn multiply(&mut self, alpha: f64, x: &[T], beta: f64, y: &mut [T]) -> Result<(), DeviceError> {
        check_lengths(self.size, x.len(), y.len())?;
        let Self { cpu, parts, sums, .. } = self;
        cpu.run(|| {
            if (alpha, beta) == (1.0, 0.0) {
                product(parts, x, y);
            } else {
                scaled_product(parts, sums, (alpha, beta), x, y);
            }
        });
        Ok(())
    }

    fn multiply_on_device(
        &mut self,
        _: f64,
        _: &DeviceArray<T>,
        _: f64,
        _: &mut DeviceArray<T>,
        _: Option<Stream<'_>>,
    ) -> Result<(), DeviceError> {
        Err(DeviceError::NoDeviceVectors)
    }

    fn batch(&mut self, products: u32, caches: Caches) -> Result<Seconds, DeviceError> {
        let Self { cpu, size, parts, own, .. } = self;
        let (x, y) = own.get_or_insert_with(|| (crate::random_x(size.1, 0), vec![T::default(); size.0]));
        Ok(cpu.time(products, caches, || product(parts, x, y)))
    }
}
