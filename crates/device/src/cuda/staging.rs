//! Uploads through pinned memory.
//!
//! ```text
//! array on the host    piece 1 | piece 2 | piece 3 | piece 4 | ...
//!                         |         |                                  copied by all threads of the host
//! pinned buffers          A         B         C         A
//!                         |                                            fetched by the device meanwhile
//! array on the device  piece 1 | ...
//! ```
//! Of ordinary memory the driver copies the pieces itself, with a single thread.

use super::context::{Entered, named};
use crate::DeviceError;
use cudarc::driver::{result, sys};
use rayon::prelude::*;

/// Bytes of a buffer: some tens of microseconds on the way, so that waking the threads is little beside it, and three of
/// them are pinned in some milliseconds. Chosen.
const PIECE: usize = 4 << 20;

/// Bytes that a thread copies at a time.
const SHARE: usize = 256 << 10;

/// Bytes from which an array goes this way: below, the driver's own is no slower. Chosen: two pieces.
pub(super) const LEAST: usize = 2 * PIECE;

/// Pinned buffers.
#[derive(Debug)]
pub(super) struct Staging {
    buffers: [Buffer; 3],
}

/// [`PIECE`] bytes of pinned memory, and what says that the device has fetched them.
///
/// # Invariants
/// Both were made in the context that is current when they are used and dropped.
#[derive(Debug)]
struct Buffer {
    host: *mut u8,
    fetched: sys::CUevent,
}

// SAFETY: both are handles that the driver takes from any thread; the memory is written through `&mut` alone.
unsafe impl Send for Buffer {}

impl Staging {
    /// Allocates in the current context.
    pub(super) fn new() -> Result<Self, DeviceError> {
        Ok(Self { buffers: [Buffer::new()?, Buffer::new()?, Buffer::new()?] })
    }

    /// Queues the upload of `data` to `address` in `stream`. Also after a failure, the stream is to be waited for before
    /// this is dropped.
    ///
    /// # Safety
    /// `address` is that of as many bytes on the device; `enter` makes the context of `new` current, and `stream` is one of it.
    pub(super) unsafe fn upload(
        &mut self,
        address: sys::CUdeviceptr,
        data: &[u8],
        stream: sys::CUstream,
        enter: impl Fn() -> Result<Entered, DeviceError>,
    ) -> Result<(), DeviceError> {
        let places = (address..).step_by(PIECE);
        for (at, (piece, place)) in data.chunks(PIECE).zip(places).enumerate() {
            let buffer = &mut self.buffers[at % 3];
            let pinned = buffer.filled_with(piece)?;
            // While it waited for the others, this thread may have done work on another device.
            let _entered = enter()?;
            // SAFETY: the caller vouches for the place; the buffer is not written to before `fetched` has happened.
            let copied = unsafe { result::memcpy_htod_async(place, pinned, stream) };
            named("cuMemcpyHtoDAsync", copied)?;
            // SAFETY: the event is alive.
            named("cuEventRecord", unsafe { result::event::record(buffer.fetched, stream) })?;
        }
        Ok(())
    }
}

impl Buffer {
    fn new() -> Result<Self, DeviceError> {
        let fetched = result::event::create(sys::CUevent_flags::CU_EVENT_DISABLE_TIMING);
        let mut buffer = Self { host: std::ptr::null_mut(), fetched: named("cuEventCreate", fetched)? };
        // SAFETY: freed in `drop`; read only after it was written.
        buffer.host = named("cuMemHostAlloc", unsafe { result::malloc_host(PIECE, 0) })?.cast();
        // SAFETY: so long, and not shared. Zeroed, so that it may be lent as a slice.
        unsafe { buffer.host.write_bytes(0, PIECE) };
        Ok(buffer)
    }

    /// A copy of `piece`, which is no longer than the buffer, once the device has fetched what was there before.
    fn filled_with(&mut self, piece: &[u8]) -> Result<&[u8], DeviceError> {
        // SAFETY: alive; one that was never recorded has happened.
        named("cuEventSynchronize", unsafe { result::event::synchronize(self.fetched) })?;
        // SAFETY: the buffer is that long, was written in `new`, and the device does not read it any more.
        let pinned = unsafe { std::slice::from_raw_parts_mut(self.host, PIECE) };
        let pinned = &mut pinned[..piece.len()];
        let shares = pinned.par_chunks_mut(SHARE).zip(piece.par_chunks(SHARE));
        shares.for_each(|(pinned, share)| pinned.copy_from_slice(share));
        Ok(pinned)
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: made in `new`, given back only here; the device was waited for before it is dropped.
        unsafe {
            let _ = result::event::destroy(self.fetched);
            if !self.host.is_null() {
                let _ = result::free_host(self.host.cast());
            }
        }
    }
}
