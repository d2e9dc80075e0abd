//! An append-only file of records.
//!
//! A run that was killed may leave half a line at the end: it is cut off when the journal is opened for
//! appending, and everything before it counts. Any other line that does not parse is an error.

use crate::Error;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// Records of one kind in one file.
#[derive(Debug)]
pub struct Journal<R> {
    path: PathBuf,
    records: Vec<R>,
    /// Bytes of complete lines.
    complete: u64,
    file: Option<File>,
}

impl<R: Serialize + DeserializeOwned> Journal<R> {
    /// Reads what is there; a file that does not exist is an empty journal.
    ///
    /// # Errors
    /// [`Error::File`]; [`Error::Malformed`] with the line that does not parse.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let mut text = String::new();
        match File::open(path).and_then(|mut f| f.read_to_string(&mut text)) {
            Ok(_) => {}
            Err(e) if e.kind() == ErrorKind::NotFound => {}
            Err(source) => return Err(Error::File { path: path.to_owned(), source }),
        }
        let complete = text.rfind('\n').map_or(0, |end| end + 1);
        let mut records = Vec::new();
        for (index, line) in text[..complete].lines().enumerate() {
            let record = serde_json::from_str(line).map_err(|e| Error::Malformed {
                path: path.to_owned(),
                line: index + 1,
                reason: e.to_string(),
            })?;
            records.push(record);
        }
        Ok(Self { path: path.to_owned(), records, complete: complete as u64, file: None })
    }

    /// All records, oldest first.
    pub fn records(&self) -> &[R] {
        &self.records
    }

    /// All records, oldest first.
    pub fn into_records(self) -> Vec<R> {
        self.records
    }

    /// Adds one, on disk before this returns.
    ///
    /// # Errors
    /// [`Error::File`], for example when the disk is full; what was there before stays.
    ///
    /// # Panics
    /// If a record does not serialise, which plain data always does.
    pub fn append(&mut self, record: R) -> Result<(), Error> {
        let fail = |source| Error::File { path: self.path.clone(), source };
        let mut line = serde_json::to_string(&record).expect("plain data serialises");
        line.push('\n');
        if self.file.is_none() {
            let mut file =
                OpenOptions::new().create(true).write(true).truncate(false).open(&self.path).map_err(fail)?;
            file.set_len(self.complete).and_then(|()| file.seek(SeekFrom::End(0))).map_err(fail)?;
            self.file = Some(file);
        }
        if let Some(file) = &mut self.file {
            file.write_all(line.as_bytes()).and_then(|()| file.flush()).map_err(fail)?;
        }
        self.complete += line.len() as u64;
        self.records.push(record);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_half_written_last_line_is_cut_off_and_the_rest_is_kept() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("j.jsonl");
        std::fs::write(&path, "1\n2\n[3").unwrap();
        let mut journal = Journal::<u32>::open(&path).unwrap();
        assert_eq!(journal.records(), [1, 2]);
        journal.append(4).unwrap();
        journal.append(5).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "1\n2\n4\n5\n");
        assert_eq!(Journal::<u32>::open(&path).unwrap().into_records(), [1, 2, 4, 5]);
    }

    #[test]
    fn a_broken_line_in_the_middle_is_an_error_that_names_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("j.jsonl");
        std::fs::write(&path, "1\nx\n3\n").unwrap();
        let error = Journal::<u32>::open(&path).unwrap_err().to_string();
        assert!(error.contains("j.jsonl:2:"), "{error}");
    }

    #[test]
    fn a_missing_file_is_an_empty_journal_and_is_not_made_by_reading() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("none.jsonl");
        assert!(Journal::<u32>::open(&path).unwrap().records().is_empty());
        assert!(!path.exists());
    }
}
