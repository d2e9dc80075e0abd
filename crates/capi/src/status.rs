//! Constants of the interface: status codes and types of array entries, which never change their meaning; and its version.

use std::ffi::{c_char, c_int};

/// The call has done what it says.
pub const SS_OK: c_int = 0;

/// An argument cannot be right: NULL, an address that is not aligned, a negative size, a number that is out of range, a device or
/// a type that there is none of, vectors that share memory, or vectors on a GPU for a matrix in the memory of the host.
pub const SS_BAD_ARGUMENT: c_int = 1;

/// The arrays are no matrix in CSR: `row_ptr` does not begin with 0 or decreases, a column is out of range, or the columns of a
/// row do not increase.
pub const SS_BAD_MATRIX: c_int = 2;

/// The candidate does not run on that device, or there is not the memory for it. Another candidate may do.
pub const SS_INFEASIBLE: c_int = 3;

/// There is no such profile, or it cannot be read, or it does not hold what is asked of it.
pub const SS_NO_PROFILE: c_int = 4;

/// There is no such GPU, or no driver or run-time compiler (NVRTC) for it.
pub const SS_NO_GPU: c_int = 5;

/// A device has failed, or cannot be used: the text has the words of the driver. The system gives no threads, or the process was forked
/// from one in which the library has worked.
pub const SS_DEVICE: c_int = 6;

/// There is a mistake in the library. Handles can be freed as ever; what the call was to change may have been changed in part.
pub const SS_PANIC: c_int = 7;

/// Indices are `int32_t`.
pub const SS_I32: c_int = 1;

/// Indices are `int64_t`.
pub const SS_I64: c_int = 2;

/// Values, x and y are `float`.
pub const SS_F32: c_int = 3;

/// Values, x and y are `double`.
pub const SS_F64: c_int = 4;

/// The version of the library, such as "0.1.0". It is there for ever.
#[unsafe(no_mangle)]
pub extern "C" fn ss_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}
