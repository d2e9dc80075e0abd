//! Fitting `boosting` to measured matrices, and how it is stored.

use super::baseline::{Parts, Steps};
use super::cross_validation::{CrossValidation, Learned, Row, folds, out_of_fold};
use super::forest::Forest;
use super::inputs::{COUNT, INPUTS, Matrix};
use super::sample::LearningSample;
use super::trainer::Growth;
use crate::accuracy::Accuracy;
use crate::{Extent, LogInterval, MeasuredPair, PredictError};
use rayon::prelude::*;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sparsight_kernels::{DeviceFacts, Kernel, compulsory_bytes};
use sparsight_matrix::{Dtype, Seconds};
use std::collections::BTreeSet;

/// Matrices needed before a kernel is learned: four in each fold, and one residual more than an interval needs.
pub const MIN_MATRICES: usize = 20;

/// Changes whenever the stored form or the meaning of an input does.
const FORMAT: &str = "sparsight/boosting/2";

/// Trees for every kernel that enough matrices were measured with.
///
/// Stored with its format and the names of its inputs first; another format or other inputs are refused.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BoostingModel {
    format: Format,
    matrices: usize,
    dtypes: Vec<Dtype>,
    cross_validation: CrossValidation,
    kernels: Vec<KernelBoosting>,
}

/// The trees of one kernel and what was learned about their errors.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KernelBoosting {
    #[serde(with = "kernel_name")]
    pub(super) kernel: Kernel,
    /// Matrices learned from.
    pub matrices: usize,
    /// Of held-out matrices, all block sizes and value types; of real ones alone where there are enough.
    pub error: Accuracy,
    /// 90 % of `ln(measured / predicted)` of held-out matrices: nominal, since the model was fitted to all of
    /// them again afterwards.
    pub(super) interval: LogInterval,
    /// Shortest time measured.
    pub(super) least: Seconds,
    pub(super) trained: Trained,
    /// Of the baseline.
    pub(super) steps: Steps,
    pub(super) trees: Forest,
}

/// Held-out samples with their predictions.
type Judged<'a> = Vec<(LearningSample<'a>, MeasuredPair)>;

/// Those that errors are judged by: of matrices that no generator made, if there are enough.
fn judged<'a>(samples: &[LearningSample<'a>], pairs: Vec<MeasuredPair>) -> Judged<'a> {
    let real: BTreeSet<&str> = samples.iter().filter(|s| !s.generated).map(|s| s.matrix).collect();
    let enough = real.len() >= MIN_MATRICES;
    samples.iter().copied().zip(pairs).filter(|(sample, _)| !(enough && sample.generated)).collect()
}

impl KernelBoosting {
    /// With the predictions of held-out matrices; `None` if there are too few matrices.
    fn learn<'a>(
        kernel: Kernel,
        facts: &DeviceFacts,
        samples: &[LearningSample<'a>],
        rows: &[Row],
        growth: &Growth,
    ) -> Option<(Self, Judged<'a>)> {
        let matrices = samples.iter().map(|s| s.matrix).collect::<BTreeSet<_>>().len();
        if matrices < MIN_MATRICES {
            return None;
        }
        let least = samples.iter().map(|s| s.time).min_by(|a, b| a.0.total_cmp(&b.0))?;
        let judged = judged(samples, out_of_fold(rows, growth, floor_s(least, facts)));
        let pairs = || judged.iter().map(|(_, pair)| pair);
        let residuals = pairs().map(|p| (p.measured.0 / p.predicted.0).ln()).collect();
        let Learned { steps, trees } = Learned::of(rows, growth);
        let model = Self {
            kernel,
            matrices,
            error: Accuracy::of(pairs().map(|p| (p.predicted, p.measured)))?,
            interval: LogInterval::of_residuals(residuals),
            least,
            trained: Trained::of(samples)?,
            steps,
            trees,
        };
        Some((model, judged))
    }

    /// The kernel, with its knobs.
    pub fn kernel(&self) -> Kernel {
        self.kernel
    }

    /// Trees.
    pub fn trees(&self) -> usize {
        self.trees.len()
    }
}

/// What the matrices learned from cover: beyond it trees are constant, and a prediction says so.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(super) struct Trained {
    pub(super) rows: Extent,
    pub(super) columns: Extent,
    pub(super) non_zeros: Extent,
    pub(super) longest_row: Extent,
    pub(super) working_set: Extent,
}

