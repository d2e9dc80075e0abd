//! An append-only file of records.
//!
//! A run that was killed may leave half a line at the end: it is cut off at the first append, and everything before
//! it counts. What is cut off is never a whole record: a record is a JSON object, of which no beginning is JSON; so a last
//! line that is JSON counts, and lacks nothing but its end. Any other line that does not parse is an error. One run at a time may
//! append: the file is locked.
//!
//! A line ends with a checksum of what stands before it, by which a byte that has changed is noticed where the line still
//! parses; lines of before have none.
//!
//! ```text
//! {"matrix":"a/wave",...,"crc32":"0a1b2c3d"}      CRC-32 of {"matrix":"a/wave",...}
//! ```
//! Blank lines, the mark that some editors put first (BOM) and zeros, which some file systems leave behind after the power
//! has gone, are passed over.
//!
//! Records that are done with may be packed: `X.jsonl.xz` is read first and `X.jsonl` behind it. What is packed is never
//! appended to; `gzip -9n X.jsonl` packs, and members that were put one behind the other are read as one.
//!
//! How a journal with damaged lines is mended: `repair.rs`.

use crate::Error;
use flate2::Crc;
use lzma_rust2::{XzOptions, XzReader, XzWriter};
use serde::Serialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use sparsight_matrix::io::open_regular;
use sparsight_matrix::{Bytes, available_memory};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// Records of one kind in one file.
#[derive(Debug)]
pub struct Journal<R> {
    /// The file that is appended to.
    path: PathBuf,
    records: Vec<R>,
    /// Bytes of complete lines in that file.
    complete: u64,
    /// True if the last of them lacks its end.
    unended: bool,
    file: Option<File>,
}

impl<R> Drop for Journal<R> {
    fn drop(&mut self) {
        // A failure cannot be reported here; the records were handed to the system.
        _ = self.file.as_ref().map(File::sync_data);
    }
}

impl<R: Serialize + DeserializeOwned> Journal<R> {
    /// Reads what is there, packed records first; files that do not exist are an empty journal.
    ///
    /// # Errors
    /// [`Error::File`], also for packed records that are damaged; [`Error::Malformed`] with the line that does not parse.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let mut records = Vec::new();
        let packed = packed(path);
        let bytes = read(&packed, |file, bytes| read_bounded(unpacking(file, true), bytes))?;
        take_lines(&packed, &bytes, &mut records)?;
        let bytes = read(path, read_bounded)?;
        let (complete, unended) = take_lines(path, &bytes, &mut records)?;
        Ok(Self { path: path.to_owned(), records, complete: complete as u64, unended, file: None })
    }

    /// All records, oldest first.
    pub fn records(&self) -> &[R] {
        &self.records
    }

    /// All records, oldest first.
    pub fn into_records(mut self) -> Vec<R> {
        std::mem::take(&mut self.records)
    }

    /// Takes the file for this run: whether records can be added is known before the first is measured. Makes the file.
    ///
    /// # Errors
    /// [`Error::File`] if the file or its folder cannot be written; [`Error::Busy`] if another run appends to the file,
    /// or has since it was read.
    pub fn begin(&mut self) -> Result<(), Error> {
        if self.file.is_none() {
            self.file = Some(self.open_to_append()?);
        }
        Ok(())
    }

    /// Adds one, handed to the system before this returns; on the disk after [`Journal::sync`], or when this is dropped.
    ///
    /// # Errors
    /// As [`Journal::begin`], and [`Error::File`] when the disk is full; what was there before stays, and a record that
    /// was written in part is taken back.
    ///
    /// # Panics
    /// If a record does not serialise, which plain data always does.
    pub fn append(&mut self, record: R) -> Result<(), Error> {
        let record_line = with_checksum(serde_json::to_string(&record).expect("plain data serialises"));
        let line = format!("{}{record_line}\n", if self.unended { "\n" } else { "" });
        self.begin()?;
        if let Some(file) = &mut self.file
            && let Err(source) = file.write_all(line.as_bytes())
        {
            // Where that fails, too, half a line is left, which the next run cuts off.
            _ = take_back(file, &self.path, self.complete, line.as_bytes());
            return Err(Error::File { path: self.path.clone(), source });
        }
        self.complete += line.len() as u64;
        self.unended = false;
        self.records.push(record);
        Ok(())
    }

    /// Waits until all that was added is on the disk.
    ///
    /// # Errors
    /// [`Error::File`].
    pub fn sync(&self) -> Result<(), Error> {
        let fail = |source| Error::File { path: self.path.clone(), source };
        self.file.as_ref().map_or(Ok(()), |file| file.sync_data().map_err(fail))
    }

    /// Locked until the journal is dropped, half a line at the end cut off.
    fn open_to_append(&self) -> Result<File, Error> {
        let fail = |source| Error::File { path: self.path.clone(), source };
        let file = OpenOptions::new().create(true).append(true).open(&self.path).map_err(fail)?;
        lock(&file, &self.path)?;
        let length = file.metadata().map_err(fail)?.len();
        if length > self.complete {
            // Half a line of a run that was killed may go; whole lines that came since the file was read may not.
            let mut since = Vec::new();
            let read = File::open(&self.path).and_then(|mut f| f.read_to_end(&mut since));
            read.map_err(fail)?;
            if since[self.complete as usize..].contains(&b'\n') {
                return Err(Error::Busy { path: self.path.clone() });
            }
            file.set_len(self.complete).map_err(fail)?;
        }
        Ok(file)
    }
}

