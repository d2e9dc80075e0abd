//! Finding the driver, the run-time compiler and cuSPARSE on this machine, without failing when they are absent.
//!
//! cudarc opens all three by name when first used and panics if that fails. So everything here asks first; and the two
//! libraries, which are often installed where the loader does not look (a CUDA toolkit, a Python package), are looked for
//! and opened by path; the loader then finds them by name.
//!
//! ```text
//! loader_path    may the loader be asked by name? Not while LD_LIBRARY_PATH means the current directory
//! places         absolute folders that the environment, the program and the system name
//! trusted        of a file in one of them: can only root and this user have put it there?
//! ```
//! What is opened is code that is run at once. None of it comes from an empty, a relative or a world-writable path.

mod loader_path;
mod places;

pub use loader_path::safe_loader_path;

use super::trusted::{self, Refusal};
use crate::DeviceError;
use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW};
use places::Environment;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

/// Makes sure that the CUDA driver can be opened.
///
/// # Errors
/// [`DeviceError::NoDriver`], [`DeviceError::LoaderPath`].
pub(super) fn require_driver() -> Result<(), DeviceError> {
    static FOUND: OnceLock<Result<(), DeviceError>> = OnceLock::new();
    let found = || {
        loader_path::require_safe()?;
        // SAFETY: opens and closes libcuda, whose initialisers do nothing but set up its own data.
        if unsafe { cudarc::driver::sys::is_culib_present() } { Ok(()) } else { Err(DeviceError::NoDriver) }
    };
    FOUND.get_or_init(found).clone()
}

/// A library that is looked for where the loader does not look.
struct Wanted {
    /// File name up to the version.
    name: &'static str,
    /// The file's name, up to the version, of a library that it asks the loader for; it lies in the same folder or in
    /// that of its own Python package.
    companion: &'static str,
    /// Checks that the library can be used now.
    usable: fn() -> bool,
}

const NVRTC: Wanted =
    Wanted { name: "libnvrtc.so.", companion: "libnvrtc-builtins.so.", usable: nvrtc_usable };

const CUSPARSE: Wanted =
    Wanted { name: "libcusparse.so.", companion: "libnvJitLink.so.", usable: cusparse_usable };

/// It asks for none but the system's.
const NCCL: Wanted = Wanted { name: "libnccl.so.", companion: "libnccl-net.so.", usable: nccl_usable };

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
    let found = || CUSPARSE.require(|searched| DeviceError::NoVendor { searched });
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

/// Folders that the program added, and whether it is too late for more.
struct Added {
    folders: Vec<PathBuf>,
    searched: bool,
}

static ADDED: Mutex<Added> = Mutex::new(Added { folders: Vec::new(), searched: false });

/// Adds folders in which NVRTC and cuSPARSE are looked for before all others, for a program that knows of more places than
/// the environment names, such as a running Python of its `sys.path`. Each folder may hold the libraries themselves or, as
/// `site-packages` do, NVIDIA's Python packages.
///
/// The loader is still asked first, and what is found is opened on the same terms as elsewhere: relative folders are passed
/// over, and so is what others than root and this user may write to.
///
/// Returns whether that was in time. Each library is looked for once in the life of the program, when it is first needed;
/// from the first time on nothing is added.
pub fn search_libraries_in(folders: &[PathBuf]) -> bool {
    let mut added = ADDED.lock().unwrap_or_else(PoisonError::into_inner);
    if !added.searched {
        added.folders.extend_from_slice(folders);
    }
    !added.searched
}

