//! Reads real matrices where they are present: `$SPARSIGHT_MATRICES`, else `../shared/matrices/small` beside the
//! workspace.

use sparsight_matrix::Csr;
use sparsight_matrix::io::{self, ReadOptions};
use std::path::{Path, PathBuf};

#[test]
fn every_real_matrix_at_hand_is_read_and_the_same_with_one_thread() {
    let folder = std::env::var_os("SPARSIGHT_MATRICES").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/matrices/small"),
        PathBuf::from,
    );
    let Ok(listing) = std::fs::read_dir(&folder) else {
        eprintln!("skipped: no folder {}; set SPARSIGHT_MATRICES to one with matrix files", folder.display());
        return;
    };
    let one_thread = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let mut read = 0;
    for path in listing.map(|entry| entry.unwrap().path()) {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if !["npz", "mtx", "gz", "tgz"].iter().any(|e| path.extension().is_some_and(|x| x == *e)) {
            continue;
        }
        let load = || io::read::<f64>(&path, &ReadOptions::default());
        let loaded = load().unwrap_or_else(|error| panic!("{error}"));
        let a = &loaded.matrix;
        assert!(a.nnz() > 0 && a.nnz() as u64 + loaded.stored.duplicates >= loaded.stored.entries, "{name}");
        assert_eq!(one_thread.install(load).unwrap(), loaded, "{name}");
        let narrow: Csr<f32> = io::read(&path, &ReadOptions::default()).unwrap().matrix;
        assert_eq!(narrow.col_idx(), a.col_idx(), "{name}");
        read += 1;
    }
    eprintln!("read {read} matrices of {}", folder.display());
}
