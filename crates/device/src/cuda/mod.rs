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
//! ```text
//! context, driver, part, facts  a GPU or a part of one, opened; its attributes and rates
//! compiler, library             NVRTC; the libraries of CUDA that are looked for
//! module, nvml                  launches, the clock
//! event, row_lengths, capture   order between streams; of another library: the time between two points, row lengths, graphs
//! staging                       large uploads
//! cusparse/, nccl/              the vendor's products; links between GPUs
//! custom                        people's own kernels, timed as ours are
//! ```
//!
//! Left out on purpose: several streams at once, graphs, peers. A product is one to three launches in one stream, the
//! device's own unless the caller of a [`Product`] names another.

mod capture;
mod compiler;
mod context;
mod cusparse;
mod custom;
mod driver;
mod event;
mod facts;
mod library;
mod module;
mod nccl;
mod nvml;
mod part;
mod row_lengths;
mod staging;

pub use crate::kernel_cache::{KernelCache, catalogue_hash};
pub use crate::library::{safe_loader_path, search_libraries_in};
pub use capture::BesideCaptures;
pub use compiler::{Arch, compile, nvrtc_version, supported_archs};
pub use cusparse::cusparse_version;
pub use custom::{Argument, CustomKernel, DeviceMemory, Shape};
pub use event::Stopwatch;
pub use nccl::{Identity, Nccl, Ranks};
pub use part::PartSizes;
pub use row_lengths::{QueuedCount, RowLengthCounter, RowLengthSummary};

use crate::gpu::{
    BatchRequest, BatchTimer, ConvertOn, DeviceMatrix, Driver as _, Fence, Gpu, GpuDevice, Memory,
    Module as GpuModule, StreamFence, Vectors, VendorProduct, available_bytes, launch_cost, with_rates,
};
use crate::timing::{Clock, StoppingRule};
use crate::vendor::{library_of, prepared};
use crate::{Device, DeviceError, LoadRequest, Operand, Product, Stream};
use context::{Context, named};
use cudarc::driver::result;
use cusparse::Library;
use module::Module;
use nvml::ClockReader;
use sparsight_kernels::{BenchmarkMatrix, DeviceFacts, Format, Kernel, KernelSource, LaunchCost, Vendor};
use sparsight_matrix::{Csr, Dtype, Limits, Scalar, Seconds};
use std::sync::{Arc, Mutex, OnceLock};

/// Oldest driver that has every function called here: R570, which speaks CUDA 12.8.
const OLDEST_CUDA: u32 = 12_080;

/// A CUDA GPU, or a part of one. It may be used from several threads; what is loaded on it keeps it open.
#[derive(Debug, Clone)]
pub struct Cuda {
    device: GpuDevice,
    gpu: Arc<CudaGpu>,
}

/// The driver's side of it.
#[derive(Debug)]
struct CudaGpu {
    /// Made when first needed: its kernels have to be compiled.
    timer: OnceLock<BatchTimer<Context>>,
    /// Measured when first asked for, unless the facts hold it.
    launch: OnceLock<LaunchCost>,
    /// Opened when first needed.
    library: Mutex<Option<Arc<Library>>>,
    compiler: Compiler,
    facts: DeviceFacts,
    /// Opened when it is first read, which products never do; `None` where NVML cannot be asked.
    clock: OnceLock<Option<ClockReader>>,
    context: Arc<Context>,
}

/// Compiles for one device, with the cache on disk.
#[derive(Debug)]
struct Compiler {
    arch: Arch,
    nvrtc: (u32, u32),
    cache: KernelCache,
}

impl Cuda {
    /// Number of CUDA devices that the driver reports.
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

    /// The driver's name for device `index`, counted from 0. Opens nothing and takes microseconds.
    ///
    /// # Errors
    /// [`DeviceError::NoDriver`], [`DeviceError::NoSuchDevice`], or a failed call.
    pub fn name(index: usize) -> Result<String, DeviceError> {
        facts::name(Self::device(index)?)
    }

