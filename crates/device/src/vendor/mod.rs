//! What the sparse libraries of GPUs' makers have in common, cuSPARSE and rocSPARSE.
//!
//! ```text
//! library   a library on one device: whose handle takes one thread at a time, and queues in a stream
//! product   a routine on one matrix: described once, then queued as often as asked
//! indices   32-bit signed indices: what they cannot number is refused, and our offsets of 64 bits are narrowed
//! ```

mod indices;
mod library;
mod product;

pub(crate) use indices::{Indices, Offsets};
pub(crate) use library::{VendorLibrary, library_of, timed};
pub(crate) use product::prepared;

use std::ffi::c_void;

/// An address on the device as a library takes it.
pub(crate) fn pointer(address: u64) -> *mut c_void {
    address as *mut c_void
}
