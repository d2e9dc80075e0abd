//! Compressed Matrix Market files and archives, whole and broken.

use crate::packed::{SMALL, SMALL_TAR_XZ, SMALL_XZ, bzip2, gzip};
use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use sparsight_matrix::Csr;
use sparsight_matrix::io::{self, Loaded, ReadError, ReadOptions};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;

/// Several blocks of text: a band matrix of 100 000 rows.
fn large_text() -> String {
    let n = 100_000;
    let mut text = format!("%%MatrixMarket matrix coordinate real general\n{n} {n} {}\n", 3 * n);
    for row in 1..=n {
        for col in [row, row % n + 1, (row + 1) % n + 1] {
            writeln!(text, "{row} {col} {}", f64::from(row) / 7.0).unwrap();
        }
    }
    text
}

fn tar(members: &[(&str, &str)]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for (name, text) in members {
        let mut header = tar::Header::new_ustar();
        header.set_size(text.len() as u64);
        header.set_mode(0o644);
        builder.append_data(&mut header, name, text.as_bytes()).unwrap();
    }
    builder.into_inner().unwrap()
}

fn read(name: &str, bytes: &[u8]) -> Result<Loaded<f64>, ReadError> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, bytes).unwrap();
    io::read(&path, &ReadOptions::default())
}

/// The text of the error after the path of the folder.
fn error(name: &str, bytes: &[u8]) -> String {
    let text = read(name, bytes).unwrap_err().to_string();
    let at = text.rfind(&format!("/{name}:")).unwrap() + 1;
    text[at..].to_owned()
}

fn plain(text: &str) -> Csr<f64> {
    io::read_matrix_market(text.as_bytes(), Path::new("a.mtx"), &ReadOptions::default()).unwrap().matrix
}

const OTHER: &str = "%%MatrixMarket matrix array real general\n2 1\n1\n2\n";

#[test]
fn a_compressed_file_is_the_plain_file_in_one_member_or_several() {
    let text = large_text();
    let expected = plain(&text);
    assert_eq!(read("a.mtx.gz", &gzip(text.as_bytes())).unwrap().matrix, expected);
    let (head, tail) = text.as_bytes().split_at(text.len() / 3);
    let members = [gzip(head), gzip(tail)].concat();
    assert_eq!(read("a.MTX.GZ", &members).unwrap().matrix, expected);
    assert_eq!(read("a.mtx", text.as_bytes()).unwrap().matrix, expected);
}

#[test]
fn faults_in_compressed_text_are_reported_at_their_line() {
    let text = large_text().replace("\n60000 60001 ", "\n60000 600001 ");
    let expected = "a.mtx.gz:180001:7: column index 600001 is outside the declared 100000 columns";
    assert_eq!(error("a.mtx.gz", &gzip(text.as_bytes())), expected);
}

#[test]
fn compressed_data_that_are_cut_off_or_damaged_are_an_error() {
    let whole = gzip(large_text().as_bytes());
    let text = error("a.mtx.gz", &whole[..whole.len() / 2]);
    assert!(text.starts_with("a.mtx.gz: the compressed data are damaged or cut off"), "{text}");
    let mut damaged = whole.clone();
    let middle = damaged.len() / 2;
    for byte in &mut damaged[middle..middle + 64] {
        *byte = 0xFF;
    }
    assert!(read("a.mtx.gz", &damaged).is_err());
    assert_eq!(error("a.mtx.gz", &gzip(b"")), "a.mtx.gz:1:1: the file is empty");
}

#[test]
fn the_matrix_of_an_archive_is_the_member_with_its_name() {
    let members = [
        ("cage/cage_b.mtx", OTHER),
        ("cage/readme.txt", "hello"),
        ("cage/cage.mtx", SMALL),
        ("z/zz.mtx", OTHER),
    ];
    let bytes = gzip(&tar(&members));
    assert_eq!(read("cage.tar.gz", &bytes).unwrap().matrix, plain(SMALL));
    assert_eq!(read("cage.tgz", &bytes).unwrap().matrix, plain(SMALL));
    let large = large_text();
    let members = [("m/m.mtx", large.as_str()), ("m/m_b.mtx", OTHER)];
    assert_eq!(read("renamed.tar.gz", &gzip(&tar(&members))).unwrap().matrix, plain(&large));
}

