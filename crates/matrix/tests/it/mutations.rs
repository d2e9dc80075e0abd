//! Thousands of small damages to small files: whatever happens, the reader answers.

use crate::damage::{Random, damage, rounds};
use crate::npz::coo;
use crate::npz_writer::{archive, float64, format, int64};
use crate::packed::{SMALL_TAR_XZ, SMALL_XZ, bzip2, gzip};
use sparsight_matrix::Bytes;
use sparsight_matrix::io::{self, ReadOptions};
use std::path::Path;

fn options() -> ReadOptions<'static> {
    ReadOptions { memory: Some(Bytes(1 << 24)), ..ReadOptions::default() }
}

/// Reads a file of this name.
fn answers(folder: &Path, name: &str, bytes: &[u8]) {
    let path = folder.join(name);
    std::fs::write(&path, bytes).unwrap();
    if let Err(error) = io::read::<f64>(&path, &options()) {
        let text = error.to_string();
        assert!(text.contains(name) && !text.contains('\n'), "{text}");
    }
}

#[test]
fn damaged_matrix_market_text_gives_a_matrix_or_an_error_and_never_a_panic() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let mut seeds: Vec<Vec<u8>> = std::fs::read_dir(fixtures)
        .unwrap()
        .map(|entry| std::fs::read(entry.unwrap().path()).unwrap())
        .collect();
    seeds.sort();
    for text in [
        "%%MatrixMarket matrix coordinate real general\n3 4 4\n3 4 -2.5e-1\n1 1 1\n3 1 0\n1 3 .5\n",
        "%%MatrixMarket matrix coordinate pattern symmetric\n3 3 2\n3 1\n2 2\n",
        "%%MatrixMarket matrix coordinate integer skew-symmetric\r\n% c\r\n9 9 2\r\n3 1 7\r\n5 2 1d3\r\n",
        "%%MatrixMarket matrix array real symmetric\n3 3\n1\n2\n3\n4\n0\n6\n",
        "%%MatrixMarket matrix array real skew-symmetric\n3 3\n1\n2\n3\n",
    ] {
        seeds.push(text.as_bytes().to_vec());
    }
    let mut random = Random::new(1);
    rounds("Matrix Market", 20_000, |round| {
        let mut bytes = seeds[round % seeds.len()].clone();
        damage(&mut bytes, &mut random);
        if let Err(error) = io::read_matrix_market::<f64>(&bytes, Path::new("a.mtx"), &options()) {
            let text = error.to_string();
            assert!(text.starts_with("a.mtx:") && !text.contains('\n'), "{text}");
        }
    });
}

#[test]
fn damaged_files_of_any_kind_give_a_matrix_or_an_error_and_never_a_panic() {
    let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    let files =
        std::fs::read_dir(cases).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_file());
    let mut seeds: Vec<Vec<u8>> =
        files.map(|path| std::fs::read(path).unwrap()).filter(|bytes| bytes.len() < 8000).collect();
    seeds.sort();
    let mut random = Random::new(5);
    let folder = tempfile::tempdir().unwrap();
    rounds("files of any kind", 4_000, |round| {
        let mut bytes = seeds[round % seeds.len()].clone();
        damage(&mut bytes, &mut random);
        answers(folder.path(), "a.mtx", &bytes);
    });
}

#[test]
fn damaged_npz_archives_give_a_matrix_or_an_error_and_never_a_panic() {
    let coo = coo();
    let compressed = |name| {
        [
            int64("indices", &[2, 0, 1, 1]),
            int64("indptr", &[0, 2, 2, 4]),
            format(name),
            int64("shape", &[3, 3]),
            float64("data", &[1.0, 2.0, 3.0, 4.0]),
        ]
    };
    let in_dimensions = |shape: &str, values: &[f64]| {
        let (name, descr, _, bytes) = float64("data", values);
        (name, descr, shape.to_owned(), bytes)
    };
    let blocks = [
        int64("indices", &[1, 0]),
        int64("indptr", &[0, 1, 2]),
        format("bsr"),
        int64("shape", &[4, 4]),
        in_dimensions("(2, 2, 2)", &[1.0; 8]),
    ];
    let diagonals = [
        int64("offsets", &[0, -1]),
        format("dia"),
        int64("shape", &[4, 4]),
        in_dimensions("(2, 4)", &[1.0; 8]),
    ];
    let seeds = [
        archive(&coo, false),
        archive(&coo, true),
        archive(&compressed("csr"), false),
        archive(&compressed("csc"), false),
        archive(&blocks, false),
        archive(&diagonals, false),
    ];
    let mut random = Random::new(2);
    rounds("npz", 10_000, |round| {
        let mut bytes = seeds[round % seeds.len()].clone();
        damage(&mut bytes, &mut random);
        if let Err(error) = io::read_npz::<f32>(&bytes, Path::new("a.npz"), &options()) {
            let text = error.to_string();
            assert!(text.starts_with("a.npz: ") && !text.contains('\n'), "{text}");
        }
    });
}

