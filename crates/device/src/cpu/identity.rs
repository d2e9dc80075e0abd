//! The identity matrix on the CPU, without a matrix.

use super::Cpu;
use super::epilogue::CpuEpilogue;
use super::partitioned::scale;
use crate::lengths::{check_length, check_lengths};
use crate::timing::{Batch, Caches};
use crate::{DeviceError, LoadedEpilogue, Preparation, Product};
use sparsight_kernels::Epilogue;
use sparsight_matrix::{Csr, Scalar};

/// [`Product`] of the identity matrix: y = alpha x + beta y.
pub(super) struct CpuIdentity {
    pub(super) cpu: Cpu,
    pub(super) rows: usize,
}

impl<T: Scalar> Product<T> for CpuIdentity {
    fn preparation(&self) -> Preparation {
        Preparation::default()
    }

    fn memory_bytes(&self) -> u64 {
        0
    }

    fn multiply(&self, alpha: f64, x: &[T], beta: f64, y: &mut [T]) -> Result<(), DeviceError> {
        check_lengths((self.rows, self.rows), x.len(), y.len())?;
        self.cpu.multiply(2 * size_of_val(x) as u64, |workers| scale((alpha, beta), (x, y), workers));
        Ok(())
    }

    /// It has no values.
    fn allow_updates(&mut self, _: &Csr<T>) -> Result<(), DeviceError> {
        Err(DeviceError::OtherPattern)
    }

    fn update_values(&mut self, values: &[T]) -> Result<(), DeviceError> {
        check_length("the new values", 0, values.len())
    }

    fn batch(&self, products: u32, caches: Caches) -> Result<Batch, DeviceError> {
        let (x, mut y) = (crate::random_x::<T>(self.rows, 0), vec![T::default(); self.rows]);
        self.cpu.time(products, caches, || self.multiply(1.0, &x, 0.0, &mut y))
    }

    fn load_epilogue(&self, epilogue: &Epilogue) -> Result<Box<dyn LoadedEpilogue<T>>, DeviceError> {
        Ok(Box::new(CpuEpilogue::load(&self.cpu, epilogue, (self.rows, self.rows))?))
    }
}
