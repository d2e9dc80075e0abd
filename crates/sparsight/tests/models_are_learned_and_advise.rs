//! A made-up corpus in a profile folder: fit learns from it, advise uses it, evaluate is honest about it.

mod support;

use serde::{Serialize, de::DeserializeOwned};
use sparsight::device::Device;
use sparsight::device::timing::Caches;
use sparsight::kernels::{Candidate, Format, Kernel, catalogue, compulsory_bytes, feasible};
use sparsight::matrix::{Bytes, Dtype, Features, Limits, Locality, RowLengths, Seconds};
use sparsight::model::{MIN_MATRICES, Model, PlacementRule, Prediction, RowLengthRule};
use sparsight::profile::{DEVICE_SCHEMA, GridName, Models, ProfileFolder, ProfiledDevice, Provenance};
use sparsight::records::{CorpusRecord, Measured, Outcome};
use sparsight::{
    Advisor, ChoiceRow, Chooser, Error, Evaluation, Grid, ModelName, Objective, Profile, evaluate, fit,
    instrument,
};
use std::collections::BTreeMap;
use std::path::Path;
use support::Formula;

const LEARNED: [ModelName; 3] = [ModelName::Boosting, ModelName::Linear, ModelName::Neighbours];

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
        let slower = if id.kernel == Kernel::known("coo") { 1.0 } else { 3.0 };
        let time_s = Seconds(1e-6 + slower * compulsory_bytes(&id, &features).0 as f64 / 1e11);
        Measured { id, outcome: Outcome::Time { time_s, spread: 0.001, samples: 5 } }
    };
    CorpusRecord {
        matrix: format!("{}/{i}", if i < 25 { "a" } else { "e" }),
        dtype: Dtype::F64,
        caches: Caches::Warm,
        preparation: BTreeMap::new(),
        preprocess: BTreeMap::new(),
        results: catalogue(Dtype::F64).map(result).collect(),
        features,
    }
}

/// A profile whose corpus holds matrices `0..count`; those of folder a are learned from.
fn profile(path: &Path, count: u64) -> Profile {
    let device = Formula::new();
    let folder = ProfileFolder::create(path).unwrap();
    let facts = Device::<f64>::facts(&device).clone();
    let grid = Grid::new(&facts, &[Dtype::F64], Bytes(1 << 20)).coarse();
    let provenance = Provenance::now(&facts.driver, 1);
    let schema = DEVICE_SCHEMA.to_owned();
    let conversion = BTreeMap::new();
    folder
        .write_device(&ProfiledDevice { schema, grid: GridName::Full, facts, conversion, provenance })
        .unwrap();
    let mut journal = folder.benchmark().unwrap();
    instrument::<f64>(&device, &grid, &[], |_| true, |record| journal.append(record)).unwrap();
    let mut corpus = folder.corpus().unwrap();
    for i in 0..count {
        corpus.append(record(i)).unwrap();
    }
    folder.write_models(&fit(&folder, |name| name.starts_with("a/")).unwrap()).unwrap();
    Profile::load(path).unwrap()
}

/// Rows and choices of models that learned.
fn of_learned(evaluation: &Evaluation) -> (usize, usize) {
    let learned = |c: &&ChoiceRow| matches!(c.chooser, Chooser::Model { model, .. } if model.is_learned());
    let choices = evaluation.choices.iter().filter(learned).count();
    (evaluation.rows.iter().filter(|r| r.model.is_learned()).count(), choices)
}

/// A profile whose learned models know a kernel well or badly, by the numbers given: what `best` goes by.
fn with_log_error(profile: &Profile, kernel: Kernel, errors: [(ModelName, f64); 3]) -> Profile {
    fn set<T: Serialize + DeserializeOwned>(model: &mut Option<T>, kernel: Kernel, error: f64) {
        let mut json = serde_json::to_value(&*model).unwrap();
        let kernels = json["kernels"].as_array_mut().unwrap();
        let known = kernels.iter_mut().find(|k| k["kernel"] == kernel.to_string()).unwrap();
        known["log_error"] = error.into();
        *model = serde_json::from_value(json).unwrap();
    }
    let mut changed = profile.clone();
    for (name, error) in errors {
        match name {
            ModelName::Boosting => set(&mut changed.models.boosting, kernel, error),
            ModelName::Linear => set(&mut changed.models.linear, kernel, error),
            ModelName::Neighbours => set(&mut changed.models.neighbours, kernel, error),
            other => panic!("{other} does not learn"),
        }
    }
    changed
}