    /// The driver as it names itself, as it stands in the facts of its devices. Opens nothing.
    ///
    /// # Errors
    /// As [`Cuda::count`].
    pub fn driver() -> Result<String, DeviceError> {
        Self::count()?;
        facts::driver_version()
    }

    /// Numbers of multiprocessors that parts of device `index` can have. Opens nothing.
    ///
    /// # Errors
    /// As [`Cuda::name`]; a failed call where the device cannot be parted.
    pub fn parts(index: usize) -> Result<PartSizes, DeviceError> {
        part::sizes(Self::device(index)?)
    }

    /// The name of a part with that many multiprocessors in its facts: `NVIDIA H200, 40 of 132 multiprocessors`.
    /// Opens nothing, and does not ask whether it can be had.
    ///
    /// # Errors
    /// As [`Cuda::parts`].
    pub fn name_of_part(index: usize, multiprocessors: u32) -> Result<String, DeviceError> {
        part::name(Self::device(index)?, multiprocessors)
    }

    /// The number of the device in whose memory `address` lies. `None` if every device may read it (memory of the host that is known to the
    /// driver, managed memory) and if the driver does not know it. Opens nothing; a call that takes less than a microsecond.
    ///
    /// # Errors
    /// As [`Cuda::count`].
    pub fn index_of_address(address: u64) -> Result<Option<usize>, DeviceError> {
        Self::count()?;
        context::device_of_address(address)
    }

    /// Number of the context that is current on this thread, which no other context has in the life of the process: that of a device has
    /// another one after the device was reset. `None` without a context. The driver must be here: [`Cuda::count`] says so. Opens nothing;
    /// a call that takes well below a microsecond.
    pub fn current_context() -> Option<u64> {
        context::current()
    }

    /// Number of the device whose context is current on this thread.
    ///
    /// # Errors
    /// A failed call, also without a context.
    pub fn current_device() -> Result<usize, DeviceError> {
        context::current_device()
    }

    /// Returns whether something in this process uses the primary context of device `index`. Makes none.
    ///
    /// # Errors
    /// As [`Cuda::name`].
    pub fn primary_context_is_active(index: usize) -> Result<bool, DeviceError> {
        let (device, mut flags, mut active) = (Self::device(index)?, 0, 0);
        // SAFETY: the device comes from the driver, and the pointers are to live numbers.
        let state = unsafe {
            cudarc::driver::sys::cuDevicePrimaryCtxGetState(device, &raw mut flags, &raw mut active)
        };
        named("cuDevicePrimaryCtxGetState", state.result())?;
        Ok(active != 0)
    }

    /// Number of the device's primary context, in which everything lies.
    pub fn context_id(&self) -> u64 {
        self.gpu.context.id
    }

    /// Returns whether the program has reset the device (`cudaDeviceReset`) since it was opened here. All that was made on it is gone then:
    /// calls fail, and nothing of it is touched when it is dropped.
    pub fn was_reset(&self) -> bool {
        !self.gpu.context.is_alive()
    }

    fn device(index: usize) -> Result<cudarc::driver::sys::CUdevice, DeviceError> {
        let count = Self::count()?;
        if index >= count {
            return Err(DeviceError::NoSuchDevice { interface: "CUDA", index, count });
        }
        named("cuDeviceGet", result::device::get(index as i32))
    }

    /// Opens device `index`, counted from 0, and measures its rates, which takes up to about a second.
    ///
    /// # Errors
    /// [`DeviceError::NoDriver`], [`DeviceError::NoSuchDevice`], [`DeviceError::NoNvrtc`], or a failed call.
    pub fn open(index: usize) -> Result<Self, DeviceError> {
        Self::in_context(Context::retain(Self::device(index)?)?, true)
    }

    /// Opens without measuring the rates, which are 0 in its facts: for callers that multiply and do not predict.
    ///
    /// # Errors
    /// As [`Cuda::open`].
    pub fn open_without_rates(index: usize) -> Result<Self, DeviceError> {
        Self::in_context(Context::retain(Self::device(index)?)?, false)
    }

