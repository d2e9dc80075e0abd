//! A made-up corpus, and a profile that learned from it.

use crate::support::Formula;
use sparsight::Profile;
use sparsight::calibrate::{Grid, fit, instrument};
use sparsight::device::Device;
use sparsight::device::timing::Caches;
use sparsight::kernels::{Candidate, Kernel, catalogue, compulsory_bytes};
use sparsight::matrix::{Bytes, Dtype, Features, Loads, Locality, RowLengths, Seconds};
use sparsight::profile::{GridName, ProfileFolder, ProfiledDevice};
use sparsight::records::{CorpusRecord, Measured, Outcome};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Matrix `i`: COO is the fastest on it, by a law of its bytes.
pub fn record(i: u64) -> CorpusRecord {
    let (nrows, row) = (300 * (1 + i * 7 % 40), 1 + i * 5 % 30);
    let known = Features::from_row_lengths(&RowLengths::from_counts([(row, nrows)]), nrows, row, 0.7);
    let locality = Locality {
        min_distance: 1,
        max_distance: 1,
        team_steps: [1, 2, 4, 8, 16, 32].map(|t| (nrows * t).div_ceil(32) * row.div_ceil(t)),
        warp_sectors: [0.125, 0.25],
        multiprocessor_sectors: [0.125, 0.25],
        loads: Some(Loads::default()),
    };
    let features = Features { locality: Some(locality), ..known };
    let result = |id: Candidate| {
        let slower = if id.kernel == Kernel::known("coo") { 1.0 } else { 3.0 };
        // The diagonals of these features were not counted, so that DIA would take ages.
        let time_s = Seconds((1e-6 + slower * compulsory_bytes(&id, &features).0 as f64 / 1e11).min(1.0));
        Measured { id, outcome: Outcome::Time { time_s, spread: 0.001, samples: 5 } }
    };
    let results = catalogue(Dtype::F64).map(result).collect();
    let name = format!("{}/{i}", if i < 25 { "a" } else { "e" });
    CorpusRecord { results, ..CorpusRecord::new(name, Dtype::F64, Caches::Warm, features) }
}

/// All files below a folder, in order.
pub fn files(folder: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { all.extend(files(&path)) } else { all.push(path) }
    }
    all.sort();
    all
}

/// A profile in `path` whose corpus holds matrices `0..count`; those of folder a are learned from. It is made once, which takes
/// seconds, and copied for each test.
pub fn profile(path: &Path, count: u64) -> Profile {
    /// Relative paths and contents of the files of a profile.
    type Files = Vec<(PathBuf, Vec<u8>)>;
    static MADE: Mutex<BTreeMap<u64, Files>> = Mutex::new(BTreeMap::new());
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    let whole = made.entry(count).or_insert_with(|| {
        let dir = tempfile::tempdir().unwrap();
        make_profile(dir.path(), count);
        let content =
            |file: &PathBuf| (file.strip_prefix(dir.path()).unwrap().to_owned(), fs::read(file).unwrap());
        files(dir.path()).iter().map(content).collect()
    });
    for (name, bytes) in whole {
        let file = path.join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, bytes).unwrap();
    }
    Profile::load(path).unwrap()
}

fn make_profile(path: &Path, count: u64) {
    sparsight_lab::add_papers_models();
    let device = Formula::new();
    let folder = ProfileFolder::create(path).unwrap();
    let facts = Device::<f64>::facts(&device).clone();
    let grid = Grid::new(&facts, &[Dtype::F64], Bytes(1 << 20)).coarse();
    folder.write_device(&ProfiledDevice::now(facts, GridName::Full, String::new(), 1)).unwrap();
    let mut journal = folder.benchmark().unwrap();
    let append = |_, _: &_, record: Option<_>| record.map_or(Ok(()), |record| journal.append(record));
    instrument::<f64>(&device, &grid, &[], append).unwrap();
    let mut corpus = folder.corpus().unwrap();
    for i in 0..count {
        corpus.append(record(i)).unwrap();
    }
    folder.write_models(&fit(&folder, &[], |name| name.starts_with("a/")).unwrap().models).unwrap();
}
