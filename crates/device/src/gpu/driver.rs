//! What measuring takes of a maker's driver, beside its memory and modules: implemented for each maker that has one.

use super::Memory;
use crate::DeviceError;
use std::fmt::Debug;
use std::sync::Arc;

/// A GPU opened through its driver, with a stream of its own.
pub(crate) trait Driver: Memory + 'static {
    /// Keeps the GPU the current one of the thread that entered.
    type Entered;
    /// A mark in a stream that the device stamps with the time.
    type Event: Debug + Send + Sync;

    /// Makes the GPU the current one of the calling thread, for as long as what it returns lives.
    ///
    /// # Errors
    /// A failed call.
    fn enter(&self) -> Result<Self::Entered, DeviceError>;

    /// Waits for everything queued in its own stream. Failures of kernels are reported here.
    ///
    /// # Errors
    /// A failed call.
    fn synchronize(&self) -> Result<(), DeviceError>;

    /// Bytes of device memory that are free now.
    ///
    /// # Errors
    /// A failed call.
    fn free_bytes(&self) -> Result<u64, DeviceError>;

    /// A mark that is in no stream yet. The GPU is entered.
    ///
    /// # Errors
    /// A failed call.
    fn new_event(self: &Arc<Self>) -> Result<Self::Event, DeviceError>;

    /// Queues the mark in its own stream. The GPU is entered.
    ///
    /// # Errors
    /// A failed call.
    fn record(&self, event: &Self::Event) -> Result<(), DeviceError>;

    /// Seconds between two marks that were reached.
    ///
    /// # Errors
    /// A failed call.
    fn seconds_between(&self, begin: &Self::Event, end: &Self::Event) -> Result<f64, DeviceError>;

    /// Queues a copy within the device in its own stream. The GPU is entered.
    ///
    /// # Errors
    /// A failed call.
    ///
    /// # Safety
    /// Both are addresses of as many bytes.
    unsafe fn queue_copy(&self, to: u64, from: u64, bytes: u64) -> Result<(), DeviceError>;

    /// So many bytes of host memory that the device reads and writes as well, not initialised: the address here and there, which is
    /// given back to [`Driver::free_shared`] once.
    ///
    /// # Errors
    /// A failed call.
    fn allocate_shared(&self, bytes: usize) -> Result<(*mut u8, u64), DeviceError>;

    /// Gives it back.
    ///
    /// # Safety
    /// `host` comes from [`Driver::allocate_shared`], and nothing that is queued uses it.
    unsafe fn free_shared(&self, host: *mut u8);

    /// Ticks a millisecond of the clock that the kernel `spin` reads.
    fn ticks_per_ms(&self) -> u64;
}
