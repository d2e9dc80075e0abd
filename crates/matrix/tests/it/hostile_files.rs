//! Files made to do harm: each was found by an attack and did (docs/reliability.md).
#![cfg(unix)]

use crate::packed::gzip;
use sparsight_matrix::Bytes;
use sparsight_matrix::io::{self, Loaded, PatternValues, Progress, ReadError, ReadOptions};
use std::fmt::Write as _;
use std::fs::{self, OpenOptions};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn with(&self, name: &str, bytes: &[u8]) -> PathBuf {
        fs::write(self.path(name), bytes).unwrap();
        self.path(name)
    }
}

fn read(path: &Path) -> Result<Loaded<f64>, ReadError> {
    io::read(path, &ReadOptions::default())
}

fn header(name: &str, kind: tar::EntryType, size: u64) -> tar::Header {
    let mut header = tar::Header::new_gnu();
    header.set_path(name).unwrap();
    header.set_entry_type(kind);
    header.set_size(size);
    header.set_cksum();
    header
}

#[test]
fn an_archive_of_many_members_takes_time_in_proportion() {
    // Every member against every other took 42 s for 20,000.
    let members: Vec<u8> = (0..60_000)
        .flat_map(|at| *header(&format!("{at}.mtx"), tar::EntryType::Regular, 0).as_bytes())
        .collect();
    let path = Folder::new();
    let path = (path.with("a.tar.gz", &gzip(&members)), path).0;
    let begun = Instant::now();
    assert!(read(&path).is_err(), "empty members, or no file any more");
    assert!(begun.elapsed() < Duration::from_secs(40), "{:?}", begun.elapsed());
}

#[test]
fn names_of_underscores_take_no_time_for_each_of_their_beginnings() {
    let mut members = tar::Builder::new(Vec::new());
    for at in 0..400 {
        let name = format!("{}{at}.mtx", "_".repeat(60_000));
        members.append_data(&mut header("x", tar::EntryType::Regular, 0), name, &b""[..]).unwrap();
    }
    let folder = Folder::new();
    let begun = Instant::now();
    let error = read(&folder.with("a.tar.gz", &gzip(&members.into_inner().unwrap()))).unwrap_err();
    assert!(matches!(error, ReadError::NoMatrix { .. }), "{error}");
    assert!(begun.elapsed() < Duration::from_secs(40), "{:?}", begun.elapsed());
}

#[test]
fn a_name_of_gigabytes_in_an_archive_is_refused_before_it_takes_memory() {
    let folder = Folder::new();
    for kind in [tar::EntryType::GNULongName, tar::EntryType::XHeader] {
        // Zeros compress to a thousandth; what follows is not even needed.
        let bytes = [&header("x", kind, 4 << 30).as_bytes()[..], &vec![0; 1 << 20]].concat();
        let error = read(&folder.with("a.tar.gz", &gzip(&bytes))).unwrap_err();
        assert!(matches!(error, ReadError::Damaged { .. }), "{error}");
        assert!(error.to_string().contains("4294967296 bytes long"), "{error}");
    }
}

#[test]
fn names_of_members_count_as_memory() {
    let folder = Folder::new();
    let members: Vec<u8> = (0..2000)
        .flat_map(|at| *header(&format!("member{at}.mtx"), tar::EntryType::Regular, 0).as_bytes())
        .collect();
    let path = folder.with("a.tar.gz", &gzip(&members));
    let options = ReadOptions { memory: Some(Bytes(10_000)), ..ReadOptions::default() };
    let error = io::read::<f64>(&path, &options).unwrap_err();
    assert!(matches!(error, ReadError::Memory { .. }), "{error}");
}

#[test]
fn a_pipe_is_refused_and_not_waited_for() {
    let folder = Folder::new();
    for name in ["a.mtx", "a.mtx.gz", "a.tar.gz", "a.npz"] {
        let path = folder.path(name);
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        let (send, receive) = std::sync::mpsc::channel();
        std::thread::spawn(move || send.send(read(&path).unwrap_err().to_string()));
        let error = receive.recv_timeout(Duration::from_secs(20)).expect("it does not wait for a writer");
        assert!(error.contains(name) && error.contains("not a regular file"), "{error}");
    }
}

/// Reads a file that is cut short when the first part of it has been read.
fn cut_short_while_read(path: &Path) -> Result<Loaded<f64>, ReadError> {
    let cut = AtomicBool::new(false);
    let report = |_: Progress| {
        if !cut.swap(true, Ordering::Relaxed) {
            OpenOptions::new().write(true).open(path).unwrap().set_len(4096).unwrap();
        }
    };
    let options =
        ReadOptions { pattern: PatternValues::Ones, progress: Some(&report), ..ReadOptions::default() };
    io::read(path, &options)
}

#[test]
fn a_file_truncated_while_it_is_read_is_an_error() {
    let folder = Folder::new();
    let n = 2_000_000;
    let mut text = format!("%%MatrixMarket matrix coordinate pattern general\n{n} {n} {n}\n");
    for row in 1..=n {
        writeln!(text, "{row} {row}").unwrap();
    }
    // With few threads, so that most of the file has not been read when it is cut.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    let path = folder.with("a.mtx", text.as_bytes());
    let error = pool.install(|| cut_short_while_read(&path)).unwrap_err();
    assert!(matches!(error, ReadError::MatrixMarket { .. }), "{error}");
}

#[test]
fn finite_values_that_add_up_to_infinity_are_refused_with_their_place() {
    let text = b"%%MatrixMarket matrix coordinate real general\n3 3 3\n1 1 1\n2 3 1e308\n2 3 1e308\n";
    let error = io::read_matrix_market::<f64>(text, Path::new("a.mtx"), &ReadOptions::default()).unwrap_err();
    assert_eq!(error.to_string(), "a.mtx: the values stored for row 2, column 3 add up to no finite number");
    assert!(error.hint().is_some_and(|hint| hint.contains("1.8e308")));
}