/// The same without what was learned of one kernel: a profile whose corpus is older than the kernel.
fn without(profile: &Profile, kernel: Kernel) -> Profile {
    fn drop_from<T: Serialize + DeserializeOwned>(model: &mut Option<T>, kernel: Kernel) {
        let mut json = serde_json::to_value(&*model).unwrap();
        json["kernels"].as_array_mut().unwrap().retain(|k| k["kernel"] != kernel.to_string());
        *model = serde_json::from_value(json).unwrap();
    }
    let mut changed = profile.clone();
    drop_from(&mut changed.models.boosting, kernel);
    drop_from(&mut changed.models.linear, kernel);
    drop_from(&mut changed.models.neighbours, kernel);
    changed
}

#[test]
fn a_profile_with_a_corpus_advises_by_what_it_learned_and_is_evaluated_on_other_matrices() {
    let dir = tempfile::tempdir().unwrap();
    let profile = profile(dir.path(), 31);
    assert_eq!(profile.models.trained_on.len(), 25);
    for kernel in Kernel::all() {
        let (best, error) = profile.learned_models(kernel, Dtype::F64)[0];
        assert_eq!(profile.best_model(kernel, Dtype::F64), best);
        assert!(profile.learned_models(kernel, Dtype::F64).iter().all(|(_, other)| *other >= error));
        assert_eq!(profile.best_model(kernel, Dtype::F32), ModelName::StripCache, "no f32 was measured");
    }

    let advisor = Advisor::new(&profile);
    let features = record(30).features;
    let advice = advisor.advise(&features, Dtype::F64, &Objective::default()).unwrap();
    assert_eq!(advice.model, ModelName::Best);
    assert_eq!(advice.ranked[0].candidate.format(), Format::known("coo"));
    for advised in &advice.ranked {
        assert_eq!(advised.model, profile.best_model(advised.candidate.kernel, Dtype::F64));
    }
    for model in LEARNED {
        let objective = Objective { model: Some(model), ..Objective::default() };
        let advice = advisor.advise(&features, Dtype::F64, &objective).unwrap();
        assert_eq!(advice.ranked[0].candidate.format(), Format::known("coo"), "{model}");
        assert!(advice.ranked.iter().all(|advised| advised.model == model));
    }
    let objective = Objective { model: Some(ModelName::Strip), ..Objective::default() };
    assert_eq!(advisor.advise(&features, Dtype::F64, &objective).unwrap().model, ModelName::Strip);

    let corpus: Vec<CorpusRecord> = (0..31).map(record).collect();
    let placements = [PlacementRule::Blend, PlacementRule::Strewn];
    let evaluation =
        evaluate(&profile, &corpus, &placements, &[RowLengthRule::Paper, RowLengthRule::Mean], 3);
    let trained_on: BTreeMap<ModelName, usize> =
        LEARNED.into_iter().chain([ModelName::Best]).map(|model| (model, 25)).collect();
    assert_eq!(evaluation.trained_on, trained_on);
    let boosting = evaluation.rows.iter().filter(|r| r.model == ModelName::Boosting);
    assert!(boosting.clone().count() > 0, "and once, since columns are no question to it");
    for row in boosting.clone() {
        assert!(row.error.count <= 6 * 5 && row.error.median < 0.1, "{row:?}");
    }
    assert!(boosting.clone().all(|r| r.placement == PlacementRule::Blend));

    let drawn = evaluation.predicted.iter().filter(|p| p.model == ModelName::Boosting);
    let known = &profile.models.trained_on;
    assert!(drawn.clone().count() > 0, "points for plots");
    assert!(drawn.clone().all(|p| !known.contains(&corpus[p.matrix].matrix)), "of new matrices alone");

    let known = evaluate(&profile, &corpus[..25], &placements, &[RowLengthRule::Paper], 3);
    assert_eq!(of_learned(&known), (0, 0), "no flattering rows");
    assert_eq!(known.trained_on, trained_on);
    assert!(!known.rows.is_empty(), "the others are evaluated all the same");
}

