//! Words of host memory that the device can see.

use super::driver::Driver;
use crate::DeviceError;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// 32-bit words of pinned host memory that kernels read and write, 0 at first.
#[derive(Debug)]
pub(crate) struct SharedWords<D: Driver> {
    driver: Arc<D>,
    host: *mut u32,
    device: u64,
    count: usize,
}

// SAFETY: the words are only touched atomically; the pointer is owned by this struct.
unsafe impl<D: Driver> Send for SharedWords<D> {}
// SAFETY: as above.
unsafe impl<D: Driver> Sync for SharedWords<D> {}

impl<D: Driver> SharedWords<D> {
    pub(crate) fn new(driver: &Arc<D>, count: usize) -> Result<Self, DeviceError> {
        let (host, device) = driver.allocate_shared(count * size_of::<u32>())?;
        let words = Self { driver: Arc::clone(driver), host: host.cast(), device, count };
        (0..count).for_each(|at| words.set(at, 0));
        Ok(words)
    }

    fn atomic(&self, at: usize) -> &AtomicU32 {
        assert!(at < self.count, "word {at} of {}", self.count);
        // SAFETY: page-aligned, within the allocation, alive as long as `self`, and only ever touched as an atomic on this side.
        unsafe { AtomicU32::from_ptr(self.host.add(at)) }
    }

    pub(crate) fn set(&self, at: usize, value: u32) {
        self.atomic(at).store(value, Ordering::SeqCst);
    }

    pub(crate) fn get(&self, at: usize) -> u32 {
        self.atomic(at).load(Ordering::SeqCst)
    }

    /// Address of the first on the device.
    pub(crate) fn address(&self) -> u64 {
        self.device
    }
}

impl<D: Driver> Drop for SharedWords<D> {
    fn drop(&mut self) {
        // SAFETY: allocated in `new`, freed only here; no kernel that uses it is queued any more.
        unsafe { self.driver.free_shared(self.host.cast()) };
    }
}
