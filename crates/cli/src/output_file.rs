//! Files that a command was asked to write: there whole or not at all, whatever happens meanwhile.

use crate::failure::Failure;
use sparsight::Error;
use sparsight::profile::whole_file;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

/// Puts `bytes` into `file`, in the place of what was there. What is no regular file, such as `/dev/stdout` or a pipe, is
/// written to as it is, and so is what a link leads to.
///
/// # Errors
/// If it cannot be written, then what was there is there still; and for `-`, since standard output has the answer.
pub(crate) fn write(file: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let failed = |error: std::io::Error| {
        let hint = match error.kind() {
            ErrorKind::StorageFull => "free some space and run the same command again",
            _ => "a file goes into a folder that is there and can be written to",
        };
        Failure::input(format!("{}: {error}", file.display())).hinted(hint)
    };
    if file.as_os_str() == "-" {
        return Err(Failure::input("- is not a file: standard output has the answer of the command")
            .hinted("give the file a name"));
    }
    let there = fs::metadata(file);
    if there.as_ref().is_ok_and(|there| !there.is_file()) {
        return fs::write(file, bytes).map_err(failed);
    }
    // What a link leads to, if that is there: the link stays one.
    let real = fs::canonicalize(file).unwrap_or_else(|_| file.to_owned());
    whole_file::write(&real, bytes).map_err(|error| match error {
        Error::File { source, .. } => failed(source),
        other => other.into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(unix)]
    fn a_file_is_replaced_also_behind_a_link() {
        let dir = tempfile::tempdir().unwrap();
        let (file, link) = (dir.path().join("a.svg"), dir.path().join("b.svg"));
        for text in ["one", "another"] {
            write(&file, text.as_bytes()).unwrap();
            assert_eq!(fs::read_to_string(&file).unwrap(), text);
        }
        std::os::unix::fs::symlink("a.svg", &link).unwrap();
        write(&link, b"a third").unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "a third");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2);
    }

    #[test]
    #[cfg(unix)]
    fn special_files_are_written_to_and_kept() {
        write(Path::new("/dev/null"), b"nothing").unwrap();
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
    }
}
