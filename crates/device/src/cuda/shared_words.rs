//! Words of host memory that the device can see.

use super::context::{Context, named};
use crate::DeviceError;
use cudarc::driver::{result, sys};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// 32-bit words of pinned host memory that kernels read and write, 0 at first.
#[derive(Debug)]
pub(super) struct SharedWords {
    context: Arc<Context>,
    host: *mut u32,
    device: sys::CUdeviceptr,
    count: usize,
}

// SAFETY: the words are only touched atomically; the pointer is owned by this struct.
unsafe impl Send for SharedWords {}
// SAFETY: as above.
unsafe impl Sync for SharedWords {}

impl SharedWords {
    pub(super) fn new(context: &Arc<Context>, count: usize) -> Result<Self, DeviceError> {
        let _entered = context.enter()?;
        // SAFETY: room for `count` words, initialised below before they are read, freed in `drop`.
        let host = unsafe { result::malloc_host(count * size_of::<u32>(), sys::CU_MEMHOSTALLOC_DEVICEMAP) };
        let host = named("cuMemHostAlloc", host)?.cast::<u32>();
        let mut words = Self { context: Arc::clone(context), host, device: 0, count };
        (0..count).for_each(|at| words.set(at, 0));
        // SAFETY: `host` was allocated with the flag that maps it for the device.
        let mapped = unsafe { sys::cuMemHostGetDevicePointer_v2(&raw mut words.device, host.cast(), 0) };
        named("cuMemHostGetDevicePointer", mapped.result())?;
        Ok(words)
    }

    fn atomic(&self, at: usize) -> &AtomicU32 {
        assert!(at < self.count, "word {at} of {}", self.count);
        // SAFETY: page-aligned, within the allocation, alive as long as `self`, and only ever touched as an atomic on this side.
        unsafe { AtomicU32::from_ptr(self.host.add(at)) }
    }

    pub(super) fn set(&self, at: usize, value: u32) {
        self.atomic(at).store(value, Ordering::SeqCst);
    }

    pub(super) fn get(&self, at: usize) -> u32 {
        self.atomic(at).load(Ordering::SeqCst)
    }

    /// Address of the first on the device.
    pub(super) fn address(&self) -> u64 {
        self.device
    }
}

impl Drop for SharedWords {
    fn drop(&mut self) {
        if let Ok(_entered) = self.context.enter() {
            // SAFETY: allocated in `new`, freed only here; no kernel that uses it is queued any more.
            let _ = unsafe { result::free_host(self.host.cast()) };
        }
    }
}
