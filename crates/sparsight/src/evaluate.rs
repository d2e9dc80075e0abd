//! The papers' table: how far predictions are from measurements, for each kernel and model.

use crate::records::CorpusRecord;
use crate::{Advisor, ModelName, Predictor, Profile};
use sparsight_kernels::{Kernel, strip};
use sparsight_matrix::{Dtype, Seconds};
use sparsight_model::accuracy::{Accuracy, coverage, relative_error};
use sparsight_model::{ChoiceQuality, Model, PlacementRule, Prediction, RowLengthRule, rank};
use std::collections::{BTreeMap, BTreeSet};

/// Which matrices a row counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// All.
    All,
    /// Those whose best time is more than twice the launch cost: where the launch decides, every model that
    /// knows the launch is right.
    BeyondLaunch,
    /// For each kernel those that look like its benchmark matrices: at least two strips, and no row longer than
    /// twice the mean. What the strip models were made for.
    LikeBenchmarks,
}

/// Error of one model on one kernel.
#[derive(Debug, Clone, PartialEq)]
pub struct AccuracyRow {
    /// Model.
    pub model: ModelName,
    /// Which benchmark matrices stood for the columns.
    pub placement: PlacementRule,
    /// What stood for the row lengths.
    pub row_length: RowLengthRule,
    /// Kernel with its knobs.
    pub kernel: Kernel,
    /// Value type.
    pub dtype: Dtype,
    /// Matrices counted.
    pub scope: Scope,
    /// Of `|predicted - measured| / measured`, over matrices and block sizes.
    pub error: Accuracy,
    /// Share of the measurements that lie within their 90 % interval, of matrices that took no part in its
    /// calibration; `None` without any.
    pub covered: Option<f64>,
}

/// How good the first-ranked candidate of a model is: the evaluation of Lehnert et al. 2016.
#[derive(Debug, Clone, PartialEq)]
pub struct ChoiceRow {
    /// Model.
    pub model: ModelName,
    /// Which benchmark matrices stood for the columns.
    pub placement: PlacementRule,
    /// What stood for the row lengths.
    pub row_length: RowLengthRule,
    /// Value type.
    pub dtype: Dtype,
    /// Matrices counted.
    pub scope: Scope,
    /// Measured time of the first-ranked candidate against the best measured one.
    pub quality: ChoiceQuality,
}

/// A matrix on which a model is far off.
#[derive(Debug, Clone, PartialEq)]
pub struct Miss {
    /// Model.
    pub model: ModelName,
    /// Kernel with its knobs.
    pub kernel: Kernel,
    /// Value type.
    pub dtype: Dtype,
    /// Matrix.
    pub matrix: String,
    /// Predicted time, of the block size that is worst.
    pub predicted: Seconds,
    /// Measured time of it.
    pub measured: Seconds,
}

impl Miss {
    /// `|predicted - measured| / measured`.
    pub fn error(&self) -> f64 {
        relative_error(self.predicted, self.measured)
    }
}

/// The evaluation of a profile on a corpus.
#[derive(Debug, Clone, PartialEq)]
pub struct Evaluation {
    /// One row a model, placement, row length, kernel, value type and scope.
    pub rows: Vec<AccuracyRow>,
    /// One row a model, placement, row length, value type and scope.
    pub choices: Vec<ChoiceRow>,
    /// The worst matrices of each model, kernel and value type, worst first, at most `worst` each.
    pub misses: Vec<Miss>,
    /// Matrices by value type: all, and those beyond the launch.
    pub matrices: BTreeMap<Dtype, (usize, usize)>,
    /// Matrices left out of a learned model's rows since it was trained on them, by model; only models that left any
    /// out. If that were all of the matrices, the model has no rows.
    pub trained_on: BTreeMap<ModelName, usize>,
}

struct Sample<'r> {
    record: &'r CorpusRecord,
    beyond_launch: bool,
    prediction: Prediction,
    measured: Seconds,
}