const TEXT: &[u8] =
    b"%%MatrixMarket matrix coordinate real general\n3 4 4\n3 4 -2.5e-1\n1 1 1\n3 1 0\n1 3 .5\n";

#[test]
fn damaged_gzip_files_give_a_matrix_or_an_error_and_never_a_panic() {
    let folder = tempfile::tempdir().unwrap();
    let seeds = [gzip(TEXT), [gzip(&TEXT[..60]), gzip(&TEXT[60..])].concat(), gzip(b"")];
    let mut random = Random::new(3);
    rounds("gzip", 3_000, |round| {
        let mut bytes = seeds[round % seeds.len()].clone();
        damage(&mut bytes, &mut random);
        answers(folder.path(), "a.mtx.gz", &bytes);
    });
}

#[test]
fn damaged_xz_and_bzip2_files_give_a_matrix_or_an_error_and_never_a_panic() {
    let folder = tempfile::tempdir().unwrap();
    let seeds = [
        ("a.mtx.xz", SMALL_XZ.to_vec()),
        ("a.tar.xz", SMALL_TAR_XZ.to_vec()),
        ("a.mtx.bz2", bzip2(TEXT)),
        ("a.mtx.bz2", [bzip2(&TEXT[..60]), bzip2(&TEXT[60..])].concat()),
    ];
    let mut random = Random::new(5);
    rounds("xz and bzip2", 3_000, |round| {
        let (name, whole) = &seeds[round % seeds.len()];
        let mut bytes = whole.clone();
        damage(&mut bytes, &mut random);
        answers(folder.path(), name, &bytes);
        // The same through a pipe, whose content tells what it is.
        let read = io::read_stream::<f64>(&bytes[..], Path::new("-"), &options());
        if let Err(error) = read {
            assert!(!error.to_string().contains('\n'), "{error}");
        }
    });
}

#[test]
fn damaged_archives_give_a_matrix_or_an_error_and_never_a_panic() {
    let mut builder = tar::Builder::new(Vec::new());
    for name in ["a/a_b.mtx".to_owned(), format!("{}/a.mtx", "long".repeat(40)), "a/b.mtx".to_owned()] {
        let mut header = tar::Header::new_gnu();
        header.set_size(TEXT.len() as u64);
        header.set_mode(0o644);
        builder.append_data(&mut header, name, TEXT).unwrap();
    }
    let plain = builder.into_inner().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut random = Random::new(4);
    rounds("tar.gz", 3_000, |round| {
        let mut bytes = plain.clone();
        damage(&mut bytes, &mut random);
        // Of a header a checksum is right in one of 2^16 at best: mended, so that what is behind it is reached.
        if round % 2 == 0 {
            for header in bytes.chunks_exact_mut(512) {
                let sum: u32 = header.iter().map(|&b| u32::from(b)).sum();
                let own: u32 = header[148..156].iter().map(|&b| u32::from(b)).sum();
                header[148..156].copy_from_slice(format!("{:06o}\0 ", sum - own + 256).as_bytes());
            }
        }
        let mut packed = gzip(&bytes);
        if round % 5 == 0 {
            damage(&mut packed, &mut random);
        }
        answers(folder.path(), if round % 3 == 0 { "a.tar.gz" } else { "c.tgz" }, &packed);
    });
}