impl Trained {
    fn of(samples: &[LearningSample<'_>]) -> Option<Self> {
        let extent = |of: &dyn Fn(&LearningSample<'_>) -> u64| Extent::of(samples.iter().map(of));
        Some(Self {
            rows: extent(&|s| s.features.nrows)?,
            columns: extent(&|s| s.features.ncols)?,
            non_zeros: extent(&|s| s.features.nnz)?,
            longest_row: extent(&|s| s.features.row_max)?,
            working_set: extent(&|s| compulsory_bytes(&s.candidate, s.features).0)?,
        })
    }
}

impl BoostingModel {
    /// Learns from measured matrices. Samples without a positive time are left out, and so are those whose features do
    /// not hold [`Locality`](sparsight_matrix::Locality) and kernels with fewer than [`MIN_MATRICES`] matrices.
    ///
    /// Deterministic. Grows six forests a kernel, five of them for cross-validation; kernels side by side.
    ///
    /// # Errors
    /// [`PredictError::TooFewMatrices`] if no kernel has enough.
    pub fn fit(facts: &DeviceFacts, samples: &[LearningSample<'_>]) -> Result<Self, PredictError> {
        Self::grown(facts, samples, &Growth::CHOSEN)
    }

    fn grown(
        facts: &DeviceFacts,
        samples: &[LearningSample<'_>],
        growth: &Growth,
    ) -> Result<Self, PredictError> {
        let usable: Vec<LearningSample<'_>> =
            samples.iter().copied().filter(LearningSample::is_usable).collect();
        let folds = folds(&usable);
        let one = |&kernel: &Kernel| {
            let own: Vec<LearningSample<'_>> =
                usable.iter().copied().filter(|s| s.candidate.kernel == kernel).collect();
            let row = |s: &LearningSample<'_>| row(s, facts, folds.fold(s.matrix));
            let rows: Vec<Row> = own.iter().filter_map(row).collect();
            KernelBoosting::learn(kernel, facts, &own, &rows, growth)
        };
        let learned: Vec<_> = Kernel::ALL.par_iter().filter_map(one).collect();
        let (mut kernels, mut held_out, mut pairs) = (Vec::new(), Vec::new(), Vec::new());
        for (model, judged) in learned {
            kernels.push(model);
            for (sample, pair) in judged {
                held_out.push(sample);
                pairs.push(pair);
            }
        }
        let matrices = folds.matrices().count();
        let cross_validation = CrossValidation::of(&held_out, &pairs)
            .ok_or(PredictError::TooFewMatrices { model: "boosting", got: matrices, needed: MIN_MATRICES })?;
        let dtypes: BTreeSet<Dtype> = usable.iter().map(|s| s.candidate.dtype).collect();
        Ok(Self { format: Format, matrices, dtypes: dtypes.into_iter().collect(), cross_validation, kernels })
    }

    /// Matrices learned from.
    pub fn matrices(&self) -> usize {
        self.matrices
    }

    /// Whether matrices of this value type were learned from.
    pub fn knows(&self, dtype: Dtype) -> bool {
        self.dtypes.contains(&dtype)
    }

    /// How good its predictions of held-out matrices were.
    pub fn cross_validation(&self) -> &CrossValidation {
        &self.cross_validation
    }

    /// Kernels that were learned, in the order of the catalogue.
    pub fn kernels(&self) -> &[KernelBoosting] {
        &self.kernels
    }

    pub(super) fn find(&self, kernel: Kernel) -> Option<&KernelBoosting> {
        self.kernels.iter().find(|k| k.kernel == kernel)
    }
}

/// `None` for features without locality.
fn row(sample: &LearningSample<'_>, facts: &DeviceFacts, fold: usize) -> Option<Row> {
    let LearningSample { candidate, features, time, .. } = *sample;
    let matrix = Matrix::of(features, candidate.dtype, facts).ok()?;
    let parts = Parts::of(&candidate, features, matrix.locality, facts);
    Some(Row { candidate, inputs: matrix.inputs(&candidate, &parts, facts), parts, measured: time, fold })
}

/// What no product can undercut: the launch cost of the device, or where that is unknown the shortest time that was
/// measured.
pub(super) fn floor_s(least: Seconds, facts: &DeviceFacts) -> f64 {
    let launch = facts.launch_s.0;
    if launch.is_finite() && launch > 0.0 { launch } else { least.0 }
}

/// Stands first in the stored model and refuses to be read from another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Format;

impl Format {
    fn text() -> String {
        let names: Vec<&str> = INPUTS.iter().map(|(name, _)| *name).collect();
        format!("{FORMAT}: {}", names.join(", "))
    }
}

impl Serialize for Format {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&Self::text())
    }
}

impl<'de> Deserialize<'de> for Format {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let found = String::deserialize(deserializer)?;
        let expected = Self::text();
        if found == expected {
            return Ok(Self);
        }
        let name = |text: &str| text.split(':').next().unwrap_or_default().to_owned();
        Err(serde::de::Error::custom(if name(&found) == FORMAT {
            format!("the boosting model looks at other inputs than the {COUNT} of this version: fit it again")
        } else {
            format!(
                "the boosting model is of format '{}', this version reads '{FORMAT}': fit it again",
                name(&found)
            )
        }))
    }
}

/// A kernel by its name with knobs.
mod kernel_name {
    use super::{Deserialize, Deserializer, Kernel, Serializer};

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde asks for")]
    pub(super) fn serialize<S: Serializer>(kernel: &Kernel, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(kernel)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Kernel, D::Error> {
        let text = String::deserialize(deserializer)?;
        let found = Kernel::ALL.into_iter().find(|k| k.to_string() == text);
        found.ok_or_else(|| serde::de::Error::custom(format!("'{text}' is no kernel of the catalogue")))
    }
}