    /// Opens a part of device `index`: everything runs on `multiprocessors` of its multiprocessors, and the rates are
    /// measured on them. The L2, the memory and its bandwidth, and the clocks are those of the whole device, so a part
    /// is not a smaller GPU. Nothing on the device is changed.
    ///
    /// # Errors
    /// [`DeviceError::NoSuchPart`] with the numbers that can be had; else as [`Cuda::open`].
    pub fn open_part(index: usize, multiprocessors: u32) -> Result<Self, DeviceError> {
        Self::in_context(Context::retain_part(Self::device(index)?, index, multiprocessors)?, true)
    }

    fn in_context(context: Context, measures_rates: bool) -> Result<Self, DeviceError> {
        let context = Arc::new(context);
        let facts = facts::read(&context)?;
        let compiler = Compiler {
            arch: facts.compute_capability.unwrap_or_default(),
            nvrtc: nvrtc_version()?,
            cache: KernelCache::from_environment(),
        };
        let library = Mutex::new(None);
        let (timer, launch, clock) = (OnceLock::new(), OnceLock::new(), OnceLock::new());
        let mut gpu = CudaGpu { timer, launch, library, compiler, facts, clock, context };
        if measures_rates {
            gpu.facts = with_rates(&gpu.facts, &gpu.context, gpu.timer()?)?;
        }
        let gpu = Arc::new(gpu);
        Ok(Self { device: GpuDevice::new(Arc::clone(&gpu) as _), gpu })
    }

    /// Sets where matrices are converted. [`ConvertOn::Device`] unless this is called.
    pub fn convert_on(&mut self, place: ConvertOn) {
        self.device.convert_on(place);
    }

    /// Attributes and measured rates.
    pub fn facts(&self) -> &DeviceFacts {
        &self.gpu.facts
    }

    /// Time of one launch of an empty kernel and of one small product among many on this machine: of a device that was opened without
    /// rates they are measured when first asked for, in some milliseconds, and kept as long as the device is open.
    ///
    /// # Errors
    /// [`DeviceError::Compile`], or a failed call.
    pub fn launch_cost(&self) -> Result<LaunchCost, DeviceError> {
        let known = Some(self.gpu.facts.launch_cost()).filter(|cost| cost.launch_s.0 > 0.0);
        if let Some(cost) = known.or_else(|| self.gpu.launch.get().copied()) {
            return Ok(cost);
        }
        let cost = launch_cost(&self.gpu.context, self.gpu.timer()?, &StoppingRule::BRISK)?;
        Ok(*self.gpu.launch.get_or_init(|| cost))
    }

    /// Memory that a matrix, x and y may take now: the free memory less a reserve; none if the driver does not say.
    pub fn limits(&self) -> Limits {
        self.device.limits()
    }

    /// The device without its CUDA functions.
    pub fn as_gpu(&self) -> &GpuDevice {
        &self.device
    }

    /// A copy of `data` on the device.
    ///
    /// # Errors
    /// [`DeviceError::Infeasible`] if there is not that much memory.
    pub fn upload<T: bytemuck::Pod>(&self, data: &[T]) -> Result<crate::gpu::DeviceArray<T>, DeviceError> {
        self.device.upload(data)
    }

    /// The device's own stream, in which everything runs for which no other is named.
    pub fn stream(&self) -> Stream<'_> {
        self.gpu.context.stream()
    }

    /// Waits for everything that this process has queued on the device, in all streams.
    ///
    /// # Errors
    /// [`DeviceError::Driver`], also while a stream is captured into a graph.
    pub fn wait_for_all(&self) -> Result<(), DeviceError> {
        let _entered = self.gpu.context.enter()?;
        named("cuCtxSynchronize", result::ctx::synchronize())
    }

    /// Waits for everything queued in `stream`. Failures of kernels are reported here.
    ///
    /// # Errors
    /// [`DeviceError::Driver`].
    pub fn wait_for(&self, stream: Stream<'_>) -> Result<(), DeviceError> {
        self.gpu.context.wait_for(stream)
    }
}

