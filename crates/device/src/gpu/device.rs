//! A GPU as a [`Device`]: loaded kernels, conversions, operands, products.

use super::array::check_device;
use super::convert::{self, narrow};
use super::free_grid::FreeGrid;
use super::launch::SharedFence;
use super::operand::GpuOperand;
use super::product::GpuProduct;
use super::reordered::GpuReordered;
use super::{BatchRequest, DeviceArray, DeviceMatrix, Extent, Gpu, Memory, Module, Vectors, generate};
use crate::lengths::check_lengths;
use crate::timing::{Batch, Caches};
use crate::{Device, DeviceError, DeviceVectors, LoadRequest, Operand, Preparation, Product, check_runs};
use sparsight_kernels::{
    BenchmarkMatrix, Candidate, DeviceFacts, Epilogue, Format, Kernel, KernelSource, benchmark_matrix_source,
    conversion_source, dots_pass_source, epilogue_pass_source, epilogue_source, fused_source, source,
    vector_source,
};
use sparsight_matrix::{Bytes, Csr, Dtype, Limits, Scalar};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// A GPU, or a part of one. It may be used from several threads.
#[derive(Debug, Clone)]
pub struct GpuDevice {
    shared: Arc<Shared>,
    converts: ConvertOn,
}

/// Place where CSR is converted to other formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ConvertOn {
    /// The host, all of its cores; what is uploaded is the format.
    Host,
    /// The device, unless its memory cannot hold the CSR beside the format; what is uploaded is the CSR.
    #[default]
    Device,
    /// The device from so many non-zeros on, the host below: where that is faster differs from one pair of the two to another,
    /// and profiles hold it.
    From(u64),
}

impl ConvertOn {
    pub(super) fn device(self, nnz: usize) -> bool {
        match self {
            Self::Host => false,
            Self::Device => true,
            Self::From(least) => nnz as u64 >= least,
        }
    }
}

/// State shared by a GPU and everything on it; it lives as long as any of them.
#[derive(Debug)]
pub(crate) struct Shared {
    gpu: Arc<dyn Gpu>,
    /// Set if row offsets have 64 bits also where 32 would do.
    wide_offsets: bool,
    modules: Mutex<HashMap<Loaded, Arc<dyn Module>>>,
}

/// Key of a loaded module.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Loaded {
    Candidate(Candidate, u64),
    Fused { variants: Vec<(Kernel, u64)>, dtype: Dtype, block: u32 },
    Generator(Dtype, u64),
    Conversion(Dtype, u64),
    Vectors(Dtype),
    Epilogue(Candidate, u64, Epilogue),
    EpiloguePass(Dtype, Epilogue),
    DotsPass(usize),
}

/// An error of compiling, which says whose text it is.
fn of_epilogue(epilogue: &Epilogue, error: DeviceError) -> DeviceError {
    match error {
        DeviceError::Compile { log, .. } => {
            DeviceError::Compile { kernel: format!("the epilogue '{epilogue}'"), log }
        }
        other => other,
    }
}

impl Shared {
    pub(super) fn gpu(&self) -> &dyn Gpu {
        self.gpu.as_ref()
    }

    pub(super) fn memory(&self) -> Arc<dyn Memory> {
        self.gpu.memory()
    }

    /// Width of the row offsets of a matrix with `nnz` non-zeros, in bytes.
    pub(super) fn offset_bytes(&self, nnz: u64) -> u64 {
        if self.wide_offsets { 8 } else { Csr::<f32>::offset_bytes(nnz) }
    }

    pub(super) fn limits(&self) -> Limits {
        Limits::with_memory(Bytes(self.gpu.available_bytes()))
    }

    /// The loaded kernels of a candidate of ours.
    pub(super) fn candidate(
        &self,
        candidate: &Candidate,
        offset_bytes: u64,
    ) -> Result<Arc<dyn Module>, DeviceError> {
        self.loaded(Loaded::Candidate(*candidate, offset_bytes), || {
            source(candidate, offset_bytes).expect("the vendor's routines are not launched by us")
        })
    }

