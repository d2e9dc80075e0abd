//! The driver's context of one device with the one stream in which everything runs, and errors in our words.

use super::part::Part;
use super::staging::{self, Staging};
use crate::DeviceError;
use crate::gpu::{Driver as _, Memory};
use cudarc::driver::result::{self, DriverError};
use cudarc::driver::sys::{self, CUmemorytype, CUpointer_attribute as A};
use sparsight_matrix::{Bytes, Infeasible};
use std::ffi::{c_int, c_uint, c_void};
use std::marker::PhantomData;
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

/// The device's primary context and a stream of its own, on all multiprocessors or on a part of them.
///
/// # Invariants
/// `device` and `raw` belong together; `raw` is retained until this is dropped; `stream` was created in it, or in the
/// green context of `part`, which lives longer than the stream and shorter than `raw`. The program may reset the device
/// (`cudaDeviceReset`), which destroys all that was made in `raw`: then `raw` no longer has the number `id`, [`Context::enter`]
/// fails, and the driver is called with none of it any more.
#[derive(Debug)]
pub(super) struct Context {
    pub(super) device: sys::CUdevice,
    raw: sys::CUcontext,
    pub(super) id: u64,
    pub(super) part: Option<Part>,
    pub(super) stream: sys::CUstream,
    /// Made with the first large upload.
    staging: Mutex<Option<Staging>>,
}

// SAFETY: the driver's functions may be called from any thread with any of these handles; a thread must only have
// made the context its current one, which `enter` does.
unsafe impl Send for Context {}
// SAFETY: as above; nothing but what lies behind the lock is changed through a shared reference.
unsafe impl Sync for Context {}

/// Gives a failed driver call its name and the driver's words.
pub(super) fn named<T>(call: &'static str, result: Result<T, DriverError>) -> Result<T, DeviceError> {
    result.map_err(|error| {
        let text = |s: Result<&std::ffi::CStr, DriverError>| s.map(|s| s.to_string_lossy().into_owned());
        let reason = match (text(error.error_name()), text(error.error_string())) {
            (Ok(name), Ok(words)) => format!("{name}: {words}"),
            _ => format!("{:?}", error.0),
        };
        DeviceError::Driver { call: call.to_owned(), reason }
    })
}

/// Number of a context, which no other one has in the life of the process; of the current one for the null handle. `None` if there is
/// none, and if the device was reset and not used since.
fn id_of(raw: sys::CUcontext) -> Option<u64> {
    let mut id = 0;
    // SAFETY: the pointer is to a live number, and the handle is null or retained.
    unsafe { sys::cuCtxGetId(raw, &raw mut id) }.result().ok().map(|()| id)
}

/// Number of the current context of this thread.
pub(super) fn current() -> Option<u64> {
    id_of(std::ptr::null_mut())
}

/// The error of what was made before the device was reset.
fn was_reset() -> DeviceError {
    DeviceError::Driver {
        call: "working on the GPU".to_owned(),
        reason: "it was reset, by cudaDeviceReset for example, which has destroyed all that was made on it: open it again and prepare \
                 matrices again"
            .to_owned(),
    }
}

/// Number of the device of the current context of this thread.
pub(super) fn current_device() -> Result<usize, DeviceError> {
    let mut device = 0;
    // SAFETY: the pointer is to a live number.
    named("cuCtxGetDevice", unsafe { sys::cuCtxGetDevice(&raw mut device) }.result())?;
    Ok(device.max(0) as usize)
}

impl Context {
    /// The context of device `device`. The driver must have been initialised.
    pub(super) fn retain(device: sys::CUdevice) -> Result<Self, DeviceError> {
        let mut context = Self::without_stream(device)?;
        let entered = context.enter()?;
        context.stream =
            named("cuStreamCreate", result::stream::create(result::stream::StreamKind::NonBlocking))?;
        drop(entered);
        Ok(context)
    }

