//! A made-up corpus in a profile folder: fit learns from it, advise uses it, evaluate is honest about it.

use crate::corpus::{profile, record};
use sparsight::calibrate::fit;
use sparsight::kernels::{Candidate, Format, Kernel, catalogue, feasible};
use sparsight::matrix::{Dtype, Features, Limits};
use sparsight::model::{MIN_MATRICES, Model, PlacementRule, Prediction, RowLengthRule};
use sparsight::models::ModelName;
use sparsight::profile::ProfileFolder;
use sparsight::records::CorpusRecord;
use sparsight::{Advisor, Error, Objective, Profile};
use sparsight_lab::evaluate::{ChoiceRow, Chooser, Evaluation, evaluate};
use sparsight_lab::papers::{LINEAR, NEIGHBOURS};
use std::collections::BTreeMap;

const LEARNED: [ModelName; 3] = [ModelName::Boosting, LINEAR, NEIGHBOURS];

/// Rows and choices of models that learned.
fn of_learned(evaluation: &Evaluation) -> (usize, usize) {
    let learned = |c: &&ChoiceRow| matches!(c.chooser, Chooser::Model { model, .. } if model.is_learned());
    let choices = evaluation.choices.iter().filter(learned).count();
    (evaluation.rows.iter().filter(|r| r.model.is_learned()).count(), choices)
}

/// A profile whose learned models know a kernel well or badly, by the numbers given: what `best` goes by.
fn with_log_error(profile: &Profile, kernel: Kernel, errors: [(ModelName, f64); 3]) -> Profile {
    let mut changed = profile.clone();
    for (model, error) in errors {
        let learned = changed.models.index.models.get_mut(&model.to_string()).unwrap();
        learned.known.as_mut().unwrap().log_errors.insert(kernel, error);
    }
    changed
}

/// The profile without the models of one kernel: a profile whose corpus is older than the kernel.
fn without(profile: &Profile, kernel: Kernel) -> Profile {
    let mut changed = profile.clone();
    for model in LEARNED {
        let learned = changed.models.index.models.get_mut(&model.to_string()).unwrap();
        learned.known.as_mut().unwrap().log_errors.remove(&kernel).unwrap();
    }
    changed
}