    /// The loaded kernel of parts that share a launch: see [`fused_source`].
    pub(super) fn fused(
        &self,
        variants: &[(Kernel, u64)],
        dtype: Dtype,
        block: u32,
    ) -> Result<Arc<dyn Module>, DeviceError> {
        self.loaded(Loaded::Fused { variants: variants.to_vec(), dtype, block }, || {
            fused_source(variants, dtype, block).expect("a partition checks that its kernels can be fused")
        })
    }

    /// The loaded kernel of a candidate with an epilogue; `None` for candidates that take it in a launch of its own.
    pub(super) fn with_epilogue(
        &self,
        candidate: &Candidate,
        offset_bytes: u64,
        epilogue: &Epilogue,
    ) -> Result<Option<Arc<dyn Module>>, DeviceError> {
        let source = epilogue_source(candidate, offset_bytes, epilogue);
        let what = Loaded::Epilogue(*candidate, offset_bytes, epilogue.clone());
        source
            .map(|source| self.loaded(what, || source))
            .transpose()
            .map_err(|error| of_epilogue(epilogue, error))
    }

    /// The loaded launch that computes an epilogue behind a product.
    pub(super) fn epilogue_pass(
        &self,
        dtype: Dtype,
        epilogue: &Epilogue,
    ) -> Result<Arc<dyn Module>, DeviceError> {
        let what = Loaded::EpiloguePass(dtype, epilogue.clone());
        self.loaded(what, || epilogue_pass_source(dtype, epilogue))
            .map_err(|error| of_epilogue(epilogue, error))
    }

    /// The loaded launch that adds up what the blocks of a product leave of so many dot products.
    pub(super) fn dots_pass(&self, count: usize) -> Result<Arc<dyn Module>, DeviceError> {
        self.loaded(Loaded::DotsPass(count), || dots_pass_source(count))
    }

    /// A fence for products that share memory.
    pub(super) fn shared_fence(&self) -> Result<SharedFence, DeviceError> {
        Ok(Arc::new(Mutex::new(self.gpu.fence()?)))
    }

    /// The loaded kernels that generate and fill.
    pub(super) fn generator<T: Scalar>(&self, nnz: u64) -> Result<FreeGrid, DeviceError> {
        let offset_bytes = self.offset_bytes(nnz);
        let source = benchmark_matrix_source(T::DTYPE, offset_bytes);
        self.free_grid(Loaded::Generator(T::DTYPE, offset_bytes), source)
    }

    /// The loaded kernels that lay out formats.
    pub(super) fn conversion(&self, dtype: Dtype, nnz: u64) -> Result<FreeGrid, DeviceError> {
        let offset_bytes = self.offset_bytes(nnz);
        let source = conversion_source(dtype, offset_bytes);
        self.free_grid(Loaded::Conversion(dtype, offset_bytes), source)
    }

    /// The loaded kernels that combine vectors.
    pub(super) fn vector_kernels(&self, dtype: Dtype) -> Result<FreeGrid, DeviceError> {
        self.free_grid(Loaded::Vectors(dtype), vector_source(dtype))
    }

    fn free_grid(&self, what: Loaded, source: KernelSource) -> Result<FreeGrid, DeviceError> {
        let entry_points = source.entry_points.clone();
        let module = self.loaded(what, || source)?;
        Ok(FreeGrid::new(module, entry_points, self.gpu.facts().multiprocessors))
    }

    fn loaded(
        &self,
        what: Loaded,
        source: impl FnOnce() -> KernelSource,
    ) -> Result<Arc<dyn Module>, DeviceError> {
        let modules = || self.modules.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(module) = modules().get(&what) {
            return Ok(Arc::clone(module));
        }
        // No lock is held while it is compiled; if two threads compile the same, both are right.
        let module = self.gpu.load(&source())?;
        modules().insert(what, Arc::clone(&module));
        Ok(module)
    }

