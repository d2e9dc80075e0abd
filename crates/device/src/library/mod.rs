//! Finding drivers, run-time compilers and libraries of GPUs on this machine, without failing when they are absent.
//!
//! The loader is asked by name first. Libraries are often installed where it does not look (a toolkit, a Python package): they are
//! looked for and opened by path; the loader then finds them by name.
//!
//! ```text
//! loader_path    may the loader be asked by name? Not while LD_LIBRARY_PATH means the current directory
//! places         absolute folders that the environment, the program and the system name
//! functions      the functions of a library by their names
//! trusted        of a file in one of them: can only root and this user have put it there?
//! ```
//! What is opened is code that is run at once. None of it comes from an empty, a relative or a world-writable path.

mod functions;
mod loader_path;
mod places;

pub(crate) use functions::functions;
pub(crate) use loader_path::require_safe;
pub use loader_path::safe_loader_path;
pub(crate) use places::Toolkit;

use crate::DeviceError;
use crate::trusted::{self, Refusal};
use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW};
use places::Environment;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// A library that is looked for where the loader does not look.
pub(crate) struct Wanted {
    /// File name up to the version.
    pub(crate) name: &'static str,
    /// The file's name, up to the version, of a library that it asks the loader for; it lies in the same folder or in
    /// that of its own Python package.
    pub(crate) companion: &'static str,
    /// What it is a part of.
    pub(crate) toolkit: Toolkit,
    /// Checks that the library can be used now.
    pub(crate) usable: fn() -> bool,
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
fn folders(toolkit: Toolkit) -> Vec<PathBuf> {
    let mut added = ADDED.lock().unwrap_or_else(PoisonError::into_inner);
    added.searched = true;
    Environment::of_this_program().folders(toolkit, &added.folders)
}

impl Wanted {
    /// Makes sure that the library can be used; `absent` makes an error of the places that were looked at.
    ///
    /// # Errors
    /// What `absent` makes; [`DeviceError::LoaderPath`].
    pub(crate) fn require(&self, absent: impl FnOnce(String) -> DeviceError) -> Result<(), DeviceError> {
        let folders = folders(self.toolkit);
        require_safe()?;
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
    // SAFETY: libraries of GPUs' makers run no code on opening that depends on this program's state.
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
    const NONE: Wanted = Wanted {
        name: "libnonesuch.so.",
        companion: "libbeside.so.",
        toolkit: Toolkit::Cuda,
        usable: || false,
    };

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
}