#[test]
fn each_kernel_is_answered_by_the_model_with_the_least_cross_validated_error() {
    use ModelName::{Boosting, Linear, Neighbours};
    let dir = tempfile::tempdir().unwrap();
    let profile = profile(dir.path(), 25);
    let linear_for_coo =
        with_log_error(&profile, Kernel::known("coo"), [(Boosting, 0.2), (Linear, 0.1), (Neighbours, 0.3)]);
    let mixed = with_log_error(
        &linear_for_coo,
        Kernel::known("ell"),
        [(Boosting, 0.2), (Linear, 0.3), (Neighbours, 0.1)],
    );
    // What each says by itself: compared, near candidates would move together.
    let mixed = Profile { models: Models { comparison: None, ..mixed.models.clone() }, ..mixed };
    let features = record(3).features;
    let advice = Advisor::new(&mixed).advise(&features, Dtype::F64, &Objective::default()).unwrap();
    for kernel in [Kernel::known("coo"), Kernel::known("ell")] {
        let wanted = if kernel == Kernel::known("coo") { Linear } else { Neighbours };
        let named = Objective { model: Some(wanted), ..Objective::default() };
        let alone = Advisor::new(&mixed).advise(&features, Dtype::F64, &named).unwrap();
        let of = |advice: &sparsight::Advice| {
            let own = advice.ranked.iter().filter(|a| a.candidate.kernel == kernel);
            own.map(|a| (a.candidate, a.prediction.clone(), a.model)).collect::<Vec<_>>()
        };
        assert_eq!(of(&advice).len(), 5);
        assert!(of(&advice).iter().all(|(_, _, model)| *model == wanted), "{kernel}");
        assert_eq!(of(&advice), of(&alone), "{kernel}");
    }
}

#[test]
fn best_chooses_by_the_comparison_and_says_the_same_of_one_candidate_as_of_all() {
    let dir = tempfile::tempdir().unwrap();
    let profile = profile(dir.path(), 25);
    let comparison = profile.models.comparison.as_ref().unwrap();
    let (features, facts) = (record(30).features, &profile.device.facts);
    let limits = Limits::with_memory(facts.memory_bytes);
    let all: Vec<Candidate> =
        catalogue(Dtype::F64).filter(|c| feasible(c, &features, &limits).is_ok()).collect();
    let best = Advisor::new(&profile)
        .predictor(ModelName::Best, PlacementRule::Blend, RowLengthRule::Paper)
        .unwrap();
    let together: Vec<Prediction> =
        best.predict_each(&all, &features).into_iter().map(Result::unwrap).collect();
    for (candidate, among) in all.iter().zip(&together) {
        assert_eq!(&best.predict(candidate, &features).unwrap(), among, "{candidate}");
        assert!(among.low.0 > 0.0 && among.low <= among.time && among.time <= among.high);
        assert!(among.time >= facts.launch_s);
        let terms = best.explain(candidate, &features).unwrap();
        assert_eq!(terms.last().unwrap().value.to_bits(), among.time.0.to_bits());
    }
    let ratios = comparison.log_ratios(&all, &features, facts);
    let least = |keys: Vec<f64>| (0..all.len()).min_by(|a, b| keys[*a].total_cmp(&keys[*b])).unwrap();
    let first = least(ratios.into_iter().map(Option::unwrap).collect());
    assert_eq!(first, least(together.iter().map(|p| p.time.0).collect()));
}

#[test]
fn a_kernel_that_the_corpus_lacks_is_answered_by_a_strip_model_and_the_others_are_not() {
    let dir = tempfile::tempdir().unwrap();
    let older = without(&profile(dir.path(), 25), Kernel::known("hyb"));
    let advice = Advisor::new(&older).advise(&record(3).features, Dtype::F64, &Objective::default()).unwrap();
    assert!(advice.ranked.iter().any(|a| a.candidate.kernel == Kernel::known("hyb")));
    for advised in &advice.ranked {
        let by_strip = advised.model == ModelName::StripCache;
        assert_eq!(by_strip, advised.candidate.kernel == Kernel::known("hyb"), "{}", advised.candidate);
    }
}

