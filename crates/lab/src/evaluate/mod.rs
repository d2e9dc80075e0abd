//! The papers' tables: how far predictions are from measurements, for each kernel and model, and what it costs to
//! choose by them.
//!
//! ```text
//! accuracy_row, class_row, miss   errors by kernel and model, by the length of a product, and the largest
//! choice, baseline, wins          what choosing costs, choosing without a model, which strip model is nearest
//! beside_vendor, without_each     our kernels beside cuSPARSE; the gain by each part of the catalogue
//! transfer/                       transferred times beside measured ones
//! ```

mod accuracy_row;
mod baseline;
mod beside_vendor;
mod choice;
mod class_row;
mod miss;
mod time_class;
mod transfer;
mod wins;
mod without_each;

pub use accuracy_row::{AccuracyRow, Group};
pub use baseline::Baseline;
pub use beside_vendor::{Ratios, VendorRow};
pub use choice::{ChoiceRow, Chooser};
pub use class_row::ClassRow;
pub use miss::Miss;
pub use time_class::TimeClass;
pub use transfer::{
    RefusedTimes, TransferEvaluation, TransferMethod, TransferMiss, TransferRow, evaluate_transfer,
};
pub use wins::{ModelWins, WinsRow};
pub use without_each::{Gain, Part as CataloguePart, WithoutRow, without_each};

use serde::{Serialize, Serializer};
use sparsight::models::ModelName;
use sparsight::records::{CorpusRecord, Outcome};
use sparsight::{Advisor, Error, Profile};
use sparsight_kernels::{Candidate, DeviceFacts, DeviceKind, Format, Kernel, every_candidate_on, strip};
use sparsight_matrix::derived::instance;
use sparsight_matrix::{Dtype, Features, Limits, Seconds, display_as_serialized};
use sparsight_model::accuracy::relative_error;
use sparsight_model::{PlacementRule, Prediction, Ranked, Ranking, RowLengthRule, rank};
use std::collections::{BTreeMap, BTreeSet};
use wins::Wins;

/// Matrices that a row counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scope {
    /// All.
    All,
    /// Matrices whose best time is more than twice the launch cost: where the launch decides, every model that
    /// knows the launch is right.
    BeyondLaunch,
    /// For each kernel the matrices that look like its benchmark matrices: at least two strips, and no row longer than
    /// twice the mean. The strip models were made for these.
    LikeBenchmarks,
}

impl Scope {
    /// All, in the order in which tables list them.
    const ALL: [Self; 3] = [Self::All, Self::BeyondLaunch, Self::LikeBenchmarks];

    /// Returns whether a candidate of this matrix counts, that is or is not `like_benchmarks`.
    fn counts(self, of: &Judged<'_>, like_benchmarks: bool) -> bool {
        match self {
            Self::All => true,
            Self::BeyondLaunch => of.beyond_launch,
            Self::LikeBenchmarks => like_benchmarks,
        }
    }
}

display_as_serialized!(Scope);

/// Returns whether a matrix with features `f` looks like the benchmark matrices of `kernel` on the device of `facts`.
fn like_benchmarks(kernel: Kernel, f: &Features, facts: &DeviceFacts) -> bool {
    f.row_max as f64 <= 2.0 * f.row_mean() && strip(kernel, facts).strips_of(f) >= 2
}

/// Returns whether a kernel is one of ours that is ranked on a device of this kind: on a processor retired ones are, too.
fn is_ranked(kernel: Kernel, kind: DeviceKind) -> bool {
    !kernel.is_vendors() && kernel.is_ranked_on(kind)
}

