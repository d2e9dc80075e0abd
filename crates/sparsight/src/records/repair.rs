//! Takes out of journals what cannot be read.
//!
//! ```text
//! X.jsonl                  the lines that can be read, as they were
//! X.jsonl.set-aside-1      the file as it was, or -2, -3, ...: the first name that is free
//! ```
//! The same for packed records. A stream of theirs that is cut off is read as far as it goes. Of a stream whose checksum is wrong
//! any digit may have changed: of it only lines are kept that end with a checksum of their own. Streams behind it are read.
//!
//! At every moment the journal is there, old or new; a file in which nothing is damaged is left alone, and so is everything if
//! one of the files cannot be read for another reason than what it holds.

use super::journal;
use crate::Error;
use crate::files::whole_file;
use serde::Serialize;
use serde::de::DeserializeOwned;
use sparsight_matrix::io::open_regular;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};

/// Report about a damaged file of records.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RepairedFile {
    /// The file.
    pub path: PathBuf,
    /// Records that it keeps.
    pub kept: usize,
    /// Lines that it lost.
    pub damaged: Vec<DamagedLine>,
    /// Records that it lost because they may have changed: of packed records whose checksum is wrong, without one of their own.
    pub unproven: usize,
    /// Faults of packed records, which may have cost further records.
    pub unpacking: Vec<String>,
    /// Copy of the unchanged file.
    pub set_aside: PathBuf,
}

/// A line that is no record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DamagedLine {
    /// Line number, counted from 1; in packed records among those that can be unpacked.
    pub line: usize,
    /// Description of the fault.
    pub reason: String,
}

/// A file in which something is damaged, before anything was done about it.
pub(crate) struct Damaged {
    path: PathBuf,
    is_packed: bool,
    lines: Sorted,
    /// Lock that keeps other runs from appending.
    _locked: Option<File>,
}

/// The lines of a file, sorted into those that can be read and those that cannot.
#[derive(Default)]
struct Sorted {
    /// Lines before the next piece.
    before: usize,
    /// Bytes of the good ones, each ended.
    good: Vec<u8>,
    kept: usize,
    damaged: Vec<DamagedLine>,
    unproven: usize,
    unpacking: Vec<String>,
}

/// The files of the journal at `path` in which something is damaged, packed records first. Changes nothing.
///
/// # Errors
/// [`Error::File`]; [`Error::Busy`] if a run appends to it.
pub(crate) fn find<R: DeserializeOwned>(path: &Path) -> Result<Vec<Damaged>, Error> {
    let mut found = Vec::new();
    let packed = journal::packed(path);
    let bytes = journal::read(&packed, journal::read_bounded)?;
    let lines = unpacked::<R>(&bytes).map_err(|source| Error::File { path: packed.clone(), source })?;
    if !lines.damaged.is_empty() || !lines.unpacking.is_empty() {
        found.push(Damaged { path: packed, is_packed: true, lines, _locked: None });
    }
    let locked = locked(path)?;
    let bytes = journal::read(path, journal::read_bounded)?;
    let mut lines = Sorted::default();
    // Half a line at the end is no damage: a run that was killed leaves it, and the next one cuts it off.
    lines.sort::<R>(&bytes[..journal::complete(&bytes).0], true);
    if !lines.damaged.is_empty() {
        found.push(Damaged { path: path.to_owned(), is_packed: false, lines, _locked: locked });
    }
    Ok(found)
}

/// The locked journal; `None` if it is not there or cannot be written.
fn locked(path: &Path) -> Result<Option<File>, Error> {
    let fail = |source| Error::File { path: path.to_owned(), source };
    // To append to what is no file may take for ever.
    match open_regular(path).and_then(|_| OpenOptions::new().append(true).open(path)) {
        Ok(file) => journal::lock(&file, path).map(|()| Some(file)),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::PermissionDenied) => Ok(None),
        Err(error) => Err(fail(error)),
    }
}

impl Damaged {
    /// Puts the good lines in its place.
    ///
    /// # Errors
    /// [`Error::File`]; then the file is as it was.
    pub(crate) fn repair(self) -> Result<RepairedFile, Error> {
        let Sorted { good, kept, damaged, unproven, unpacking, .. } = self.lines;
        // Where it is a link, what it leads to.
        let real = self.path.canonicalize();
        let real = real.map_err(|source| Error::File { path: self.path.clone(), source })?;
        let set_aside = whole_file::keep_aside(&real)?;
        whole_file::write(&real, &if self.is_packed { journal::xz(&good) } else { good })?;
        Ok(RepairedFile { path: self.path, kept, damaged, unproven, unpacking, set_aside })
    }
}

