//! A made-up corpus in a profile folder: fit learns from it, advise uses it, evaluate is honest about it.

mod support;

use sparsight::device::Device;
use sparsight::device::timing::Caches;
use sparsight::kernels::{Format, Kernel, catalogue, compulsory_bytes};
use sparsight::matrix::{Bytes, Dtype, Features, RowLengths, Seconds};
use sparsight::model::{MIN_MATRICES, PlacementRule};
use sparsight::profile::{DEVICE_SCHEMA, ProfileFolder, ProfiledDevice, Provenance};
use sparsight::records::{BenchmarkRecord, CorpusRecord, Measured, Outcome};
use sparsight::{
    Advisor, Error, Evaluation, Grid, ModelName, Objective, Profile, Why, evaluate, fit, instrument,
};
use std::collections::BTreeMap;
use std::path::Path;
use support::Formula;

/// Matrix `i`: COO is the fastest on it, by a law of its bytes.
fn record(i: u64) -> CorpusRecord {
    let (nrows, row) = (300 * (1 + i * 7 % 40), 1 + i * 5 % 30);
    let features = Features::from_row_lengths(&RowLengths::from_counts([(row, nrows)]), nrows, row, 0.7);
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
    profile_with(path, count, |_| true)
}

/// The same, of the kernels that were `known` when it was measured.
fn profile_with(path: &Path, count: u64, known: fn(Kernel) -> bool) -> Profile {
    let device = Formula::new();
    let folder = ProfileFolder::create(path).unwrap();
    let facts = Device::<f64>::facts(&device).clone();
    let grid = Grid::new(&facts, &[Dtype::F64], Bytes(1 << 20)).thinned();
    let provenance = Provenance::now(&facts.driver, 1);
    let schema = DEVICE_SCHEMA.to_owned();
    let conversion = BTreeMap::new();
    folder.write_device(&ProfiledDevice { schema, facts, conversion, provenance }).unwrap();
    let mut journal = folder.benchmark().unwrap();
    let kernels: Vec<String> = Kernel::ALL.into_iter().filter(|k| known(*k)).map(|k| k.to_string()).collect();
    let mut keep = |record: BenchmarkRecord| {
        if kernels.contains(&record.kernel) { journal.append(record) } else { Ok(()) }
    };
    instrument::<f64>(&device, &grid, &[], |_| true, &mut keep).unwrap();
    let mut corpus = folder.corpus().unwrap();
    for i in 0..count {
        let mut record = record(i);
        record.results.retain(|m| known(m.id.kernel));
        corpus.append(record).unwrap();
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

#[test]
fn a_profile_from_before_a_format_was_there_advises_as_before_and_names_what_it_lacks() {
    let dir = tempfile::tempdir().unwrap();
    let old = |kernel| !matches!(kernel, Kernel::Jad | Kernel::Sell(_) | Kernel::BroEll(_));
    let profile = profile_with(dir.path(), 25, old);
    assert_eq!(profile.best_model(Dtype::F64), ModelName::Boosting, "it learned all that was there");
    for model in ModelName::ALL {
        let objective = Objective { model: Some(model), ..Objective::default() };
        let advice = Advisor::new(&profile).advise(&record(30).features, Dtype::F64, &objective).unwrap();
        assert_eq!(advice.ranked.len(), 9 * 5, "{model}");
        assert_eq!(advice.refused.len(), catalogue(Dtype::F64).count() - 9 * 5, "{model}");
        for refused in &advice.refused {
            assert!(!old(refused.candidate.kernel));
            let Why::NoModel(why) = &refused.why else { panic!("{refused:?}") };
            assert!(why.contains(&format!("no {model} model for {}", refused.candidate)), "{why}");
        }
    }
}

#[test]
fn features_recorded_before_a_padded_format_was_there_are_read() {
    let features = record(3).features;
    let mut text = serde_json::to_value(&features).unwrap();
    assert!(text.as_object_mut().unwrap().remove("padded").is_some());
    assert_eq!(serde_json::from_value::<Features>(text).unwrap(), features);
}
