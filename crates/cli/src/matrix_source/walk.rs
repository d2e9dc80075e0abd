//! A walk through what was named on the command line: each file once, of folders the matrices below them, by name.

use super::MatrixSource;
use crate::file_id::file_id;
use crate::printer::Printer;
use crate::text::shown;
use sparsight::matrix::io::{self, ReadError};
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// A walk through files and folders.
pub(super) struct Walk<'p> {
    /// Files and folders met, as the file system tells them apart: device and inode.
    seen: HashSet<(u64, u64)>,
    pub(super) found: Vec<MatrixSource>,
    /// Set if the current folder has a matrix, new or not, or a folder that cannot be read.
    pub(super) met_any: bool,
    /// Set if standard input was named.
    pub(super) met_stdin: bool,
    printer: &'p Printer,
}

impl<'p> Walk<'p> {
    /// A walk that has met nothing yet.
    pub(super) fn new(printer: &'p Printer) -> Self {
        let (seen, found) = (HashSet::new(), Vec::new());
        Self { seen, found, met_any: false, met_stdin: false, printer }
    }

    /// Adds the matrices below `folder`, by name; those of hidden folders are not among them. A folder that cannot be read is added as
    /// such.
    pub(super) fn collect(&mut self, folder: &Path) {
        if !self.is_new(folder) {
            self.met_any = true;
            return;
        }
        match self.entries(folder) {
            Ok(entries) => {
                for path in entries {
                    if path.is_dir() {
                        self.collect(&path);
                    } else {
                        self.add(path);
                    }
                }
            }
            Err(unreadable) => {
                self.met_any = true;
                let cause = Some(unreadable.to_string());
                self.found.push(MatrixSource::Nothing { folder: folder.to_owned(), cause });
            }
        }
    }

    /// The matrix files in `folder` and the folders that are not hidden, by name.
    fn entries(&mut self, folder: &Path) -> Result<Vec<PathBuf>, ReadError> {
        let unreadable = |cause| ReadError::Io { path: folder.to_owned(), cause };
        let (mut entries, passed) = io::files_in(folder)?;
        self.met_any |= !entries.is_empty();
        if !passed.is_empty() {
            let names: Vec<String> = passed.iter().map(|file| shown(&file.to_string())).collect();
            self.printer.note(format_args!("{}: passed over: {}", folder.display(), names.join(", ")));
        }
        for entry in std::fs::read_dir(folder).map_err(unreadable)? {
            let entry = entry.map_err(unreadable)?;
            let is_visible = !io::is_hidden(&entry.file_name().to_string_lossy());
            entries.extend(Some(entry.path()).filter(|path| is_visible && path.is_dir()));
        }
        entries.sort();
        Ok(entries)
    }

    /// Adds a file that was not met before.
    pub(super) fn add(&mut self, file: PathBuf) {
        if self.is_new(&file) {
            self.found.push(MatrixSource::File(file));
        }
    }

    /// Returns whether this file is new. A file that cannot be inspected counts as new: reading it reports why.
    pub(super) fn is_new(&mut self, path: &Path) -> bool {
        file_id(path).is_none_or(|id| self.seen.insert(id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::Failure;

    fn all_of(paths: &[String]) -> Result<Vec<MatrixSource>, Failure> {
        MatrixSource::batch(paths, &Printer::of_errors(false))
    }

    #[test]
    fn a_folder_gives_its_matrices_in_order_and_leaves_other_files_alone() {
        let dir = tempfile::tempdir().unwrap();
        for folder in ["b", ".trash", "__MACOSX"] {
            std::fs::create_dir(dir.path().join(folder)).unwrap();
        }
        for file in
            ["z.mtx", "a.npz", "README.md", "b/c.mtx.gz", "notes.gz", ".trash/old.mtx", "__MACOSX/z.mtx"]
        {
            std::fs::write(dir.path().join(file), "").unwrap();
        }
        let batch = all_of(&[dir.path().display().to_string()]).unwrap();
        let names: Vec<String> = batch.iter().map(MatrixSource::title).collect();
        assert_eq!(names, ["a.npz", "c.mtx.gz", "z.mtx"]);
        let link =
            |to: &str, name: &str| std::os::unix::fs::symlink(dir.path().join(to), dir.path().join(name));
        for (to, name) in [(".", "b/up"), (".", "y"), ("z.mtx", "b/d.mtx"), ("gone.mtx", "w.mtx")] {
            link(to, name).unwrap();
        }
        std::fs::hard_link(dir.path().join("a.npz"), dir.path().join("b/e.npz")).unwrap();
        let batch = all_of(&[dir.path().display().to_string()]).unwrap();
        let names: Vec<String> = batch.iter().map(MatrixSource::title).collect();
        assert_eq!(
            names,
            ["a.npz", "c.mtx.gz", "d.mtx", "w.mtx"],
            "each file once, the first link that leads to it"
        );
        // Named in several ways, still once.
        let [folder, below, file] =
            ["", "b", "a.npz"].map(|name| dir.path().join(name).display().to_string());
        let batch = all_of(&[file.clone(), below.clone(), folder, below, file]).unwrap();
        assert_eq!(batch.len(), 4, "{batch:?}");
        assert_eq!(all_of(&["gone.mtx".to_owned()]).unwrap().len(), 1);
        let derived = format!("derived:unknowns=2:{}", dir.path().display());
        let titles: Vec<String> = all_of(&[derived]).unwrap().iter().map(MatrixSource::title).collect();
        assert_eq!(titles[0], "a.npz+unknowns=2", "of every matrix of a folder");
        assert_eq!(titles.len(), 4);
        for wrong in ["derived:a.mtx", "derived:cubed:a.mtx"] {
            assert!(all_of(&[wrong.to_owned()]).is_err(), "{wrong}");
        }
        let empty = tempfile::tempdir().unwrap();
        let empty = empty.path().display().to_string();
        let derived = format!("derived:transpose:{empty}");
        for nothing in [vec![empty.clone()], vec![derived.clone(), empty.clone()]] {
            assert!(all_of(&nothing).is_err(), "{nothing:?}");
        }
        let all = all_of(&[empty, derived, "gallery:arrow,n=9".to_owned()]).unwrap();
        let nothing: Vec<bool> = all.iter().map(|one| one.why_nothing().is_some()).collect();
        assert_eq!(nothing, [true, true, false], "what is named beside it is looked at all the same");
    }
}
