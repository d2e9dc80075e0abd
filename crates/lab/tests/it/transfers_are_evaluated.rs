//! Two made-up devices of equal strips: the second takes twice as long with one thread per row of CSR and four times as long
//! with ELL, in everything. The transfer between them is exact; every other number is worked by hand.

use serde_json::json;
use sparsight::Error;
use sparsight::device::timing::Caches;
use sparsight::kernels::{DeviceFacts, Kernel};
use sparsight::matrix::{Bytes, Dtype, Features, RowLengths, Seconds};
use sparsight::profile::{GridName, ProfileFolder, ProfiledDevice};
use sparsight::records::{CorpusRecord, Measured, Outcome};
use sparsight_lab::evaluate::{
    Chooser, Scope, TransferEvaluation, TransferMethod, TransferRow, evaluate_transfer,
};
use sparsight_lab::transfer::{Reference, ReferenceOrigin, TRANSFER_FILE, TRANSFER_SCHEMA, TransferProfile};
use std::collections::BTreeMap;
use std::path::Path;

/// A profile whose benchmark matrices take `csr` and `ell` times as long as on the reference.
fn write_device(path: &Path, multiprocessors: u32, copy_bytes_per_s: f64, [csr, ell]: [f64; 2]) {
    let facts = DeviceFacts {
        l2_bytes: Bytes(1 << 20),
        memory_bytes: Bytes(1 << 30),
        compute_capability: Some((9, 0)),
        copy_bytes_per_s,
        launch_s: Seconds(1e-6),
        ..DeviceFacts::of_gpu("made up", multiprocessors, 1024)
    };
    let folder = ProfileFolder::create(path).unwrap();
    folder.write_device(&ProfiledDevice::now(facts, GridName::Quick, String::new(), 1)).unwrap();
    let candidate = |id: &str, slowness: f64| {
        let parameters = json!({"strip": 1000, "row_length_s": slowness * 1e-7,
            "over_strips": [slowness * 1e-6, slowness * 5e-7], "row_length": 4});
        json!({"candidate": id, "placement": "banded", "ell": parameters})
    };
    let candidates = [candidate("csr-scalar/b256/f64", csr), candidate("ell/b256/f64", ell)];
    let transfer = json!({"schema": TRANSFER_SCHEMA, "candidates": candidates});
    folder.write_document(TRANSFER_FILE, &transfer).unwrap();
}

/// A matrix of rows of four, and microseconds of both kernels.
fn record(matrix: &str, nrows: u64, csr_us: f64, ell_us: Option<f64>) -> CorpusRecord {
    let time = |id: &str, us: f64| Measured {
        id: id.parse().unwrap(),
        outcome: Outcome::Time { time_s: Seconds(1e-6 * us), spread: 0.0, samples: 5 },
    };
    let lengths = RowLengths::from_counts([(4, nrows)]);
    let mut results = vec![time("csr-scalar/b256/f64", csr_us)];
    results.extend(ell_us.map(|us| time("ell/b256/f64", us)));
    let features = Features::from_row_lengths(&lengths, nrows, 0, 1.0);
    CorpusRecord { results, ..CorpusRecord::new(matrix, Dtype::F64, Caches::Warm, features) }
}

/// Both devices; the reference measured `on_reference`.
fn devices(dir: &Path, on_reference: Vec<CorpusRecord>) -> (Reference, TransferProfile) {
    let [reference, target] = ["reference", "target"].map(|name| dir.join(name));
    write_device(&reference, 40, 9e11, [1.0, 1.0]);
    write_device(&target, 10, 3e11, [2.0, 4.0]);
    let mut journal = ProfileFolder::open(&reference).unwrap().corpus().unwrap();
    for record in on_reference {
        journal.append(record).unwrap();
    }
    drop(journal);
    let found = Reference::find(reference.to_str().unwrap()).unwrap();
    (found, TransferProfile::load(&target).unwrap())
}

fn row(found: &TransferEvaluation, kernel: Kernel, method: TransferMethod) -> &TransferRow<Kernel> {
    let all = |r: &&TransferRow<Kernel>| (r.of, r.method, r.scope) == (kernel, method, Scope::All);
    found.rows.iter().find(all).unwrap()
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-9
}