    /// Retains the context with a stream on `multiprocessors` of the device, whose number is `index`.
    ///
    /// # Errors
    /// [`DeviceError::NoSuchPart`] if the driver does not deal out that many.
    pub(super) fn retain_part(
        device: sys::CUdevice,
        index: usize,
        multiprocessors: u32,
    ) -> Result<Self, DeviceError> {
        let mut context = Self::without_stream(device)?;
        let entered = context.enter()?;
        let part = context.part.insert(Part::create(device, index, multiprocessors)?);
        context.stream = part.stream()?;
        drop(entered);
        Ok(context)
    }

    /// The primary context.
    fn without_stream(device: sys::CUdevice) -> Result<Self, DeviceError> {
        // SAFETY: `device` comes from the driver; the context is released in `drop`.
        let raw = named("cuDevicePrimaryCtxRetain", unsafe { result::primary_ctx::retain(device) })?;
        let mut context =
            Self { device, raw, id: 0, part: None, stream: std::ptr::null_mut(), staging: Mutex::new(None) };
        context.id = id_of(raw).ok_or_else(was_reset)?;
        Ok(context)
    }

    /// Makes this the calling thread's context for as long as what it returns lives; then the one before is current again.
    /// Everything that calls the driver begins with it: other libraries of the program, torch for one, count on the context
    /// that they left.
    ///
    /// # Errors
    /// A failed call, and where the device was reset.
    pub(super) fn enter(&self) -> Result<Entered, DeviceError> {
        let pushed = current() != Some(self.id);
        if pushed {
            if !self.is_alive() {
                return Err(was_reset());
            }
            // SAFETY: `raw` is retained.
            named("cuCtxPushCurrent", unsafe { sys::cuCtxPushCurrent_v2(self.raw) }.result())?;
        }
        Ok(Entered { pushed, thread: PhantomData })
    }

    /// Returns false once the device was reset.
    pub(super) fn is_alive(&self) -> bool {
        id_of(self.raw) == Some(self.id)
    }

    /// Copies `data` to `address` and waits for it.
    ///
    /// # Safety
    /// `address` is that of as many bytes on the device.
    unsafe fn upload(&self, address: sys::CUdeviceptr, data: &[u8]) -> Result<(), DeviceError> {
        let _entered = self.enter()?;
        if data.len() >= staging::LEAST
            && let Some(mut staging) = self.free_staging()
        {
            // Where nothing may be pinned, the driver's own way is left.
            if staging.is_none() {
                *staging = Staging::new().ok();
            }
            if let Some(staging) = &mut *staging {
                // SAFETY: as the caller promises; the buffers and the stream are this context's.
                let queued = unsafe { staging.upload(address, data, self.stream, || self.enter()) };
                // Waited for even after a failure: part of the copy may be under way.
                return self.synchronize().and(queued);
            }
        }
        // SAFETY: as the caller promises; `data` stays borrowed until the copy is done.
        let queued = unsafe { result::memcpy_htod_async(address, data, self.stream) };
        self.synchronize().and(named("cuMemcpyHtoDAsync", queued))
    }

    /// The pinned buffers, unless another thread uploads through them. No thread waits for them: the threads that fill them take
    /// over other work meanwhile, which may be another upload.
    fn free_staging(&self) -> Option<MutexGuard<'_, Option<Staging>>> {
        match self.staging.try_lock() {
            Ok(staging) => Some(staging),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// A number that the driver gives for the device.
    pub(super) fn attribute(&self, attribute: sys::CUdevice_attribute) -> Result<u32, DeviceError> {
        // SAFETY: `device` comes from the driver.
        let value = unsafe { result::device::get_attribute(self.device, attribute) };
        named("cuDeviceGetAttribute", value).map(|value| value.max(0) as u32)
    }
}

/// While it lives, the context is the current one of this thread.
#[must_use]
#[derive(Debug)]
pub(super) struct Entered {
    pushed: bool,
    /// Belongs to the thread that entered.
    thread: PhantomData<*const ()>,
}

impl Drop for Entered {
    fn drop(&mut self) {
        if self.pushed {
            let mut popped = std::ptr::null_mut();
            // SAFETY: pushed in `enter`; contexts pushed since were popped.
            let _ = unsafe { sys::cuCtxPopCurrent_v2(&raw mut popped) };
        }
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        let staging = self.staging.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        let part = self.part.take();
        if let Ok(_entered) = self.enter() {
            if !self.stream.is_null() {
                // SAFETY: created when `self` was, destroyed only here; it is no longer in use.
                let _ = unsafe { result::stream::destroy(self.stream) };
            }
            // In the context that they were made in, which is current.
            drop((staging, part));
        } else {
            // They went with the reset.
            std::mem::forget((staging, part));
        }
        // SAFETY: retained in `without_stream`, released only here.
        let _ = unsafe { result::primary_ctx::release(self.device) };
    }
}

impl Memory for Context {
    fn id(&self) -> usize {
        // The caller holds the context, so no other one has this address meanwhile.
        std::ptr::from_ref(self).addr()
    }