impl Sorted {
    /// Adds whole lines. `proven`: whether they are as they were written, as far as is known.
    fn sort<R: DeserializeOwned>(&mut self, bytes: &[u8], proven: bool) {
        for line in bytes.split_inclusive(|&b| b == b'\n') {
            self.before += 1;
            match journal::record::<R>(line) {
                Ok(None) => {}
                Ok(Some(_)) if !proven && !journal::has_checksum(line) => self.unproven += 1,
                Ok(Some(_)) => {
                    self.kept += 1;
                    self.good.extend_from_slice(line);
                    if !line.ends_with(b"\n") {
                        self.good.push(b'\n');
                    }
                }
                Err(reason) => self.damaged.push(DamagedLine { line: self.before, reason }),
            }
        }
    }
}

/// The lines of packed records, stream by stream.
///
/// # Errors
/// That there is no memory for them.
fn unpacked<R: DeserializeOwned>(packed: &[u8]) -> io::Result<Sorted> {
    const MAGIC: &[u8] = b"\xfd7zXZ\0";
    let mut lines = Sorted::default();
    let mut rest = packed;
    while !rest.is_empty() {
        if rest.iter().all(|&b| b == 0) {
            lines.unpacking.push("zeros follow the last record".to_owned());
            break;
        }
        let mut decoder = journal::unpacking(rest, false);
        let mut bytes = Vec::new();
        match journal::read_bounded(&mut decoder, &mut bytes) {
            Ok(_) => {
                lines.sort::<R>(&bytes, true);
                rest = decoder.into_inner();
            }
            Err(error) if error.kind() == ErrorKind::OutOfMemory => return Err(error),
            Err(error) => {
                // What is cut off is right as far as it goes, but for half a line.
                let is_cut = error.kind() == ErrorKind::UnexpectedEof;
                let whole = if is_cut { journal::complete(&bytes).0 } else { bytes.len() };
                lines.sort::<R>(&bytes[..whole], is_cut);
                if is_cut {
                    let filled = with_zeros(rest);
                    let is_right =
                        |line: &&[u8]| journal::has_checksum(line) && journal::record::<R>(line).is_ok();
                    let behind = filled.get(whole..).unwrap_or_default().split_inclusive(|&b| b == b'\n');
                    let right: usize = behind.take_while(is_right).map(<[u8]>::len).sum();
                    lines.sort::<R>(filled.get(whole..whole + right).unwrap_or_default(), true);
                }
                lines.unpacking.push(format!("behind line {}: {error}", lines.before));
                let next = rest[1..].windows(MAGIC.len()).position(|bytes| bytes == MAGIC);
                rest = next.map_or(&[], |at| &rest[1 + at..]);
            }
        }
    }
    Ok(lines)
}

/// A stream that is cut off, unpacked up to its end and beyond: the decoder takes nothing but whole chunks, so zeros stand in for what is
/// lost of the last one. Only checksums tell where these begin.
fn with_zeros(packed: &[u8]) -> Vec<u8> {
    let filled = [packed, &vec![0; LARGEST_CHUNK]].concat();
    let mut decoder = journal::unpacking(&filled[..], false);
    // In small pieces: a piece in which the zeros make no sense is lost as a whole.
    let (mut bytes, mut piece) = (Vec::new(), [0; 1 << 10]);
    while let Ok(count @ 1..) = decoder.read(&mut piece) {
        bytes.extend_from_slice(&piece[..count]);
    }
    bytes
}