    /// Room for x and y: x is random and follows from `seed`, so that no product of zeros is timed; y is poisoned.
    pub(super) fn vectors<T: Scalar>(
        &self,
        (nrows, ncols): (usize, usize),
        seed: u64,
    ) -> Result<(DeviceArray<T>, DeviceArray<T>), DeviceError> {
        let memory = self.memory();
        let (x, y) = (DeviceArray::<T>::new(&memory, ncols)?, DeviceArray::new(&memory, nrows)?);
        let count = ncols as u64;
        // SAFETY: x is that long.
        unsafe { self.generator::<T>(0)?.launch("random_x", count, &[count, seed, x.address()])? };
        self.poison(&y)?;
        Ok((x, y))
    }

    /// The vectors of a product with an `nrows x ncols` matrix, their lengths and their device checked.
    pub(super) fn vectors_of<T: Scalar>(
        &self,
        size: (usize, usize),
        DeviceVectors { alpha, x, beta, y, .. }: &DeviceVectors<'_, T>,
    ) -> Result<Vectors, DeviceError> {
        check_lengths(size, x.len(), y.len())?;
        let memory = self.memory();
        check_device(x.of, "x", memory.as_ref())?;
        check_device(y.of, "y", memory.as_ref())?;
        Ok(Vectors { x: x.address, y: y.address, alpha: *alpha, beta: *beta })
    }

    /// Replaces the values of a matrix by a copy of `values`, and waits for it.
    pub(super) fn update_values<T: Scalar>(
        &self,
        product: &mut dyn Product<T>,
        values: &[T],
    ) -> Result<(), DeviceError> {
        let uploaded = DeviceArray::of(&self.memory(), values)?;
        product.update_values_on_device(uploaded.as_slice(), None)?;
        self.gpu.synchronize()
    }

    /// A batch of products with the clock at its end: see [`Gpu::time`].
    pub(super) fn batch(
        &self,
        batch: BatchRequest<'_>,
        product: &mut dyn FnMut() -> Result<(), DeviceError>,
    ) -> Result<Batch, DeviceError> {
        Ok(Batch { time: self.gpu.time(batch, product)?, clock: self.gpu.clock() })
    }

    /// A batch of products y = A x that `queue` queues, with vectors on the device that nothing else uses meanwhile. `touched`: what a
    /// product reads and writes beside them; `entries`: as in [`BatchRequest`].
    pub(super) fn batch_on<T: Scalar>(
        &self,
        (x, y): (&DeviceArray<T>, &DeviceArray<T>),
        (entries, touched): (u32, impl IntoIterator<Item = Extent>),
        (products, caches): (u32, Caches),
        queue: impl Fn(&Vectors) -> Result<(), DeviceError>,
    ) -> Result<Batch, DeviceError> {
        let v = Vectors::product(x, y);
        let touched: Vec<Extent> = touched.into_iter().chain([x.extent(), y.extent()]).collect();
        self.batch(BatchRequest { products, entries, caches, touched: &touched }, &mut || queue(&v))
    }

    /// Fills y with NaN, and waits for it.
    pub(super) fn poison<T: Scalar>(&self, y: &DeviceArray<T>) -> Result<(), DeviceError> {
        let count = y.len() as u64;
        // SAFETY: y is that long.
        unsafe { self.generator::<T>(0)?.launch("poison", count, &[count, y.address()])? };
        self.gpu.synchronize()
    }
}

impl GpuDevice {
    /// A GPU that is driven by `gpu`.
    pub fn new(gpu: Arc<dyn Gpu>) -> Self {
        Self::of(gpu, false)
    }

    /// A device with row offsets of 64 bits where 32 would do, too: those of matrices of more than 2^32 non-zeros, to be
    /// tested with small ones.
    pub fn with_wide_offsets(gpu: Arc<dyn Gpu>) -> Self {
        Self::of(gpu, true)
    }

    fn of(gpu: Arc<dyn Gpu>, wide_offsets: bool) -> Self {
        let modules = Mutex::default();
        let shared = Arc::new(Shared { gpu, wide_offsets, modules });
        Self { shared, converts: ConvertOn::default() }
    }

    pub(super) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// Place where matrices are converted.
    pub(super) fn converts(&self) -> ConvertOn {
        self.converts
    }

