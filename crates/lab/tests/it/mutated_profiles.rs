//! Small damages to the files of a profile, checksums mended in half of them: loading, advising and fitting answer, whatever
//! happens.

use crate::corpus::{files, profile, record};
use crate::damage::{Random, damage, rounds};
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use flate2::{Compression, Crc};
use lzma_rust2::{XzOptions, XzReader, XzWriter};
use sparsight::matrix::Dtype;
use sparsight::profile::ProfileFolder;
use sparsight::{Advisor, Objective, Profile};
use sparsight_lab::transfer::TransferProfile;
use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

/// The bytes of a file, damaged; of a packed one, by the end of its name, what is in it, half of the time.
fn damaged(whole: &[u8], end: &str, random: &mut Random) -> Vec<u8> {
    let mut bytes = whole.to_vec();
    if ["gz", "xz"].contains(&end) && random.below(2) == 0 {
        let mut inside = Vec::new();
        let read = match end {
            "gz" => GzDecoder::new(whole).read_to_end(&mut inside),
            _ => XzReader::new(whole, true).read_to_end(&mut inside),
        };
        read.unwrap();
        damage(&mut inside, random);
        bytes = if end == "gz" { gzip(&inside) } else { xz(&inside) };
    } else {
        damage(&mut bytes, random);
    }
    bytes
}

/// The bytes with checksums that are right: those of records, and in the index that of the file `packed`.
fn mended(bytes: &[u8]) -> Vec<u8> {
    let sum = |bytes: &[u8]| {
        let mut crc = Crc::new();
        crc.update(bytes);
        crc.sum()
    };
    let mend = |line: &[u8]| match line.len().checked_sub(21) {
        Some(at) if line[at..].starts_with(b",\"crc32\":\"") => {
            let record = [&line[..at], b"}"].concat();
            [&line[..at], format!(",\"crc32\":\"{:08x}\"}}", sum(&record)).as_bytes()].concat()
        }
        _ => line.to_vec(),
    };
    bytes.split(|&b| b == b'\n').map(mend).collect::<Vec<_>>().join(&b'\n')
}

/// Asks for everything that a profile can be asked for. Answers are positive, finite and in order.
fn ask(folder: &Path) {
    let Ok(profile) = Profile::load(folder) else { return };
    let features = record(30).features;
    for model in [None, Some(sparsight::models::ModelName::Strip), Some(sparsight_lab::papers::NEIGHBOURS)] {
        let objective = Objective { model, ..Objective::default() };
        let Ok(advice) = Advisor::new(&profile).advise(&features, Dtype::F64, &objective) else { continue };
        for advised in advice.ranked {
            let p = advised.prediction;
            let finite = p.low.0 >= 0.0 && p.low <= p.time && p.time <= p.high && p.high.0.is_finite();
            assert!(finite, "{}: {p:?}", advised.candidate);
        }
    }
}

/// Lets the index say of the packed file `path` what its end says of itself.
fn mend_index(index: &(PathBuf, String), path: &Path, bytes: &[u8]) {
    let (Some(end), Some(name)) = (bytes.last_chunk::<8>(), path.file_name()) else { return };
    let crc32 = u32::from_le_bytes([end[0], end[1], end[2], end[3]]);
    let mut json: serde_json::Value = serde_json::from_str(&index.1).unwrap();
    for model in json["models"].as_object_mut().unwrap().values_mut() {
        if model["file"].as_str() == name.to_str() {
            model["crc32"] = crc32.into();
        }
    }
    fs::write(&index.0, json.to_string()).unwrap();
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn xz(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = XzWriter::new(Vec::new(), XzOptions::with_preset(1)).unwrap();
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn damaged_profiles_are_refused_or_answer_and_never_panic() {
    let dir = tempfile::tempdir().unwrap();
    profile(dir.path(), 25);
    // One of the journals is packed.
    let plain = dir.path().join("corpus.jsonl");
    fs::write(dir.path().join("corpus.jsonl.xz"), xz(&fs::read(&plain).unwrap())).unwrap();
    fs::remove_file(plain).unwrap();
    let seeds: Vec<(PathBuf, Vec<u8>)> =
        files(dir.path()).into_iter().map(|path| (path.clone(), fs::read(path).unwrap())).collect();
    let index = dir.path().join("models/index.json");
    let index = (index.clone(), fs::read_to_string(&index).unwrap());
    let mut random = Random::new(5);
    rounds("profiles", 400, |round| {
        let (path, whole) = &seeds[round % seeds.len()];
        let end = path.extension().and_then(|end| end.to_str()).unwrap_or_default();
        let mut bytes = damaged(whole, end, &mut random);
        if round % 2 == 0 {
            match end {
                "gz" => mend_index(&index, path, &bytes),
                "xz" => {}
                _ => bytes = mended(&bytes),
            }
        }
        fs::write(path, bytes).unwrap();
        ask(dir.path());
        let is_measured = path.extension().is_some_and(|end| end == "jsonl");
        if is_measured && round % 64 < 2 {
            let folder = ProfileFolder::open(dir.path()).unwrap();
            if let Ok(fitted) = sparsight::calibrate::fit(&folder, &[], |_| true) {
                assert!(!fitted.models.index.models.is_empty());
            }
        }
        // Fitting and further measuring read measured data.
        let folder = ProfileFolder::open(dir.path()).unwrap();
        _ = (folder.benchmark(), folder.measured(), TransferProfile::load(folder.path()));
        // What is repaired can be read, whatever it was.
        for repaired in folder.repair().unwrap() {
            assert_eq!(&repaired.path, path);
            assert!(fs::read(&repaired.set_aside).unwrap() != fs::read(path).unwrap());
            fs::remove_file(repaired.set_aside).unwrap();
        }
        folder.benchmark().unwrap();
        folder.corpus().unwrap();
        folder.cuts().unwrap();
        fs::write(path, whole).unwrap();
        fs::write(&index.0, &index.1).unwrap();
    });
}