/// Holds every model of `profile` against `corpus`, the strip models with each of `placements` and each of
/// `row_lengths`. `worst` matrices are named for each model and kernel, by the first of both.
///
/// A learned model is held only against matrices that it was not trained on: it knows the others by heart.
pub fn evaluate(
    profile: &Profile,
    corpus: &[CorpusRecord],
    placements: &[PlacementRule],
    row_lengths: &[RowLengthRule],
    worst: usize,
) -> Evaluation {
    let advisor = Advisor::new(profile);
    let launch = profile.device.facts.launch_s.0;
    let beyond_launch = |r: &CorpusRecord| r.best().is_some_and(|(_, best)| best.0 > 2.0 * launch);
    let mut evaluation = Evaluation {
        rows: Vec::new(),
        choices: Vec::new(),
        misses: Vec::new(),
        matrices: BTreeMap::new(),
        trained_on: BTreeMap::new(),
    };
    for record in corpus {
        let (all, beyond) = evaluation.matrices.entry(record.dtype).or_default();
        *all += 1;
        *beyond += usize::from(beyond_launch(record));
    }
    let known = &profile.models.trained_on;
    for model in ModelName::ALL {
        let by_heart = |r: &&CorpusRecord| model.is_learned() && known.contains(&r.matrix);
        let (left_out, tested): (Vec<&CorpusRecord>, Vec<&CorpusRecord>) = corpus.iter().partition(by_heart);
        // What stands for a matrix is a question for benchmark matrices: a model without them answers once.
        let rules = placements.iter().flat_map(|&p| row_lengths.iter().map(move |&r| (p, r)));
        let rules = rules.take(if model.is_learned() { 1 } else { usize::MAX });
        for (at, (placement, row_length)) in rules.enumerate() {
            let Ok(predictor) = advisor.predictor(model, placement, row_length) else { continue };
            if !left_out.is_empty() {
                let names: BTreeSet<&str> = left_out.iter().map(|r| r.matrix.as_str()).collect();
                evaluation.trained_on.insert(model, names.len());
            }
            evaluation.choices.extend(choices(
                &tested,
                &predictor,
                model,
                (placement, row_length),
                &beyond_launch,
            ));
            let mut samples: BTreeMap<(Dtype, Kernel), Vec<Sample<'_>>> = BTreeMap::new();
            for &record in &tested {
                for (candidate, measured) in record.times() {
                    let Ok(prediction) = predictor.predict(&candidate, &record.features) else { continue };
                    samples.entry((record.dtype, candidate.kernel)).or_default().push(Sample {
                        record,
                        beyond_launch: beyond_launch(record),
                        prediction,
                        measured,
                    });
                }
            }
            for ((dtype, kernel), samples) in samples {
                let strip = strip(kernel, &profile.device.facts);
                let like_benchmarks = |s: &Sample<'_>| {
                    let f = &s.record.features;
                    strip.strips_of(f) >= 2 && f.row_max as f64 <= 2.0 * f.row_mean()
                };
                for scope in [Scope::All, Scope::BeyondLaunch, Scope::LikeBenchmarks] {
                    let counts = |s: &&Sample<'_>| match scope {
                        Scope::All => true,
                        Scope::BeyondLaunch => s.beyond_launch,
                        Scope::LikeBenchmarks => like_benchmarks(s),
                    };
                    let counted = || samples.iter().filter(counts);
                    let error = Accuracy::of(counted().map(|s| (s.prediction.time, s.measured)));
                    let unseen = counted().filter(|s| !known.contains(&s.record.matrix));
                    let covered = coverage(unseen.map(|s| (&s.prediction, s.measured)));
                    let Some(error) = error else { continue };
                    evaluation.rows.push(AccuracyRow {
                        model,
                        placement,
                        row_length,
                        kernel,
                        dtype,
                        scope,
                        error,
                        covered,
                    });
                }
                if at == 0 {
                    evaluation.misses.extend(worst_of(model, kernel, dtype, &samples, worst));
                }
            }
        }
    }
    evaluation
}

/// What the first-ranked candidate of each matrix really costs.
fn choices(
    corpus: &[&CorpusRecord],
    predictor: &Predictor<'_>,
    model: ModelName,
    (placement, row_length): (PlacementRule, RowLengthRule),
    beyond_launch: &dyn Fn(&CorpusRecord) -> bool,
) -> Vec<ChoiceRow> {
    let chosen: Vec<(&CorpusRecord, (Seconds, Seconds))> = corpus
        .iter()
        .filter_map(|&record| {
            let ranking = rank(predictor, record.times().map(|(candidate, _)| candidate), &record.features);
            let first = ranking.best()?.candidate;
            let (_, time) = record.times().find(|(candidate, _)| *candidate == first)?;
            Some((record, (time, record.best()?.1)))
        })
        .collect();
    let mut rows = Vec::new();
    for dtype in Dtype::ALL {
        for scope in [Scope::All, Scope::BeyondLaunch] {
            let counted = chosen
                .iter()
                .filter(|(r, _)| r.dtype == dtype && (scope == Scope::All || beyond_launch(r)))
                .map(|(_, pair)| *pair);
            let quality = ChoiceQuality::of(counted);
            rows.extend(quality.map(|quality| ChoiceRow {
                model,
                placement,
                row_length,
                dtype,
                scope,
                quality,
            }));
        }
    }
    rows
}

/// The matrices with the largest errors, each with its worst block size.
fn worst_of(
    model: ModelName,
    kernel: Kernel,
    dtype: Dtype,
    samples: &[Sample<'_>],
    worst: usize,
) -> Vec<Miss> {
    let mut by_matrix: BTreeMap<&str, Miss> = BTreeMap::new();
    for s in samples {
        let miss = Miss {
            model,
            kernel,
            dtype,
            matrix: s.record.matrix.clone(),
            predicted: s.prediction.time,
            measured: s.measured,
        };
        let entry = by_matrix.entry(&s.record.matrix).or_insert_with(|| miss.clone());
        if miss.error() > entry.error() {
            *entry = miss;
        }
    }
    let mut misses: Vec<Miss> = by_matrix.into_values().collect();
    misses.sort_by(|a, b| b.error().total_cmp(&a.error()));
    misses.truncate(worst);
    misses
}
