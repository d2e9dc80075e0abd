//! AMD's GPUs through HIP: kernels compiled when first needed, launched in one stream, timed by events.
//!
//! **Nothing here has run on a GPU of AMD yet.** The kernels are compiled for four of its chips and run by an emulator with waves of 64;
//! this code runs on a stand-in for the libraries. `docs/hip.md` says what that shows and what it does not.
//!
//! The runtime and its compiler are opened by name when they are first needed, from where no one else could have put them. Nothing panics
//! when they are missing: [`Hip::open`] says [`DeviceError::NoHip`] or [`DeviceError::NoHiprtc`].
//!
//! ```text
//! api, library                  functions of the libraries by name; where these are found
//! context, event, facts         a GPU, opened; its stream, memory and events; its attributes
//! compiler, module              HIPRTC; launches
//! rocsparse/                    the vendor's products
//! ```
//!
//! Left out on purpose: parts of a GPU, several GPUs at once, graphs, and the clock.

mod api;
mod compiler;
mod context;
mod event;
mod facts;
mod library;
mod module;
mod rocsparse;

pub use compiler::{compile, hiprtc_version};

use crate::gpu::{
    BatchRequest, BatchTimer, DeviceMatrix, Driver as _, Fence, Gpu, GpuDevice, Memory, Module as GpuModule,
    StreamFence, Vectors, VendorProduct, available_bytes, with_rates,
};
use crate::kernel_cache::KernelCache;
use crate::vendor::{library_of, prepared};
use crate::{DeviceError, Stream};
use api::NO_DEVICE;
use context::Context;
use module::Module;
use rocsparse::Library;
use sparsight_kernels::{DeviceFacts, Kernel, KernelSource, Vendor};
use sparsight_matrix::Seconds;
use std::sync::{Arc, Mutex, OnceLock};

/// Most thread blocks of a launch: a grid has fewer than 2^32 threads in x, and a block at most 1,024.
const MOST_BLOCKS: u32 = (1 << 22) - 1;

/// A GPU of AMD. It may be used from several threads; what is loaded on it keeps it open.
#[derive(Debug, Clone)]
pub struct Hip {
    device: GpuDevice,
    context: Arc<Context>,
}

/// The runtime's side of it.
#[derive(Debug)]
struct HipGpu {
    /// Made when first needed: its kernels have to be compiled.
    timer: OnceLock<BatchTimer<Context>>,
    /// Opened when first needed.
    library: Mutex<Option<Arc<Library>>>,
    facts: DeviceFacts,
    cache: KernelCache,
    /// Chip and compiler, as compiled kernels are kept by.
    target: String,
    context: Arc<Context>,
}

impl Hip {
    /// Number of devices that the runtime reports.
    ///
    /// # Errors
    /// [`DeviceError::NoHip`] or [`DeviceError::LoaderPath`]; [`DeviceError::Driver`] if it is too old or fails.
    pub fn count() -> Result<usize, DeviceError> {
        let api = api::runtime()?;
        let mut count = 0;
        // SAFETY: the pointer is to a live number.
        let asked = unsafe { (api.hipGetDeviceCount)(&raw mut count) };
        if asked == NO_DEVICE {
            return Ok(0);
        }
        api.named("hipGetDeviceCount", asked)?;
        Ok(count.max(0) as usize)
    }

    /// The runtime's name for device `index`, counted from 0. Opens nothing.
    ///
    /// # Errors
    /// [`DeviceError::NoHip`], [`DeviceError::NoSuchDevice`], or a failed call.
    pub fn name(index: usize) -> Result<String, DeviceError> {
        Self::check(index)?;
        facts::name(api::runtime()?, index)
    }

    /// The runtime as it names itself, as it stands in the facts of its devices. Opens nothing.
    ///
    /// # Errors
    /// [`DeviceError::NoHip`], or a failed call.
    pub fn driver() -> Result<String, DeviceError> {
        api::runtime()?.described()
    }

    fn check(index: usize) -> Result<(), DeviceError> {
        let count = Self::count()?;
        if index < count { Ok(()) } else { Err(DeviceError::NoSuchDevice { interface: "HIP", index, count }) }
    }

    /// Opens device `index`, counted from 0, and measures its rates, which takes up to about a second.
    ///
    /// # Errors
    /// [`DeviceError::NoHip`], [`DeviceError::NoSuchDevice`], [`DeviceError::NoHiprtc`], or a failed call.
    pub fn open(index: usize) -> Result<Self, DeviceError> {
        Self::opened(index, true)
    }