#[test]
fn measurements_of_another_device_are_carried_over_and_learned_from() {
    let (here, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (few, _) = (profile(here.path(), 22), profile(elsewhere.path(), 31));
    assert_eq!(few.models.index.trained_on.len(), 22);
    let folder = ProfileFolder::open(here.path()).unwrap();
    let others = [ProfileFolder::open(elsewhere.path()).unwrap()];
    let index = fit(&folder, &others, |name| name.starts_with("a/")).unwrap().models.index;
    assert_eq!(index.trained_on.len(), 25, "those that may be learned from, and no others");
    assert_eq!(index.carried_from, [others[0].name()]);
    // Without a common matrix times cannot be converted to this device.
    let alone = tempfile::tempdir().unwrap();
    profile(alone.path(), 0);
    let alone = ProfileFolder::open(alone.path()).unwrap();
    let error = fit(&alone, &others, |_| true).unwrap_err();
    assert!(matches!(error, Error::Lacking { .. }), "{error}");
}

#[test]
fn a_profile_with_a_corpus_advises_by_learned_models() {
    let dir = tempfile::tempdir().unwrap();
    let profile = profile(dir.path(), 31);
    assert!(profile.was_calibrated_in(Dtype::F64), "from matrices other than those of a calibration, too");
    assert_eq!(profile.models.index.trained_on.len(), 25);
    // The corpus that was made up holds what is ranked.
    for kernel in Kernel::all().filter(|kernel| !kernel.is_retired()) {
        let (best, error) = profile.learned_models(kernel, Dtype::F64)[0];
        assert_eq!(profile.best_model(kernel, Dtype::F64), best);
        assert!(profile.learned_models(kernel, Dtype::F64).iter().all(|(_, other)| *other >= error));
        assert_eq!(profile.best_model(kernel, Dtype::F32), ModelName::StripCache, "no f32 was measured");
    }

    // Of the matrices learned from each lies where it lies; the nearest of a new one are some of these.
    let known = &profile.models.index.trained_on;
    for at in (0..31).map(record) {
        let nearby = profile.nearby(&at.features, 2).unwrap().unwrap();
        assert!(nearby.nearest.iter().all(|near| known.contains(&near.matrix)), "{nearby:?}");
        assert_eq!(
            nearby.nearest[0].distance < 1e-12,
            known.contains(&at.matrix),
            "{}: {nearby:?}",
            at.matrix
        );
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
    let placements = [PlacementRule::Blend, PlacementRule::Scattered];
    let evaluation =
        evaluate(&profile, &corpus, &placements, &[RowLengthRule::Paper, RowLengthRule::Mean], 3).unwrap();
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
    let known = &profile.models.index.trained_on;
    assert!(drawn.clone().count() > 0, "points for plots");
    assert!(drawn.clone().all(|p| !known.contains(&corpus[p.matrix].matrix)), "of new matrices alone");

    let known = evaluate(&profile, &corpus[..25], &placements, &[RowLengthRule::Paper], 3).unwrap();
    assert_eq!(of_learned(&known), (0, 0), "no flattering rows");
    assert_eq!(known.trained_on, trained_on);
    assert!(!known.rows.is_empty(), "the others are evaluated all the same");
}

#[test]
fn each_kernel_is_answered_by_the_model_with_the_least_cross_validated_error() {
    use ModelName::Boosting;
    let dir = tempfile::tempdir().unwrap();
    let profile = profile(dir.path(), 25);
    let linear_for_coo =
        with_log_error(&profile, Kernel::known("coo"), [(Boosting, 0.2), (LINEAR, 0.1), (NEIGHBOURS, 0.3)]);
    let mut mixed = with_log_error(
        &linear_for_coo,
        Kernel::known("ell"),
        [(Boosting, 0.2), (LINEAR, 0.3), (NEIGHBOURS, 0.1)],
    );
    // What each says by itself: compared, near candidates would move together.
    mixed.models.index.models.remove("comparison").unwrap();
    let features = record(3).features;
    let advice = Advisor::new(&mixed).advise(&features, Dtype::F64, &Objective::default()).unwrap();
    for kernel in [Kernel::known("coo"), Kernel::known("ell")] {
        let wanted = if kernel == Kernel::known("coo") { LINEAR } else { NEIGHBOURS };
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
    let comparison = profile.models.comparison().unwrap().unwrap();
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
fn a_strip_model_answers_only_for_kernels_missing_from_the_corpus() {
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
fn a_strip_model_answers_for_features_without_locality() {
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
fn a_profile_with_too_few_matrices_reports_that_it_learned_nothing() {
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
    let evaluation =
        evaluate(&profile, &[record(30)], &[PlacementRule::Blend], &[RowLengthRule::Paper], 3).unwrap();
    assert_eq!(of_learned(&evaluation), (0, 0));
    assert!(evaluation.trained_on.is_empty());
}

#[test]
fn another_seed_of_a_recipe_that_was_learned_from_is_no_new_matrix() {
    let dir = tempfile::tempdir().unwrap();
    let named = |i: u64, name: &str| CorpusRecord { matrix: name.to_owned(), ..record(i) };
    let mut profile = profile(dir.path(), 31);
    profile.models.index.trained_on.insert("gallery:arrow,n=9,width=2,seed=1".to_owned());
    let other_seed = named(30, "gallery:arrow,n=9,width=2,seed=2");
    let learned = |record: CorpusRecord| {
        let (placements, row_lengths) = ([PlacementRule::Blend], [RowLengthRule::Paper]);
        of_learned(&evaluate(&profile, &[record], &placements, &row_lengths, 0).unwrap())
    };
    assert_eq!(learned(other_seed), (0, 0));
    assert_ne!(learned(named(30, "gallery:arrow,n=8,width=2,seed=1")), (0, 0));
}

#[test]
fn the_last_of_two_records_of_a_matrix_counts() {
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
