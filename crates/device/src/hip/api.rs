//! Functions of HIP, by name from the libraries that were found, with the types of `hip_runtime_api.h` and `hiprtc.h`. Only what has
//! kept its form from `ROCm` 6.0 to 7 is called: a device is asked for attributes by number, and never for the struct of all its
//! properties, which grows from version to version.

use super::library;
use crate::DeviceError;
use crate::library::functions;
use std::ffi::{CStr, c_char, c_int, c_uchar, c_uint, c_void};
use std::sync::OnceLock;

/// Oldest runtime that is used: `ROCm` 6.0, as `hipRuntimeGetVersion` counts.
const OLDEST: c_int = 60_000_000;

/// A failure that stands for an absence or for too little memory: `hipError_t`.
pub(super) const OUT_OF_MEMORY: c_int = 2;
pub(super) const NO_DEVICE: c_int = 100;

functions! {
    /// Functions of the runtime. Handles are pointers; each returns a `hipError_t`, 0 for success.
    Runtime {
        hipRuntimeGetVersion: fn(*mut c_int) -> c_int;
        hipGetErrorName: fn(c_int) -> *const c_char;
        hipGetErrorString: fn(c_int) -> *const c_char;
        hipGetDeviceCount: fn(*mut c_int) -> c_int;
        hipGetDevice: fn(*mut c_int) -> c_int;
        hipSetDevice: fn(c_int) -> c_int;
        hipDeviceGetName: fn(*mut c_char, c_int, c_int) -> c_int;
        hipDeviceTotalMem: fn(*mut usize, c_int) -> c_int;
        hipDeviceGetAttribute: fn(*mut c_int, c_int, c_int) -> c_int;
        hipDeviceSynchronize: fn() -> c_int;
        hipMemGetInfo: fn(*mut usize, *mut usize) -> c_int;
        hipMalloc: fn(*mut *mut c_void, usize) -> c_int;
        hipFree: fn(*mut c_void) -> c_int;
        hipHostMalloc: fn(*mut *mut c_void, usize, c_uint) -> c_int;
        hipHostGetDevicePointer: fn(*mut *mut c_void, *mut c_void, c_uint) -> c_int;
        hipHostFree: fn(*mut c_void) -> c_int;
        hipMemcpyHtoDAsync: fn(*mut c_void, *const c_void, usize, *mut c_void) -> c_int;
        hipMemcpyDtoHAsync: fn(*mut c_void, *mut c_void, usize, *mut c_void) -> c_int;
        hipMemcpyDtoDAsync: fn(*mut c_void, *mut c_void, usize, *mut c_void) -> c_int;
        hipMemsetD8Async: fn(*mut c_void, c_uchar, usize, *mut c_void) -> c_int;
        hipStreamCreateWithFlags: fn(*mut *mut c_void, c_uint) -> c_int;
        hipStreamDestroy: fn(*mut c_void) -> c_int;
        hipStreamSynchronize: fn(*mut c_void) -> c_int;
        hipStreamWaitEvent: fn(*mut c_void, *mut c_void, c_uint) -> c_int;
        hipEventCreateWithFlags: fn(*mut *mut c_void, c_uint) -> c_int;
        hipEventRecord: fn(*mut c_void, *mut c_void) -> c_int;
        hipEventElapsedTime: fn(*mut f32, *mut c_void, *mut c_void) -> c_int;
        hipEventDestroy: fn(*mut c_void) -> c_int;
        hipModuleLoadData: fn(*mut *mut c_void, *const c_void) -> c_int;
        hipModuleUnload: fn(*mut c_void) -> c_int;
        hipModuleGetFunction: fn(*mut *mut c_void, *mut c_void, *const c_char) -> c_int;
        hipModuleLaunchKernel: fn(*mut c_void, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, *mut c_void, *mut *mut c_void, *mut *mut c_void) -> c_int;
    }
}

impl Runtime {
    /// Gives a failed call its name and the runtime's words.
    pub(super) fn named(&self, call: &'static str, status: c_int) -> Result<(), DeviceError> {
        if status == 0 {
            return Ok(());
        }
        // SAFETY: both give a text that lives as long as the library, for any number.
        let (name, words) =
            unsafe { (text((self.hipGetErrorName)(status)), text((self.hipGetErrorString)(status))) };
        Err(DeviceError::Driver { call: call.to_owned(), reason: format!("{name}: {words}") })
    }
}

