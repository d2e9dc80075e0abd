//! A folder that is in the way is kept under another name.
//!
//! ```text
//! NAME -> NAME.set-aside-1        or -2, -3, ...: the first that is free
//! ```
//! Nothing is copied and nothing is removed: the folder is renamed within the one that holds it.

use std::fs;
use std::io::{Error, ErrorKind};
use std::path::{Path, PathBuf};

/// Renames `folder` to the first free name beside it, which is returned.
///
/// # Errors
/// The system's reason; then the folder is where it was.
pub(crate) fn set_aside(folder: &Path) -> Result<PathBuf, Error> {
    let name = folder.file_name().ok_or(ErrorKind::InvalidInput)?;
    let mut number = 1_u32;
    loop {
        let mut other = name.to_owned();
        other.push(format!(".set-aside-{number}"));
        let aside = folder.with_file_name(other);
        let is_taken = || aside.symlink_metadata().is_ok();
        if !is_taken() {
            match fs::rename(folder, &aside) {
                Ok(()) => return Ok(aside),
                // Another run was faster. A folder is never renamed over anything but an empty folder.
                Err(_) if is_taken() => {}
                Err(error) => return Err(error),
            }
        }
        number += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_set_aside_is_whole_and_takes_the_first_free_name() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("cpu-2");
        let mut asides = Vec::new();
        // A file and a link to nowhere are names that are taken, too.
        fs::write(dir.path().join("cpu-2.set-aside-2"), "a file").unwrap();
        std::os::unix::fs::symlink("nowhere", dir.path().join("cpu-2.set-aside-3")).unwrap();
        for content in ["first", "second"] {
            fs::create_dir_all(folder.join("deep")).unwrap();
            fs::write(folder.join("deep/corpus.jsonl"), content).unwrap();
            asides.push((set_aside(&folder).unwrap(), content));
            assert!(!folder.exists());
        }
        assert_eq!(asides[0].0, dir.path().join("cpu-2.set-aside-1"));
        assert_eq!(asides[1].0, dir.path().join("cpu-2.set-aside-4"));
        for (aside, content) in asides {
            assert_eq!(fs::read_to_string(aside.join("deep/corpus.jsonl")).unwrap(), content);
        }
        assert_eq!(fs::read_to_string(dir.path().join("cpu-2.set-aside-2")).unwrap(), "a file");
    }

    #[test]
    fn what_cannot_be_set_aside_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let absent = dir.path().join("absent");
        assert_eq!(set_aside(&absent).unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
        assert_eq!(set_aside(Path::new("/")).unwrap_err().kind(), ErrorKind::InvalidInput);
    }
}
