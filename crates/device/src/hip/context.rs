//! A GPU of HIP with the one stream in which everything runs, and its memory.

use super::api::{self, OUT_OF_MEMORY, Runtime};
use super::event::Event;
use crate::gpu::{Driver, Memory, Stamp};
use crate::{DeviceError, Stream};
use sparsight_matrix::{Bytes, Infeasible};
use std::ffi::{c_int, c_uint, c_void};
use std::marker::PhantomData;
use std::ptr;
use std::sync::Arc;

/// `hipStreamNonBlocking`: it does not wait for the default stream.
const NON_BLOCKING: c_uint = 1;

/// `hipHostMallocMapped` and `hipHostMallocCoherent`: kernels see what the host writes while they run.
const SEEN_BY_KERNELS: c_uint = 0x2 | 0x4000_0000;

/// Ticks a millisecond of a clock of which the runtime does not say them: 100 MHz, that of CDNA. It is for a limit alone.
const USUAL_TICKS: u32 = 100_000;

/// Numbers of `hipDeviceAttribute_t`, the same from `ROCm` 5 to 7.
#[derive(Debug, Clone, Copy)]
pub(super) enum Attribute {
    L2Bytes = 19,
    Major = 23,
    ThreadsPerBlock = 56,
    ThreadsPerMultiprocessor = 57,
    Minor = 61,
    Multiprocessors = 63,
    WaveSize = 87,
    WallClockKhz = 10_017,
}

/// A device of this number and a stream of its own.
///
/// # Invariants
/// `stream` was created on device `index` and is destroyed with this.
#[derive(Debug)]
pub(super) struct Context {
    pub(super) api: &'static Runtime,
    pub(super) index: c_int,
    pub(super) stream: *mut c_void,
    ticks_per_ms: u64,
}

// SAFETY: the runtime's functions may be called from any thread with any of these handles.
unsafe impl Send for Context {}
// SAFETY: as above; nothing is changed through a shared reference.
unsafe impl Sync for Context {}

impl Context {
    /// Opens device `index`, which is there.
    pub(super) fn open(index: usize) -> Result<Self, DeviceError> {
        let api = api::runtime()?;
        let mut context = Self { api, index: index as c_int, stream: ptr::null_mut(), ticks_per_ms: 0 };
        let entered = context.enter()?;
        // SAFETY: the pointer is to a live handle.
        let created = unsafe { (api.hipStreamCreateWithFlags)(&raw mut context.stream, NON_BLOCKING) };
        drop(entered);
        api.named("hipStreamCreateWithFlags", created)?;
        let khz = context.attribute(Attribute::WallClockKhz).unwrap_or(0);
        context.ticks_per_ms = u64::from(if khz == 0 { USUAL_TICKS } else { khz });
        Ok(context)
    }

    /// A number that the runtime gives for the device.
    pub(super) fn attribute(&self, attribute: Attribute) -> Result<u32, DeviceError> {
        let mut value = 0;
        // SAFETY: the pointer is to a live number.
        let asked =
            unsafe { (self.api.hipDeviceGetAttribute)(&raw mut value, attribute as c_int, self.index) };
        self.api.named("hipDeviceGetAttribute", asked)?;
        Ok(value.max(0) as u32)
    }

    /// Waits for everything queued on the device, in all streams.
    pub(super) fn wait_for_all(&self) -> Result<(), DeviceError> {
        let _entered = self.enter()?;
        // SAFETY: nothing is given.
        self.api.named("hipDeviceSynchronize", unsafe { (self.api.hipDeviceSynchronize)() })
    }
}

/// While it lives, the device is the current one of this thread.
#[must_use]
#[derive(Debug)]
pub(super) struct Entered {
    api: &'static Runtime,
    /// The device that was current, if it was another one.
    before: Option<c_int>,
    /// Belongs to the thread that entered.
    thread: PhantomData<*const ()>,
}

impl Drop for Entered {
    fn drop(&mut self) {
        if let Some(before) = self.before {
            // SAFETY: the number was given by the runtime.
            let _ = unsafe { (self.api.hipSetDevice)(before) };
        }
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        if let Ok(_entered) = self.enter()
            && !self.stream.is_null()
        {
            // SAFETY: created when `self` was, destroyed only here; it is no longer in use.
            let _ = unsafe { (self.api.hipStreamDestroy)(self.stream) };
        }
    }
}

impl Memory for Context {
    fn id(&self) -> usize {
        // The caller holds the context, so no other one has this address meanwhile.
        ptr::from_ref(self).addr()
    }

    fn allocate(&self, bytes: u64) -> Result<u64, DeviceError> {
        let _entered = self.enter()?;
        let mut made = ptr::null_mut();
        // SAFETY: the pointer is to a live address; the memory is written before it is read, and given back.
        let status = unsafe { (self.api.hipMalloc)(&raw mut made, bytes as usize) };
        if status == OUT_OF_MEMORY {
            let have = Bytes(self.free_bytes().unwrap_or(0));
            return Err(Infeasible::DoesNotFit { need: Bytes(bytes), have }.into());
        }
        self.api.named("hipMalloc", status)?;
        Ok(made as u64)
    }

    unsafe fn free(&self, address: u64) {
        if let Ok(_entered) = self.enter() {
            // SAFETY: as the caller promises. The runtime waits for kernels that may use it.
            let _ = unsafe { (self.api.hipFree)(address as *mut c_void) };
        }
    }