    fn allocate(&self, bytes: u64) -> Result<u64, DeviceError> {
        let _entered = self.enter()?;
        let too_large = |have: u64| Infeasible::DoesNotFit { need: Bytes(bytes), have: Bytes(have) };
        let count = usize::try_from(bytes).map_err(|_| too_large(0))?;
        // SAFETY: the memory was written before it is read, and is given back.
        let allocated = unsafe { result::malloc_sync(count) };
        if allocated.is_err_and(|e| e.0 == sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY) {
            return Err(too_large(self.free_bytes().unwrap_or(0)).into());
        }
        named("cuMemAlloc", allocated)
    }

    unsafe fn free(&self, address: u64) {
        if let Ok(_entered) = self.enter() {
            // SAFETY: as the caller promises. The driver waits for kernels that may use it.
            let _ = unsafe { result::free_sync(address) };
        }
    }

    unsafe fn write(&self, address: u64, data: &[u8]) -> Result<(), DeviceError> {
        // SAFETY: as the caller promises.
        unsafe { self.upload(address, data) }
    }

    unsafe fn read(&self, address: u64, data: &mut [u8]) -> Result<(), DeviceError> {
        let _entered = self.enter()?;
        // SAFETY: as the caller promises; `data` stays borrowed until the copy is done.
        let copied = unsafe { result::memcpy_dtoh_async(data, address, self.stream) };
        // Waited for even after a failure: part of the copy may be under way.
        let waited = self.synchronize();
        named("cuMemcpyDtoHAsync", copied)?;
        waited
    }

    unsafe fn zero(&self, address: u64, bytes: u64) -> Result<(), DeviceError> {
        let _entered = self.enter()?;
        // SAFETY: as the caller promises.
        unsafe { self.queue_zero(address, bytes, self.stream())? };
        self.synchronize()
    }
}

/// The number of the device that has the memory at `address` to itself. The driver has been initialised.
pub(super) fn device_of_address(address: u64) -> Result<Option<usize>, DeviceError> {
    // The address of arrays without entries, about which the driver must not be asked.
    if address == 0 {
        return Ok(None);
    }
    let mut asked = [
        A::CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
        A::CU_POINTER_ATTRIBUTE_IS_MANAGED,
        A::CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
    ];
    // The driver's answers for an address that it does not know.
    let (mut memory, mut is_managed, mut ordinal): (c_uint, c_uint, c_int) = (0, 0, -2);
    let mut answers: [*mut c_void; 3] =
        [(&raw mut memory).cast(), (&raw mut is_managed).cast(), (&raw mut ordinal).cast()];
    // SAFETY: there are three of both, and each answer is written to a live number of its size. Any address may be asked about.
    let status = unsafe { sys::cuPointerGetAttributes(3, asked.as_mut_ptr(), answers.as_mut_ptr(), address) };
    named("cuPointerGetAttributes", status.result())?;
    let is_of_one = memory == CUmemorytype::CU_MEMORYTYPE_DEVICE as c_uint && is_managed == 0;
    Ok(usize::try_from(ordinal).ok().filter(|_| is_of_one))
}
