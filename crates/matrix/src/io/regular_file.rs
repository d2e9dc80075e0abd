//! Opening what is a file and nothing else: a pipe may never have a writer, and a device may never end.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{Error, ErrorKind, Result};
use std::path::Path;

/// A regular file, to read.
///
/// # Errors
/// The system's, and that it is no regular file.
pub fn open_regular(path: &Path) -> Result<File> {
    // Looked at before it is opened, which some devices act upon, and again after, since it may be another one by then.
    check(&path.metadata()?)?;
    let file = open_at_once(path)?;
    check(&file.metadata()?)?;
    Ok(file)
}

/// Opens a file without waiting, as one would for a pipe that nobody writes to. Files are read as ever.
#[cfg(unix)]
fn open_at_once(path: &Path) -> Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path)
}

#[cfg(not(unix))]
fn open_at_once(path: &Path) -> Result<File> {
    OpenOptions::new().read(true).open(path)
}

fn check(metadata: &Metadata) -> Result<()> {
    match metadata.file_type() {
        kind if kind.is_file() => Ok(()),
        kind if kind.is_dir() => Err(ErrorKind::IsADirectory.into()),
        _ => Err(Error::new(ErrorKind::Unsupported, "not a regular file")),
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::process::Command;

    /// What the look before cannot see: a pipe that came after it.
    #[test]
    fn a_pipe_that_nobody_writes_to_is_opened_without_waiting_and_refused() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("a.mtx");
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let file = open_at_once(&pipe).unwrap();
        assert_eq!(check(&file.metadata().unwrap()).unwrap_err().kind(), ErrorKind::Unsupported);
    }
}
