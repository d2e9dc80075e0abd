//! The driver of a GPU as measuring takes it.

use super::context::{Context, Entered, named};
use super::event::Event;
use crate::DeviceError;
use crate::gpu::Driver;
use cudarc::driver::{result, sys};
use std::sync::Arc;

impl Driver for Context {
    type Entered = Entered;
    type Event = Event;

    fn enter(&self) -> Result<Entered, DeviceError> {
        self.enter()
    }

    fn synchronize(&self) -> Result<(), DeviceError> {
        self.synchronize()
    }

    fn free_bytes(&self) -> Result<u64, DeviceError> {
        self.memory().map(|(free, _)| free)
    }

    fn new_event(self: &Arc<Self>) -> Result<Event, DeviceError> {
        Event::new(self)
    }

    fn record(&self, event: &Event) -> Result<(), DeviceError> {
        event.record(self.stream)
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
