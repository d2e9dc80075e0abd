//! Trust in files with code: only root and this user can have put them where they are.
//!
//! ```text
//! /                    root, 755
//! /tmp                 root, 1777     all users may add to it; the sticky bit keeps others from replacing what is ours
//! /tmp/a               ours, 755      holds the file: others may not write to it, sticky bit or not, since a library may
//!                                     ask for others beside it
//! /tmp/a/libx.so.1     ours, 644
//! ```
//! The whole of the canonical path is looked at, so links lead nowhere unseen; what is opened is that path.
//!
//! Deliberately absent: access control lists beyond what the mode shows of them, and file systems mounted from elsewhere.
//! Libraries may be written to by their group, which on many machines is the user's own; compiled kernels may not.

use std::fmt;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// A file or folder for which code is not loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    /// The file, or a folder above it.
    path: PathBuf,
    fault: Fault,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    Relative,
    WritableByEverybody,
    WritableByItsGroup,
    /// Owned by that user, who is neither root nor the one that runs this program.
    Owned(u32),
    /// The file does not exist, or its kind cannot be read.
    Unknown,
}

impl Refusal {
    /// Text for a list in which `folder` stands already: `writable by everybody`, or of another path
    /// `/opt is writable by everybody`.
    pub(crate) fn beside(&self, folder: &Path) -> String {
        if self.path == folder { self.fault.to_string() } else { self.to_string() }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is {}", self.path.display(), self.fault)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Relative => f.write_str("relative to the current directory"),
            Self::WritableByEverybody => f.write_str("writable by everybody"),
            Self::WritableByItsGroup => f.write_str("writable by its group"),
            Self::Owned(user) => write!(f, "owned by user {user}, who is neither root nor you"),
            Self::Unknown => f.write_str("absent or hidden"),
        }
    }
}

/// The canonical path of `file`, from which code may be loaded.
///
/// # Errors
/// The first fault, from the file up.
pub(crate) fn trusted(file: &Path) -> Result<PathBuf, Refusal> {
    let refusal = |fault| Refusal { path: file.to_owned(), fault };
    if !file.is_absolute() {
        return Err(refusal(Fault::Relative));
    }
    let real = fs::canonicalize(file).map_err(|_| refusal(Fault::Unknown))?;
    // The file and the folder that holds it.
    let first = refusals(&real, 2).next();
    first.map_or(Ok(real), Err)
}

/// Checks a file to which not even its group may write, nor to the folder that holds it.
///
/// # Errors
/// As [`trusted`].
pub(crate) fn private(file: &Path) -> Result<PathBuf, Refusal> {
    let real = trusted(file)?;
    for place in real.ancestors().take(2) {
        if fs::symlink_metadata(place).is_ok_and(|found| found.mode() & 0o020 != 0) {
            return Err(Refusal { path: place.to_owned(), fault: Fault::WritableByItsGroup });
        }
    }
    Ok(real)
}

/// Returns whether all users may put a file into `folder`, or another folder in its place; `false` if it does not exist.
pub(crate) fn everybody_may_write(folder: &Path) -> bool {
    let everybody = |refusal: Refusal| refusal.fault == Fault::WritableByEverybody;
    fs::canonicalize(folder).is_ok_and(|real| refusals(&real, 1).any(everybody))
}

/// The fault of a canonical path, from its end up. The sticky bit counts for nothing in the first `held` places.
fn refusals(real: &Path, held: usize) -> impl Iterator<Item = Refusal> {
    let own = own_user();
    real.ancestors().enumerate().filter_map(move |(place, path)| {
        let found = fs::symlink_metadata(path);
        let fault =
            found.map_or(Some(Fault::Unknown), |found| fault(found.mode(), found.uid(), own, place >= held));
        fault.map(|fault| Refusal { path: path.to_owned(), fault })
    })
}

/// The fault of a file or folder of that mode and owner. `sticky`: whether its sticky bit counts.
fn fault(mode: u32, owner: u32, own: Option<u32>, sticky: bool) -> Option<Fault> {
    if mode & 0o002 != 0 && !(sticky && mode & 0o1000 != 0) {
        return Some(Fault::WritableByEverybody);
    }
    (owner != 0 && Some(owner) != own).then_some(Fault::Owned(owner))
}