/// Keeps other runs from appending to a journal until `file` is closed.
pub(super) fn lock(file: &File, path: &Path) -> Result<(), Error> {
    match file.try_lock() {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => Err(Error::Busy { path: path.to_owned() }),
        // A file system without locks: no other run is kept out.
        Err(TryLockError::Error(e)) if e.kind() == ErrorKind::Unsupported => Ok(()),
        Err(TryLockError::Error(source)) => Err(Error::File { path: path.to_owned(), source }),
    }
}

/// Cuts off what was written of `line` behind the first `complete` bytes, and nothing else: where files cannot be locked
/// another process may have written since.
fn take_back(file: &File, path: &Path, complete: u64, line: &[u8]) -> io::Result<()> {
    let mut behind = Vec::new();
    let mut whole = File::open(path)?;
    whole.seek(SeekFrom::Start(complete))?;
    whole.read_to_end(&mut behind)?;
    let is_ours = !behind.is_empty() && line.starts_with(&behind);
    if is_ours { file.set_len(complete) } else { Ok(()) }
}

/// A record with its checksum, where it is an object, as all of ours are.
pub(super) fn with_checksum(record: String) -> String {
    match record.strip_suffix('}') {
        Some(open) if open.len() > 1 => format!("{open},\"crc32\":\"{:08x}\"}}", checksum(record.as_bytes())),
        _ => record,
    }
}

/// The bytes of a journal with these records.
///
/// # Panics
/// If plain data does not serialise.
pub fn lines_of<R: Serialize>(records: &[R]) -> Vec<u8> {
    let line =
        |record: &R| with_checksum(serde_json::to_string(record).expect("plain data serialises")) + "\n";
    records.iter().map(line).collect::<String>().into_bytes()
}

fn checksum(bytes: &[u8]) -> u32 {
    let mut crc = Crc::new();
    crc.update(bytes);
    crc.sum()
}

/// Returns whether the checksum at the end of a line, if there is one, is that of what stands before it.
fn is_whole(line: &[u8]) -> bool {
    split_checksum(line).is_none_or(|(record, sum)| {
        let sum = str::from_utf8(sum).ok().and_then(|sum| u32::from_str_radix(sum, 16).ok());
        sum == Some(checksum(&[record, b"}"].concat()))
    })
}

/// Returns whether a line ends with a checksum, right or wrong.
pub(super) fn has_checksum(line: &[u8]) -> bool {
    split_checksum(trimmed(line)).is_some()
}

/// A record without its end, and the digits of its checksum.
fn split_checksum(line: &[u8]) -> Option<(&[u8], &[u8])> {
    const BEFORE: &[u8] = b",\"crc32\":\"";
    const LENGTH: usize = BEFORE.len() + 8 + 2;
    let (record, end) = line.split_last_chunk::<LENGTH>()?;
    Some((record, end.strip_prefix(BEFORE)?.strip_suffix(b"\"}")?))
}

/// A line without what surrounds a record and says nothing.
fn trimmed(line: &[u8]) -> &[u8] {
    let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
    let is_blank = |b: &u8| *b == 0 || b.is_ascii_whitespace();
    let from = line.iter().take_while(|b| is_blank(b)).count();
    let to = line.len() - line[from..].iter().rev().take_while(|b| is_blank(b)).count();
    &line[from..to]
}

/// Packed records as they were, of one stream or of several. A dictionary of more than 128 MiB, which damage can ask for, is refused.
pub(super) fn unpacking<R: Read>(packed: R, several: bool) -> XzReader<R> {
    XzReader::new_mem_limit(packed, several, 1 << 17)
}

/// Records as they are packed.
pub(super) fn xz(records: &[u8]) -> Vec<u8> {
    let mut writer = XzWriter::new(Vec::new(), XzOptions::with_preset(6)).expect("a preset is possible");
    writer.write_all(records).and_then(|()| writer.finish()).expect("a Vec takes everything")
}