/// The evaluation of a profile on a corpus.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Evaluation {
    /// Matrices by value type: all, and those beyond the launch.
    #[serde(serialize_with = "matrix_counts")]
    pub matrices: BTreeMap<Dtype, (usize, usize)>,
    /// Matrices left out of a learned model's rows since it was trained on them, by model; only models that left any
    /// out. If that were all of the matrices, the model has no rows.
    #[serde(serialize_with = "by_text", skip_serializing_if = "BTreeMap::is_empty")]
    pub trained_on: BTreeMap<ModelName, usize>,
    /// Rows, one for each model, placement, row length, kernel, value type and scope.
    #[serde(rename = "errors")]
    pub rows: Vec<AccuracyRow<Kernel>>,
    /// Rows by format: one for each model, placement, row length, format, value type and scope.
    #[serde(rename = "errors_by_format")]
    pub formats: Vec<AccuracyRow<Format>>,
    /// Rows over everything that was measured: one for each model, placement, row length, value type and scope.
    #[serde(rename = "errors_overall")]
    pub overall: Vec<AccuracyRow<()>>,
    /// The errors of `best` by how long a product takes: one row a value type and class, on matrices that it has not learned from.
    #[serde(rename = "errors_by_class", skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<ClassRow>,
    /// Rows, one for each kernel and value type, at the first rules; none with a single strip model.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub wins: Vec<WinsRow>,
    /// Rows of choices, one for each chooser, value type and scope.
    pub choices: Vec<ChoiceRow>,
    /// The choice of `best` beside the vendor's routines, on matrices that it has not learned from; none where these routines were
    /// not measured.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub beside_vendor: Vec<VendorRow>,
    /// The worst matrices of each model, kernel and value type, worst first, at most `worst` each.
    #[serde(rename = "worst")]
    pub misses: Vec<Miss>,
    /// Every prediction that has a measured time beside it, at the first rules; not part of answers.
    #[serde(skip)]
    pub predicted: Vec<PredictedTime>,
}

/// Serialises numbers of matrices as a list, a value type an entry.
fn matrix_counts<S: Serializer>(
    matrices: &BTreeMap<Dtype, (usize, usize)>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Counts {
        dtype: Dtype,
        all: usize,
        beyond_launch: usize,
    }
    let counts = |(&dtype, &(all, beyond_launch))| Counts { dtype, all, beyond_launch };
    serializer.collect_seq(matrices.iter().map(counts))
}

/// Serialises a map in the order of the texts of its keys.
fn by_text<K: ToString, S: Serializer>(map: &BTreeMap<K, usize>, serializer: S) -> Result<S::Ok, S::Error> {
    map.iter().map(|(key, count)| (key.to_string(), count)).collect::<BTreeMap<_, _>>().serialize(serializer)
}

/// A prediction beside its measurement: a point of a plot.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PredictedTime {
    /// Model.
    pub model: ModelName,
    /// Candidate that was predicted and run.
    pub candidate: Candidate,
    /// Place of the matrix in the corpus.
    pub matrix: usize,
    /// Predicted time.
    pub predicted: Seconds,
    /// Measured time.
    pub measured: Seconds,
}

/// The statistics that stand for a matrix in strip models.
#[derive(Debug, Clone, Copy)]
struct Rules {
    placement: PlacementRule,
    row_length: RowLengthRule,
}

/// A record of the corpus with what every row asks of it.
struct Judged<'r> {
    /// Place in the corpus.
    at: usize,
    record: &'r CorpusRecord,
    best: Option<Seconds>,
    beyond_launch: bool,
}

impl<'r> Judged<'r> {
    fn all(corpus: &'r [CorpusRecord], launch_s: f64) -> Vec<Self> {
        let judged = |(at, record): (usize, &'r CorpusRecord)| {
            let best = record.best().map(|best| best.1);
            Self { at, record, best, beyond_launch: best.is_some_and(|best| best.0 > 2.0 * launch_s) }
        };
        corpus.iter().enumerate().map(judged).collect()
    }

    /// Matrices by value type: all, and those beyond the launch.
    fn counts(judged: &[Self]) -> BTreeMap<Dtype, (usize, usize)> {
        let mut counts = BTreeMap::new();
        for j in judged {
            let (all, beyond) = counts.entry(j.record.dtype).or_default();
            *all += 1;
            *beyond += usize::from(j.beyond_launch);
        }
        counts
    }

