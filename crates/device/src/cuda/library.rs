//! Finding the driver and the run-time compiler on this machine, without failing when they are absent.
//!
//! cudarc opens both by name when first used and panics if that fails. So everything here asks first, and NVRTC,
//! which is often installed where the loader does not look (a CUDA toolkit, a Python package), is looked for and
//! opened by path; the loader then finds it by name.

use crate::DeviceError;
use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW};
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Whether the CUDA driver can be opened.
pub(super) fn driver_present() -> bool {
    static PRESENT: OnceLock<bool> = OnceLock::new();
    // SAFETY: opens and closes libcuda, whose initialisers do nothing but set up its own data.
    *PRESENT.get_or_init(|| unsafe { cudarc::driver::sys::is_culib_present() })
}

/// Makes sure that NVRTC can be used; looks for it once in the life of the program.
///
/// # Errors
/// [`DeviceError::NoNvrtc`] with the places that were looked at.
pub(super) fn require_nvrtc() -> Result<(), DeviceError> {
    static FOUND: OnceLock<Result<(), DeviceError>> = OnceLock::new();
    FOUND.get_or_init(find_nvrtc).clone()
}

fn nvrtc_present() -> bool {
    // SAFETY: opens and closes libnvrtc, whose initialisers do nothing but set up its own data.
    unsafe { cudarc::nvrtc::sys::is_culib_present() }
}

fn find_nvrtc() -> Result<(), DeviceError> {
    if nvrtc_present() {
        return Ok(());
    }
    let folders = folders();
    for folder in &folders {
        if preload(folder) && nvrtc_present() {
            return Ok(());
        }
    }
    let searched: Vec<String> = std::iter::once("the loader's path".to_owned())
        .chain(folders.iter().map(|f| f.display().to_string()))
        .collect();
    Err(DeviceError::NoNvrtc { searched: searched.join(", ") })
}

/// Opens the newest NVRTC in `folder` for the rest of the program's life, the library of its built-in functions
/// before it.
fn preload(folder: &Path) -> bool {
    let Ok(entries) = fs::read_dir(folder) else { return false };
    let mut names: Vec<String> =
        entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
    // Descending, so that .so.13 comes before .so.12.
    names.sort_unstable_by(|a, b| b.cmp(a));
    for nvrtc in names.iter().filter(|name| name.starts_with("libnvrtc.so.")) {
        let version = &nvrtc["libnvrtc.so.".len()..];
        let major = version.split('.').next().unwrap_or(version);
        for builtins in &names {
            let belongs = builtins
                .strip_prefix("libnvrtc-builtins.so.")
                .is_some_and(|v| v.split('.').next() == Some(major));
            if belongs {
                open_for_ever(&folder.join(builtins));
            }
        }
        if open_for_ever(&folder.join(nvrtc)) {
            return true;
        }
    }
    false
}

fn open_for_ever(path: &Path) -> bool {
    // SAFETY: NVIDIA's libraries run no code on opening that depends on this program's state.
    match unsafe { Library::open(Some(path), RTLD_NOW | RTLD_GLOBAL) } {
        Ok(library) => {
            std::mem::forget(library);
            true
        }
        Err(_) => false,
    }
}

/// Folders that may hold libnvrtc, in the order in which they are tried.
fn folders() -> Vec<PathBuf> {
    let mut folders = Vec::new();
    let toolkits = ["CUDA_PATH", "CUDA_HOME"].into_iter().filter_map(env::var_os).map(PathBuf::from);
    for toolkit in toolkits.chain([PathBuf::from("/usr/local/cuda")]) {
        folders.push(toolkit.join("lib64"));
        folders.push(toolkit.join("targets/x86_64-linux/lib"));
        folders.push(toolkit.join("targets/sbsa-linux/lib"));
    }
    if let Some(environment) = env::var_os("CONDA_PREFIX") {
        folders.push(PathBuf::from(environment).join("lib"));
    }
    for packages in site_packages() {
        folders.push(packages.join("nvidia/cu13/lib"));
        folders.push(packages.join("nvidia/cuda_nvrtc/lib"));
    }
    folders.retain(|folder| folder.is_dir());
    folders
}

/// Folders of Python packages: of the active environment, of the `python3` on the path, and the user's own.
/// Nothing is run to find them.
fn site_packages() -> Vec<PathBuf> {
    let mut libs = Vec::new();
    if let Some(environment) = env::var_os("VIRTUAL_ENV").or_else(|| env::var_os("CONDA_PREFIX")) {
        libs.push(PathBuf::from(environment).join("lib"));
    }
    let path = env::var_os("PATH").unwrap_or_default();
    if let Some(python) = env::split_paths(&path).map(|dir| dir.join("python3")).find(|p| p.is_file()) {
        // Both where it is named and where it really lies: a virtual environment links to the system's.
        let real = fs::canonicalize(&python).unwrap_or_else(|_| python.clone());
        for program in [python, real] {
            libs.extend(program.parent().and_then(Path::parent).map(|prefix| prefix.join("lib")));
        }
    }
    if let Some(home) = env::var_os("HOME") {
        libs.push(PathBuf::from(home).join(".local/lib"));
    }
    libs.push(PathBuf::from("/usr/local/lib"));
    libs.push(PathBuf::from("/usr/lib"));

    let mut found = Vec::new();
    for lib in libs {
        let Ok(entries) = fs::read_dir(&lib) else { continue };
        let mut pythons: Vec<PathBuf> = entries
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|p| p.file_name().is_some_and(|n| n.to_string_lossy().starts_with("python3")))
            .collect();
        pythons.sort_unstable_by(|a, b| b.cmp(a));
        for python in pythons {
            for packages in ["site-packages", "dist-packages"].map(|name| python.join(name)) {
                if packages.is_dir() && !found.contains(&packages) {
                    found.push(packages);
                }
            }
        }
    }
    found
}
