//! A matrix whose rows and columns are reordered, multiplied on the CPU.

use super::Cpu;
use super::epilogue::CpuEpilogue;
use super::partitioned::CpuPartitioned;
use crate::lengths::check_length;
use crate::reordered::{OnHost, entries_in_order, reordered, unknown_places};
use crate::timing::{Batch, Caches};
use crate::{DeviceError, LoadedEpilogue, Partition, Preparation, Product};
use sparsight_kernels::Epilogue;
use sparsight_matrix::{Csr, Permutation, Scalar, replace_values};

/// [`Product`] of a reordered matrix.
pub(super) struct CpuReordered<T: Scalar> {
    cpu: Cpu,
    inner: CpuPartitioned<T>,
    order: Permutation,
    on_host: OnHost<T>,
    /// Moving the entries and preparing.
    preparation: Preparation,
    /// Places of the values of the new order in the old one, once updates are allowed.
    entries: Option<Vec<T>>,
}

impl<T: Scalar> CpuReordered<T> {
    /// # Errors
    /// As [`reordered`], and those of loading the matrix in its new order.
    pub(super) fn load(
        cpu: &Cpu,
        a: &Csr<T>,
        order: &Permutation,
        partition: &Partition,
    ) -> Result<Self, DeviceError> {
        let (ordered, took) = cpu.run(|| reordered(a, order))?;
        let inner = CpuPartitioned::load(cpu, &ordered, partition)?;
        let mut preparation = inner.preparation();
        preparation.convert.0 += took.0;
        let (cpu, on_host, order) = (cpu.clone(), OnHost::of(order)?, order.clone());
        Ok(Self { cpu, inner, order, on_host, preparation, entries: None })
    }
}

impl<T: Scalar> Product<T> for CpuReordered<T> {
    fn preparation(&self) -> Preparation {
        self.preparation
    }

    fn memory_bytes(&self) -> u64 {
        self.inner.memory_bytes() + 2 * 4 * self.on_host.rows() as u64
    }

    fn multiply(&self, alpha: f64, x: &[T], beta: f64, y: &mut [T]) -> Result<(), DeviceError> {
        self.cpu.run(|| self.on_host.multiply(&self.inner, (alpha, x), (beta, y)))
    }

    fn allow_updates(&mut self, a: &Csr<T>) -> Result<(), DeviceError> {
        let entries = entries_in_order(a, &self.order)?;
        let (ordered, _) = self.cpu.run(|| reordered(a, &self.order))?;
        self.inner.allow_updates(&ordered)?;
        self.entries = Some(entries);
        Ok(())
    }

    fn update_values(&mut self, values: &[T]) -> Result<(), DeviceError> {
        let entries = self.entries.as_ref().ok_or_else(unknown_places)?;
        check_length("the new values", entries.len(), values.len())?;
        let mut ordered = vec![T::default(); entries.len()];
        replace_values(&mut ordered, entries, values);
        self.inner.update_values(&ordered)
    }

    /// Includes moving x there and y back, by the clock of the host.
    fn batch(&self, products: u32, caches: Caches) -> Result<Batch, DeviceError> {
        let rows = self.on_host.rows();
        let (x, mut y) = (crate::random_x(rows, 0), vec![T::default(); rows]);
        self.cpu.time(products, caches, || self.on_host.multiply(&self.inner, (1.0, &x), (0.0, &mut y)))
    }

    fn load_epilogue(&self, epilogue: &Epilogue) -> Result<Box<dyn LoadedEpilogue<T>>, DeviceError> {
        let rows = self.on_host.rows();
        Ok(Box::new(CpuEpilogue::load(&self.cpu, epilogue, (rows, rows))?))
    }
}