    fn outcome(&self, candidate: Candidate) -> Option<&'r Outcome> {
        self.record.results.iter().find(|m| m.id == candidate).map(|m| &m.outcome)
    }

    fn time(&self, candidate: Candidate) -> Option<Seconds> {
        match self.outcome(candidate) {
            Some(Outcome::Time { time_s, .. }) => Some(*time_s),
            _ => None,
        }
    }
}

/// A measured candidate of one matrix with the prediction of one model.
struct Sample<'r> {
    of: &'r Judged<'r>,
    like_benchmarks: bool,
    candidate: Candidate,
    prediction: Prediction,
    measured: Seconds,
}

impl Sample<'_> {
    fn error(&self) -> f64 {
        relative_error(self.prediction.time, self.measured)
    }

    fn counts(&self, scope: Scope) -> bool {
        scope.counts(self.of, self.like_benchmarks)
    }
}

/// The samples of one model, by what is predicted.
type Samples<'r> = BTreeMap<(Dtype, Kernel), Vec<Sample<'r>>>;

/// Holds every model of `profile` against `corpus`, the strip models with each of `placements` and each of
/// `row_lengths`. `worst` matrices are named for each model and kernel, by the first of both.
///
/// A learned model is held only against matrices that it was not trained on, nor on another seed of their recipe: it
/// knows the others by heart.
///
/// # Errors
/// [`Error::File`], [`Error::Damaged`] or [`Error::Schema`] if a model cannot be read; one that the profile does not hold
/// has no rows.
pub fn evaluate(
    profile: &Profile,
    corpus: &[CorpusRecord],
    placements: &[PlacementRule],
    row_lengths: &[RowLengthRule],
    worst: usize,
) -> Result<Evaluation, Error> {
    let (advisor, facts) = (Advisor::new(profile), &profile.device.facts);
    let judged = Judged::all(corpus, facts.launch_s.0);
    // Other seeds of a recipe that was learned from are no new matrices.
    let known: BTreeSet<&str> = profile.models.index.trained_on.iter().map(|name| instance(name)).collect();
    let mut evaluation = Evaluation { matrices: Judged::counts(&judged), ..Evaluation::default() };
    let mut wins = Wins::default();
    let learned = ModelName::all().into_iter().any(|model| profile.models.known(model).is_some());
    for model in ModelName::all() {
        if model == ModelName::Best && !learned {
            // It would be a strip model's row under another name.
            continue;
        }
        let by_heart = |j: &&Judged<'_>| model.is_learned() && known.contains(instance(&j.record.matrix));
        let (left_out, tested): (Vec<&Judged<'_>>, Vec<&Judged<'_>>) = judged.iter().partition(by_heart);
        // What stands for a matrix is a question for benchmark matrices: a model without them answers once.
        let rules = placements.iter().flat_map(|&placement| {
            row_lengths.iter().map(move |&row_length| Rules { placement, row_length })
        });
        let rules = rules.take(if model.is_learned() { 1 } else { usize::MAX });
        for (at, rules) in rules.enumerate() {
            let predictor = match advisor.predictor(model, rules.placement, rules.row_length) {
                Ok(predictor) => predictor,
                Err(Error::Lacking { .. } | Error::NotShipped { .. }) => continue,
                Err(error) => return Err(error),
            };
            if !left_out.is_empty() {
                let names: BTreeSet<&str> = left_out.iter().map(|j| j.record.matrix.as_str()).collect();
                evaluation.trained_on.insert(model, names.len());
            }
            // Errors are shown of every candidate, also of those that are not chosen from any more.
            let kind = profile.device.facts.kind;
            let rank = |j: &Judged<'_>| {
                rank(&predictor, every_candidate_on(kind, j.record.dtype), &j.record.features)
            };
            let all: Vec<(&Judged<'_>, Ranking)> = tested.iter().map(|&j| (j, rank(j))).collect();
            let is_chosen_from = |r: &Ranked| r.candidate.kernel.is_ranked_on(kind);
            let mut rankings = all.clone();
            for (_, ranking) in &mut rankings {
                ranking.ranked.retain(is_chosen_from);
            }
            evaluation.choices.extend(choice::of_model(model, rules, &rankings));
            if model == ModelName::Best {
                evaluation.choices.extend(choice::of_runs(&rankings));
                evaluation.choices.extend(choice::of_advice(advisor, &tested)?);
                evaluation.beside_vendor = beside_vendor::rows(&rankings);
            }
            let samples = samples(all, facts);
            if model == ModelName::Best {
                evaluation.classes = class_row::rows(&samples, kind);
            }
            evaluation.add_errors((model, rules), &samples, &known);
            if at == 0 {
                evaluation.add_points(model, &samples, worst);
                if !model.is_learned() {
                    wins.add(model, &samples);
                }
            }
        }
    }
    evaluation.wins = wins.rows();
    evaluation.choices.extend(choice::of_baselines(&judged, &Limits::with_memory(facts.memory_bytes)));
    Ok(evaluation)
}

