//! CUDA GPUs: kernels compiled when first needed, launched in one stream, timed by events; and the routines of the
//! vendor's own library beside them.
//!
//! The driver is called through cudarc's `result` and `sys` layers, not its safe layer, which would wait on and
//! record events at every launch. Nothing here panics when driver, compiler or library are missing: [`Cuda::open`] says
//! [`DeviceError::NoDriver`] or [`DeviceError::NoNvrtc`], and the vendor's routines [`DeviceError::NoVendor`]. None of the
//! three is opened where others could have put it: see [`DeviceError::LoaderPath`] and [`search_libraries_in`].
//!
//! A part of a GPU ([`Cuda::open_part`]) is one whose stream belongs to some of the multiprocessors.
//!
//! Left out on purpose: several streams at once, graphs, peers. A product is one to three launches in one stream, the
//! device's own unless the caller of a [`Product`] names another.

mod arrays;
mod batch;
mod compiler;
mod context;
mod convert;
mod cusparse;
mod custom;
mod facts;
mod free_grid;
mod generate;
mod kernel_cache;
mod library;
mod memory;
mod module;
mod operand;
mod part;
mod partitioned;
mod row_block;
mod staging;
mod stream;
mod trusted;
mod upload;

pub use compiler::{Arch, compile, nvrtc_version, supported_archs};
pub use cusparse::cusparse_version;
pub use custom::{Argument, CustomKernel, DeviceMemory, Element, Shape};
pub use kernel_cache::{KernelCache, catalogue_hash, key};
pub use library::{safe_loader_path, search_libraries_in};
pub use memory::DeviceArray;
pub use part::PartSizes;
pub use stream::Stream;

use crate::{Device, DeviceError, Operand, Partition, Product};
use batch::BatchTimer;
use context::{Context, named};
use cudarc::driver::result;
use cusparse::Library;
use module::Module;
use operand::CudaOperand;
use partitioned::CudaPartitioned;
use sparsight_kernels::{
    BenchmarkMatrix, Candidate, DEVICE_CONVERSION_NNZ, DeviceFacts, Format, Kernel, KernelSource,
    benchmark_matrix_source, conversion_source, fused_source, source, timing_source,
};
use sparsight_matrix::{Bytes, Csr, Dtype, Limits, Scalar};
use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::sync::Arc;

/// Oldest driver that has every function called here: R570, which speaks CUDA 12.8.
const OLDEST_CUDA: u32 = 12_080;

/// Device memory that matrices leave alone, beside what flushing the L2 takes. Chosen: modules, the driver's own
/// growth, and fragments too small for a large array.
const RESERVE: u64 = 256 << 20;

/// One CUDA GPU, or a part of one. It may be moved to another thread but not shared between threads.
#[derive(Debug)]
pub struct Cuda {
    // Dropped in this order; each part keeps the context alive.
    timer: BatchTimer,
    modules: RefCell<HashMap<Loaded, Arc<Module>>>,
    /// Opened when first needed.
    library: OnceCell<Library>,
    compiler: Compiler,
    facts: DeviceFacts,
    converts: ConvertOn,
    context: Arc<Context>,
}

/// Where CSR is converted to formats that have the entries elsewhere: all but CSR, csr-balanced and csr-binned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ConvertOn {
    /// The host, all of its cores; what is uploaded is the format.
    Host,
    /// The device, unless its memory cannot hold the CSR beside the format; what is uploaded is the CSR.
    Device,
    /// The device from a size on where that is faster, [`DEVICE_CONVERSION_NNZ`].
    #[default]
    Faster,
}

impl ConvertOn {
    fn device(self, nnz: usize) -> bool {
        match self {
            Self::Host => false,
            Self::Device => true,
            Self::Faster => nnz as u64 >= DEVICE_CONVERSION_NNZ,
        }
    }
}

/// What a loaded module was made for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Loaded {
    Candidate(Candidate, u64),
    Fused { variants: Vec<(Kernel, u64)>, dtype: Dtype, block: u32 },
    Helper(Dtype, u64),
    Conversion(Dtype, u64),
}

/// Compiles for one device, with the cache on disk.
#[derive(Debug)]
struct Compiler {
    arch: Arch,
    nvrtc: (u32, u32),
    cache: KernelCache,
}