/// Folders that may hold the libraries, in the order in which they are tried. From now on none is added.
fn folders() -> Vec<PathBuf> {
    let mut added = ADDED.lock().unwrap_or_else(PoisonError::into_inner);
    added.searched = true;
    Environment::of_this_program().folders(&added.folders)
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

impl Wanted {
    /// Makes sure that the library can be used; `absent` makes an error of the places that were looked at.
    fn require(&self, absent: impl FnOnce(String) -> DeviceError) -> Result<(), DeviceError> {
        let folders = folders();
        loader_path::require_safe()?;
        self.find(&folders).map_err(absent)
    }

    /// Asks the loader, then opens the first that can be opened in `folders`.
    ///
    /// # Errors
    /// The places that were looked at, of those that were refused with the reason.
    fn find(&self, folders: &[PathBuf]) -> Result<(), String> {
        if (self.usable)() {
            return Ok(());
        }
        let mut searched = vec!["the loader's path".to_owned()];
        for folder in folders {
            let place = folder.display();
            match self.preload(folder) {
                Ok(true) if (self.usable)() => return Ok(()),
                Ok(_) => searched.push(place.to_string()),
                Err(refusal) => searched.push(format!("{place} ({})", refusal.beside(folder))),
            }
        }
        Err(searched.join(", "))
    }

    /// Opens the newest in `folder` for the rest of the program's life, its companions before it. Whether there was one.
    ///
    /// # Errors
    /// The refused file, if none was opened. A companion that is refused is one for the library, too: it would ask the
    /// loader for it, which opens whatever lies beside it.
    fn preload(&self, folder: &Path) -> Result<bool, Refusal> {
        let own = versions(folder, self.name);
        if own.is_empty() {
            return Ok(false);
        }
        for beside in [folder.to_owned(), folder.join("../../nvjitlink/lib")] {
            for companion in versions(&beside, self.companion) {
                open_for_ever(&companion)?;
            }
        }
        let mut refused = None;
        for library in own {
            match open_for_ever(&library) {
                Ok(true) => return Ok(true),
                Ok(false) => {}
                Err(refusal) => refused = Some(refusal),
            }
        }
        refused.map_or(Ok(false), Err)
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

/// Opens a library by its canonical path. Whether it could be opened.
///
/// # Errors
/// The reason why a file was not tried.
fn open_for_ever(path: &Path) -> Result<bool, Refusal> {
    // A link to nowhere: the loader could not open it either.
    if !path.exists() {
        return Ok(false);
    }
    let real = trusted::trusted(path)?;
    // SAFETY: NVIDIA's libraries run no code on opening that depends on this program's state.
    match unsafe { Library::open(Some(real.as_path()), RTLD_NOW | RTLD_GLOBAL) } {
        Ok(library) => {
            std::mem::forget(library);
            Ok(true)
        }
        Err(_) => Ok(false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::env;
    use std::os::unix::fs::{PermissionsExt, symlink};

    /// Never usable, whatever is opened.
    const NONE: Wanted = Wanted { name: "libnonesuch.so.", companion: "libbeside.so.", usable: || false };

    fn set_mode(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    /// A folder of this user's that holds files which are no libraries.
    fn folder(name: &str, files: &[&str]) -> PathBuf {
        let folder = env::temp_dir().join(format!("sparsight-library-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let folder = fs::canonicalize(folder).unwrap();
        set_mode(&folder, 0o755);
        for file in files {
            fs::write(folder.join(file), "no library").unwrap();
            set_mode(&folder.join(file), 0o644);
        }
        folder
    }

    #[test]
    fn a_missing_library_is_an_error_that_lists_every_place() {
        // Neither a broken file nor a missing folder is a reason to panic.
        let folder = folder("nowhere", &["libnonesuch.so.12", "libbeside.so.1"]);
        let absent = folder.join("absent");
        let found = NONE.find(&[folder.clone(), absent.clone()]);
        let expected = format!("the loader's path, {}, {}", folder.display(), absent.display());
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!(found, Err(expected));
    }

    #[test]
    fn world_writable_libraries_are_refused_by_name() {
        let folder = folder("open", &["libnonesuch.so.12", "libbeside.so.1"]);
        let searched = || NONE.find(std::slice::from_ref(&folder)).unwrap_err();
        let here = folder.display();
        set_mode(&folder, 0o777);
        assert_eq!(searched(), format!("the loader's path, {here} (writable by everybody)"));
        set_mode(&folder, 0o1777);
        assert_eq!(searched(), format!("the loader's path, {here} (writable by everybody)"));
        set_mode(&folder, 0o755);
        for file in ["libnonesuch.so.12", "libbeside.so.1"] {
            set_mode(&folder.join(file), 0o666);
            let refused = format!("{here}/{file} is writable by everybody");
            assert_eq!(searched(), format!("the loader's path, {here} ({refused})"));
            set_mode(&folder.join(file), 0o644);
        }
        assert_eq!(searched(), format!("the loader's path, {here}"));
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_relative_folder_is_refused_wherever_it_comes_from() {
        let folder = folder("relative", &["libnonesuch.so.12"]);
        symlink("nowhere", folder.join("libbeside.so.1")).unwrap();
        let up: PathBuf = env::current_dir().unwrap().components().skip(1).map(|_| "..").collect();
        let relative = up.join(folder.strip_prefix("/").unwrap());
        let searched = NONE.find(&[PathBuf::new(), relative.clone()]).unwrap_err();
        fs::remove_dir_all(&folder).unwrap();
        let place = relative.display();
        let refused = format!("{place} ({place}/libnonesuch.so.12 is relative to the current directory)");
        assert_eq!(searched, format!("the loader's path, , {refused}"));
    }

    #[test]
    fn the_newest_version_comes_first() {
        let folder = folder("versions", &["libnonesuch.so.12", "libnonesuch.so.13", "libother.so.14"]);
        let found = versions(&folder, NONE.name);
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!(found, ["libnonesuch.so.13", "libnonesuch.so.12"].map(|name| folder.join(name)));
    }

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
                let DeviceError::NoVendor { searched } = &error else { panic!("{error}") };
                assert!(searched.starts_with("the loader's path"), "{searched}");
                assert!(error.hint().is_some_and(|hint| hint.contains("nvidia-cusparse")));
            }
        }
    }
}
