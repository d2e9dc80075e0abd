//! Files that a command was asked to write: there whole or not at all, whatever happens meanwhile, and never in the place of what the
//! command reads.

use crate::failure::Failure;
use crate::file_id::file_id;
use sparsight::Error;
use sparsight::matrix::io::{file_stem, open_regular};
use sparsight::profile::whole_file;
use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};

/// First bytes of a Matrix Market file, in any case.
const BANNER: &str = "%%MatrixMarket";

/// Refuses a file, if there is one, that [`write()`] would fail to write, and one whose place must not be taken: that of one of `inputs`,
/// whatever it is called there, that of a document of any profile, and that of a matrix. Nothing is changed. `what` goes into the file, and
/// `flag` names it: `the page`, `--report`.
///
/// # Errors
/// As said; for the name of a folder; and for `-`, since standard output has the answer.
pub(crate) fn check(
    file: Option<&Path>,
    (what, flag): (&str, &str),
    inputs: &[&Path],
) -> Result<(), Failure> {
    let Some(file) = file else { return Ok(()) };
    if file.as_os_str() == "-" {
        return Err(Failure::input("- is not a file: standard output has the answer of the command")
            .hinted("give the file a name"));
    }
    let name = file.as_os_str().as_encoded_bytes();
    if name.ends_with(b"/") || name.ends_with(b"/.") {
        let text = format!("{}: {what} is a file, and this is the name of a folder", file.display());
        return Err(Failure::input(text).hinted("give the file a name"));
    }
    let kept = |kind: &str| {
        Failure::input(format!("{}: {what} would take the place of {kind}", file.display()))
            .hinted(format!("{flag} FILE says where {what} goes: give it a name of its own"))
    };
    match fs::metadata(file) {
        Ok(there) if there.is_file() => {
            let own = file_id(file);
            if inputs.iter().any(|input| file_id(input) == own) {
                return Err(kept("a file that is read"));
            }
            if is_of_profile(file) {
                return Err(kept("a file of a profile"));
            }
            if is_matrix(file) {
                return Err(kept("a matrix"));
            }
        }
        // Opening it says why it cannot be written.
        Ok(there) if there.is_dir() => {
            return OpenOptions::new().write(true).open(file).map(drop).map_err(|error| failed(file, &error));
        }
        Ok(_) => return Ok(()),
        Err(_) => {}
    }
    whole_file::check(&real(file)).map_err(|error| not_put(file, error))
}

/// Puts `bytes` into `file`, in the place of what was there. What is no regular file, such as `/dev/stdout` or a pipe, is
/// written to as it is, and so is what a link leads to.
///
/// # Errors
/// If it cannot be written, then what was there is there still.
pub(crate) fn write(file: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let there = fs::metadata(file);
    if there.as_ref().is_ok_and(|there| !there.is_file()) {
        return fs::write(file, bytes).map_err(|error| failed(file, &error));
    }
    whole_file::write(&real(file), bytes).map_err(|error| not_put(file, error))
}

/// Why nothing can be put in the place of `file`.
fn not_put(file: &Path, error: Error) -> Failure {
    match error {
        Error::File { source, .. } => failed(file, &source),
        other => other.into(),
    }
}

/// What a link leads to, if that is there: the link stays one.
fn real(file: &Path) -> PathBuf {
    fs::canonicalize(file).unwrap_or_else(|_| file.to_owned())
}

/// Why `file` cannot be written.
fn failed(file: &Path, error: &io::Error) -> Failure {
    let hint = match error.kind() {
        ErrorKind::StorageFull => "free some space and run the same command again",
        _ => "a file goes into a folder that is there and can be written to",
    };
    Failure::input(format!("{}: {error}", file.display())).hinted(hint)
}

/// Returns whether the file, or what a link leads to, is a document of a profile, whichever that is: flags do not name all that are read.
/// Pages and pictures may lie beside them.
fn is_of_profile(file: &Path) -> bool {
    let is_there = |path: &Path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let is_document = name.contains(".json") || name.ends_with(".gz");
        let folder = path.parent();
        let above = folder.filter(|folder| folder.ends_with("models")).and_then(Path::parent);
        is_document && folder.into_iter().chain(above).any(|folder| folder.join("device.json").is_file())
    };
    is_there(file) || is_there(&real(file))
}

/// Returns whether the file, or what a link leads to, is called as matrix files are, or begins as Matrix Market text does.
fn is_matrix(file: &Path) -> bool {
    let is_called_so =
        |path: &Path| path.file_name().is_some_and(|name| file_stem(&name.to_string_lossy()).is_some());
    let mut begin = Vec::new();
    let read = open_regular(file).and_then(|text| text.take(BANNER.len() as u64).read_to_end(&mut begin));
    is_called_so(file)
        || is_called_so(&real(file))
        || read.is_ok() && begin.eq_ignore_ascii_case(BANNER.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is said of a page there where `input` is read.
    fn said_of(file: &Path, input: &Path) -> String {
        match check(Some(file), ("the page", "--report"), &[input]) {
            Err(Failure::Reported { message, .. }) => message,
            other => format!("{other:?}"),
        }
    }

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

    #[test]
    #[cfg(unix)]
    fn what_is_read_and_matrices_are_not_replaced_whatever_they_are_called() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        for (name, text) in [
            ("answer", "{}"),
            ("a.MTX.gz", ""),
            ("text", "%%matrixmarket matrix"),
            ("page.html", "of before"),
        ] {
            fs::write(at(name), text).unwrap();
        }
        std::os::unix::fs::symlink("answer", at("link")).unwrap();
        fs::hard_link(at("answer"), at("second name")).unwrap();
        let says = |name: &str| said_of(&at(name), &at("answer"));
        for name in ["answer", "./answer", "link", "second name"] {
            let said = says(name);
            assert!(said.ends_with("the page would take the place of a file that is read"), "{name}: {said}");
        }
        for name in ["a.MTX.gz", "text"] {
            assert!(says(name).ends_with("the page would take the place of a matrix"), "{}", says(name));
        }
        for name in ["page.html", "new.html", "new.mtx"] {
            assert_eq!(says(name), "Ok(())");
        }
        assert!(says("gone/new.html").contains("gone/new.html: No such file"), "{}", says("gone/new.html"));
        assert_eq!(fs::read_to_string(at("page.html")).unwrap(), "of before");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 6, "nothing is left behind");
    }

    #[test]
    #[cfg(unix)]
    fn a_file_of_a_profile_is_not_replaced_whether_or_not_the_profile_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::create_dir_all(at("gpu/models")).unwrap();
        fs::create_dir(at("other")).unwrap();
        let of_profile = [
            "gpu/device.json",
            "gpu/corpus.jsonl.xz",
            "gpu/corpus.jsonl.set-aside-1",
            "gpu/models/index.json",
            "gpu/models/strip.gz",
        ];
        for name in of_profile.iter().chain(&["gpu/page.html", "other/answer.json"]) {
            fs::write(at(name), "of before").unwrap();
        }
        std::os::unix::fs::symlink("gpu/models/index.json", at("page.html")).unwrap();
        for name in of_profile.iter().chain(&["page.html"]) {
            let said = said_of(&at(name), &at("a.mtx"));
            assert!(said.ends_with("the page would take the place of a file of a profile"), "{name}: {said}");
        }
        for name in ["gpu/page.html", "gpu/new.json", "other/answer.json"] {
            assert_eq!(said_of(&at(name), &at("a.mtx")), "Ok(())", "{name}");
        }
    }
}