    /// Opens without measuring the rates, which are 0 in its facts: for callers that multiply and do not predict.
    ///
    /// # Errors
    /// As [`Hip::open`].
    pub fn open_without_rates(index: usize) -> Result<Self, DeviceError> {
        Self::opened(index, false)
    }

    fn opened(index: usize, measures_rates: bool) -> Result<Self, DeviceError> {
        Self::check(index)?;
        let context = Arc::new(Context::open(index)?);
        let facts = facts::read(&context)?;
        let ((version, point), capability) =
            (hiprtc_version()?, facts.compute_capability.unwrap_or_default());
        // The compiler's own number stays the same over many versions of ROCm.
        let compiler = format!("hiprtc {version}.{point} of {}", facts.driver);
        let target = format!("{} {}.{} {compiler}", facts.name, capability.0, capability.1);
        let (timer, cache) = (OnceLock::new(), KernelCache::from_environment());
        let mut gpu =
            HipGpu { timer, library: Mutex::default(), facts, cache, target, context: Arc::clone(&context) };
        if measures_rates {
            gpu.facts = with_rates(&gpu.facts, &context, gpu.timer()?)?;
        }
        Ok(Self { device: GpuDevice::new(Arc::new(gpu)), context })
    }

    /// The device, which multiplies as every GPU does.
    pub fn as_gpu(&self) -> &GpuDevice {
        &self.device
    }

    /// The same, to be told where to convert.
    pub fn as_gpu_mut(&mut self) -> &mut GpuDevice {
        &mut self.device
    }

    /// The device's own stream, in which everything runs for which no other is named.
    pub fn stream(&self) -> Stream<'_> {
        self.context.stream()
    }

    /// Waits for everything that this process has queued on the device, in all streams.
    ///
    /// # Errors
    /// [`DeviceError::Driver`].
    pub fn wait_for_all(&self) -> Result<(), DeviceError> {
        self.context.wait_for_all()
    }
}

impl HipGpu {
    /// What measures batches.
    fn timer(&self) -> Result<&BatchTimer<Context>, DeviceError> {
        BatchTimer::kept(&self.timer, &self.context, &self.facts, |source| self.load(source))
    }

    /// The vendor's library on this device.
    fn library(&self) -> Result<Arc<Library>, DeviceError> {
        library_of(&self.library, || Library::open(&self.context))
    }
}

impl Gpu for HipGpu {
    fn facts(&self) -> &DeviceFacts {
        &self.facts
    }

    fn memory(&self) -> Arc<dyn Memory> {
        Arc::clone(&self.context) as _
    }

    fn available_bytes(&self) -> u64 {
        available_bytes(self.context.free_bytes().unwrap_or(0), self.facts.l2_bytes)
    }

    fn most_blocks(&self) -> u32 {
        MOST_BLOCKS
    }

    fn load(&self, source: &KernelSource) -> Result<Arc<dyn GpuModule>, DeviceError> {
        // Compiled for the chip of the current device.
        let _entered = self.context.enter()?;
        let load = |image: &[u8]| Module::load(&self.context, image, &source.entry_points);
        Ok(Arc::new(self.cache.loaded(source, &self.target, load, || compile(source, None))?))
    }

    fn overlaps_launches(&self) -> bool {
        false
    }

    fn fence(&self) -> Result<Box<dyn Fence>, DeviceError> {
        Ok(Box::new(StreamFence::new(&self.context)?))
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

    fn has_vendor(&self, kernel: Kernel) -> Result<(), DeviceError> {
        if let Some(Vendor::Rocsparse(_)) = kernel.vendor() {
            return self.library()?.require_routine(kernel);
        }
        let reason = format!("cuSPARSE is NVIDIA's, and this is {}", self.facts.name);
        Err(DeviceError::CannotRun { kernel: kernel.to_string(), reason })
    }

    unsafe fn vendor(
        &self,
        routine: Vendor,
        matrix: &DeviceMatrix,
        vectors: &Vectors,
    ) -> Result<Box<dyn VendorProduct>, DeviceError> {
        // SAFETY: as the caller promises.
        unsafe { prepared(&self.library()?, routine, matrix, vectors) }
    }
}
