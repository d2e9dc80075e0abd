//! Functions of rocSPARSE, by name from the library that was found, with the types and numbers of its public headers (`rocsparse.h`).
//! Only what has kept its form from 3.0 (`ROCm` 6.0) on is called: before that, `rocsparse_spmv` had no stages.

use crate::DeviceError;
use crate::hip::library;
use crate::library::functions;
use sparsight_matrix::Dtype;
use std::ffi::{c_int, c_void};
use std::sync::OnceLock;

functions! {
    /// Functions of the library. Handles and descriptions are pointers; each returns a `rocsparse_status`, 0 for success.
    Rocsparse {
        rocsparse_create_handle: fn(*mut *mut c_void) -> c_int;
        rocsparse_destroy_handle: fn(*mut c_void) -> c_int;
        rocsparse_get_version: fn(*mut c_void, *mut c_int) -> c_int;
        rocsparse_set_stream: fn(*mut c_void, *mut c_void) -> c_int;
        rocsparse_create_csr_descr: fn(*mut *mut c_void, i64, i64, i64, *mut c_void, *mut c_void, *mut c_void, c_int, c_int, c_int, c_int) -> c_int;
        rocsparse_create_coo_descr: fn(*mut *mut c_void, i64, i64, i64, *mut c_void, *mut c_void, *mut c_void, c_int, c_int, c_int) -> c_int;
        rocsparse_create_ell_descr: fn(*mut *mut c_void, i64, i64, *mut c_void, *mut c_void, i64, c_int, c_int, c_int) -> c_int;
        rocsparse_create_bsr_descr: fn(*mut *mut c_void, i64, i64, i64, c_int, i64, *mut c_void, *mut c_void, *mut c_void, c_int, c_int, c_int, c_int) -> c_int;
        rocsparse_destroy_spmat_descr: fn(*mut c_void) -> c_int;
        rocsparse_create_dnvec_descr: fn(*mut *mut c_void, i64, *mut c_void, c_int) -> c_int;
        rocsparse_dnvec_set_values: fn(*mut c_void, *mut c_void) -> c_int;
        rocsparse_destroy_dnvec_descr: fn(*mut c_void) -> c_int;
        rocsparse_spmv: fn(*mut c_void, c_int, *const c_void, *mut c_void, *mut c_void, *const c_void, *mut c_void, c_int, c_int, c_int, *mut usize, *mut c_void) -> c_int;
    }
}

/// `rocsparse_operation_none`.
pub(super) const PLAIN: c_int = 111;
/// `rocsparse_index_base_zero`.
pub(super) const FROM_ZERO: c_int = 0;
/// `rocsparse_direction_column`.
pub(super) const BY_COLUMNS: c_int = 1;
/// `rocsparse_indextype_i32` and `_i64`.
pub(super) const NARROW: c_int = 2;
pub(super) const WIDE: c_int = 3;

/// `rocsparse_spmv_stage`.
#[derive(Debug, Clone, Copy)]
pub(super) enum Stage {
    BufferSize = 1,
    Preprocess = 2,
    Compute = 3,
}

/// `rocsparse_datatype_f32_r` and `_f64_r`.
pub(super) const fn value_type(dtype: Dtype) -> c_int {
    match dtype {
        Dtype::F32 => 151,
        Dtype::F64 | Dtype::Mixed => 152,
    }
}

/// Names of `rocsparse_status` by their numbers; the library has functions for them in newer versions alone.
const STATUS: [&str; 13] = [
    "success",
    "invalid_handle",
    "not_implemented",
    "invalid_pointer",
    "invalid_size",
    "memory_error",
    "internal_error",
    "invalid_value",
    "arch_mismatch",
    "zero_pivot",
    "not_initialized",
    "type_mismatch",
    "requires_sorted_storage",
];

/// Gives a failed call its name and that of the status.
pub(super) fn named(call: &str, status: c_int) -> Result<(), DeviceError> {
    if status == 0 {
        return Ok(());
    }
    let known = usize::try_from(status).ok().and_then(|status| STATUS.get(status));
    let reason = known.map_or_else(|| format!("status {status}"), |name| format!("rocsparse_status_{name}"));
    Err(DeviceError::Driver { call: call.to_owned(), reason })
}

pub(super) const OPENING: &str = "opening rocSPARSE";

/// The library's functions; it is looked for when they are first asked for.
///
/// # Errors
/// [`DeviceError::NoVendor`], [`DeviceError::LoaderPath`]; [`DeviceError::Driver`] for a library that lacks one.
pub(super) fn rocsparse() -> Result<&'static Rocsparse, DeviceError> {
    static API: OnceLock<Result<Rocsparse, DeviceError>> = OnceLock::new();
    let found = || {
        let library = library::rocsparse()?;
        // SAFETY: they have these types from 3.0 on; that of `rocsparse_spmv` is not used before the version was asked for.
        unsafe { Rocsparse::of(&library) }.map_err(|missing| {
            let reason =
                format!("librocsparse lacks {missing}, which rocSPARSE 3.0 (ROCm 6.0) and newer have");
            DeviceError::Driver { call: OPENING.to_owned(), reason }
        })
    };
    API.get_or_init(found).as_ref().map_err(Clone::clone)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_call_has_the_name_of_its_status() {
        assert_eq!(named("a call", 0), Ok(()));
        let said = |status| named("a call", status).unwrap_err().to_string();
        assert_eq!(said(5), "a call failed: rocsparse_status_memory_error");
        assert_eq!(said(77), "a call failed: status 77");
        assert_eq!(said(-1), "a call failed: status -1");
    }
}
