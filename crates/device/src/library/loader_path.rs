//! `LD_LIBRARY_PATH`: where the loader looks for whatever is asked for by name.
//!
//! ```text
//! /opt/cuda/lib64:        an empty element after the colon: the current directory
//! lib:/opt/cuda/lib64     lib of the current directory
//! /srv/open               where everybody may put a library (mode 777)
//! ```
//! cudarc asks the loader for a library by a dozen names, one after the other, and the driver asks for parts of its own; that
//! a library is open under one name does not keep the loader from looking for the others. So nothing is asked for while the
//! variable has such an element.
//!
//! The loader reads it once, when a program starts. It is too late then for the libraries that a program is linked to, and
//! changing the variable changes nothing: who wants to go on starts the program again ([`safe_loader_path`]).

use crate::DeviceError;
use crate::trusted;
use std::env;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

const VARIABLE: &str = "LD_LIBRARY_PATH";

/// Checks that the loader may be asked for a library by name.
///
/// # Errors
/// [`DeviceError::LoaderPath`] with the first element that is no place for libraries.
pub(crate) fn require_safe() -> Result<(), DeviceError> {
    let value = env::var_os(VARIABLE).unwrap_or_default();
    match elements(&value).find_map(danger) {
        Some(element) => Err(DeviceError::LoaderPath { element }),
        None => Ok(()),
    }
}

/// `LD_LIBRARY_PATH` without the elements that [`DeviceError::LoaderPath`] complains of; `None` if it has no such
/// elements. A program that is started with it is not refused its libraries.
pub fn safe_loader_path() -> Option<OsString> {
    without_danger(&env::var_os(VARIABLE)?)
}

fn without_danger(value: &OsStr) -> Option<OsString> {
    let all = elements(value).count();
    let safe: Vec<&OsStr> = elements(value).filter(|element| danger(element).is_none()).collect();
    (safe.len() < all).then(|| safe.join(OsStr::new(":")))
}

/// Elements of a search path, as the loader of glibc splits them. A variable that is empty as a whole has none.
fn elements(value: &OsStr) -> impl Iterator<Item = &OsStr> {
    let is_separator = |&byte: &u8| byte == b':' || byte == b';';
    let all = value.as_bytes().split(is_separator).map(OsStr::from_bytes);
    all.filter(move |_| !value.is_empty())
}

/// The fault of an element, in words that follow `holds`.
fn danger(element: &OsStr) -> Option<String> {
    let folder = Path::new(element);
    if element.is_empty() {
        return Some("an empty element, which means the current directory".to_owned());
    }
    if !folder.is_absolute() {
        return Some(format!("'{}', which is not absolute", folder.display()));
    }
    trusted::everybody_may_write(folder)
        .then(|| format!("{}, to which everybody may write", folder.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    fn first_danger(value: &str) -> Option<String> {
        elements(OsStr::new(value)).find_map(danger)
    }

    #[test]
    fn elements_that_depend_on_the_current_directory_are_dangers() {
        assert_eq!(first_danger(""), None, "the loader does not look at it");
        assert_eq!(first_danger("/usr/lib:/usr/lib64"), None);
        assert_eq!(first_danger("/is/not/there"), None);
        for value in [":", ":/usr/lib", "/usr/lib:", "/usr/lib::/usr/lib64", "/usr/lib;"] {
            let danger = first_danger(value);
            assert_eq!(
                danger.as_deref(),
                Some("an empty element, which means the current directory"),
                "{value}"
            );
        }
        for value in ["lib", "/usr/lib:lib", "/usr/lib:./lib", "/usr/lib;$ORIGIN/../lib"] {
            assert!(first_danger(value).is_some_and(|danger| danger.ends_with("is not absolute")), "{value}");
        }
    }

    #[test]
    fn a_filtered_loader_path_has_no_dangers() {
        let without = |value: &str| without_danger(OsStr::new(value));
        assert_eq!(without(""), None);
        assert_eq!(without("/usr/lib:/usr/lib64"), None, "nothing to leave out");
        assert_eq!(without(":"), Some(OsString::new()));
        assert_eq!(without("/usr/lib:"), Some("/usr/lib".into()));
        assert_eq!(without(":/usr/lib;lib:/usr/lib64"), Some("/usr/lib:/usr/lib64".into()));
    }

    #[test]
    fn a_folder_to_which_everybody_may_write_is_a_danger() {
        let folder = env::temp_dir().join(format!("sparsight-loader-path-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let with_mode = |mode| {
            fs::set_permissions(&folder, fs::Permissions::from_mode(mode)).unwrap();
            danger(folder.as_os_str())
        };
        let (open, shut) = (with_mode(0o777), with_mode(0o755));
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!(open, Some(format!("{}, to which everybody may write", folder.display())));
        assert_eq!(shut, None);
    }
}