#[test]
fn errors_and_choices_are_those_worked_by_hand() {
    let dir = tempfile::tempdir().unwrap();
    let on_reference = vec![
        record("a/large", 100_000, 12.0, Some(10.0)),
        record("a/small", 100, 0.75, None),
        record("a/other", 100, 3.0, None),
    ];
    let (reference, target) = devices(dir.path(), on_reference);
    let corpus = [
        record("a/large", 100_000, 24.0, Some(40.0)),
        record("a/small", 100, 1.5, None),
        // Another matrix of that name, and one that the reference never saw.
        record("a/other", 200, 6.0, None),
        record("a/new", 100, 6.0, Some(4.0)),
    ];
    let found = evaluate_transfer(&reference, &target, &corpus, 1).unwrap();

    assert_eq!(found.origins, BTreeMap::from([(ReferenceOrigin::Measured, 3)]));
    assert_eq!(found.matrices[&Dtype::F64], (4, 3), "1.5 us is no more than two launches");
    let refused: Vec<_> = found.refused.iter().map(|refused| (refused.kernel, refused.times)).collect();
    assert_eq!(refused, [(Kernel::known("csr-scalar"), 2), (Kernel::known("ell"), 1)]);

    // Three times slower by bandwidth, four times by multiprocessors; in truth twice and four times.
    let mean = |kernel, method| row(&found, kernel, method).error.mean;
    assert!(close(mean(Kernel::known("csr-scalar"), TransferMethod::GuoWang2013), 0.0));
    assert!(close(mean(Kernel::known("csr-scalar"), TransferMethod::CopyBandwidth), 0.5));
    assert!(close(mean(Kernel::known("csr-scalar"), TransferMethod::Multiprocessors), 1.0));
    assert!(close(mean(Kernel::known("ell"), TransferMethod::GuoWang2013), 0.0));
    assert!(close(mean(Kernel::known("ell"), TransferMethod::CopyBandwidth), 0.25));
    assert!(close(mean(Kernel::known("ell"), TransferMethod::Multiprocessors), 0.0));
    assert!(close(row(&found, Kernel::known("ell"), TransferMethod::CopyBandwidth).ratio, 0.75));
    assert_eq!(row(&found, Kernel::known("csr-scalar"), TransferMethod::GuoWang2013).error.count, 2);
    let count = |scope| {
        let csr = |r: &&TransferRow<Kernel>| (r.of, r.scope) == (Kernel::known("csr-scalar"), scope);
        found.rows.iter().find(csr).unwrap().error.count
    };
    // A strip is 40,960 rows on the reference: 100,000 rows are two and more.
    assert_eq!((count(Scope::BeyondLaunch), count(Scope::LikeBenchmarks)), (1, 1));

    // ELL is faster on the reference, CSR on the target.
    let ratios = |chooser| {
        let all = found.choices.iter().find(|r| r.chooser == chooser && r.scope == Scope::All);
        all.unwrap().ratios.clone()
    };
    assert_eq!(ratios(Chooser::GuoWang2013), [1.0, 1.0]);
    let [small, large] = ratios(Chooser::Reference)[..] else { panic!("two matrices") };
    assert!(close(small, 1.0) && close(large, 40.0 / 24.0), "{small} {large}");
    assert_eq!(found.misses.len(), 2, "one a kernel");
}

#[test]
fn the_answer_is_a_reason_if_no_time_can_be_transferred() {
    let dir = tempfile::tempdir().unwrap();
    let (reference, target) = devices(dir.path(), Vec::new());
    let unknown = evaluate_transfer(&reference, &target, &[record("a/new", 100, 6.0, None)], 1);
    let text = unknown.unwrap_err().to_string();
    assert!(text.contains("no time of this matrix with csr-scalar/b256/f64"), "{text}");
    let nothing = evaluate_transfer(&reference, &target, &[], 1);
    assert!(matches!(nothing, Err(Error::Lacking { .. })), "{nothing:?}");
}

#[test]
fn a_time_below_a_launch_is_counted() {
    let dir = tempfile::tempdir().unwrap();
    // T_init of one strip is 1.1 us on the reference and 4.4 us on the target: 4 x 0.1 us is less than a launch.
    let (reference, target) = devices(dir.path(), vec![record("a/tiny", 100, 0.1, Some(0.1))]);
    let found = evaluate_transfer(&reference, &target, &[record("a/tiny", 100, 2.0, Some(2.0))], 0).unwrap();
    let ell = row(&found, Kernel::known("ell"), TransferMethod::GuoWang2013);
    assert_eq!((ell.at_launch_cost, ell.error.mean), (1, 0.5), "1 us is answered, 2 us was measured");
    assert!(found.misses.is_empty(), "none were asked for");
}