    unsafe fn write(&self, address: u64, data: &[u8]) -> Result<(), DeviceError> {
        let _entered = self.enter()?;
        let (to, from) = (address as *mut c_void, data.as_ptr().cast());
        // SAFETY: as the caller promises; `data` stays borrowed until the copy is done.
        let queued = unsafe { (self.api.hipMemcpyHtoDAsync)(to, from, data.len(), self.stream) };
        // Waited for even after a failure: part of the copy may be under way.
        let waited = self.synchronize();
        self.api.named("hipMemcpyHtoDAsync", queued).and(waited)
    }

    unsafe fn read(&self, address: u64, data: &mut [u8]) -> Result<(), DeviceError> {
        let _entered = self.enter()?;
        let (to, from) = (data.as_mut_ptr().cast(), address as *mut c_void);
        // SAFETY: as above.
        let queued = unsafe { (self.api.hipMemcpyDtoHAsync)(to, from, data.len(), self.stream) };
        let waited = self.synchronize();
        self.api.named("hipMemcpyDtoHAsync", queued).and(waited)
    }

    unsafe fn zero(&self, address: u64, bytes: u64) -> Result<(), DeviceError> {
        let _entered = self.enter()?;
        // SAFETY: as the caller promises.
        unsafe { self.queue_zero(address, bytes, self.stream())? };
        self.synchronize()
    }
}

impl Driver for Context {
    type Entered = Entered;
    type Event = Event;

    fn enter(&self) -> Result<Entered, DeviceError> {
        let mut current = -1;
        // SAFETY: the pointer is to a live number.
        self.api.named("hipGetDevice", unsafe { (self.api.hipGetDevice)(&raw mut current) })?;
        let before = (current != self.index).then_some(current);
        if before.is_some() {
            // SAFETY: the device is there.
            self.api.named("hipSetDevice", unsafe { (self.api.hipSetDevice)(self.index) })?;
        }
        Ok(Entered { api: self.api, before, thread: PhantomData })
    }

    fn stream(&self) -> Stream<'_> {
        // SAFETY: the stream lives as long as the context, which this borrows.
        unsafe { Stream::from_raw(self.stream) }
    }

    fn wait_for(&self, stream: Stream<'_>) -> Result<(), DeviceError> {
        let _entered = self.enter()?;
        // SAFETY: ours lives as long as `self`, and one made from a handle was promised to live.
        self.api.named("hipStreamSynchronize", unsafe { (self.api.hipStreamSynchronize)(stream.as_raw()) })
    }

    fn free_bytes(&self) -> Result<u64, DeviceError> {
        let _entered = self.enter()?;
        let (mut free, mut all) = (0, 0);
        // SAFETY: both pointers are to live numbers.
        self.api.named("hipMemGetInfo", unsafe { (self.api.hipMemGetInfo)(&raw mut free, &raw mut all) })?;
        Ok(free as u64)
    }

    fn new_event(self: &Arc<Self>, stamp: Stamp) -> Result<Event, DeviceError> {
        Event::new(self.api, stamp)
    }

    fn record(&self, event: &Event, stream: Stream<'_>, _: bool) -> Result<(), DeviceError> {
        event.record(stream)
    }

    fn hold(&self, stream: Stream<'_>, event: &Event, _: bool) -> Result<(), DeviceError> {
        event.hold(stream)
    }

    fn seconds_between(&self, begin: &Event, end: &Event) -> Result<f64, DeviceError> {
        begin.seconds_until(end)
    }

    unsafe fn queue_copy(&self, to: u64, from: u64, bytes: u64) -> Result<(), DeviceError> {
        let (to, from) = (to as *mut c_void, from as *mut c_void);
        // SAFETY: as the caller promises; the stream is the context's.
        let queued = unsafe { (self.api.hipMemcpyDtoDAsync)(to, from, bytes as usize, self.stream) };
        self.api.named("hipMemcpyDtoDAsync", queued)
    }

    unsafe fn queue_zero(&self, address: u64, bytes: u64, stream: Stream<'_>) -> Result<(), DeviceError> {
        let (address, stream) = (address as *mut c_void, stream.as_raw());
        // SAFETY: as the caller promises.
        let set = unsafe { (self.api.hipMemsetD8Async)(address, 0, bytes as usize, stream) };
        self.api.named("hipMemsetD8Async", set)
    }

    fn allocate_shared(&self, bytes: usize) -> Result<(*mut u8, u64), DeviceError> {
        let _entered = self.enter()?;
        let (mut host, mut device) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: the pointer is to a live address; the caller writes the memory before it is read, and gives it back.
        let made = unsafe { (self.api.hipHostMalloc)(&raw mut host, bytes, SEEN_BY_KERNELS) };
        self.api.named("hipHostMalloc", made)?;
        // SAFETY: `host` was allocated with the flag that maps it for the device.
        let mapped = unsafe { (self.api.hipHostGetDevicePointer)(&raw mut device, host, 0) };
        if let Err(error) = self.api.named("hipHostGetDevicePointer", mapped) {
            // SAFETY: allocated above, and used by nothing.
            unsafe { self.free_shared(host.cast()) };
            return Err(error);
        }
        Ok((host.cast(), device as u64))
    }

    unsafe fn free_shared(&self, host: *mut u8) {
        if let Ok(_entered) = self.enter() {
            // SAFETY: as the caller promises.
            let _ = unsafe { (self.api.hipHostFree)(host.cast()) };
        }
    }

    fn ticks_per_ms(&self) -> u64 {
        self.ticks_per_ms
    }
}