#[test]
fn an_archive_of_arrays_that_is_cut_short_while_it_is_read_is_an_error() {
    let n = 400_000_i64;
    let all: Vec<i64> = (0..n).collect();
    let arrays = [
        crate::npz_writer::format("coo"),
        crate::npz_writer::int64("shape", &[n, n]),
        crate::npz_writer::float64("data", &vec![1.5; n as usize]),
        crate::npz_writer::int64("row", &all),
        crate::npz_writer::int64("col", &all),
    ];
    let folder = Folder::new();
    let error =
        cut_short_while_read(&folder.with("a.npz", &crate::npz_writer::archive(&arrays, false))).unwrap_err();
    assert!(matches!(error, ReadError::Npz { .. }), "{error}");
}

#[test]
fn text_of_a_file_is_escaped_in_errors() {
    let mut arrays = [crate::npz_writer::format("a\u{1b}["), crate::npz_writer::int64("shape", &[1, 1])];
    arrays[0].1 = "|S8";
    arrays[0].3 = b"\x1b[2J\nerr".to_vec();
    let bytes = crate::npz_writer::archive(&arrays, false);
    let error =
        io::read_npz::<f64>(&bytes, Path::new("a.npz"), &ReadOptions::default()).unwrap_err().to_string();
    assert!(error.contains(r"format '\u{1b}[2J\nerr' is not read"), "{error}");
}

/// A beginning, and then the same line without end.
struct Endless(std::io::Cursor<Vec<u8>>, std::io::Cursor<Vec<u8>>);

impl std::io::Read for Endless {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let n = self.0.read(buffer)?;
        if n > 0 {
            return Ok(n);
        }
        self.1.set_position(self.1.position() % self.1.get_ref().len() as u64);
        self.1.read(buffer)
    }
}

#[test]
fn a_fault_in_the_header_of_harwell_boeing_is_named_with_its_line() {
    let fault = |kind: &str, formats: &str, body: &str| {
        let text = format!("t\n 3 1 1 1 0\n{kind}\n{formats}\n{body}");
        let stream = std::io::Cursor::new(text.into_bytes());
        io::read_stream::<f64>(stream, Path::new("-"), &ReadOptions::default()).unwrap_err().to_string()
    };
    let formats = "(4I4)           (4I4)           (4E16.8)";
    for (text, expected) in [
        (fault("RSA            2 3 2 0", formats, "   1   2\n"), "-:3: "),
        (fault("RSE            3 3 4 0", formats, "   1   2\n"), "-:3: "),
        (fault("RUA            3 3 2 0", "(4X4)           (4I4)           (4E16.8)", "   1\n"), "-:4: "),
        (fault("RUA            2 2 1 0", formats, "   1   2   2\n   1\n\n"), "-:7: the file ends"),
    ] {
        assert!(text.starts_with(expected), "{text}, not {expected}");
    }
}

#[test]
fn input_without_end_is_refused() {
    let size = "%%MatrixMarket matrix coordinate real general\n3 3 2\n";
    let boeing = "t\n 3 1 1 1 0\nRSA            3 3 4 0\n(4I4)           (4I4)           (4E16.8)\n";
    for (begin, line, expected) in [
        (size, "1 1 1\n", "2:5: declared 2 entries, the file holds more"),
        (size, "% nothing\n", "2:5: 67108864 bytes of blank lines and comments follow each other"),
        (size, "\n", "2:5: 67108864 bytes of blank lines and comments follow each other"),
        (
            "%%MatrixMarket matrix coordinate real general\n",
            "%\n",
            "1: 67108864 bytes of blank lines and comments follow each other",
        ),
        (
            "%%MatrixMarket matrix array real general\n2 2\n",
            "1\n",
            "2:1: declared 4 entries, the file holds more",
        ),
        (boeing, "x\n", "5: expected a pointer from 1 to 1, found 'x'"),
    ] {
        let endless =
            || Endless(std::io::Cursor::new(begin.into()), std::io::Cursor::new(line.repeat(50_000).into()));
        let error = io::read_stream::<f64>(endless(), Path::new("-"), &ReadOptions::default()).unwrap_err();
        let text = error.to_string();
        let text = text.strip_prefix("-:").unwrap();
        // Where comments stand before the size line, their number depends on how long they are.
        let is_told = text == expected
            || text
                .split_once(": ")
                .is_some_and(|(_, fault)| expected.ends_with(fault) && expected.starts_with("1: "));
        assert!(is_told, "{text}, not {expected}");
    }
}

#[test]
fn a_size_line_with_too_many_empty_rows_is_refused_before_allocation() {
    for size in ["300000000 1 0", "1 300000000 0", "300000000 300000000 7", "4194305 4194305 1"] {
        let text = format!("%%MatrixMarket matrix coordinate pattern general\n{size}\n");
        let error =
            io::read_matrix_market::<f64>(text.as_bytes(), Path::new("a.mtx"), &ReadOptions::default())
                .unwrap_err();
        assert!(matches!(error, ReadError::MostlyEmpty { .. }), "{size}: {error}");
        assert!(error.hint().unwrap().contains("getnnz"));
    }
    // A graph of which one vertex in fifty has an edge is one.
    let sparse = "%%MatrixMarket matrix coordinate pattern general\n4194304 4194304 1\n1 1\n";
    assert!(
        io::read_matrix_market::<f32>(sparse.as_bytes(), Path::new("a.mtx"), &ReadOptions::default()).is_ok()
    );
}
