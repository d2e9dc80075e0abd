//! Streams that are captured into graphs, by this thread or by another one.

use super::Cuda;
use super::context::named;
use crate::{DeviceError, Stream};
use cudarc::driver::sys::{self, CUstreamCaptureMode, CUstreamCaptureStatus};
use std::marker::PhantomData;

/// While it lives, this thread may allocate, load modules and ask for events although a stream is being captured, which would else break the
/// capture.
#[must_use]
#[derive(Debug)]
pub struct BesideCaptures {
    before: CUstreamCaptureMode,
    /// Belongs to the thread whose mode it is.
    thread: PhantomData<*const ()>,
}

impl Cuda {
    /// Lets this thread work beside captures until what it returns is dropped.
    ///
    /// # Errors
    /// A failed call.
    pub fn beside_captures() -> Result<BesideCaptures, DeviceError> {
        let before = exchange(CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED)?;
        Ok(BesideCaptures { before, thread: PhantomData })
    }

    /// Returns whether `stream` is captured into a graph.
    ///
    /// # Errors
    /// A failed call.
    pub fn is_captured(stream: Stream<'_>) -> Result<bool, DeviceError> {
        is_captured(stream)
    }
}

impl Drop for BesideCaptures {
    fn drop(&mut self) {
        // Nothing can be done about a failure.
        let _ = exchange(self.before);
    }
}

/// Sets the mode of this thread, and gives the one before.
fn exchange(mut mode: CUstreamCaptureMode) -> Result<CUstreamCaptureMode, DeviceError> {
    // SAFETY: the pointer is to a live value.
    let set = unsafe { sys::cuThreadExchangeStreamCaptureMode(&raw mut mode) };
    named("cuThreadExchangeStreamCaptureMode", set.result())?;
    Ok(mode)
}

/// Returns whether the stream is captured into a graph.
pub(super) fn is_captured(stream: Stream<'_>) -> Result<bool, DeviceError> {
    let mut status = CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE;
    // SAFETY: the stream is alive, and the pointer is to a live value.
    let asked = unsafe { sys::cuStreamIsCapturing(stream.as_raw().cast(), &raw mut status) };
    named("cuStreamIsCapturing", asked.result())?;
    Ok(status != CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE)
}
