//! Worth of a profile's models on matrices that they have not learned from.

use super::RefusedProfile;
use crate::evaluate::{Baseline, Chooser, Evaluation, Scope, evaluate};
use serde::{Deserialize, Serialize};
use sparsight::Profile;
use sparsight::calibrate::fit;
use sparsight::models::ModelName;
use sparsight::profile::ProfileFolder;
use sparsight::records::{BenchmarkRecord, CorpusRecord};
use sparsight_matrix::Dtype;
use sparsight_matrix::derived::instance;
use sparsight_model::{MIN_MATRICES, PlacementRule, RowLengthRule};
use std::collections::BTreeSet;

/// One matrix in so many is held out. Chosen: as folds of cross-validation are.
const FOLDS: usize = 5;
/// Of 100 times so many may be impossible: `lab fit` leaves them out. Chosen: a disturbed machine has fewer.
const IMPLAUSIBLE: usize = 1;
/// A choice this much slower than a fixed candidate still counts as equal: as `advise` counts.
const EQUAL: f64 = 0.05;
/// Share of the times that intervals must hold. Chosen: below, an interval is wrong more often than right.
const COVERED: f64 = 0.5;

/// Worth of the models on matrices that they have not learned from, in one value type.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HeldOutQuality {
    /// Value type.
    pub dtype: Dtype,
    /// Matrices that were held out.
    pub matrices: usize,
    /// Time of the best candidate over that of the first choice, geometric mean: 1 is perfect.
    pub best_over_chosen: f64,
    /// The same for the one candidate that is best for all of them, which is known only afterwards.
    pub best_over_fixed: f64,
    /// Median of |predicted - measured| / measured over all candidates.
    pub median_error: f64,
    /// Share of the times within their 90 % interval.
    pub covered: Option<f64>,
}

/// Holds the profile to its own measurements. The matrices that its models have not learned from are the test if there are enough of
/// them; else the models are fitted again without a fifth of all.
pub(super) fn held_out(folder: &ProfileFolder) -> Result<Vec<HeldOutQuality>, RefusedProfile> {
    let mut profile = Profile::load(folder.path())?;
    let corpus = folder.measured()?;
    refuse_implausible(&folder.benchmark()?.into_records(), &corpus)?;
    let known: BTreeSet<&str> = profile.models.index.trained_on.iter().map(|name| instance(name)).collect();
    let all: BTreeSet<&str> = corpus.iter().map(|record| instance(&record.matrix)).collect();
    let too_few = RefusedProfile::TooFew { matrices: all.len(), needed: MIN_MATRICES * FOLDS / (FOLDS - 1) };
    if all.len() * (FOLDS - 1) < MIN_MATRICES * FOLDS {
        return Err(too_few);
    }
    let unseen: BTreeSet<&str> = all.difference(&known).copied().collect();
    let test: BTreeSet<&str> = if unseen.len() >= MIN_MATRICES {
        unseen
    } else {
        let test: BTreeSet<&str> = all.iter().copied().step_by(FOLDS).collect();
        profile.models = fit(folder, &[], |name| !test.contains(instance(name)))?.models;
        test
    };
    let tested: Vec<CorpusRecord> =
        corpus.iter().filter(|record| test.contains(instance(&record.matrix))).cloned().collect();
    let rules = (PlacementRule::default(), RowLengthRule::default());
    let evaluation = evaluate(&profile, &tested, &[rules.0], &[rules.1], 0)?;
    let quality: Vec<HeldOutQuality> = Dtype::ALL
        .into_iter()
        .filter_map(|dtype| of_dtype(&evaluation, dtype).transpose())
        .collect::<Result<_, _>>()?;
    if quality.is_empty() { Err(too_few) } else { Ok(quality) }
}

fn refuse_implausible(benchmark: &[BenchmarkRecord], corpus: &[CorpusRecord]) -> Result<(), RefusedProfile> {
    let implausible = benchmark.iter().map(BenchmarkRecord::implausible).sum::<usize>()
        + corpus.iter().map(CorpusRecord::implausible).sum::<usize>();
    let plausible = benchmark.iter().map(|record| record.observations().count()).sum::<usize>()
        + corpus.iter().map(|record| record.times().count()).sum::<usize>();
    let times = implausible + plausible;
    if implausible * 100 > times * IMPLAUSIBLE {
        return Err(RefusedProfile::Implausible { implausible, times });
    }
    Ok(())
}

/// Quality in one value type; `None` if the models choose nothing in it.
fn of_dtype(evaluation: &Evaluation, dtype: Dtype) -> Result<Option<HeldOutQuality>, RefusedProfile> {
    let choices = || evaluation.choices.iter().filter(|row| row.dtype == dtype && row.scope == Scope::All);
    let is_best = |chooser: &Chooser| matches!(chooser, Chooser::Model { model: ModelName::Best, .. });
    let is_fixed = |chooser: &Chooser| matches!(chooser, Chooser::Baseline(Baseline::BestSingle(_)));
    let errors = evaluation
        .overall
        .iter()
        .find(|row| row.dtype == dtype && row.scope == Scope::All && row.model == ModelName::Best);
    let (Some(best), Some(fixed), Some(errors)) =
        (choices().find(|row| is_best(&row.chooser)), choices().find(|row| is_fixed(&row.chooser)), errors)
    else {
        return Ok(None);
    };
    let quality = HeldOutQuality {
        dtype,
        matrices: best.quality.count,
        best_over_chosen: 1.0 / best.quality.mean_ratio,
        best_over_fixed: 1.0 / fixed.quality.mean_ratio,
        median_error: errors.error.median,
        covered: errors.covered,
    };
    if quality.best_over_chosen < quality.best_over_fixed * (1.0 - EQUAL) {
        return Err(RefusedProfile::Choices {
            dtype,
            chosen: quality.best_over_chosen,
            fixed: quality.best_over_fixed,
            candidate: fixed.candidate.map(|candidate| candidate.to_string()).unwrap_or_default(),
        });
    }
    match quality.covered {
        Some(covered) if covered < COVERED => Err(RefusedProfile::Intervals { dtype, covered }),
        _ => Ok(Some(quality)),
    }
}