#[test]
fn features_that_do_not_say_where_the_non_zeros_lie_are_answered_by_a_strip_model() {
    let dir = tempfile::tempdir().unwrap();
    let profile = profile(dir.path(), 25);
    let features = Features { locality: None, ..record(3).features };
    let advice = Advisor::new(&profile).advise(&features, Dtype::F64, &Objective::default()).unwrap();
    assert!(advice.ranked.iter().all(|advised| advised.model == ModelName::StripCache));
    for model in LEARNED {
        let objective = Objective { model: Some(model), ..Objective::default() };
        let error = Advisor::new(&profile).advise(&features, Dtype::F64, &objective).unwrap_err();
        assert!(error.to_string().contains(&format!("{model} model")), "{error}");
    }
}

#[test]
fn models_from_before_there_were_several_still_load_and_answer() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("models.json");
    profile(dir.path(), 25);
    let mut json: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    let models = json.as_object_mut().unwrap();
    models.remove("linear").unwrap();
    models.remove("neighbours").unwrap();
    for kernel in models["boosting"]["kernels"].as_array_mut().unwrap() {
        kernel.as_object_mut().unwrap().remove("log_error").unwrap();
    }
    std::fs::write(&path, json.to_string()).unwrap();
    let older = Profile::load(dir.path()).unwrap();
    let advice = Advisor::new(&older).advise(&record(3).features, Dtype::F64, &Objective::default()).unwrap();
    assert!(advice.ranked.iter().all(|advised| advised.model == ModelName::Boosting));
}

#[test]
fn a_profile_with_too_few_matrices_has_learned_nothing_and_says_so_when_asked_for_it() {
    let dir = tempfile::tempdir().unwrap();
    let profile = profile(dir.path(), MIN_MATRICES as u64 - 1);
    let features = record(0).features;
    for model in LEARNED {
        let objective = Objective { model: Some(model), ..Objective::default() };
        let error = Advisor::new(&profile).advise(&features, Dtype::F64, &objective).unwrap_err();
        let words = format!("{model} model");
        assert!(matches!(error, Error::Lacking { .. }) && error.to_string().contains(&words), "{error}");
    }
    let advice = Advisor::new(&profile).advise(&features, Dtype::F64, &Objective::default()).unwrap();
    assert!(advice.ranked.iter().all(|advised| advised.model == ModelName::StripCache));
    let evaluation = evaluate(&profile, &[record(30)], &[PlacementRule::Blend], &[RowLengthRule::Paper], 3);
    assert_eq!(of_learned(&evaluation), (0, 0));
    assert!(evaluation.trained_on.is_empty());
}

#[test]
fn another_seed_of_a_recipe_that_was_learned_from_is_no_new_matrix() {
    let dir = tempfile::tempdir().unwrap();
    let named = |i: u64, name: &str| CorpusRecord { matrix: name.to_owned(), ..record(i) };
    let mut profile = profile(dir.path(), 31);
    profile.models.trained_on.insert("gallery:arrow,n=9,width=2,seed=1".to_owned());
    let other_seed = named(30, "gallery:arrow,n=9,width=2,seed=2");
    let placements = [PlacementRule::Blend];
    assert_eq!(
        of_learned(&evaluate(
            &profile,
            std::slice::from_ref(&other_seed),
            &placements,
            &[RowLengthRule::Paper],
            0
        )),
        (0, 0)
    );
    let other_size = named(30, "gallery:arrow,n=8,width=2,seed=1");
    assert_ne!(
        of_learned(&evaluate(&profile, &[other_size], &placements, &[RowLengthRule::Paper], 0)),
        (0, 0)
    );
}

#[test]
fn of_two_records_of_a_matrix_the_last_counts() {
    let dir = tempfile::tempdir().unwrap();
    let folder = ProfileFolder::create(dir.path()).unwrap();
    let mut corpus = folder.corpus().unwrap();
    let again = CorpusRecord { matrix: "a/0".to_owned(), ..record(7) };
    let in_f32 = CorpusRecord { dtype: Dtype::F32, results: Vec::new(), ..record(0) };
    for r in [record(0), record(1), in_f32.clone(), again.clone()] {
        corpus.append(r).unwrap();
    }
    assert_eq!(folder.measured().unwrap(), [again, record(1), in_f32]);
}
