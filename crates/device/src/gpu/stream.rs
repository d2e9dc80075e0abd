//! The caller's choice of a stream.

use std::ffi::c_void;
use std::marker::PhantomData;

/// A stream of a GPU: what is queued in it runs in the order of queueing.
#[derive(Debug, Clone, Copy)]
pub struct Stream<'d> {
    raw: *mut c_void,
    device: PhantomData<&'d ()>,
}

// SAFETY: a handle that the driver takes from any thread.
unsafe impl Send for Stream<'_> {}
// SAFETY: nothing is changed through a shared reference.
unsafe impl Sync for Stream<'_> {}

impl Stream<'_> {
    /// A stream of somebody else's: `handle` is its `CUstream` (the runtime's `cudaStream_t` is the same), null for the
    /// default stream.
    ///
    /// # Safety
    /// It must be a stream of the primary context of the device with which it is used, and must not be destroyed while
    /// this lives.
    pub unsafe fn from_raw(handle: *mut c_void) -> Self {
        Self { raw: handle, device: PhantomData }
    }

    /// The handle, to be given to other libraries.
    pub fn as_raw(self) -> *mut c_void {
        self.raw
    }
}
