//! The driver of a GPU as timing and ordering of products take it.

use super::capture::is_captured;
use super::context::{Context, Entered, named};
use super::event::Event;
use crate::gpu::{Driver, Stamp};
use crate::{DeviceError, Stream};
use cudarc::driver::{result, sys};
use std::sync::Arc;

impl Driver for Context {
    type Entered = Entered;
    type Event = Event;

    fn enter(&self) -> Result<Entered, DeviceError> {
        self.enter()
    }

    fn stream(&self) -> Stream<'_> {
        // SAFETY: the stream lives as long as the context, which this borrows.
        unsafe { Stream::from_raw(self.stream.cast()) }
    }

    fn wait_for(&self, stream: Stream<'_>) -> Result<(), DeviceError> {
        let _entered = self.enter()?;
        // SAFETY: ours lives as long as `self`, and one made from a handle was promised to live.
        named("cuStreamSynchronize", unsafe { result::stream::synchronize(stream.as_raw().cast()) })
    }

    fn is_captured(&self, stream: Stream<'_>) -> Result<bool, DeviceError> {
        // A stream without a handle of its own is that of the context.
        let _entered = self.enter()?;
        is_captured(stream)
    }

    fn free_bytes(&self) -> Result<u64, DeviceError> {
        let _entered = self.enter()?;
        let (free, _) = named("cuMemGetInfo", result::mem_get_info())?;
        Ok(free as u64)
    }

    fn new_event(self: &Arc<Self>, stamp: Stamp) -> Result<Event, DeviceError> {
        Event::new(self, stamp)
    }

    fn record(&self, event: &Event, stream: Stream<'_>, is_captured: bool) -> Result<(), DeviceError> {
        event.record(stream, is_captured)
    }

    fn hold(&self, stream: Stream<'_>, event: &Event, is_captured: bool) -> Result<(), DeviceError> {
        event.hold(stream, is_captured)
    }

    fn seconds_between(&self, begin: &Event, end: &Event) -> Result<f64, DeviceError> {
        begin.seconds_until(end)
    }

    unsafe fn queue_copy(&self, to: u64, from: u64, bytes: u64) -> Result<(), DeviceError> {
        // SAFETY: as the caller promises; the stream is the context's.
        named("cuMemcpyDtoDAsync", unsafe {
            result::memcpy_dtod_async(to, from, bytes as usize, self.stream)
        })
    }

    unsafe fn queue_zero(&self, address: u64, bytes: u64, stream: Stream<'_>) -> Result<(), DeviceError> {
        // SAFETY: as the caller promises.
        let set = unsafe { result::memset_d8_async(address, 0, bytes as usize, stream.as_raw().cast()) };
        named("cuMemsetD8Async", set)
    }

    fn allocate_shared(&self, bytes: usize) -> Result<(*mut u8, u64), DeviceError> {
        let _entered = self.enter()?;
        // SAFETY: the caller writes it before it is read, and gives it back.
        let host = unsafe { result::malloc_host(bytes, sys::CU_MEMHOSTALLOC_DEVICEMAP) };
        let host = named("cuMemHostAlloc", host)?.cast::<u8>();
        let mut device = 0;
        // SAFETY: `host` was allocated with the flag that maps it for the device.
        let mapped = unsafe { sys::cuMemHostGetDevicePointer_v2(&raw mut device, host.cast(), 0) };
        if let Err(error) = named("cuMemHostGetDevicePointer", mapped.result()) {
            // SAFETY: allocated above, and used by nothing.
            unsafe { self.free_shared(host) };
            return Err(error);
        }
        Ok((host, device))
    }

    unsafe fn free_shared(&self, host: *mut u8) {
        if let Ok(_entered) = self.enter() {
            // SAFETY: as the caller promises.
            let _ = unsafe { result::free_host(host.cast()) };
        }
    }

    /// Of `globaltimer`, which counts nanoseconds.
    fn ticks_per_ms(&self) -> u64 {
        1_000_000
    }
}