impl Cuda {
    /// How many CUDA devices the driver sees.
    ///
    /// # Errors
    /// [`DeviceError::NoDriver`] or [`DeviceError::LoaderPath`]; [`DeviceError::Driver`] if it cannot be initialised.
    pub fn count() -> Result<usize, DeviceError> {
        library::require_driver()?;
        let version = facts::cuda_version()?;
        if version < OLDEST_CUDA {
            let reason =
                format!("the driver speaks CUDA {version}, {OLDEST_CUDA} (R570) is the oldest that works");
            return Err(DeviceError::Driver { call: "opening the CUDA driver".to_owned(), reason });
        }
        named("cuInit", result::init())?;
        Ok(named("cuDeviceGetCount", result::device::get_count())?.max(0) as usize)
    }

    /// What the driver calls device `index`, counted from 0. Opens nothing and takes microseconds.
    ///
    /// # Errors
    /// [`DeviceError::NoDriver`], [`DeviceError::NoSuchDevice`], or a failed call.
    pub fn name(index: usize) -> Result<String, DeviceError> {
        facts::name(Self::device(index)?)
    }

    /// Numbers of multiprocessors that parts of device `index` can have. Opens nothing.
    ///
    /// # Errors
    /// As [`Cuda::name`]; a failed call where the device cannot be parted.
    pub fn parts(index: usize) -> Result<PartSizes, DeviceError> {
        part::sizes(Self::device(index)?)
    }

    /// What the facts of a part with that many multiprocessors call it: `NVIDIA H200, 40 of 132 multiprocessors`.
    /// Opens nothing, and does not ask whether it can be had.
    ///
    /// # Errors
    /// As [`Cuda::parts`].
    pub fn name_of_part(index: usize, multiprocessors: u32) -> Result<String, DeviceError> {
        part::name(Self::device(index)?, multiprocessors)
    }

    fn device(index: usize) -> Result<cudarc::driver::sys::CUdevice, DeviceError> {
        let count = Self::count()?;
        if index >= count {
            return Err(DeviceError::NoSuchDevice { index, count });
        }
        named("cuDeviceGet", result::device::get(index as i32))
    }

    /// Opens device `index`, counted from 0, and measures its rates, which takes up to about a second.
    ///
    /// # Errors
    /// [`DeviceError::NoDriver`], [`DeviceError::NoSuchDevice`], [`DeviceError::NoNvrtc`], or a failed call.
    pub fn open(index: usize) -> Result<Self, DeviceError> {
        Self::in_context(Context::retain(Self::device(index)?)?)
    }

    /// Opens a part of device `index`: everything runs on `multiprocessors` of its multiprocessors, and the rates are
    /// measured on them. The L2, the memory and its bandwidth, and the clocks are those of the whole device, so a part
    /// is not a smaller GPU. Nothing on the device is changed.
    ///
    /// # Errors
    /// [`DeviceError::NoSuchPart`] with the numbers that can be had; else as [`Cuda::open`].
    pub fn open_part(index: usize, multiprocessors: u32) -> Result<Self, DeviceError> {
        Self::in_context(Context::retain_part(Self::device(index)?, index, multiprocessors)?)
    }

    fn in_context(context: Context) -> Result<Self, DeviceError> {
        let context = Arc::new(context);
        let mut facts = facts::read(&context)?;
        let compiler = Compiler {
            arch: facts.compute_capability.unwrap_or_default(),
            nvrtc: nvrtc_version()?,
            cache: KernelCache::from_environment(),
        };
        let timing = Arc::new(compiler.load(&context, &timing_source())?);
        let timer = BatchTimer::new(&context, timing, facts.l2_bytes, facts.multiprocessors)?;
        facts::measure_rates(&mut facts, &context, &timer)?;
        let (modules, library, converts) = (RefCell::default(), OnceCell::new(), ConvertOn::default());
        Ok(Self { timer, modules, library, compiler, facts, converts, context })
    }

    /// Says where matrices are converted from now on. [`ConvertOn::Faster`] unless this is called.
    pub fn convert_on(&mut self, place: ConvertOn) {
        self.converts = place;
    }

    /// Attributes and measured rates.
    pub fn facts(&self) -> &DeviceFacts {
        &self.facts
    }

    /// What a matrix, x and y may take now: the free memory less a reserve; nothing if the driver does not say.
    pub fn limits(&self) -> Limits {
        let free = self.context.memory().map_or(0, |(free, _)| free);
        let reserve = RESERVE + BatchTimer::flush_bytes(self.facts.l2_bytes);
        Limits::with_memory(Bytes(free.saturating_sub(reserve)))
    }