/// The user as whom this program runs (the effective one), whom the standard library does not tell: Linux gives a process's
/// entry in `/proc` to that user. Without `/proc` only root is trusted.
fn own_user() -> Option<u32> {
    fs::metadata("/proc/self").ok().map(|process| process.uid())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::env;
    use std::os::unix::fs::{PermissionsExt, symlink};

    const OURS: u32 = 1000;

    /// Fault of a folder somewhere above the file.
    fn above(mode: u32, owner: u32) -> Option<Fault> {
        fault(mode, owner, Some(OURS), true)
    }

    #[test]
    fn only_root_and_this_user_are_trusted() {
        for owner in [0, OURS] {
            assert_eq!(above(0o755, owner), None);
            assert_eq!(above(0o775, owner), None, "the group of a library's folder");
        }
        assert_eq!(above(0o755, 1001), Some(Fault::Owned(1001)));
        assert_eq!(fault(0o755, OURS, None, true), Some(Fault::Owned(OURS)), "this user is unknown");
        assert_eq!(fault(0o755, 0, None, true), None);
    }

    #[test]
    fn world_writable_paths_are_refused_unless_a_sticky_bit_protects_them() {
        assert_eq!(above(0o777, 0), Some(Fault::WritableByEverybody));
        assert_eq!(above(0o1777, 0), None);
        assert_eq!(above(0o1777, 1001), Some(Fault::Owned(1001)));
        assert_eq!(
            fault(0o1777, 0, Some(OURS), false),
            Some(Fault::WritableByEverybody),
            "it holds the file"
        );
        assert_eq!(
            fault(0o666, OURS, Some(OURS), false),
            Some(Fault::WritableByEverybody),
            "the file itself"
        );
    }

    /// A new empty folder of this user.
    fn folder(name: &str) -> PathBuf {
        let folder = env::temp_dir().join(format!("sparsight-trusted-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(folder.join("deep")).unwrap();
        for place in [&folder, &folder.join("deep")] {
            set_mode(place, 0o755);
        }
        fs::canonicalize(folder).unwrap()
    }

    fn set_mode(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn the_file_and_every_folder_above_it_are_looked_at() {
        let folder = folder("modes");
        let (deep, file) = (folder.join("deep"), folder.join("deep/file"));
        fs::write(&file, "").unwrap();
        set_mode(&file, 0o644);
        assert_eq!(trusted(&file), Ok(file.clone()));
        assert_eq!(private(&file), Ok(file.clone()));
        assert!(!everybody_may_write(&deep));
        for (place, mode) in [(&file, 0o646), (&deep, 0o757), (&deep, 0o1777), (&folder, 0o777)] {
            let before = fs::metadata(place).unwrap().mode();
            set_mode(place, mode);
            let refusal = Refusal { path: place.clone(), fault: Fault::WritableByEverybody };
            assert_eq!(trusted(&file), Err(refusal.clone()));
            assert_eq!(private(&file), Err(refusal));
            assert_eq!(everybody_may_write(&deep), place != &file, "{}", place.display());
            set_mode(place, before);
        }
        set_mode(&folder, 0o1777);
        assert_eq!(trusted(&file), Ok(file.clone()), "as in the system's folder for temporary files");
        set_mode(&folder, 0o755);
        for (place, mode) in [(&file, 0o664), (&deep, 0o775)] {
            let before = fs::metadata(place).unwrap().mode();
            set_mode(place, mode);
            assert_eq!(trusted(&file), Ok(file.clone()));
            let refusal = Refusal { path: place.clone(), fault: Fault::WritableByItsGroup };
            assert_eq!(private(&file), Err(refusal));
            set_mode(place, before);
        }
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_link_is_followed_to_where_the_file_really_is() {
        let folder = folder("links");
        let (open, link) = (folder.join("open"), folder.join("deep/link"));
        fs::create_dir(&open).unwrap();
        fs::write(open.join("file"), "").unwrap();
        set_mode(&open, 0o777);
        symlink(open.join("file"), &link).unwrap();
        let refusal = trusted(&link).unwrap_err();
        assert_eq!(refusal.beside(&open), "writable by everybody");
        assert_eq!(refusal.beside(&folder), format!("{} is writable by everybody", open.display()));
        set_mode(&open, 0o755);
        assert_eq!(trusted(&link), Ok(open.join("file")));
        fs::remove_file(open.join("file")).unwrap();
        assert!(trusted(&link).unwrap_err().to_string().ends_with("is absent or hidden"));
        assert!(!everybody_may_write(&folder.join("absent")));
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn files_of_this_user_are_owned_by_it() {
        let folder = folder("own");
        assert_eq!(own_user(), Some(fs::metadata(&folder).unwrap().uid()));
        fs::remove_dir_all(&folder).unwrap();
    }
}
