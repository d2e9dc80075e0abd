//! Files that are there whole or not at all, whatever happens while they are written.

use crate::Error;
use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

/// Writes `bytes` beside `path` and puts them in its place when they are on the disk: a full disk or a process that is
/// killed does not lose what was there, and of two processes that write one comes last.
///
/// # Errors
/// [`Error::File`].
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    static WRITTEN: AtomicU64 = AtomicU64::new(0);
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}-{}.new", std::process::id(), WRITTEN.fetch_add(1, Ordering::Relaxed)));
    let new = path.with_file_name(name);
    let on_disk = |mut file: File| {
        file.write_all(bytes)?;
        file.sync_all()
    };
    let written = File::create(&new).and_then(on_disk).and_then(|()| fs::rename(&new, path));
    written.map_err(|source| {
        // Half a file is of use to nobody, and that it cannot be removed is no news.
        let _ = fs::remove_file(&new);
        Error::File { path: path.to_owned(), source }
    })
}

/// Removes a file if it is there.
///
/// # Errors
/// [`Error::File`].
pub(crate) fn remove(path: &Path) -> Result<(), Error> {
    match fs::remove_file(path) {
        Err(source) if source.kind() != ErrorKind::NotFound => {
            Err(Error::File { path: path.to_owned(), source })
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let name = |entry: fs::DirEntry| entry.file_name().into_string().unwrap();
        fs::read_dir(folder).unwrap().map(|entry| name(entry.unwrap())).collect()
    }

    #[test]
    fn a_file_is_replaced_and_nothing_is_left_beside_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.json");
        for text in ["one", "another"] {
            write(&path, text.as_bytes()).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
        assert_eq!(names(dir.path()), ["a.json"]);
    }

    #[test]
    fn what_cannot_be_put_in_place_is_an_error_that_names_it_and_leaves_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.json");
        fs::create_dir(&path).unwrap();
        let error = write(&path, b"text").unwrap_err().to_string();
        assert!(error.contains("a.json: ") && !error.contains(".new"), "{error}");
        assert_eq!(names(dir.path()), ["a.json"], "the folder alone");
        let nowhere = dir.path().join("none/a.json");
        assert!(matches!(write(&nowhere, b"text"), Err(Error::File { path, .. }) if path == nowhere));
    }
}
