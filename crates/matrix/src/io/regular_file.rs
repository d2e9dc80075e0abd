//! Opening what is a file and nothing else: a pipe may never have a writer, and a device may never end.

use std::fs::{File, Metadata};
use std::io::{Error, ErrorKind, Result};
use std::path::Path;

/// A regular file, to read.
///
/// # Errors
/// The system's, and that it is no regular file.
pub fn open_regular(path: &Path) -> Result<File> {
    // Looked at before it is opened, which may take for ever, and again after, since it may be another one by then.
    check(&path.metadata()?)?;
    let file = File::open(path)?;
    check(&file.metadata()?)?;
    Ok(file)
}

fn check(metadata: &Metadata) -> Result<()> {
    match metadata.file_type() {
        kind if kind.is_file() => Ok(()),
        kind if kind.is_dir() => Err(ErrorKind::IsADirectory.into()),
        _ => Err(Error::new(ErrorKind::Unsupported, "not a regular file")),
    }
}