/// The predictions that have a measured time beside them.
fn samples<'r>(rankings: Vec<(&'r Judged<'r>, Ranking)>, facts: &DeviceFacts) -> Samples<'r> {
    let mut samples = Samples::new();
    for (of, ranking) in rankings {
        for Ranked { candidate, prediction } in ranking.ranked {
            let Some(measured) = of.time(candidate) else { continue };
            let like_benchmarks = like_benchmarks(candidate.kernel, &of.record.features, facts);
            let sample = Sample { of, like_benchmarks, candidate, prediction, measured };
            samples.entry((of.record.dtype, candidate.kernel)).or_default().push(sample);
        }
    }
    samples
}

impl Evaluation {
    /// The rows of one model, by kernel, by format and over all.
    fn add_errors(&mut self, model: (ModelName, Rules), samples: &Samples<'_>, known: &BTreeSet<&str>) {
        let mut formats: BTreeMap<(Dtype, Format), Vec<&Sample<'_>>> = BTreeMap::new();
        let mut overall: BTreeMap<Dtype, Vec<&Sample<'_>>> = BTreeMap::new();
        for (&(dtype, kernel), samples) in samples {
            let samples: Vec<&Sample<'_>> = samples.iter().collect();
            self.rows.extend(AccuracyRow::rows((dtype, kernel), model, &samples, known));
            overall.entry(dtype).or_default().extend(&samples);
            formats.entry((dtype, kernel.format())).or_default().extend(samples);
        }
        for (dtype, samples) in overall {
            self.overall.extend(AccuracyRow::rows((dtype, ()), model, &samples, known));
        }
        for (of, samples) in formats {
            self.formats.extend(AccuracyRow::rows(of, model, &samples, known));
        }
    }

    /// The points of one model and the worst of them.
    fn add_points(&mut self, model: ModelName, samples: &Samples<'_>, worst: usize) {
        for (&of, samples) in samples {
            self.misses.extend(miss::worst_of(model, of, samples, worst));
            self.predicted.extend(samples.iter().map(|s| PredictedTime {
                model,
                candidate: s.candidate,
                matrix: s.of.at,
                predicted: s.prediction.time,
                measured: s.measured,
            }));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sparsight::records::Measured;
    use sparsight_device::timing::Caches;
    use sparsight_matrix::RowLengths;

    /// A candidate with its time.
    pub(super) fn time(id: &str, time_s: f64) -> Measured {
        let outcome = Outcome::Time { time_s: Seconds(time_s), spread: 0.0, samples: 1 };
        Measured { id: id.parse().unwrap(), outcome }
    }

    /// A record of a matrix with these row lengths, in f64.
    pub(super) fn record(matrix: &str, lengths: &[u64], results: Vec<Measured>) -> CorpusRecord {
        let counts = RowLengths::from_counts(lengths.iter().map(|&length| (length, 1)));
        let features = Features::from_row_lengths(&counts, lengths.len() as u64, 0, 1.0);
        CorpusRecord { results, ..CorpusRecord::new(matrix, Dtype::F64, Caches::Warm, features) }
    }
}
