//! The runtime and the run-time compiler of HIP, and rocSPARSE: found as every library of a GPU is, without failing when they are absent, and kept
//! open.

use crate::DeviceError;
use crate::error::VendorName;
use crate::library::{Toolkit, Wanted};
use libloading::os::unix::Library;
use std::mem::ManuallyDrop;

/// The loader's names for a library, the newest first; that without a version comes with development packages.
type Files = [&'static str];

const RUNTIME_FILES: &Files = &["libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", "libamdhip64.so"];
const COMPILER_FILES: &Files = &["libhiprtc.so.7", "libhiprtc.so.6", "libhiprtc.so.5", "libhiprtc.so"];

const RUNTIME: Wanted = Wanted {
    name: "libamdhip64.so.",
    companion: "libhsa-runtime64.so.",
    toolkit: Toolkit::Rocm,
    usable: || opened(RUNTIME_FILES).is_some(),
};

const COMPILER: Wanted = Wanted {
    name: "libhiprtc.so.",
    companion: "libhiprtc-builtins.so.",
    toolkit: Toolkit::Rocm,
    usable: || opened(COMPILER_FILES).is_some(),
};

/// Version 0 came with `ROCm` 5: it is opened to be told by its version.
const ROCSPARSE_FILES: &Files = &["librocsparse.so.1", "librocsparse.so.0", "librocsparse.so"];

const ROCSPARSE: Wanted = Wanted {
    name: "librocsparse.so.",
    companion: "librocblas.so.",
    toolkit: Toolkit::Rocm,
    usable: || opened(ROCSPARSE_FILES).is_some(),
};

/// A library that the loader finds by one of these names. It stays open: what the runtime has set up would not survive, were it closed
/// and opened again.
fn opened(files: &Files) -> Option<ManuallyDrop<Library>> {
    // SAFETY: the initialisers do nothing but set up the library's own data.
    files.iter().find_map(|&file| unsafe { Library::new(file) }.ok()).map(ManuallyDrop::new)
}

/// The runtime.
///
/// # Errors
/// [`DeviceError::NoHip`] with the places that were looked at, [`DeviceError::LoaderPath`].
pub(super) fn runtime() -> Result<ManuallyDrop<Library>, DeviceError> {
    RUNTIME.require(|searched| DeviceError::NoHip { searched })?;
    Ok(opened(RUNTIME_FILES).expect("it was found"))
}

/// The run-time compiler; before `ROCm` 7 it is in the runtime as well, and maybe there alone.
///
/// # Errors
/// [`DeviceError::NoHiprtc`] with the places that were looked at, [`DeviceError::LoaderPath`].
pub(super) fn compiler() -> Result<ManuallyDrop<Library>, DeviceError> {
    match COMPILER.require(|searched| DeviceError::NoHiprtc { searched }) {
        Ok(()) => Ok(opened(COMPILER_FILES).expect("it was found")),
        Err(absent) => runtime().ok().filter(compiles).ok_or(absent),
    }
}

/// The vendor's sparse library.
///
/// # Errors
/// [`DeviceError::NoVendor`] with the places that were looked at, [`DeviceError::LoaderPath`].
pub(super) fn rocsparse() -> Result<ManuallyDrop<Library>, DeviceError> {
    ROCSPARSE.require(|searched| DeviceError::NoVendor { library: VendorName::Rocsparse, searched })?;
    Ok(opened(ROCSPARSE_FILES).expect("it was found"))
}

fn compiles(library: &ManuallyDrop<Library>) -> bool {
    // SAFETY: it is asked for the name alone.
    unsafe { library.get::<*const ()>(b"hiprtcCompileProgram") }.is_ok()
}
