//! A matrix whose rows and columns are reordered, on a GPU: x is brought into the new order and y back by a launch each, in the
//! stream of the product.

use super::array::{DeviceBytes, check_device};
use super::device::Shared;
use super::epilogue::{GpuEpilogue, Host};
use super::free_grid::FreeGrid;
use super::product::GpuProduct;
use super::{ConvertOn, DeviceArray, Extent, Fence, Vectors};
use crate::lengths::check_length;
use crate::reordered::{OnHost, entries_in_order, reordered, unknown_places};
use crate::timing::{Batch, Caches};
use crate::{
    DeviceError, DeviceSlice, DeviceVectors, LoadedEpilogue, Partition, Preparation, Product, Stream,
};
use bytemuck::cast_slice;
use sparsight_kernels::Epilogue;
use sparsight_matrix::{Csr, Permutation, Scalar};
use std::sync::{Arc, Mutex, PoisonError};

/// [`Product`] of a reordered matrix on a GPU.
#[derive(Debug)]
pub(super) struct GpuReordered<T: Scalar> {
    gpu: Arc<Shared>,
    kernels: FreeGrid,
    inner: GpuProduct<T>,
    order: Permutation,
    on_host: OnHost<T>,
    /// The order on the GPU.
    old_of_new: DeviceBytes,
    /// x and y in the new order: one pair, so that products follow each other.
    own: (DeviceArray<T>, DeviceArray<T>),
    fence: Mutex<Box<dyn Fence>>,
    preparation: Preparation,
    entries: Option<Entries<T>>,
}

/// Places of the values of the new order in the old one, and room for them in the new one.
#[derive(Debug)]
struct Entries<T> {
    numbers: DeviceArray<T>,
    ordered: DeviceArray<T>,
}

impl<T: Scalar> GpuReordered<T> {
    /// Prepares a matrix of the host, in its old order.
    pub(super) fn load(
        gpu: &Arc<Shared>,
        a: &Csr<T>,
        order: &Permutation,
        partition: &Partition,
        converts: ConvertOn,
    ) -> Result<Self, DeviceError> {
        let (ordered, took) = reordered(a, order)?;
        let inner = GpuProduct::load(gpu, &ordered, partition, converts)?;
        let mut preparation = inner.preparation();
        preparation.convert.0 += took.0;
        let old_of_new = DeviceBytes::of(&gpu.memory(), cast_slice(order.old_of_new()))?;
        let own = gpu.vectors((a.nrows(), a.ncols()), 0)?;
        let fence = Mutex::new(gpu.gpu().fence()?);
        let kernels = gpu.conversion(T::DTYPE, 0)?;
        let (gpu, on_host, order) = (Arc::clone(gpu), OnHost::of(order)?, order.clone());
        Ok(Self { gpu, kernels, inner, order, on_host, old_of_new, own, fence, preparation, entries: None })
    }

    fn rows(&self) -> usize {
        self.on_host.rows()
    }

    /// Those of the product, and the two launches around them.
    fn entries(&self) -> u32 {
        self.inner.entries() + 2
    }

    fn touched(&self) -> Vec<Extent> {
        let own = [self.own.0.extent(), self.own.1.extent(), self.old_of_new.extent()];
        self.inner.touched().into_iter().chain(own).collect()
    }

    /// Queues one product and does not wait.
    ///
    /// # Safety
    /// The vectors are on the GPU and as long as the matrix is wide and high.
    unsafe fn queue(&self, v: &Vectors, stream: Option<Stream<'_>>) -> Result<(), DeviceError> {
        let mut fence = self.fence.lock().unwrap_or_else(PoisonError::into_inner);
        fence.enter(stream)?;
        let rows = self.rows() as u64;
        let (x, y, order) = (self.own.0.address(), self.own.1.address(), self.old_of_new.address());
        let ordered = Vectors { x, y, alpha: v.alpha, beta: 0.0 };
        // SAFETY: as the caller promises; the vectors of its own are as long.
        let queued = unsafe {
            self.kernels
                .launch_in(stream, "to_order", rows, &[rows, order, v.x, x])
                .and_then(|()| self.inner.queue(&ordered, stream))
                .and_then(|()| {
                    let args = [rows, order, y, v.y, v.beta.to_bits()];
                    self.kernels.launch_in(stream, "from_order", rows, &args)
                })
        };
        let left = fence.leave(stream);
        queued.and(left)
    }
}

impl<T: Scalar> Product<T> for GpuReordered<T> {
    fn preparation(&self) -> Preparation {
        self.preparation
    }

    fn memory_bytes(&self) -> u64 {
        self.inner.memory_bytes() + self.old_of_new.bytes()
    }

    fn multiply(&self, alpha: f64, x: &[T], beta: f64, y: &mut [T]) -> Result<(), DeviceError> {
        self.on_host.multiply(&self.inner, (alpha, x), (beta, y))
    }

    fn multiply_on_device(&self, vectors: DeviceVectors<'_, T>) -> Result<(), DeviceError> {
        let v = self.gpu.vectors_of((self.rows(), self.rows()), &vectors)?;
        // SAFETY: they are as long as that; a slice of foreign memory was made by a promise that it is there.
        unsafe { self.queue(&v, vectors.stream) }
    }

    fn allow_updates(&mut self, a: &Csr<T>) -> Result<(), DeviceError> {
        let memory = self.gpu.memory();
        let numbers = entries_in_order(a, &self.order)?;
        let (ordered, _) = reordered(a, &self.order)?;
        self.inner.allow_updates(&ordered)?;
        let ordered = DeviceArray::new(&memory, numbers.len())?;
        self.entries = Some(Entries { numbers: DeviceArray::of(&memory, &numbers)?, ordered });
        Ok(())
    }

    fn update_values(&mut self, values: &[T]) -> Result<(), DeviceError> {
        let entries = self.entries.as_ref().ok_or_else(unknown_places)?;
        check_length("the new values", entries.numbers.len(), values.len())?;
        Arc::clone(&self.gpu).update_values(self, values)
    }

    fn update_values_on_device(
        &mut self,
        values: DeviceSlice<'_, T>,
        stream: Option<Stream<'_>>,
    ) -> Result<(), DeviceError> {
        let Entries { numbers, ordered } = self.entries.as_ref().ok_or_else(unknown_places)?;
        check_length("the new values", numbers.len(), values.len())?;
        check_device(values.of, "the new values", self.gpu.memory().as_ref())?;
        let count = numbers.len() as u64;
        let args = [count, numbers.address(), values.address, ordered.address()];
        // SAFETY: there is a number for each place, and an entry for each number.
        unsafe { self.kernels.launch_in(stream, "place_values", count, &args)? };
        self.inner.update_values_on_device(ordered.as_slice(), stream)
    }

    /// Includes moving x there and y back.
    fn batch(&self, products: u32, caches: Caches) -> Result<Batch, DeviceError> {
        let (x, y) = self.gpu.vectors::<T>((self.rows(), self.rows()), 0)?;
        // SAFETY: the vectors were made for it.
        self.gpu.batch_on((&x, &y), (self.entries(), self.touched()), (products, caches), |v| unsafe {
            self.queue(v, None)
        })
    }

    fn load_epilogue(&self, epilogue: &Epilogue) -> Result<Box<dyn LoadedEpilogue<T>>, DeviceError> {
        let (size, entries) = ((self.rows(), self.rows()), self.entries());
        // Around its launches, rows are brought into their order and back.
        let host = Host { gpu: &self.gpu, size, entries, touched: self.touched(), launches: None };
        Ok(Box::new(GpuEpilogue::behind(&host, epilogue)?))
    }
}