/// Path of the packed records of a journal.
pub(super) fn packed(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".xz");
    PathBuf::from(name)
}

/// The bytes that `take` gets from a regular file; none if it is not there.
pub(super) fn read(
    path: &Path,
    take: impl FnOnce(File, &mut Vec<u8>) -> io::Result<usize>,
) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    match open_regular(path).and_then(|file| take(file, &mut bytes)) {
        Ok(_) => Ok(bytes),
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        Err(source) => Err(Error::File { path: path.to_owned(), source }),
    }
}

/// Reads all there is, unless that is more than memory has room for beside the records that are made of it: some kilobytes can
/// be unpacked to gigabytes.
pub(super) fn read_bounded(reader: impl Read, bytes: &mut Vec<u8>) -> io::Result<usize> {
    let most = available_memory().map_or(u64::MAX - 1, |Bytes(memory)| memory / 4);
    let length = reader.take(most + 1).read_to_end(bytes)?;
    if length as u64 > most {
        let text =
            format!("holds more than {} of records, a quarter of the memory that may be used", Bytes(most));
        return Err(io::Error::new(ErrorKind::OutOfMemory, text));
    }
    Ok(length)
}

/// Adds the records of all complete lines. How many bytes these take, and whether the last of them lacks its end.
fn take_lines<R: DeserializeOwned>(
    path: &Path,
    bytes: &[u8],
    records: &mut Vec<R>,
) -> Result<(usize, bool), Error> {
    let (complete, unended) = complete(bytes);
    for (index, line) in bytes[..complete].split_inclusive(|&b| b == b'\n').enumerate() {
        let malformed = |reason| Error::Malformed { path: path.to_owned(), line: index + 1, reason };
        records.extend(record(line).map_err(malformed)?);
    }
    Ok((complete, unended))
}

/// Length of the complete lines in bytes, and whether the last of them lacks its end: text behind the last line end that is
/// not JSON is half a line, perhaps cut within a character.
pub(super) fn complete(bytes: &[u8]) -> (usize, bool) {
    let ended = bytes.iter().rposition(|&b| b == b'\n').map_or(0, |end| end + 1);
    let unended = serde_json::from_slice::<IgnoredAny>(trimmed(&bytes[ended..])).is_ok();
    (if unended { bytes.len() } else { ended }, unended)
}