/// Bytes of the largest chunk of packed records (LZMA2), with room for what follows it.
const LARGEST_CHUNK: usize = 1 << 17;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::Journal;
    use crate::records::journal::xz;
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    type Numbers = Vec<u32>;

    fn repair<R: DeserializeOwned>(path: &Path) -> Result<Vec<RepairedFile>, Error> {
        find::<R>(path)?.into_iter().map(Damaged::repair).collect()
    }

    fn numbers(path: &Path) -> Vec<Numbers> {
        Journal::open(path).unwrap().into_records()
    }

    #[test]
    fn good_lines_are_kept_and_the_file_is_there_as_it_was() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("j.jsonl");
        let before = b"[1]\nrubbish\n\n[2,3]\n[4,\xff]\n{\"a\":2}\n[5]\n[6";
        for aside in ["j.jsonl.set-aside-1", "j.jsonl.set-aside-2"] {
            fs::write(&path, before).unwrap();
            Journal::<Numbers>::open(&path).unwrap_err();
            let repaired = repair::<Numbers>(&path).unwrap();
            let [file] = &repaired[..] else { panic!("{repaired:?}") };
            assert_eq!((&file.path, file.kept), (&path, 3));
            assert_eq!(file.damaged.iter().map(|d| d.line).collect::<Vec<_>>(), [2, 5, 6]);
            assert_eq!(file.set_aside, dir.path().join(aside));
            assert_eq!(fs::read(&file.set_aside).unwrap(), before);
            assert_eq!(fs::read_to_string(&path).unwrap(), "[1]\n[2,3]\n[5]\n");
        }
        Journal::open(&path).unwrap().append(vec![7_u32]).unwrap();
        assert_eq!(numbers(&path), [vec![1], vec![2, 3], vec![5], vec![7]]);
    }

    #[test]
    fn undamaged_files_are_left_unchanged() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("j.jsonl");
        assert!(repair::<Numbers>(&path).unwrap().is_empty());
        fs::write(&path, "[1]\n\n[2]\n[3").unwrap();
        assert!(repair::<Numbers>(&path).unwrap().is_empty());
        assert_eq!(fs::read_to_string(&path).unwrap(), "[1]\n\n[2]\n[3");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    /// Lines that say of themselves that they are whole, or do not.
    fn records(count: u64, with_checksum: bool) -> String {
        let mut text = String::new();
        for i in 0..count {
            let line = format!("{{\"a\":{i},\"b\":{}}}", i.wrapping_mul(2_654_435_761) % 1_000_003);
            text += &(if with_checksum { journal::with_checksum(line) } else { line } + "\n");
        }
        text
    }

    #[test]
    fn intact_packed_records_survive_a_repair() {
        type Record = serde_json::Value;
        let dir = tempfile::tempdir().unwrap();
        let (path, packed) = (dir.path().join("j.jsonl"), dir.path().join("j.jsonl.xz"));
        fs::write(&path, "{\"a\":8}\n").unwrap();
        let repaired = |bytes: &[u8]| {
            fs::write(&packed, bytes).unwrap();
            let mut repaired = repair::<Record>(&path).unwrap();
            assert_eq!((repaired.len(), &repaired[0].path), (1, &packed));
            let file = repaired.remove(0);
            assert_eq!(fs::read(&file.set_aside).unwrap(), bytes);
            assert_eq!(Journal::<Record>::open(&path).unwrap().records().len(), file.kept + 1);
            assert_eq!(file.unpacking.len(), 1, "{file:?}");
            file
        };
        // Long enough for several blocks, which unpack by themselves.
        let (bare, summed) = (xz(records(60_000, false).as_bytes()), xz(records(60_000, true).as_bytes()));
        // Cut off: all in front of the end is right.
        let file = repaired(&bare[..bare.len() / 2]);
        assert!(file.kept > 10_000 && file.unproven == 0, "{file:?}");
        // Up to the end, also within what is unpacked at once, where lines prove that they are right.
        let cut = repaired(&summed[..summed.len() / 2]);
        assert!(cut.kept > 29_000 && cut.unproven == 0, "{cut:?}");
        // A wrong checksum: only lines with one of their own are known to be right.
        let wrong = |whole: &[u8]| {
            let mut changed = whole.to_vec();
            changed[whole.len() - 8] ^= 1;
            changed
        };
        let file = repaired(&wrong(&bare));
        assert_eq!((file.kept, file.unproven), (0, 60_000));
        let file = repaired(&wrong(&summed));
        assert_eq!((file.kept, file.unproven), (60_000, 0));
        // What stands behind a stream that is damaged is read, and zeros cost nothing.
        let file = repaired(&[wrong(&bare), summed.clone()].concat());
        assert_eq!((file.kept, file.unproven), (60_000, 60_000));
        let file = repaired(&[bare.clone(), vec![0; 100]].concat());
        assert_eq!((file.kept, file.unproven, file.damaged.len()), (60_000, 0, 0));
    }

    #[test]
    fn repair_refuses_pipes_and_follows_links() {
        let dir = tempfile::tempdir().unwrap();
        let (path, target) = (dir.path().join("j.jsonl"), dir.path().join("target"));
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        assert!(repair::<Numbers>(&path).is_err());
        fs::remove_file(&path).unwrap();
        fs::write(&target, "[1]\nrubbish\n").unwrap();
        fs::set_permissions(&target, Permissions::from_mode(0o660)).unwrap();
        std::os::unix::fs::symlink(&target, &path).unwrap();
        let repaired = repair::<Numbers>(&path).unwrap();
        assert!(path.is_symlink() && !repaired[0].set_aside.is_symlink(), "{repaired:?}");
        assert_eq!(fs::read_to_string(&target).unwrap(), "[1]\n");
        assert_eq!(target.metadata().unwrap().permissions().mode() & 0o777, 0o660);
        assert_eq!(fs::read_to_string(&repaired[0].set_aside).unwrap(), "[1]\nrubbish\n");
    }

    #[test]
    fn a_journal_that_a_run_appends_to_is_not_touched() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("j.jsonl");
        let mut journal = Journal::<Numbers>::open(&path).unwrap();
        journal.append(vec![1]).unwrap();
        assert!(matches!(repair::<Numbers>(&path), Err(Error::Busy { .. })));
    }
}