    /// The interface of its maker.
    pub fn gpu(&self) -> &dyn Gpu {
        self.shared.gpu()
    }

    /// Sets where matrices are converted. [`ConvertOn::Device`] unless this is called.
    pub fn convert_on(&mut self, place: ConvertOn) {
        self.converts = place;
    }

    /// Attributes and measured rates.
    pub fn facts(&self) -> &DeviceFacts {
        self.shared.gpu().facts()
    }

    /// Memory that a matrix, x and y may take now.
    pub fn limits(&self) -> Limits {
        self.shared.limits()
    }

    /// A copy of `data` on the device.
    ///
    /// # Errors
    /// [`DeviceError::Infeasible`] if there is not that much memory.
    pub fn upload<T: bytemuck::Pod>(&self, data: &[T]) -> Result<DeviceArray<T>, DeviceError> {
        DeviceArray::of(&self.shared.memory(), data)
    }
}

impl GpuDevice {
    /// `a` in a format on the device, without x and y, and what that took.
    ///
    /// # Errors
    /// [`DeviceError::Infeasible`] if it cannot be held.
    pub fn store<T: Scalar>(
        &self,
        a: &Csr<T>,
        format: Format,
    ) -> Result<(DeviceMatrix, Preparation), DeviceError> {
        convert::load(&self.shared, a, format, &self.limits(), self.converts)
    }

    /// A benchmark matrix in a format, made on the device, without x and y.
    ///
    /// # Errors
    /// [`DeviceError::Infeasible`] if it cannot be held.
    pub fn store_benchmark<T: Scalar>(
        &self,
        matrix: &BenchmarkMatrix,
        format: Format,
    ) -> Result<DeviceMatrix, DeviceError> {
        generate::generate::<T>(&self.shared, matrix, format, &self.limits())
    }
}

impl<T: Scalar> Device<T> for GpuDevice {
    fn facts(&self) -> &DeviceFacts {
        self.facts()
    }

    fn limits(&self) -> Limits {
        self.limits()
    }

    fn runs(&self, kernel: Kernel) -> Result<(), DeviceError> {
        if kernel.is_vendors() { self.shared.gpu().has_vendor(kernel) } else { Ok(()) }
    }

    fn operand(&self, a: &Csr<T>, format: Format, dtype: Dtype) -> Result<Box<dyn Operand<T>>, DeviceError> {
        let (matrix, preparation) = if dtype == Dtype::Mixed {
            let (narrow, took) = narrow(a)?;
            let (matrix, mut preparation) = self.store(&narrow, format)?;
            preparation.convert.0 += took.0;
            (matrix, preparation)
        } else {
            self.store(a, format)?
        };
        Ok(Box::new(GpuOperand::<T>::new(&self.shared, matrix, preparation, 0)?))
    }

    fn load(&self, request: LoadRequest<'_, T>) -> Result<Box<dyn Product<T>>, DeviceError> {
        check_runs::<T>(self, request.partition())?;
        let (gpu, converts) = (&self.shared, self.converts);
        match request {
            LoadRequest::Parts { a, partition } => {
                Ok(Box::new(GpuProduct::load(gpu, a, partition, converts)?))
            }
            LoadRequest::Reordered { a, order, partition } => {
                Ok(Box::new(GpuReordered::load(gpu, a, order, partition, converts)?))
            }
            LoadRequest::Resident { a, partition } => {
                Ok(Box::new(GpuProduct::load_resident(gpu, a, partition, converts)?))
            }
            LoadRequest::Identity { rows } => Ok(Box::new(GpuProduct::load_identity(gpu, rows)?)),
            LoadRequest::Own(own) => Ok(Box::new(GpuProduct::load_own(gpu, own, converts)?)),
        }
    }

    fn generate(&self, matrix: &BenchmarkMatrix, format: Format) -> Result<Box<dyn Operand<T>>, DeviceError> {
        let stored = self.store_benchmark::<T>(matrix, format)?;
        Ok(Box::new(GpuOperand::<T>::new(&self.shared, stored, Preparation::default(), matrix.seed)?))
    }
}