    /// Whether a launch may begin before the one in front of it has ended (programmatic dependent launch).
    fn overlaps_launches(&self) -> bool {
        self.facts.compute_capability.is_some_and(|(major, _)| major >= 9)
    }

    /// The loaded kernels of a candidate.
    fn candidate(&self, candidate: &Candidate, offset_bytes: u64) -> Result<Arc<Module>, DeviceError> {
        self.loaded(Loaded::Candidate(*candidate, offset_bytes), || {
            source(candidate, offset_bytes).expect("the vendor's routines are not launched by us")
        })
    }

    /// The vendor's library on this device.
    fn library(&self) -> Result<&Library, DeviceError> {
        if let Some(library) = self.library.get() {
            return Ok(library);
        }
        let library = Library::open(&self.context)?;
        Ok(self.library.get_or_init(|| library))
    }

    /// The loaded kernel of parts that share a launch: see [`fused_source`].
    fn fused(
        &self,
        variants: &[(Kernel, u64)],
        dtype: Dtype,
        block: u32,
    ) -> Result<Arc<Module>, DeviceError> {
        self.loaded(Loaded::Fused { variants: variants.to_vec(), dtype, block }, || {
            fused_source(variants, dtype, block).expect("a partition checks that its kernels can be fused")
        })
    }

    /// The loaded kernels that generate and fill.
    fn helper(&self, dtype: Dtype, offset_bytes: u64) -> Result<Arc<Module>, DeviceError> {
        self.loaded(Loaded::Helper(dtype, offset_bytes), || benchmark_matrix_source(dtype, offset_bytes))
    }

    /// The loaded kernels that lay out formats.
    fn conversion(&self, dtype: Dtype, offset_bytes: u64) -> Result<Arc<Module>, DeviceError> {
        self.loaded(Loaded::Conversion(dtype, offset_bytes), || conversion_source(dtype, offset_bytes))
    }

    fn loaded(
        &self,
        what: Loaded,
        source: impl FnOnce() -> KernelSource,
    ) -> Result<Arc<Module>, DeviceError> {
        if let Some(module) = self.modules.borrow().get(&what) {
            return Ok(Arc::clone(module));
        }
        let module = Arc::new(self.compiler.load(&self.context, &source())?);
        self.modules.borrow_mut().insert(what, Arc::clone(&module));
        Ok(module)
    }
}

impl Compiler {
    /// Takes the image from the cache or compiles it, and loads it.
    fn load(&self, context: &Arc<Context>, source: &KernelSource) -> Result<Module, DeviceError> {
        let key = key(source, self.arch, self.nvrtc);
        if let Some(image) = self.cache.get(key)
            && let Ok(module) = Module::load(context, &image, source.entry_points)
        {
            return Ok(module);
        }
        let image = compile(source, self.arch)?;
        self.cache.put(key, &image);
        Module::load(context, &image, source.entry_points)
    }
}

impl<T: Scalar> Device<T> for Cuda {
    fn facts(&self) -> &DeviceFacts {
        &self.facts
    }

    fn limits(&self) -> Limits {
        self.limits()
    }

    fn runs(&self, kernel: Kernel) -> Result<(), DeviceError> {
        if kernel.is_vendors() { library::require_cusparse() } else { Ok(()) }
    }

    fn load<'d>(&'d self, a: &Csr<T>, format: Format) -> Result<Box<dyn Operand<T> + 'd>, DeviceError> {
        Ok(Box::new(CudaOperand::load(self, a, format, &self.limits())?))
    }

    fn load_parts<'d>(
        &'d self,
        a: &Csr<T>,
        partition: &Partition,
    ) -> Result<Box<dyn Product<T> + 'd>, DeviceError> {
        for (_, candidate) in partition.parts() {
            Device::<T>::runs(self, candidate.kernel)?;
        }
        Ok(Box::new(CudaPartitioned::load(self, a, partition)?))
    }

    fn generate<'d>(
        &'d self,
        matrix: &BenchmarkMatrix,
        format: Format,
    ) -> Result<Box<dyn Operand<T> + 'd>, DeviceError> {
        Ok(Box::new(generate::generate(self, matrix, format, &self.limits())?))
    }
}
