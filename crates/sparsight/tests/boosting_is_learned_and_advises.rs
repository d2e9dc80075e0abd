//! A made-up corpus in a profile folder: fit learns from it, advise uses it, evaluate is honest about it.

mod support;

use sparsight::device::Device;
use sparsight::device::timing::Caches;
use sparsight::kernels::{Format, Kernel, catalogue, compulsory_bytes};
use sparsight::matrix::{Bytes, Dtype, Features, Locality, RowLengths, Seconds};
use sparsight::model::{MIN_MATRICES, PlacementRule};
use sparsight::profile::{DEVICE_SCHEMA, ProfileFolder, ProfiledDevice, Provenance};
use sparsight::records::{CorpusRecord, Measured, Outcome};
use sparsight::{Advisor, Error, Evaluation, Grid, ModelName, Objective, Profile, evaluate, fit, instrument};
use std::collections::BTreeMap;
use std::path::Path;
use support::Formula;

/// Matrix `i`: COO is the fastest on it, by a law of its bytes.
fn record(i: u64) -> CorpusRecord {
    let (nrows, row) = (300 * (1 + i * 7 % 40), 1 + i * 5 % 30);
    let known = Features::from_row_lengths(&RowLengths::from_counts([(row, nrows)]), nrows, row, 0.7);
    let locality = Locality {
        min_distance: 1,
        max_distance: 1,
        team_steps: [1, 2, 4, 8, 16, 32].map(|t| (nrows * t).div_ceil(32) * row.div_ceil(t)),
        warp_sectors: [0.125, 0.25],
        multiprocessor_sectors: [0.125, 0.25],
    };
    let features = Features { locality: Some(locality), ..known };
    let result = |id: sparsight::kernels::Candidate| {
        let slower = if id.kernel == Kernel::Coo { 1.0 } else { 3.0 };
        let time_s = Seconds(1e-6 + slower * compulsory_bytes(&id, &features).0 as f64 / 1e11);
        Measured { id, outcome: Outcome::Time { time_s, spread: 0.001, samples: 5 } }
    };
    CorpusRecord {
        matrix: format!("{}/{i}", if i < 25 { "a" } else { "e" }),
        dtype: Dtype::F64,
        caches: Caches::Warm,
        preparation: BTreeMap::new(),
        results: catalogue(Dtype::F64).map(result).collect(),
        features,
    }
}

/// A profile whose corpus holds matrices `0..count`; those of folder a are learned from.
fn profile(path: &Path, count: u64) -> Profile {
    let device = Formula::new();
    let folder = ProfileFolder::create(path).unwrap();
    let facts = Device::<f64>::facts(&device).clone();
    let grid = Grid::new(&facts, &[Dtype::F64], Bytes(1 << 20)).thinned();
    let provenance = Provenance::now(&facts.driver, 1);
    let schema = DEVICE_SCHEMA.to_owned();
    let conversion = BTreeMap::new();
    folder.write_device(&ProfiledDevice { schema, facts, conversion, provenance }).unwrap();
    let mut journal = folder.benchmark().unwrap();
    instrument::<f64>(&device, &grid, &[], |_| true, |record| journal.append(record)).unwrap();
    let mut corpus = folder.corpus().unwrap();
    for i in 0..count {
        corpus.append(record(i)).unwrap();
    }
    folder.write_models(&fit(&folder, |name| name.starts_with("a/")).unwrap()).unwrap();
    Profile::load(path).unwrap()
}

fn of_boosting(evaluation: &Evaluation) -> (usize, usize) {
    let choices = evaluation.choices.iter().filter(|c| c.model == ModelName::Boosting).count();
    (evaluation.rows.iter().filter(|r| r.model == ModelName::Boosting).count(), choices)
}

#[test]
fn a_profile_with_a_corpus_advises_by_boosting_and_is_evaluated_on_other_matrices() {
    let dir = tempfile::tempdir().unwrap();
    let profile = profile(dir.path(), 31);
    assert_eq!(profile.models.trained_on.len(), 25);
    assert_eq!(profile.best_model(Dtype::F64), ModelName::Boosting);
    assert_ne!(profile.best_model(Dtype::F32), ModelName::Boosting, "no f32 was measured");

    let advisor = Advisor::new(&profile);
    let features = record(30).features;
    let advice = advisor.advise(&features, Dtype::F64, &Objective::default()).unwrap();
    assert_eq!(advice.model, ModelName::Boosting);
    assert_eq!(advice.ranked[0].candidate.format(), Format::Coo);
    let objective = Objective { model: Some(ModelName::Strip), ..Objective::default() };
    assert_eq!(advisor.advise(&features, Dtype::F64, &objective).unwrap().model, ModelName::Strip);

    let corpus: Vec<CorpusRecord> = (0..31).map(record).collect();
    let placements = [PlacementRule::Blend, PlacementRule::Strewn];
    let evaluation = evaluate(&profile, &corpus, &placements, 3);
    assert_eq!(evaluation.trained_on, BTreeMap::from([(ModelName::Boosting, 25)]));
    let boosting = evaluation.rows.iter().filter(|r| r.model == ModelName::Boosting);
    assert!(boosting.clone().count() > 0, "and once, since columns are no question to it");
    assert!(boosting.clone().all(|r| r.error.count <= 6 * 5 && r.error.median < 0.1));
    assert!(boosting.clone().all(|r| r.placement == PlacementRule::Blend));

    let known = evaluate(&profile, &corpus[..25], &placements, 3);
    assert_eq!(of_boosting(&known), (0, 0), "no flattering rows");
    assert_eq!(known.trained_on, BTreeMap::from([(ModelName::Boosting, 25)]));
    assert!(!known.rows.is_empty(), "the others are evaluated all the same");
}

#[test]
fn a_profile_with_too_few_matrices_has_no_boosting_and_says_so_when_asked_for_it() {
    let dir = tempfile::tempdir().unwrap();
    let profile = profile(dir.path(), MIN_MATRICES as u64 - 1);
    assert!(profile.models.boosting.is_none());
    assert_eq!(profile.best_model(Dtype::F64), ModelName::StripCache);
    let objective = Objective { model: Some(ModelName::Boosting), ..Objective::default() };
    let error = Advisor::new(&profile).advise(&record(0).features, Dtype::F64, &objective).unwrap_err();
    assert!(matches!(error, Error::Lacking { .. }) && error.to_string().contains("boosting model"));
    let evaluation = evaluate(&profile, &[record(30)], &[PlacementRule::Blend], 3);
    assert_eq!(of_boosting(&evaluation), (0, 0));
    assert!(evaluation.trained_on.is_empty());
}