functions! {
    /// Functions of the run-time compiler; each returns a `hiprtcResult`, 0 for success.
    Compiler {
        hiprtcVersion: fn(*mut c_int, *mut c_int) -> c_int;
        hiprtcGetErrorString: fn(c_int) -> *const c_char;
        hiprtcCreateProgram: fn(*mut *mut c_void, *const c_char, *const c_char, c_int, *const *const c_char, *const *const c_char) -> c_int;
        hiprtcCompileProgram: fn(*mut c_void, c_int, *const *const c_char) -> c_int;
        hiprtcDestroyProgram: fn(*mut *mut c_void) -> c_int;
        hiprtcGetProgramLogSize: fn(*mut c_void, *mut usize) -> c_int;
        hiprtcGetProgramLog: fn(*mut c_void, *mut c_char) -> c_int;
        hiprtcGetCodeSize: fn(*mut c_void, *mut usize) -> c_int;
        hiprtcGetCode: fn(*mut c_void, *mut c_char) -> c_int;
    }
}

impl Compiler {
    /// Gives a failed call its name and the compiler's words.
    pub(super) fn named(&self, call: &'static str, status: c_int) -> Result<(), DeviceError> {
        if status == 0 {
            return Ok(());
        }
        // SAFETY: it gives a text that lives as long as the library, for any number.
        let reason = unsafe { text((self.hiprtcGetErrorString)(status)) };
        Err(DeviceError::Driver { call: call.to_owned(), reason })
    }
}

/// A copy of a text of the library's.
///
/// # Safety
/// Null, or it ends with a NUL.
unsafe fn text(from: *const c_char) -> String {
    if from.is_null() {
        return "unknown".to_owned();
    }
    // SAFETY: as the caller promises.
    unsafe { CStr::from_ptr(from) }.to_string_lossy().into_owned()
}

/// The runtime's functions; it is looked for when they are first asked for.
///
/// # Errors
/// [`DeviceError::NoHip`], [`DeviceError::LoaderPath`]; [`DeviceError::Driver`] for one that is too old.
pub(super) fn runtime() -> Result<&'static Runtime, DeviceError> {
    static API: OnceLock<Result<Runtime, DeviceError>> = OnceLock::new();
    let found = || {
        let library = library::runtime()?;
        // SAFETY: they have these types from ROCm 6.0 on.
        let runtime = unsafe { Runtime::of(&library) }.map_err(|missing| lacks("libamdhip64", missing))?;
        let version = runtime.version()?;
        if version < OLDEST {
            let reason = format!("it is {}, ROCm 6.0 is the oldest that works", version_text(version));
            return Err(DeviceError::Driver { call: OPENING.to_owned(), reason });
        }
        Ok(runtime)
    };
    API.get_or_init(found).as_ref().map_err(Clone::clone)
}

/// The compiler's functions, likewise.
///
/// # Errors
/// [`DeviceError::NoHiprtc`], [`DeviceError::LoaderPath`]; [`DeviceError::Driver`] for one without them.
pub(super) fn compiler() -> Result<&'static Compiler, DeviceError> {
    static API: OnceLock<Result<Compiler, DeviceError>> = OnceLock::new();
    let found = || {
        let library = library::compiler()?;
        // SAFETY: they have these types since they exist.
        unsafe { Compiler::of(&library) }.map_err(|missing| lacks("libhiprtc", missing))
    };
    API.get_or_init(found).as_ref().map_err(Clone::clone)
}

const OPENING: &str = "opening HIP";

fn lacks(library: &str, function: &str) -> DeviceError {
    let reason = format!("{library} lacks {function}, which ROCm 6.0 and newer have");
    DeviceError::Driver { call: OPENING.to_owned(), reason }
}

impl Runtime {
    fn version(&self) -> Result<c_int, DeviceError> {
        let mut version = 0;
        // SAFETY: the pointer is to a live number.
        self.named("hipRuntimeGetVersion", unsafe { (self.hipRuntimeGetVersion)(&raw mut version) })?;
        Ok(version)
    }

    /// `HIP 6.2.41134`.
    pub(super) fn described(&self) -> Result<String, DeviceError> {
        self.version().map(version_text)
    }
}

/// Of the runtime's number: ten millions for a version, a hundred thousand for its second part.
fn version_text(version: c_int) -> String {
    format!("HIP {}.{}.{}", version / 10_000_000, version / 100_000 % 100, version % 100_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_as_hip_counts_them() {
        assert_eq!(version_text(60_241_134), "HIP 6.2.41134");
        assert_eq!(version_text(70_000_000), "HIP 7.0.0");
        assert_eq!(version_text(50_221_153), "HIP 5.2.21153");
    }
}
