//! Words of host memory that the device can see.

use super::context::{Context, named};
use crate::DeviceError;
use cudarc::driver::{result, sys};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// A 32-bit word of pinned host memory that kernels read and write, 0 at first.
#[derive(Debug)]
pub(super) struct SharedWord {
    context: Arc<Context>,
    host: *mut u32,
    device: sys::CUdeviceptr,
}

// SAFETY: the word is only touched atomically; the pointer is owned by this struct.
unsafe impl Send for SharedWord {}
// SAFETY: as above.
unsafe impl Sync for SharedWord {}

impl SharedWord {
    pub(super) fn new(context: &Arc<Context>) -> Result<Self, DeviceError> {
        let _entered = context.enter()?;
        // SAFETY: 4 bytes, initialised below before they are read, freed in `drop`.
        let host = unsafe { result::malloc_host(size_of::<u32>(), sys::CU_MEMHOSTALLOC_DEVICEMAP) };
        let host = named("cuMemHostAlloc", host)?.cast::<u32>();
        let mut word = Self { context: Arc::clone(context), host, device: 0 };
        word.set(0);
        // SAFETY: `host` was allocated with the flag that maps it for the device.
        let mapped = unsafe { sys::cuMemHostGetDevicePointer_v2(&raw mut word.device, host.cast(), 0) };
        named("cuMemHostGetDevicePointer", mapped.result())?;
        Ok(word)
    }

    fn atomic(&self) -> &AtomicU32 {
        // SAFETY: page-aligned, alive as long as `self`, and only ever touched as an atomic on this side.
        unsafe { AtomicU32::from_ptr(self.host) }
    }

    pub(super) fn set(&self, value: u32) {
        self.atomic().store(value, Ordering::SeqCst);
    }

    pub(super) fn get(&self) -> u32 {
        self.atomic().load(Ordering::SeqCst)
    }

    /// Address on the device.
    pub(super) fn address(&self) -> u64 {
        self.device
    }
}

impl Drop for SharedWord {
    fn drop(&mut self) {
        if let Ok(_entered) = self.context.enter() {
            // SAFETY: allocated in `new`, freed only here; no kernel that uses it is queued any more.
            let _ = unsafe { result::free_host(self.host.cast()) };
        }
    }
}
