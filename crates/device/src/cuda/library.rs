//! The driver, the run-time compiler, cuSPARSE and NCCL of CUDA: found as every library of a GPU is, without failing when they are
//! absent.
//!
//! cudarc opens the first three by name when first used and panics if that fails. So everything here asks first.

use crate::DeviceError;
use crate::error::VendorName;
use crate::library::{Toolkit, Wanted, require_safe};
use libloading::os::unix::Library;
use std::sync::OnceLock;

/// Makes sure that the CUDA driver can be opened.
///
/// # Errors
/// [`DeviceError::NoDriver`], [`DeviceError::LoaderPath`].
pub(super) fn require_driver() -> Result<(), DeviceError> {
    static FOUND: OnceLock<Result<(), DeviceError>> = OnceLock::new();
    let found = || {
        require_safe()?;
        // SAFETY: opens and closes libcuda, whose initialisers do nothing but set up its own data.
        if unsafe { cudarc::driver::sys::is_culib_present() } { Ok(()) } else { Err(DeviceError::NoDriver) }
    };
    FOUND.get_or_init(found).clone()
}

const NVRTC: Wanted = Wanted {
    name: "libnvrtc.so.",
    companion: "libnvrtc-builtins.so.",
    toolkit: Toolkit::Cuda,
    usable: nvrtc_usable,
};

const CUSPARSE: Wanted = Wanted {
    name: "libcusparse.so.",
    companion: "libnvJitLink.so.",
    toolkit: Toolkit::Cuda,
    usable: cusparse_usable,
};

/// It asks for none but the system's.
const NCCL: Wanted =
    Wanted { name: "libnccl.so.", companion: "libnccl-net.so.", toolkit: Toolkit::Cuda, usable: nccl_usable };

/// Functions of cuSPARSE that came with CUDA 12.1 or later: older libraries lack some of them.
const CUSPARSE_NEEDS: [&str; 2] = ["cusparseCreateSlicedEll", "cusparseSpMV_preprocess"];

/// The loader's name for NCCL.
pub(super) const NCCL_FILE: &str = "libnccl.so.2";

/// Makes sure that NVRTC can be used; looks for it once in the life of the program.
///
/// # Errors
/// [`DeviceError::NoNvrtc`] with the places that were looked at, [`DeviceError::LoaderPath`].
pub(super) fn require_nvrtc() -> Result<(), DeviceError> {
    static FOUND: OnceLock<Result<(), DeviceError>> = OnceLock::new();
    let found = || NVRTC.require(|searched| DeviceError::NoNvrtc { searched });
    FOUND.get_or_init(found).clone()
}

/// Makes sure that cuSPARSE can be used, likewise.
///
/// # Errors
/// [`DeviceError::NoVendor`] with the places that were looked at, [`DeviceError::LoaderPath`].
pub(super) fn require_cusparse() -> Result<(), DeviceError> {
    static FOUND: OnceLock<Result<(), DeviceError>> = OnceLock::new();
    let found =
        || CUSPARSE.require(|searched| DeviceError::NoVendor { library: VendorName::Cusparse, searched });
    FOUND.get_or_init(found).clone()
}

/// Makes sure that NCCL can be used, likewise.
///
/// # Errors
/// [`DeviceError::NoNccl`] with the places that were looked at, [`DeviceError::LoaderPath`].
pub(super) fn require_nccl() -> Result<(), DeviceError> {
    static FOUND: OnceLock<Result<(), DeviceError>> = OnceLock::new();
    let found = || NCCL.require(|searched| DeviceError::NoNccl { searched });
    FOUND.get_or_init(found).clone()
}

fn nvrtc_usable() -> bool {
    // SAFETY: opens and closes libnvrtc, whose initialisers do nothing but set up its own data.
    unsafe { cudarc::nvrtc::sys::is_culib_present() }
}

fn cusparse_usable() -> bool {
    // SAFETY: opens libcusparse, whose initialisers do nothing but set up its own data, and asks for names alone: none
    // of the addresses is used.
    unsafe {
        cudarc::cusparse::sys::is_culib_present()
            && CUSPARSE_NEEDS
                .iter()
                .all(|name| cudarc::cusparse::sys::culib().get::<*const ()>(name.as_bytes()).is_ok())
    }
}

fn nccl_usable() -> bool {
    // SAFETY: opens libnccl, whose initialisers do nothing but set up its own data.
    unsafe { Library::new(NCCL_FILE) }.is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::library::search_libraries_in;
    use std::env;

    #[test]
    fn folders_are_added_before_the_first_search_alone() {
        let _ = require_cusparse();
        assert!(!search_libraries_in(&[env::temp_dir()]));
    }

    #[test]
    fn a_missing_library_of_the_vendors_is_an_error_with_a_hint() {
        match require_cusparse() {
            Ok(()) => println!("skipped: no library is missing here"),
            Err(DeviceError::LoaderPath { element }) => println!("skipped: LD_LIBRARY_PATH holds {element}"),
            Err(error) => {
                let DeviceError::NoVendor { searched, .. } = &error else { panic!("{error}") };
                assert!(searched.starts_with("the loader's path"), "{searched}");
                assert!(error.hint().is_some_and(|hint| hint.contains("nvidia-cusparse")));
            }
        }
    }
}