#[test]
fn what_lies_beside_the_matrix_of_an_archive_is_told_of_a_tar_as_of_a_zip() {
    let members = [("m/m_b.mtx", OTHER), ("m/m.mtx", SMALL), ("m/m_x.mtx", OTHER), ("z/z.mtx", SMALL)];
    let said = |name: &str, bytes: &[u8]| {
        let Loaded { matrix, remarks, .. } = read(name, bytes).unwrap();
        assert_eq!(matrix, plain(SMALL), "{name}");
        remarks.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let expected =
        "m/m.mtx is read, passed over: m/m_b.mtx (a vector), m/m_x.mtx (a vector), z/z.mtx (another matrix)";
    let archive = tar(&members);
    assert_eq!(said("m.zip", &zip(&members.map(|(name, text)| (name, text.as_bytes())))), [expected]);
    assert_eq!(said("m.tar", &archive), [expected]);
    assert_eq!(said("m.tar.gz", &gzip(&archive)), [expected]);
    // What is cut off behind the matrix is not missed: members of two blocks each, and a part of a header.
    assert_eq!(said("m.tar", &archive[..2148]), ["m/m.mtx is read, passed over: m/m_b.mtx (a vector)"]);
    let before = "m/m.mtx is read, passed over: m/m_b.mtx (a vector), m/m_x.mtx (a vector)";
    assert_eq!(said("m.tar", &archive[..3172]), [before]);
    // Of two with the name of the archive a tar's first is read and a zip's larger one.
    let longer = SMALL.replacen('\n', "\n% a comment\n", 1);
    let members = [("a/m.mtx", SMALL), ("b/m.mtx", longer.as_str()), ("c/n.mtx", OTHER)];
    assert_eq!(
        said("m.tar", &tar(&members)),
        ["a/m.mtx is read, passed over: c/n.mtx (a vector), b/m.mtx (another matrix)"]
    );
    assert_eq!(
        said("m.zip", &zip(&members.map(|(name, text)| (name, text.as_bytes())))),
        ["b/m.mtx is read, passed over: c/n.mtx (a vector), a/m.mtx (another matrix)"]
    );
}

#[test]
fn an_archive_without_a_matrix_or_cut_off_is_an_error() {
    let bytes = gzip(&tar(&[("a/readme.txt", "hello")]));
    assert_eq!(error("a.tar.gz", &bytes), "a.tar.gz: the archive holds no matrix file that is stored whole");
    let large = large_text();
    let archive = tar(&[("a/a.mtx", &large)]);
    let text = error("a.tar.gz", &gzip(&archive[..archive.len() / 2]));
    assert!(text.starts_with("a.tar.gz: the compressed data are damaged or cut off"), "{text}");
    let whole = gzip(&archive);
    assert!(read("a.tar.gz", &whole[..whole.len() / 2]).is_err());
    assert!(read("a.tar.gz", b"nothing like it").is_err());
}

#[test]
fn faults_inside_an_archive_name_the_archive_and_the_line_of_the_member() {
    let bad = SMALL.replace("2 1 3.5", "2 9 3.5");
    let text = error("a.tar.gz", &gzip(&tar(&[("a/a.mtx", &bad)])));
    assert_eq!(text, "a.tar.gz:3:3: column index 9 is outside the declared 2 columns");
}

#[test]
fn xz_and_bzip2_are_read_by_name_in_members_and_archives() {
    let expected = plain(SMALL);
    assert_eq!(read("a.mtx.xz", &SMALL_XZ).unwrap().matrix, expected);
    assert_eq!(read("a.mtx.bz2", &bzip2(SMALL.as_bytes())).unwrap().matrix, expected);
    let (head, tail) = SMALL.split_at(20);
    let members = [bzip2(head.as_bytes()), bzip2(tail.as_bytes())].concat();
    assert_eq!(read("a.mtx.BZ2", &members).unwrap().matrix, expected);
    let archive = tar(&[("m/m.mtx", SMALL), ("m/m_b.mtx", OTHER)]);
    for (name, bytes) in [
        ("m.tar", archive.clone()),
        ("m.tar.bz2", bzip2(&archive)),
        ("m.tbz2", bzip2(&archive)),
        ("m.tar.xz", SMALL_TAR_XZ.to_vec()),
        ("m.txz", SMALL_TAR_XZ.to_vec()),
    ] {
        assert_eq!(read(name, &bytes).unwrap().matrix, expected, "{name}");
    }
    let large = large_text();
    assert_eq!(read("a.mtx.bz2", &bzip2(large.as_bytes())).unwrap().matrix, plain(&large));
}

#[test]
fn damaged_xz_and_bzip2_and_a_dictionary_larger_than_memory_are_errors() {
    let packed = bzip2(large_text().as_bytes());
    for (name, whole) in [("a.mtx.xz", &SMALL_XZ[..]), ("a.mtx.bz2", &packed[..])] {
        let text = error(name, &whole[..whole.len() / 2]);
        assert!(text.starts_with(&format!("{name}: the compressed data are damaged or cut off")), "{text}");
        let mut damaged = whole.to_vec();
        damaged[whole.len() / 2] ^= 0x55;
        assert!(read(name, &damaged).is_err(), "{name}");
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.mtx.xz");
    std::fs::write(&path, SMALL_XZ).unwrap();
    let memory = Some(sparsight_matrix::Bytes(1 << 20));
    let options = ReadOptions { memory, ..ReadOptions::default() };
    let error = io::read::<f64>(&path, &options).unwrap_err().to_string();
    assert!(error.contains("memory"), "{error}");
}

#[test]
fn a_file_without_a_known_end_is_told_by_its_content() {
    let expected = plain(SMALL);
    let archive = tar(&[("m/m.mtx", SMALL)]);
    for (what, bytes) in [
        ("text", SMALL.as_bytes().to_vec()),
        ("gzip", gzip(SMALL.as_bytes())),
        ("xz", SMALL_XZ.to_vec()),
        ("bzip2", bzip2(SMALL.as_bytes())),
        ("archive", archive.clone()),
        ("packed archive", gzip(&archive)),
    ] {
        assert_eq!(read("a", &bytes).unwrap().matrix, expected, "{what}");
        assert_eq!(read_stream(&bytes).unwrap().matrix, expected, "{what}");
    }
    let large = large_text();
    assert_eq!(read("a", &bzip2(large.as_bytes())).unwrap().matrix, plain(&large));
    assert_eq!(read_stream(&gzip(large.as_bytes())).unwrap().matrix, plain(&large));
    let nothing = "a: this is no matrix file that is known";
    for bytes in [&[0; 600][..], b"\x7fELF\x02"] {
        assert_eq!(error("a", bytes), nothing);
    }
    assert_eq!(error("a", b""), "a:1:1: the file is empty");
    assert_eq!(error("a", b"1 2 3\n"), "a:1:1: expected '%%MatrixMarket matrix ...', found '1'");
}

#[test]
fn zstandard_is_read_by_name_and_content_in_frames_archives_and_pipes() {
    let zstandard = |bytes: &[u8]| compress_to_vec(bytes, CompressionLevel::Fastest);
    let expected = plain(SMALL);
    let (head, tail) = SMALL.split_at(20);
    let frames = [zstandard(head.as_bytes()), zstandard(tail.as_bytes())].concat();
    let archive = zstandard(&tar(&[("m/m.mtx", SMALL), ("m/m_b.mtx", OTHER)]));
    for (name, bytes) in
        [("a.mtx.zst", &frames), ("a", &frames), ("m.tar.ZST", &archive), ("m.tzst", &archive)]
    {
        assert_eq!(read(name, bytes).unwrap().matrix, expected, "{name}");
    }
    assert_eq!(read_stream(&frames).unwrap().matrix, expected);
    let large = large_text();
    let whole = zstandard(large.as_bytes());
    assert_eq!(read("a.mtx.zst", &whole).unwrap().matrix, plain(&large));
    let text = error("a.mtx.zst", &whole[..whole.len() / 2]);
    assert!(text.starts_with("a.mtx.zst: the compressed data are damaged or cut off"), "{text}");
    let mut damaged = whole;
    let middle = damaged.len() / 2;
    damaged[middle] ^= 0x55;
    assert!(read("a.mtx.zst", &damaged).is_err());
}

fn zip(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, bytes) in members {
        writer.start_file(*name, zip::write::SimpleFileOptions::default()).unwrap();
        writer.write_all(bytes).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

#[test]
fn packings_are_told_by_their_bytes_in_any_order_and_under_any_name() {
    let expected = plain(SMALL);
    let text = SMALL.as_bytes();
    let archive = tar(&[("m/m.mtx", SMALL), ("m/rhs.mtx", OTHER)]);
    let inner =
        zip(&[("data/m.mtx.gz", &gzip(text)), ("data/rhs.mtx", OTHER.as_bytes()), ("__MACOSX/m.mtx", b"")]);
    for (what, bytes) in [
        ("packed twice", gzip(&bzip2(text))),
        ("packed four times", gzip(&gzip(&gzip(&gzip(text))))),
        ("zip", zip(&[("m.mtx", text)])),
        ("zip in gzip", gzip(&zip(&[("m.mtx", text)]))),
        ("packed member", inner.clone()),
        (
            "archive in a zip",
            zip(&[("download/m.tar.gz", &gzip(&archive)), ("download/readme.txt", b"hello")]),
        ),
        ("upper case", zip(&[("M.MTX", text)])),
    ] {
        for name in ["a", "a.mtx", "a.mtx.gz", "a.npz", "a.tar.bz2"] {
            assert_eq!(read(name, &bytes).unwrap().matrix, expected, "{what}, {name}");
        }
        assert_eq!(read_stream(&bytes).unwrap().matrix, expected, "{what}");
    }
    let many = gzip(&gzip(&gzip(&gzip(&gzip(text)))));
    assert_eq!(error("a", &many), "a: it is packed more than 4 times");
    let nested = zip(&[("a.zip", &zip(&[("a.zip", &zip(&[("a.zip", &zip(&[("m.mtx", text)]))]))]))]);
    assert_eq!(error("a", &nested), "a: it is packed more than 3 times");
    assert_eq!(
        error("a.zip", &zip(&[("readme.txt", b"hello")])),
        "a.zip: the archive holds no matrix file that is stored whole"
    );
}

#[test]
fn zeros_behind_compressed_data_are_padding_and_anything_else_is_damage() {
    let expected = plain(SMALL);
    let zstandard = compress_to_vec(SMALL.as_bytes(), CompressionLevel::Fastest);
    for packed in [gzip(SMALL.as_bytes()), bzip2(SMALL.as_bytes()), zstandard, SMALL_XZ.to_vec()] {
        let padded = [&packed[..], &[0; 512]].concat();
        assert_eq!(read("a", &padded).unwrap().matrix, expected);
        let text = error("a", &[&packed[..], b"something"].concat());
        assert!(text.starts_with("a: the compressed data are damaged or cut off"), "{text}");
    }
}

/// Reads from a stream that can be read but once, in small pieces.
fn read_stream(bytes: &[u8]) -> Result<Loaded<f64>, ReadError> {
    struct Trickle<'a>(&'a [u8]);
    impl std::io::Read for Trickle<'_> {
        fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
            let n = into.len().min(1000);
            self.0.read(&mut into[..n])
        }
    }
    io::read_stream(Trickle(bytes), Path::new("-"), &ReadOptions::default())
}

#[test]
fn buffered_pipe_data_counts_as_memory() {
    let archive = tar(&[("m/m.mtx", &large_text())]);
    let memory = Some(sparsight_matrix::Bytes(4 << 20));
    let options = ReadOptions { memory, ..ReadOptions::default() };
    let error = io::read_stream::<f64>(&archive[..], Path::new("-"), &options).unwrap_err();
    assert!(matches!(error, ReadError::Memory { .. }), "{error}");
}