/// The record of a line, `None` of one that says nothing, or what is wrong with it.
pub(super) fn record<R: DeserializeOwned>(line: &[u8]) -> Result<Option<R>, String> {
    let line = trimmed(line);
    if line.is_empty() {
        return Ok(None);
    }
    if !is_whole(line) {
        return Err("its checksum does not match: the line has changed since it was written".to_owned());
    }
    serde_json::from_slice(line).map(Some).map_err(|e| e.to_string())
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
    fn a_whole_last_line_without_an_end_counts_and_is_ended_before_the_next() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("j.jsonl");
        std::fs::write(&path, "[1]\n[2,3]").unwrap();
        let mut journal = Journal::<Vec<u32>>::open(&path).unwrap();
        assert_eq!(journal.records(), [vec![1], vec![2, 3]]);
        journal.append(vec![4]).unwrap();
        journal.append(vec![5]).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "[1]\n[2,3]\n[4]\n[5]\n");

        // JSON, and no record: of another program, not of one that was killed.
        std::fs::write(&path, "[1]\n{\"a\":2}").unwrap();
        let error = Journal::<Vec<u32>>::open(&path).unwrap_err().to_string();
        assert!(error.contains("j.jsonl:2:"), "{error}");
    }

    #[test]
    fn a_byte_that_has_changed_is_noticed_and_lines_without_a_checksum_are_read() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("j.jsonl");
        let record = |time: f64| std::collections::BTreeMap::from([("time".to_owned(), time)]);
        std::fs::write(&path, "{\"time\":1.0}\n").unwrap();
        let mut journal = Journal::open(&path).unwrap();
        journal.append(record(2.5)).unwrap();
        journal.sync().unwrap();
        drop(journal);
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text, "{\"time\":1.0}\n{\"time\":2.5,\"crc32\":\"287e815b\"}\n");
        std::fs::write(&path, text.replace("2.5", "3.5")).unwrap();
        let error = Journal::<serde_json::Value>::open(&path).unwrap_err().to_string();
        assert!(error.contains("j.jsonl:2:") && error.contains("checksum"), "{error}");
    }

    #[test]
    fn byte_order_marks_blank_lines_and_nul_bytes_are_skipped() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("j.jsonl");
        std::fs::write(&path, "\u{feff}[1]\r\n\n \n\0\0\0[2]\n\0\0\n").unwrap();
        assert_eq!(Journal::<Vec<u32>>::open(&path).unwrap().into_records(), [[1], [2]]);
        // Also beside a last line that lacks its end, which is a whole record.
        for text in ["\u{feff}[3]", "\0\0[3]", "[3]\0\0\0"] {
            std::fs::write(&path, text).unwrap();
            let mut journal = Journal::<Vec<u32>>::open(&path).unwrap();
            assert_eq!(journal.records(), [[3]], "{text:?}");
            journal.append(vec![4]).unwrap();
            assert_eq!(Journal::<Vec<u32>>::open(&path).unwrap().into_records(), [[3], [4]], "{text:?}");
        }
    }

    #[test]
    fn half_a_line_of_our_own_is_removed_and_no_other_data() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("j.jsonl");
        for (text, left) in
            [("[1]\n[2", "[1]\n"), ("[1]\n", "[1]\n"), ("[1]\n[9]\n", "[1]\n[9]\n"), ("[1", "[1")]
        {
            std::fs::write(&path, text).unwrap();
            let file = OpenOptions::new().append(true).open(&path).unwrap();
            take_back(&file, &path, 4, b"[2,3]\n").unwrap();
            assert_eq!(std::fs::read_to_string(&path).unwrap(), left);
        }
    }

    #[test]
    fn whether_records_can_be_added_is_known_before_the_first() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("j.jsonl");
        let (mut one, mut other) =
            (Journal::<u32>::open(&path).unwrap(), Journal::<u32>::open(&path).unwrap());
        one.begin().unwrap();
        assert!(matches!(other.begin(), Err(Error::Busy { .. })));
        let mut nowhere = Journal::<u32>::open(&dir.path().join("none/j.jsonl")).unwrap();
        assert!(matches!(nowhere.begin(), Err(Error::File { .. })));
    }

    #[test]
    fn two_runs_cannot_append_to_one_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("j.jsonl");
        let (mut one, mut other) = (Journal::open(&path).unwrap(), Journal::open(&path).unwrap());
        one.append(1_u32).unwrap();
        assert!(matches!(other.append(2_u32), Err(Error::Busy { .. })), "while the first run has it");
        drop(one);
        assert!(
            matches!(other.append(2_u32), Err(Error::Busy { .. })),
            "nor over what came since it was read"
        );
        let mut again = Journal::open(&path).unwrap();
        again.append(3_u32).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "1\n3\n");
    }

    #[test]
    fn half_a_character_at_the_end_is_half_a_line() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("j.jsonl");
        std::fs::write(&path, b"\"a\"\n\"gr\xc3").unwrap();
        assert_eq!(Journal::<String>::open(&path).unwrap().records(), ["a"]);
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

    #[test]
    fn packed_records_come_before_the_plain_ones_and_are_never_written_to() {
        let dir = tempfile::tempdir().unwrap();
        let (path, packed) = (dir.path().join("j.jsonl"), dir.path().join("j.jsonl.xz"));
        // Two streams, as `cat` puts files together.
        let bytes = [xz(b"1\n2\n"), xz(b"3\n")].concat();
        std::fs::write(&packed, &bytes).unwrap();
        assert_eq!(Journal::<u32>::open(&path).unwrap().records(), [1, 2, 3]);
        assert!(!path.exists(), "reading makes no file");
        std::fs::write(&path, "4\n[5").unwrap();
        let mut journal = Journal::<u32>::open(&path).unwrap();
        assert_eq!(journal.records(), [1, 2, 3, 4]);
        journal.append(6).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "4\n6\n");
        assert_eq!(std::fs::read(&packed).unwrap(), bytes);
        assert_eq!(Journal::<u32>::open(&path).unwrap().into_records(), [1, 2, 3, 4, 6]);
    }

    #[test]
    fn packed_records_that_are_damaged_are_an_error_that_names_the_file() {
        let dir = tempfile::tempdir().unwrap();
        let (path, packed) = (dir.path().join("j.jsonl"), dir.path().join("j.jsonl.xz"));
        let whole = xz(b"1\n2\n");
        let mut changed = whole.clone();
        let sum = whole.len() - 8;
        changed[sum] ^= 1;
        for (bytes, what) in [(&whole[..whole.len() - 3], "cut off"), (&changed[..], "another checksum")] {
            std::fs::write(&packed, bytes).unwrap();
            let error = Journal::<u32>::open(&path).unwrap_err().to_string();
            assert!(error.contains("j.jsonl.xz: "), "{what}: {error}");
        }
        std::fs::write(&packed, xz(b"1\nx\n")).unwrap();
        let error = Journal::<u32>::open(&path).unwrap_err().to_string();
        assert!(error.contains("j.jsonl.xz:2:"), "{error}");
    }
}