impl CudaGpu {
    /// What measures batches.
    fn timer(&self) -> Result<&BatchTimer<Context>, DeviceError> {
        BatchTimer::kept(&self.timer, &self.context, &self.facts, |source| self.load(source))
    }
}

impl Gpu for CudaGpu {
    fn facts(&self) -> &DeviceFacts {
        &self.facts
    }

    fn memory(&self) -> Arc<dyn Memory> {
        Arc::clone(&self.context) as _
    }

    fn available_bytes(&self) -> u64 {
        available_bytes(self.context.free_bytes().unwrap_or(0), self.facts.l2_bytes)
    }

    /// The limit in x of every CUDA device.
    fn most_blocks(&self) -> u32 {
        (1 << 31) - 1
    }

    fn load(&self, source: &KernelSource) -> Result<Arc<dyn GpuModule>, DeviceError> {
        Ok(Arc::new(self.compiler.load(&self.context, source)?))
    }

    /// Programmatic dependent launch.
    fn overlaps_launches(&self) -> bool {
        self.facts.compute_capability.is_some_and(|(major, _)| major >= 9)
    }

    fn fence(&self) -> Result<Box<dyn Fence>, DeviceError> {
        Ok(Box::new(StreamFence::new(&self.context)?))
    }

    fn is_captured(&self, stream: Stream<'_>) -> Result<bool, DeviceError> {
        self.context.is_captured(stream)
    }

    fn synchronize(&self) -> Result<(), DeviceError> {
        self.context.synchronize()
    }

    fn time(
        &self,
        batch: BatchRequest<'_>,
        product: &mut dyn FnMut() -> Result<(), DeviceError>,
    ) -> Result<Seconds, DeviceError> {
        self.timer()?.time(batch, product)
    }

    fn clock(&self) -> Option<Clock> {
        self.clock.get_or_init(|| ClockReader::open(self.context.device)).as_ref()?.read()
    }

    fn has_vendor(&self, kernel: Kernel) -> Result<(), DeviceError> {
        cusparse::require_routine(kernel)
    }

    unsafe fn vendor(
        &self,
        routine: Vendor,
        matrix: &DeviceMatrix,
        vectors: &Vectors,
    ) -> Result<Box<dyn VendorProduct>, DeviceError> {
        let library = library_of(&self.library, || Library::open(&self.context))?;
        // SAFETY: as the caller promises.
        unsafe { prepared(&library, routine, matrix, vectors) }
    }
}

impl Compiler {
    /// Takes the image from the cache or compiles it, and loads it.
    fn load(&self, context: &Arc<Context>, source: &KernelSource) -> Result<Module, DeviceError> {
        let ((major, minor), (version, point)) = (self.arch, self.nvrtc);
        let target = format!("sm_{major}{minor} nvrtc {version}.{point}");
        let load = |image: &[u8]| Module::load(context, image, &source.entry_points);
        self.cache.loaded(source, &target, load, || compile(source, self.arch))
    }
}

impl<T: Scalar> Device<T> for Cuda {
    fn facts(&self) -> &DeviceFacts {
        self.facts()
    }

    fn begin_timing(&self) {
        let _ = self.gpu.clock();
    }

    fn limits(&self) -> Limits {
        self.limits()
    }

    fn runs(&self, kernel: Kernel) -> Result<(), DeviceError> {
        Device::<T>::runs(&self.device, kernel)
    }

    fn operand(&self, a: &Csr<T>, format: Format, dtype: Dtype) -> Result<Box<dyn Operand<T>>, DeviceError> {
        self.device.operand(a, format, dtype)
    }

    fn load(&self, request: LoadRequest<'_, T>) -> Result<Box<dyn Product<T>>, DeviceError> {
        self.device.load(request)
    }

    fn generate(&self, matrix: &BenchmarkMatrix, format: Format) -> Result<Box<dyn Operand<T>>, DeviceError> {
        self.device.generate(matrix, format)
    }
}
