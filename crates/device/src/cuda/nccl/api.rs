//! Functions of NCCL, by name from the library that was found. cudarc would load `libnccl.so`, which comes with
//! the development package alone; most systems have `libnccl.so.2`. cudarc's types are used.

use crate::DeviceError;
use crate::cuda::library::{NCCL_FILE, require_nccl};
use crate::library::functions;
use cudarc::nccl::sys::{ncclComm_t, ncclDataType_t, ncclRedOp_t, ncclResult_t, ncclUniqueId};
use libloading::os::unix::Library;
use std::ffi::{c_char, c_int, c_void};
use std::sync::OnceLock;

functions! {
    /// Functions of the library, which stays open.
    Api {
        ncclGetVersion: fn(*mut c_int) -> ncclResult_t;
        ncclGetUniqueId: fn(*mut ncclUniqueId) -> ncclResult_t;
        ncclGetErrorString: fn(ncclResult_t) -> *const c_char;
        ncclGetLastError: fn(ncclComm_t) -> *const c_char;
        ncclCommInitRank: fn(*mut ncclComm_t, c_int, ncclUniqueId, c_int) -> ncclResult_t;
        ncclCommAbort: fn(ncclComm_t) -> ncclResult_t;
        ncclCommGetAsyncError: fn(ncclComm_t, *mut ncclResult_t) -> ncclResult_t;
        ncclGroupStart: fn() -> ncclResult_t;
        ncclGroupEnd: fn() -> ncclResult_t;
        ncclSend: fn(*const c_void, usize, ncclDataType_t, c_int, ncclComm_t, *mut c_void) -> ncclResult_t;
        ncclRecv: fn(*mut c_void, usize, ncclDataType_t, c_int, ncclComm_t, *mut c_void) -> ncclResult_t;
        ncclAllReduce: fn(*const c_void, *mut c_void, usize, ncclDataType_t, ncclRedOp_t, ncclComm_t, *mut c_void) -> ncclResult_t;
    }
}

/// The library's functions; it is looked for when they are first asked for.
///
/// # Errors
/// [`DeviceError::NoNccl`], [`DeviceError::LoaderPath`].
pub(super) fn api() -> Result<&'static Api, DeviceError> {
    static API: OnceLock<Option<Api>> = OnceLock::new();
    require_nccl()?;
    let found = || {
        // SAFETY: it was opened before, or the loader finds it.
        let library = unsafe { Library::new(NCCL_FILE) }.ok()?;
        // SAFETY: they have these types since NCCL 2.13 and keep them as long as it is version 2.
        let api = unsafe { Api::of(&library) }.ok();
        std::mem::forget(library);
        api
    };
    let missing = || DeviceError::NoNccl { searched: format!("{NCCL_FILE}, which lacks functions of 2.13") };
    API.get_or_init(found).as_ref().ok_or_else(missing)
}
