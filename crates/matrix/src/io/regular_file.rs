//! Opening what is a file and nothing else: a pipe may never have a writer, and a device may never end. What is read as a whole
//! has a largest size, too: a file of a few bytes can be unpacked to more than memory holds, and one with holes can be any size.

use crate::Bytes;
use std::fs::{File, Metadata, OpenOptions};
use std::io::{Error, ErrorKind, Read, Result};
use std::path::Path;

/// Largest document: an answer, a model, a table, a kernel's source. Matrices and records have limits of their own. Chosen: a hundred
/// times the largest file of a shipped profile's models.
const LARGEST: Bytes = Bytes(256_000_000);

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

/// The bytes of a regular file, at most 256 MB.
///
/// # Errors
/// As [`open_regular`] and [`read_document`].
pub fn read_regular(path: &Path) -> Result<Vec<u8>> {
    read_document(open_regular(path)?)
}

/// The text of a regular file, at most 256 MB.
///
/// # Errors
/// As [`read_regular`]; [`ErrorKind::InvalidData`] if it is not UTF-8.
pub fn read_regular_text(path: &Path) -> Result<String> {
    text(read_regular(path)?)
}

/// The text that `reader` gives until its end, at most 256 MB.
///
/// # Errors
/// As [`read_document`]; [`ErrorKind::InvalidData`] if it is not UTF-8.
pub fn read_document_text(reader: impl Read) -> Result<String> {
    text(read_document(reader)?)
}

/// Bytes of `reader` until its end, at most 256 MB. No more than that is read.
///
/// # Errors
/// The reader's; [`ErrorKind::FileTooLarge`].
pub fn read_document(reader: impl Read) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let length = reader.take(LARGEST.0 + 1).read_to_end(&mut bytes)?;
    if length as u64 > LARGEST.0 {
        return Err(Error::new(ErrorKind::FileTooLarge, format!("larger than {LARGEST}")));
    }
    Ok(bytes)
}

fn text(bytes: Vec<u8>) -> Result<String> {
    String::from_utf8(bytes).map_err(|_| Error::new(ErrorKind::InvalidData, "not UTF-8 text"))
}

/// Opens a file without waiting, as it would for a pipe without a writer. Files are read as ever.
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

    #[test]
    fn a_file_beyond_the_largest_document_and_an_endless_reader_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sparse");
        File::create(&path).unwrap().set_len(LARGEST.0 + 1).unwrap();
        let error = read_regular(&path).unwrap_err();
        assert_eq!(
            (error.kind(), error.to_string()),
            (ErrorKind::FileTooLarge, "larger than 256 MB".to_owned())
        );
        assert_eq!(read_document(std::io::repeat(0)).unwrap_err().kind(), ErrorKind::FileTooLarge);
        std::fs::write(&path, [0xff]).unwrap();
        assert_eq!(read_regular_text(&path).unwrap_err().to_string(), "not UTF-8 text");
        assert_eq!(read_regular(Path::new("/dev/zero")).unwrap_err().kind(), ErrorKind::Unsupported);
    }

    /// A pipe that came after the check before.
    #[test]
    fn a_pipe_without_a_writer_is_opened_without_waiting_and_refused() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("a.mtx");
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let file = open_at_once(&pipe).unwrap();
        assert_eq!(check(&file.metadata().unwrap()).unwrap_err().kind(), ErrorKind::Unsupported);
    }
}
