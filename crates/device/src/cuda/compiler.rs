//! CUDA C++ to machine code with NVRTC. Needs no GPU.

use super::library;
use crate::DeviceError;
use cudarc::nvrtc::result::{self, NvrtcError};
use cudarc::nvrtc::sys;
use sparsight_kernels::KernelSource;
use std::ffi::{CString, c_char, c_int};

/// A compute capability: (9, 0) for `sm_90`.
pub type Arch = (u32, u32);

/// Compiles `source` to what the driver of a device of `arch` can load: a CUBIN, or PTX if NVRTC is older than the
/// device and knows only its predecessors.
///
/// # Errors
/// [`DeviceError::NoNvrtc`], [`DeviceError::LoaderPath`]; [`DeviceError::Compile`] with the compiler's log.
pub fn compile(source: &KernelSource, arch: Arch) -> Result<Vec<u8>, DeviceError> {
    library::require_nvrtc()?;
    let wanted = arch.0 * 10 + arch.1;
    let newest = supported_archs()?.into_iter().max().unwrap_or(wanted);
    let target = if wanted <= newest { format!("sm_{wanted}") } else { format!("compute_{newest}") };
    let mut options = vec![format!("--gpu-architecture={target}"), "--std=c++17".to_owned()];
    options.extend(source.definitions.iter().map(|definition| format!("-D{definition}")));
    compile_with(&source.text, &options, &source.entry_points.join(", "))
}

/// Compiles `text` with NVRTC's `options`; `name` is how errors call it.
pub(super) fn compile_with(text: &str, options: &[String], name: &str) -> Result<Vec<u8>, DeviceError> {
    library::require_nvrtc()?;
    let refuse = |what: &str| DeviceError::Compile { kernel: name.to_owned(), log: what.to_owned() };
    let text = CString::new(text).map_err(|_| refuse("the source holds a NUL character"))?;
    if options.iter().any(|option| option.contains('\0')) {
        return Err(refuse("an option holds a NUL character"));
    }
    let program = Program(result::create_program(&text, None).map_err(|e| failure("nvrtcCreateProgram", e))?);
    // SAFETY: `program` was created above and is destroyed when it is dropped, after its last use.
    unsafe {
        if let Err(error) = result::compile_program(program.0, options) {
            let log = result::get_program_log(program.0).map(|log| text_of(&log)).unwrap_or_default();
            return Err(if log.is_empty() { failure("nvrtcCompileProgram", error) } else { refuse(&log) });
        }
        let mut size = 0;
        sys::nvrtcGetCUBINSize(program.0, &raw mut size)
            .result()
            .map_err(|e| failure("nvrtcGetCUBINSize", e))?;
        if size == 0 {
            // A virtual architecture. PTX comes with the NUL at its end that the driver wants.
            let ptx = result::get_ptx(program.0).map_err(|e| failure("nvrtcGetPTX", e))?;
            return Ok(ptx.into_iter().map(|c| c as u8).collect());
        }
        let mut cubin = vec![0_u8; size];
        sys::nvrtcGetCUBIN(program.0, cubin.as_mut_ptr().cast())
            .result()
            .map_err(|e| failure("nvrtcGetCUBIN", e))?;
        Ok(cubin)
    }
}

/// NVRTC's version, (13, 0).
///
/// # Errors
/// [`DeviceError::NoNvrtc`], [`DeviceError::LoaderPath`].
pub fn nvrtc_version() -> Result<(u32, u32), DeviceError> {
    library::require_nvrtc()?;
    let (mut major, mut minor): (c_int, c_int) = (0, 0);
    // SAFETY: both pointers are to live integers.
    unsafe { sys::nvrtcVersion(&raw mut major, &raw mut minor) }
        .result()
        .map_err(|e| failure("nvrtcVersion", e))?;
    Ok((major as u32, minor as u32))
}

/// Architectures that NVRTC can compile for, 90 for `sm_90`.
///
/// # Errors
/// [`DeviceError::NoNvrtc`], [`DeviceError::LoaderPath`].
pub fn supported_archs() -> Result<Vec<u32>, DeviceError> {
    library::require_nvrtc()?;
    let mut count: c_int = 0;
    // SAFETY: the pointer is to a live integer.
    unsafe { sys::nvrtcGetNumSupportedArchs(&raw mut count) }
        .result()
        .map_err(|e| failure("nvrtcGetNumSupportedArchs", e))?;
    let mut archs: Vec<c_int> = vec![0; count as usize];
    // SAFETY: room for `count` integers, which is how many are written.
    unsafe { sys::nvrtcGetSupportedArchs(archs.as_mut_ptr()) }
        .result()
        .map_err(|e| failure("nvrtcGetSupportedArchs", e))?;
    Ok(archs.into_iter().map(|arch| arch as u32).collect())
}

struct Program(sys::nvrtcProgram);

impl Drop for Program {
    fn drop(&mut self) {
        // SAFETY: created by `create_program`, destroyed only here. Nothing can be done about a failure.
        let _ = unsafe { result::destroy_program(self.0) };
    }
}

fn failure(call: &str, error: NvrtcError) -> DeviceError {
    DeviceError::Driver { call: call.to_owned(), reason: error.to_string() }
}

fn text_of(log: &[c_char]) -> String {
    let bytes: Vec<u8> = log.iter().take_while(|&&c| c != 0).map(|&c| c as u8).collect();
    String::from_utf8_lossy(&bytes).trim_end().to_owned()
}
