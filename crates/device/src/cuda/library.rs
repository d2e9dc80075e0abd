//! Finding the driver, the run-time compiler and cuSPARSE on this machine, without failing when they are absent.
//!
//! cudarc opens all three by name when first used and panics if that fails. So everything here asks first; and the two
//! libraries, which are often installed where the loader does not look (a CUDA toolkit, a Python package), are looked for
//! and opened by path; the loader then finds them by name.

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

/// A library that is looked for where the loader does not look.
struct Wanted {
    /// Its file's name up to the version.
    name: &'static str,
    /// The file's name, up to the version, of a library that it asks the loader for; it lies in the same folder or in
    /// that of its own Python package.
    companion: &'static str,
    /// Whether it can be used now.
    usable: fn() -> bool,
}

const NVRTC: Wanted =
    Wanted { name: "libnvrtc.so.", companion: "libnvrtc-builtins.so.", usable: nvrtc_usable };

const CUSPARSE: Wanted =
    Wanted { name: "libcusparse.so.", companion: "libnvJitLink.so.", usable: cusparse_usable };

/// What is called of cuSPARSE and came with CUDA 12.1 or later: libraries of before lack some of it.
const CUSPARSE_NEEDS: [&str; 2] = ["cusparseCreateSlicedEll", "cusparseSpMV_preprocess"];

/// Makes sure that NVRTC can be used; looks for it once in the life of the program.
///
/// # Errors
/// [`DeviceError::NoNvrtc`] with the places that were looked at.
pub(super) fn require_nvrtc() -> Result<(), DeviceError> {
    static FOUND: OnceLock<Result<(), DeviceError>> = OnceLock::new();
    let found = || NVRTC.find(&folders()).map_err(|searched| DeviceError::NoNvrtc { searched });
    FOUND.get_or_init(found).clone()
}

/// Makes sure that cuSPARSE can be used, likewise.
///
/// # Errors
/// [`DeviceError::NoVendor`] with the places that were looked at.
pub(super) fn require_cusparse() -> Result<(), DeviceError> {
    static FOUND: OnceLock<Result<(), DeviceError>> = OnceLock::new();
    let found = || CUSPARSE.find(&folders()).map_err(|searched| DeviceError::NoVendor { searched });
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

impl Wanted {
    /// Asks the loader, then opens the first that can be opened in `folders`.
    ///
    /// # Errors
    /// The places that were looked at.
    fn find(&self, folders: &[PathBuf]) -> Result<(), String> {
        if (self.usable)() || folders.iter().any(|folder| self.preload(folder) && (self.usable)()) {
            return Ok(());
        }
        let places = folders.iter().map(|folder| folder.display().to_string());
        Err(std::iter::once("the loader's path".to_owned()).chain(places).collect::<Vec<_>>().join(", "))
    }

    /// Opens the newest in `folder` for the rest of the program's life, its companions before it.
    fn preload(&self, folder: &Path) -> bool {
        let own = versions(folder, self.name);
        if own.is_empty() {
            return false;
        }
        for beside in [folder.to_owned(), folder.join("../../nvjitlink/lib")] {
            for companion in versions(&beside, self.companion) {
                open_for_ever(&companion);
            }
        }
        own.iter().any(|library| open_for_ever(library))
    }
}

/// The files of `folder` whose names start with `name`, descending, so that .so.13 comes before .so.12.
fn versions(folder: &Path, name: &str) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut found: Vec<String> = names.filter(|file| file.starts_with(name)).collect();
    found.sort_unstable_by(|a, b| b.cmp(a));
    found.into_iter().map(|file| folder.join(file)).collect()
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

/// Folders that may hold the libraries, in the order in which they are tried.
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
        folders.extend(
            ["cu13", "cuda_nvrtc", "cusparse"].map(|name| packages.join("nvidia").join(name).join("lib")),
        );
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Never usable, whatever is opened.
    const NONE: Wanted = Wanted { name: "libnonesuch.so.", companion: "libbeside.so.", usable: || false };

    #[test]
    fn what_is_nowhere_is_an_error_that_lists_every_place() {
        let folder = std::env::temp_dir().join(format!("sparsight-library-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        // Neither a broken file nor a missing folder is a reason to panic.
        fs::write(folder.join("libnonesuch.so.12"), "no library").unwrap();
        fs::write(folder.join("libbeside.so.1"), "no library").unwrap();
        let absent = folder.join("absent");
        let found = NONE.find(&[folder.clone(), absent.clone()]);
        let expected = format!("the loader's path, {}, {}", folder.display(), absent.display());
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!(found, Err(expected));
    }

    #[test]
    fn the_newest_version_comes_first() {
        let folder = std::env::temp_dir().join(format!("sparsight-versions-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        for name in ["libnonesuch.so.12", "libnonesuch.so.13", "libother.so.14"] {
            fs::write(folder.join(name), "").unwrap();
        }
        let found = versions(&folder, NONE.name);
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!(found, ["libnonesuch.so.13", "libnonesuch.so.12"].map(|name| folder.join(name)));
    }

    #[test]
    fn a_missing_library_of_the_vendors_is_an_error_with_a_hint() {
        match require_cusparse() {
            Ok(()) => assert!(cusparse_usable()),
            Err(error) => {
                let DeviceError::NoVendor { searched } = &error else { panic!("{error}") };
                assert!(searched.starts_with("the loader's path"), "{searched}");
                assert!(error.hint().is_some_and(|hint| hint.contains("nvidia-cusparse")));
            }
        }
    }
}
