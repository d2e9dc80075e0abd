//! The identity matrix on a GPU, without a matrix.

use super::device::Shared;
use super::epilogue::{GpuEpilogue, Host};
use super::free_grid::FreeGrid;
use super::launch::through;
use super::{BatchRequest, DeviceArray, Vectors};
use crate::lengths::{check_length, check_lengths};
use crate::stock::Stock;
use crate::timing::{Batch, Caches};
use crate::{DeviceError, DeviceSlice, DeviceSliceMut, LoadedEpilogue, Preparation, Product, Stream};
use sparsight_kernels::Epilogue;
use sparsight_matrix::{Csr, Scalar};
use std::sync::Arc;

/// [`Product`] of the identity matrix: y = alpha x + beta y.
#[derive(Debug)]
pub(super) struct GpuIdentity<T: Scalar> {
    gpu: Arc<Shared>,
    kernels: FreeGrid,
    rows: usize,
    own: Stock<(DeviceArray<T>, DeviceArray<T>)>,
    identity: Arc<()>,
}

impl<T: Scalar> GpuIdentity<T> {
    pub(super) fn load(gpu: &Arc<Shared>, rows: usize) -> Result<Self, DeviceError> {
        let (gpu, kernels) = (Arc::clone(gpu), gpu.vector_kernels(T::DTYPE)?);
        Ok(Self { gpu, kernels, rows, own: Stock::of(Vec::new()), identity: Arc::default() })
    }

    /// Queues one product and does not wait.
    ///
    /// # Safety
    /// The vectors are on the GPU and have an entry for each row.
    unsafe fn queue(&self, v: &Vectors, stream: Option<Stream<'_>>) -> Result<(), DeviceError> {
        let count = self.rows as u64;
        let args = [count, v.alpha.to_bits(), v.x, v.beta.to_bits(), v.y];
        // SAFETY: as the caller promises.
        unsafe { self.kernels.launch_in(stream, "combine", count, &args) }
    }

    fn with_own<R>(
        &self,
        with: impl FnOnce(&mut DeviceArray<T>, &mut DeviceArray<T>) -> Result<R, DeviceError>,
    ) -> Result<R, DeviceError> {
        self.own.with(|| self.gpu.vectors((self.rows, self.rows), 0), |(x, y)| with(x, y))
    }
}

impl<T: Scalar> Product<T> for GpuIdentity<T> {
    fn preparation(&self) -> Preparation {
        Preparation::default()
    }

    fn memory_bytes(&self) -> u64 {
        0
    }

    fn multiply(&self, alpha: f64, x: &[T], beta: f64, y: &mut [T]) -> Result<(), DeviceError> {
        check_lengths((self.rows, self.rows), x.len(), y.len())?;
        self.with_own(|own_x, own_y| {
            // SAFETY: the vectors are the product's own.
            through((own_x, own_y), (alpha, x), (beta, y), |v| unsafe { self.queue(v, None) })
        })
    }

    fn multiply_on_device(
        &self,
        alpha: f64,
        x: DeviceSlice<'_, T>,
        beta: f64,
        y: DeviceSliceMut<'_, T>,
        stream: Option<Stream<'_>>,
    ) -> Result<(), DeviceError> {
        let v = self.gpu.vectors_of((self.rows, self.rows), (alpha, x), (beta, y))?;
        // SAFETY: they are as long as that; a slice of foreign memory was made by a promise that it is there.
        unsafe { self.queue(&v, stream) }
    }

    /// It has no values.
    fn allow_updates(&mut self, _: &Csr<T>) -> Result<(), DeviceError> {
        Err(DeviceError::OtherPattern)
    }

    fn update_values(&mut self, values: &[T]) -> Result<(), DeviceError> {
        check_length("the new values", 0, values.len())
    }

    fn batch(&self, products: u32, caches: Caches) -> Result<Batch, DeviceError> {
        self.with_own(|x, y| {
            let v = Vectors { x: x.address(), y: y.address(), alpha: 1.0, beta: 0.0 };
            // SAFETY: the vectors are the product's own.
            let mut queue = || unsafe { self.queue(&v, None) };
            let touched = &[x.extent(), y.extent()];
            self.gpu.batch(BatchRequest { products, entries: 1, caches, touched }, &mut queue)
        })
    }

    fn load_epilogue(&self, epilogue: &Epilogue) -> Result<Box<dyn LoadedEpilogue<T>>, DeviceError> {
        let size = (self.rows, self.rows);
        let host = Host { gpu: &self.gpu, size, entries: 1, touched: Vec::new(), launches: None };
        Ok(Box::new(GpuEpilogue::of_identity(&host, epilogue, &self.identity)?))
    }

    fn identity(&self) -> Option<usize> {
        Some(Arc::as_ptr(&self.identity).addr())
    }
}
