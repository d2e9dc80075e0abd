//! Files that are there whole or not at all, whatever happens while they are written.

use crate::Error;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Writes `bytes` beside `path` and puts them in its place when they are on the disk: a full disk or a process that is
/// killed does not lose what was there, and of two processes that write one comes last.
///
/// # Errors
/// [`Error::File`].
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    put(&[Written::beside(path, bytes)?])
}

/// Checks that [`write()`] could begin: makes a file beside `path`, and removes it.
///
/// # Errors
/// [`Error::File`].
pub fn check(path: &Path) -> Result<(), Error> {
    Written::beside(path, &[]).map(drop)
}

/// Writes several files of one folder, each as [`write()`] does: none is replaced before all are on the disk.
///
/// # Errors
/// [`Error::File`]: then none was replaced, unless the system refused to rename one.
pub(crate) fn write_all(files: &[(PathBuf, Vec<u8>)]) -> Result<(), Error> {
    let written: Result<Vec<_>, _> = files.iter().map(|(path, bytes)| Written::beside(path, bytes)).collect();
    put(&written?)
}

/// Puts files in their places, in this order.
fn put(written: &[Written<'_>]) -> Result<(), Error> {
    for Written { new, path } in written {
        fs::rename(new, path).map_err(|source| Error::File { path: (*path).to_owned(), source })?;
    }
    written.last().into_iter().for_each(|last| sync_folder(last.path));
    Ok(())
}

/// A file that is on the disk beside the one that it shall replace. It is removed if it does not come to that.
struct Written<'p> {
    new: PathBuf,
    path: &'p Path,
}

impl<'p> Written<'p> {
    fn beside(path: &'p Path, bytes: &[u8]) -> Result<Self, Error> {
        let fail = |source| Error::File { path: path.to_owned(), source };
        let (new, mut file) = beside(path).map_err(fail)?;
        let written = Self { new, path };
        // The permissions stay as they were.
        if let Ok(before) = path.metadata() {
            file.set_permissions(before.permissions()).map_err(fail)?;
        }
        file.write_all(bytes).and_then(|()| file.sync_all()).map_err(fail)?;
        Ok(written)
    }
}

impl Drop for Written<'_> {
    fn drop(&mut self) {
        // Of no use to anybody now, and mostly not there any more: that it cannot be removed is no news.
        _ = fs::remove_file(&self.new);
    }
}

/// Gives the file at `path` a second name, the first that is free of `path.set-aside-1`, `-2`, ...: what is put in its place
/// later does not end it.
///
/// # Errors
/// [`Error::File`].
pub(crate) fn keep_aside(path: &Path) -> Result<PathBuf, Error> {
    let fail = |source| Error::File { path: path.to_owned(), source };
    let mut number = 1_u32;
    loop {
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push(format!(".set-aside-{number}"));
        let aside = path.with_file_name(name);
        match fs::hard_link(path, &aside) {
            Ok(()) => return Ok(aside),
            Err(_) if aside.symlink_metadata().is_ok() => number += 1,
            // A file system without second names.
            Err(_) => {
                let copied = File::create_new(&aside)
                    .and_then(|mut to| io::copy(&mut File::open(path)?, &mut to).and_then(|_| to.sync_all()));
                if copied.is_err() {
                    _ = fs::remove_file(&aside);
                }
                return copied.map(|()| aside).map_err(fail);
            }
        }
    }
}

/// A new file under a free name: an existing file or link of that name is left alone.
fn beside(path: &Path) -> io::Result<(PathBuf, File)> {
    static WRITTEN: AtomicU64 = AtomicU64::new(0);
    loop {
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push(format!(".{}-{}.new", std::process::id(), WRITTEN.fetch_add(1, Ordering::Relaxed)));
        let new = path.with_file_name(name);
        match File::create_new(&new) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            made => return made.map(|file| (new, file)),
        }
    }
}

/// Puts the new name on the disk, too. Where folders cannot be synced, as on some file systems, the system will.
pub(crate) fn sync_folder(path: &Path) {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    _ = File::open(folder).and_then(|folder| folder.sync_all());
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
    fn names_that_are_taken_are_left_alone_and_links_are_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let (path, other) = (dir.path().join("a.json"), dir.path().join("other"));
        fs::write(&other, "of another writer").unwrap();
        // The next names that this process would take, as far as other tests do not take them first.
        let taken: Vec<_> =
            (0..200).map(|at| dir.path().join(format!("a.json.{}-{at}.new", std::process::id()))).collect();
        for taken in &taken {
            std::os::unix::fs::symlink(&other, taken).unwrap();
        }
        write(&path, b"text").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "text");
        assert_eq!(fs::read_to_string(&other).unwrap(), "of another writer");
        assert!(taken.iter().all(|taken| taken.is_symlink()));
    }

    #[test]
    fn several_files_are_replaced_only_after_all_are_written() {
        let dir = tempfile::tempdir().unwrap();
        let (one, nowhere) = (dir.path().join("one"), dir.path().join("none/other"));
        write(&one, b"before").unwrap();
        let both = [(one.clone(), b"after".to_vec()), (nowhere, b"after".to_vec())];
        assert!(write_all(&both).is_err());
        assert_eq!(fs::read_to_string(&one).unwrap(), "before");
        assert_eq!(names(dir.path()), ["one"]);
        write_all(&both[..1]).unwrap();
        assert_eq!(fs::read_to_string(&one).unwrap(), "after");
    }

    #[test]
    fn a_failed_replacement_names_the_file_and_leaves_no_temporary_file() {
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
