//! The caller's choice of a stream.

use super::Cuda;
use super::context::named;
use crate::DeviceError;
use cudarc::driver::{result, sys};
use std::ffi::c_void;
use std::marker::PhantomData;

/// A CUDA stream: what is queued in it runs in the order of queueing.
#[derive(Debug, Clone, Copy)]
pub struct Stream<'d> {
    raw: sys::CUstream,
    device: PhantomData<&'d Cuda>,
}

impl Stream<'_> {
    /// A stream of somebody else's: `handle` is its `CUstream` (the runtime's `cudaStream_t` is the same), null for the
    /// default stream.
    ///
    /// # Safety
    /// It must be a stream of the primary context of the device with which it is used, and must not be destroyed while
    /// this lives.
    pub unsafe fn from_raw(handle: *mut c_void) -> Self {
        Self { raw: handle.cast(), device: PhantomData }
    }

    /// The handle, to be given to other libraries.
    pub fn as_raw(self) -> *mut c_void {
        self.raw.cast()
    }

    pub(super) fn raw(self) -> sys::CUstream {
        self.raw
    }
}

impl Cuda {
    /// The device's own stream, in which everything runs for which no other is named.
    pub fn stream(&self) -> Stream<'_> {
        Stream { raw: self.context.stream(), device: PhantomData }
    }

    /// Waits for everything queued in `stream`. Failures of kernels are reported here.
    ///
    /// # Errors
    /// [`DeviceError::Driver`].
    pub fn wait_for(&self, stream: Stream<'_>) -> Result<(), DeviceError> {
        self.context.bind()?;
        // SAFETY: ours lives as long as the device, and whoever made another one from a handle has promised that it lives.
        named("cuStreamSynchronize", unsafe { result::stream::synchronize(stream.raw) })
    }
}
