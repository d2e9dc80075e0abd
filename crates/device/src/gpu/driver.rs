//! What timing and ordering of products take of a maker's driver, beside its memory and modules: implemented for each maker that has one.

use super::Memory;
use crate::{DeviceError, Stream};
use std::fmt::Debug;
use std::sync::Arc;

/// A GPU opened through its driver, with a stream of its own.
pub(crate) trait Driver: Memory + 'static {
    /// Keeps the GPU the current one of the thread that entered.
    type Entered;
    /// A mark in a stream.
    type Event: Debug + Send + Sync;

    /// Makes the GPU the current one of the calling thread, for as long as what it returns lives.
    ///
    /// # Errors
    /// A failed call.
    fn enter(&self) -> Result<Self::Entered, DeviceError>;

    /// Its own stream.
    fn stream(&self) -> Stream<'_>;

    /// Waits for everything queued in `stream`. Failures of kernels are reported here.
    ///
    /// # Errors
    /// A failed call.
    fn wait_for(&self, stream: Stream<'_>) -> Result<(), DeviceError>;

    /// Waits for everything queued in its own stream.
    ///
    /// # Errors
    /// A failed call.
    fn synchronize(&self) -> Result<(), DeviceError> {
        self.wait_for(self.stream())
    }

    /// Returns whether `stream` is captured into a graph; never on HIP, where a product that needs a fence is not captured.
    ///
    /// # Errors
    /// A failed call.
    fn is_captured(&self, _stream: Stream<'_>) -> Result<bool, DeviceError> {
        Ok(false)
    }

    /// Bytes of device memory that are free now.
    ///
    /// # Errors
    /// A failed call.
    fn free_bytes(&self) -> Result<u64, DeviceError>;

    /// A mark that is in no stream yet. The GPU is entered.
    ///
    /// # Errors
    /// A failed call.
    fn new_event(self: &Arc<Self>, stamp: Stamp) -> Result<Self::Event, DeviceError>;

    /// Queues the mark in `stream`, or lets the graph do so into which it `is_captured`. The GPU is entered.
    ///
    /// # Errors
    /// A failed call.
    fn record(&self, event: &Self::Event, stream: Stream<'_>, is_captured: bool) -> Result<(), DeviceError>;

    /// Makes the work queued in `stream` from now on, or the graph into which it `is_captured`, begin when the mark was reached; at once
    /// if it was never recorded. The GPU is entered.
    ///
    /// # Errors
    /// A failed call.
    fn hold(&self, stream: Stream<'_>, event: &Self::Event, is_captured: bool) -> Result<(), DeviceError>;

    /// Seconds between two marks with time stamps in its own stream that were reached.
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

    /// Queues in `stream` that `bytes` become 0. The GPU is entered.
    ///
    /// # Errors
    /// A failed call.
    ///
    /// # Safety
    /// `address` is that of as many bytes.
    unsafe fn queue_zero(&self, address: u64, bytes: u64, stream: Stream<'_>) -> Result<(), DeviceError>;

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

/// Whether the device stamps a mark with the time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stamp {
    WithTime,
    None,
}
