//! Kernels to machine code with HIPRTC. Needs no GPU where the chip is named.

use super::api;
use crate::DeviceError;
use sparsight_kernels::KernelSource;
use std::ffi::{CString, c_char, c_int, c_void};
use std::ptr;

/// Compiles `source` to a code object for `chip`, such as `gfx942`; without one, for the GPU that is current.
///
/// # Errors
/// [`DeviceError::NoHiprtc`], [`DeviceError::LoaderPath`]; [`DeviceError::Compile`] with the compiler's log.
pub fn compile(source: &KernelSource, chip: Option<&str>) -> Result<Vec<u8>, DeviceError> {
    let api = api::compiler()?;
    let refuse = |log: &str| {
        let (kernel, log) = (source.entry_points.join(", "), log.trim_end().to_owned());
        DeviceError::Compile { kernel, log }
    };
    let nul = |_| refuse("the source holds a NUL character");
    let text = CString::new(source.clone().for_hip().text).map_err(nul)?;
    let chip = chip.map(|chip| CString::new(format!("--offload-arch={chip}")).map_err(nul)).transpose()?;
    let mut options: Vec<*const c_char> = vec![c"-std=c++17".as_ptr(), c"-O3".as_ptr()];
    options.extend(chip.as_ref().map(|chip| chip.as_ptr()));

    let mut raw = ptr::null_mut();
    // SAFETY: the text ends with a NUL; there are no headers.
    let created = unsafe {
        (api.hiprtcCreateProgram)(&raw mut raw, text.as_ptr(), ptr::null(), 0, ptr::null(), ptr::null())
    };
    api.named("hiprtcCreateProgram", created)?;
    let program = Program { raw, api };
    // SAFETY: the program is alive, and as many options are there as is said.
    let compiled =
        unsafe { (api.hiprtcCompileProgram)(program.raw, options.len() as c_int, options.as_ptr()) };
    if compiled != 0 {
        let log = program.bytes("log", api.hiprtcGetProgramLogSize, api.hiprtcGetProgramLog);
        let log = String::from_utf8_lossy(&log.unwrap_or_default()).replace('\0', "");
        api.named("hiprtcCompileProgram", compiled)
            .map_err(|error| if log.trim().is_empty() { error } else { refuse(&log) })?;
    }
    program.bytes("hiprtcGetCode", api.hiprtcGetCodeSize, api.hiprtcGetCode)
}

/// HIPRTC's version, (6, 2).
///
/// # Errors
/// [`DeviceError::NoHiprtc`], [`DeviceError::LoaderPath`].
pub fn hiprtc_version() -> Result<(u32, u32), DeviceError> {
    let api = api::compiler()?;
    let (mut major, mut minor) = (0, 0);
    // SAFETY: both pointers are to live numbers.
    api.named("hiprtcVersion", unsafe { (api.hiprtcVersion)(&raw mut major, &raw mut minor) })?;
    Ok((major.unsigned_abs(), minor.unsigned_abs()))
}

struct Program {
    raw: *mut c_void,
    api: &'static api::Compiler,
}

impl Program {
    /// What two functions give of it: the number of bytes, and the bytes.
    fn bytes(
        &self,
        call: &'static str,
        size_of: unsafe extern "C" fn(*mut c_void, *mut usize) -> c_int,
        give: unsafe extern "C" fn(*mut c_void, *mut c_char) -> c_int,
    ) -> Result<Vec<u8>, DeviceError> {
        let mut size = 0;
        // SAFETY: the program is alive, and the pointer is to a live number.
        self.api.named(call, unsafe { size_of(self.raw, &raw mut size) })?;
        let mut bytes = vec![0_u8; size];
        // SAFETY: there is room for as many bytes as it said.
        self.api.named(call, unsafe { give(self.raw, bytes.as_mut_ptr().cast()) })?;
        Ok(bytes)
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // SAFETY: created above, destroyed only here. Nothing can be done about a failure.
        let _ = unsafe { (self.api.hiprtcDestroyProgram)(&raw mut self.raw) };
    }
}
