//! What a data sheet's answers assume of matrices that no L2 holds: how near to the rate of copies kernels come. Held against two chips
//! that both have measured the same matrices. `cargo test -p sparsight --test it facts_beyond_the_l2 -- --nocapture`
//! prints the figures of docs/profile-format.md.

use sparsight::kernels::compulsory_bytes;
use sparsight::matrix::{Dtype, Features, Seconds};
use sparsight::model::{Between, Rescaling};
use sparsight::profile::ProfileFolder;
use sparsight::records::CorpusRecord;
use std::collections::HashMap;
use std::path::Path;

/// Several times what either L2 holds.
const BEYOND: u64 = 4 * 62_914_560;

fn folder(name: &str) -> ProfileFolder {
    ProfileFolder::open(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../profiles").join(name)).unwrap()
}

fn median(mut all: Vec<f64>) -> f64 {
    all.sort_by(f64::total_cmp);
    all[all.len() / 2]
}

#[test]
fn beyond_the_l2_rescaling_by_facts_is_within_a_tenth() {
    if !Path::new(env!("CARGO_MANIFEST_DIR")).exists() {
        eprintln!("skipped: it reads profiles of the source tree, and was run elsewhere");
        return;
    }
    let [h200, h100] = ["nvidia-h200", "nvidia-h100"].map(folder);
    let facts = [&h200, &h100].map(|folder| folder.device().unwrap().facts);
    let key = |record: &CorpusRecord| (record.matrix.clone(), record.dtype);
    let others: HashMap<(String, Dtype), CorpusRecord> =
        h100.measured().unwrap().into_iter().map(|record| (key(&record), record)).collect();
    let (mut reached, mut carried) = ([Vec::new(), Vec::new()], [Vec::new(), Vec::new()]);
    for record in h200.measured().unwrap() {
        let Some(other) = others.get(&key(&record)) else { continue };
        let features: &Features = &record.features;
        // The fastest of ours on CSR as it is.
        let times = record
            .times()
            .filter(|(candidate, _)| candidate.format().is_csr() && !candidate.kernel.is_vendors());
        let Some((candidate, there)) = times.min_by(|a, b| a.1.0.total_cmp(&b.1.0)) else { continue };
        let Some((_, here)) = other.times().find(|(id, _)| *id == candidate) else { continue };
        let bytes = compulsory_bytes(&candidate, features).0;
        if bytes < BEYOND {
            continue;
        }
        for (at, (facts, Seconds(time))) in facts.iter().zip([there, here]).enumerate() {
            reached[at].push(bytes as f64 / facts.copy_bytes_per_s / time);
        }
        for (at, [from, to]) in [[0, 1], [1, 0]].into_iter().enumerate() {
            let between = Between { from: &facts[from], to: &facts[to] };
            let times = [there, here];
            let predicted = Rescaling::of_facts(between).time(&candidate, features, times[from], between);
            carried[at].push(times[to].0 / predicted.0);
        }
    }
    let count = carried[0].len();
    let mean = |ratios: &Vec<f64>| (ratios.iter().map(|ratio| ratio.ln()).sum::<f64>() / count as f64).exp();
    let [to_h100, to_h200] = [mean(&carried[0]), mean(&carried[1])];
    let [on_h200, on_h100] = reached.map(median);
    println!(
        "{count} matrices and value types: of the rate of copies H200 {on_h200:.3}, H100 {on_h100:.3} (median); measured over carried, \
         geometric mean: H200 to H100 {to_h100:.3}, back {to_h200:.3}"
    );
    assert!(count > 50, "{count}");
    assert!(on_h100 > on_h200, "the slower memory is reached more nearly: {on_h100} {on_h200}");
    for ratio in [to_h100, to_h200] {
        assert!((ratio - 1.0).abs() < 0.1, "{ratio}");
    }
}
