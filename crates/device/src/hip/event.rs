//! Events: marks in a stream, which other streams wait for, and which the device stamps with the time.

use super::api::Runtime;
use crate::gpu::Stamp;
use crate::{DeviceError, Stream};
use std::ffi::{c_uint, c_void};
use std::ptr;

/// Flag of `hipEventCreateWithFlags`: the event does not tell the time.
const DISABLE_TIMING: c_uint = 2;

/// A mark in a stream.
#[derive(Debug)]
pub(super) struct Event {
    api: &'static Runtime,
    raw: *mut c_void,
}

// SAFETY: a handle that the runtime takes from any thread.
unsafe impl Send for Event {}
// SAFETY: the runtime's functions on events may be called from several threads.
unsafe impl Sync for Event {}

impl Event {
    /// An event of the current device.
    pub(super) fn new(api: &'static Runtime, stamp: Stamp) -> Result<Self, DeviceError> {
        let (mut raw, flags) = (ptr::null_mut(), if stamp == Stamp::None { DISABLE_TIMING } else { 0 });
        // SAFETY: the pointer is to a live handle.
        let created = unsafe { (api.hipEventCreateWithFlags)(&raw mut raw, flags) };
        api.named("hipEventCreateWithFlags", created)?;
        Ok(Self { api, raw })
    }

    /// Queues the mark in a stream.
    pub(super) fn record(&self, stream: Stream<'_>) -> Result<(), DeviceError> {
        // SAFETY: the event is alive, and so is the stream: ours always, another's as its maker has promised.
        self.api.named("hipEventRecord", unsafe { (self.api.hipEventRecord)(self.raw, stream.as_raw()) })
    }

    /// Makes the work queued in `stream` from now on begin when the mark was reached; at once if it was never recorded.
    pub(super) fn hold(&self, stream: Stream<'_>) -> Result<(), DeviceError> {
        // SAFETY: as above.
        let waits = unsafe { (self.api.hipStreamWaitEvent)(stream.as_raw(), self.raw, 0) };
        self.api.named("hipStreamWaitEvent", waits)
    }

    /// Seconds from this mark to `end`, both of which were reached.
    pub(super) fn seconds_until(&self, end: &Self) -> Result<f64, DeviceError> {
        let mut ms = 0.0;
        // SAFETY: both were created with time stamps and recorded in the same stream, which was waited for.
        let asked = unsafe { (self.api.hipEventElapsedTime)(&raw mut ms, self.raw, end.raw) };
        self.api.named("hipEventElapsedTime", asked)?;
        Ok(f64::from(ms) / 1e3)
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        // SAFETY: created in `new`, destroyed only here.
        let _ = unsafe { (self.api.hipEventDestroy)(self.raw) };
    }
}
