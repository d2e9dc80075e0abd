//! `evaluate`: how far predictions are from measurements.

use crate::evaluate::{
    AccuracyRow, Baseline, ChoiceRow, Chooser, ClassRow, Evaluation, Miss, ModelWins, Ratios, VendorRow,
    WinsRow,
};
use serde::Serialize;
use sparsight::Profile;
use sparsight::answer::{Answer, DeviceSummary};
use sparsight::models::ModelName;
use sparsight_kernels::{Candidate, Format, Kernel};
use sparsight_matrix::{Dtype, Seconds};
use sparsight_model::accuracy::Accuracy;
use sparsight_model::{ChoiceQuality, PlacementRule, RowLengthRule};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// `sparsight/evaluate/1`: the models of a profile held against its corpus.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EvaluateAnswer {
    /// The device.
    pub device: DeviceSummary,
    /// Starts of the names of the matrices that were asked for; empty: all.
    pub test: Vec<String>,
    /// Matrices by value type.
    pub matrices: Vec<MatrixCounts>,
    /// Matrices left out of a model's errors since it was trained on them, by model; absent if none were.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub trained_on: BTreeMap<String, usize>,
    /// Errors by kernel.
    pub errors: Vec<ErrorEntry>,
    /// Errors over all kernels of a format.
    pub errors_by_format: Vec<ErrorEntry>,
    /// Errors over all kernels.
    pub errors_overall: Vec<ErrorEntry>,
    /// Errors of `best` by how long a product takes; absent where it was not evaluated.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub errors_by_class: Vec<ClassError>,
    /// Number of matrices on which each strip model is the nearest; absent with a single one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub wins: Vec<KernelWins>,
    /// Measured time of the first-ranked candidate against the best measured one.
    pub choices: Vec<ChoiceCost>,
    /// The choice of `best` beside the vendor's routines; absent where these were not measured.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub beside_vendor: Vec<BesideVendor>,
    /// The worst matrices of each model and kernel, worst first.
    pub worst: Vec<WorstPrediction>,
    /// Files that were drawn; absent without any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub plots: Vec<PathBuf>,
}

impl Answer for EvaluateAnswer {
    const SCHEMA: &'static str = "sparsight/evaluate/1";
}

impl EvaluateAnswer {
    /// Answer from an evaluation on the matrices whose names start with one of `test`, and the files that were drawn of it.
    pub fn of(profile: &Profile, test: Vec<String>, evaluation: &Evaluation, plots: Vec<PathBuf>) -> Self {
        let trained_on = evaluation.trained_on.iter();
        Self {
            device: profile.into(),
            test,
            matrices: MatrixCounts::all(&evaluation.matrices),
            trained_on: trained_on.map(|(model, count)| (model.to_string(), *count)).collect(),
            errors: evaluation.rows.iter().map(ErrorEntry::of).collect(),
            errors_by_format: evaluation.formats.iter().map(ErrorEntry::of).collect(),
            errors_overall: evaluation.overall.iter().map(ErrorEntry::of).collect(),
            errors_by_class: evaluation.classes.iter().map(ClassError::from).collect(),
            wins: evaluation.wins.iter().map(KernelWins::from).collect(),
            choices: evaluation.choices.iter().map(ChoiceCost::from).collect(),
            beside_vendor: evaluation.beside_vendor.iter().map(BesideVendor::from).collect(),
            worst: evaluation.misses.iter().map(WorstPrediction::from).collect(),
            plots,
        }
    }
}

/// Error of `best` on matrices of one class, over the candidates of ours that are ranked.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ClassError {
    /// Value type.
    pub dtype: Dtype,
    /// Matrices counted, by the time of the fastest of ours.
    pub class: &'static str,
    /// Number of matrices.
    pub matrices: usize,
    /// Accuracy of `|predicted - measured| / measured`, over matrices and candidates.
    #[serde(flatten)]
    pub error: Accuracy,
    /// Share of measured times inside their 90 % interval.
    pub covered: f64,
    /// Mean of `ln(high / low)` of the intervals.
    pub log_width: f64,
}

impl From<&ClassRow> for ClassError {
    fn from(row: &ClassRow) -> Self {
        let ClassRow { dtype, class, matrices, error, covered, log_width } = *row;
        Self { dtype, class: class.name(), matrices, error, covered, log_width }
    }
}

/// Time of the vendor's fastest routine over ours, on matrices of one class: above 1 ours is faster.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct BesideVendor {
    /// `known afterwards`, `first choice` or `faster of two`.
    pub ours: &'static str,
    /// `all` routines, or those `without BSR`.
    pub theirs: &'static str,
    /// Value type.
    pub dtype: Dtype,
    /// Matrices counted, by the time of the fastest of ours.
    pub class: &'static str,
    /// Number of ratios, and their quantiles.
    #[serde(flatten)]
    pub ratios: Ratios,
}

impl From<&VendorRow> for BesideVendor {
    fn from(row: &VendorRow) -> Self {
        let VendorRow { ours, theirs, dtype, class, ratios } = *row;
        Self { ours: ours.name(), theirs: theirs.name(), dtype, class: class.name(), ratios }
    }
}

/// Number of matrices in one value type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct MatrixCounts {
    /// Value type.
    pub dtype: Dtype,
    /// All.
    pub all: usize,
    /// Number of matrices whose best time is more than twice the launch cost.
    pub beyond_launch: usize,
}

impl MatrixCounts {
    /// Converts pairs of all matrices and those beyond the launch.
    pub(super) fn all(matrices: &BTreeMap<Dtype, (usize, usize)>) -> Vec<Self> {
        matrices.iter().map(|(&dtype, &(all, beyond_launch))| Self { dtype, all, beyond_launch }).collect()
    }
}

/// Error of one model on one kernel or format.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ErrorEntry {
    /// Kernel or format.
    #[serde(flatten)]
    pub of: KernelOrFormat,
    /// Model.
    pub model: ModelName,
    /// Rule that picked the benchmark matrices for the columns.
    pub placement: PlacementRule,
    /// Statistic that stands for the row lengths.
    pub row_length: RowLengthRule,
    /// Value type.
    pub dtype: Dtype,
    /// Matrices counted: `all`, `beyond-launch` or `like-benchmarks`.
    pub scope: &'static str,
    /// Accuracy of `|predicted - measured| / measured`, over matrices, block sizes and the kernels of the group.
    #[serde(flatten)]
    pub error: Accuracy,
    /// Share of measured times inside their 90 % interval, of matrices that took no part in its calibration; null without
    /// any.
    pub covered: Option<f64>,
}

impl ErrorEntry {
    fn of<G: Copy + Into<KernelOrFormat>>(row: &AccuracyRow<G>) -> Self {
        let AccuracyRow { of, model, placement, row_length, dtype, scope, error, covered } = *row;
        Self { of: of.into(), model, placement, row_length, dtype, scope: scope.name(), error, covered }
    }
}

/// `"kernel": "csr-vector/t8"`, `"format": "csr"`, or neither.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum KernelOrFormat {
    /// A kernel with its knobs.
    Kernel(String),
    /// All kernels of a format.
    Format(String),
    /// All kernels.
    #[serde(untagged)]
    All {},
}

impl From<()> for KernelOrFormat {
    fn from((): ()) -> Self {
        Self::All {}
    }
}

impl From<Kernel> for KernelOrFormat {
    fn from(kernel: Kernel) -> Self {
        Self::Kernel(kernel.to_string())
    }
}

impl From<Format> for KernelOrFormat {
    fn from(format: Format) -> Self {
        Self::Format(format.to_string())
    }
}

/// The strip models on one kernel.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct KernelWins {
    /// Kernel with its knobs.
    pub kernel: String,
    /// Value type.
    pub dtype: Dtype,
    /// Matrices on which every model predicts the kernel.
    pub matrices: usize,
    /// Number of these on which two or more models share the least error.
    pub tied: usize,
    /// Wins of each model.
    pub models: Vec<StripModelWins>,
}

/// A strip model on one kernel.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StripModelWins {
    /// Model.
    pub model: ModelName,
    /// Mean over the matrices of the matrix' mean error over block sizes, a fraction.
    pub mean_error: f64,
    /// Matrices on which it alone has the least error.
    pub wins: usize,
}

impl From<&WinsRow> for KernelWins {
    fn from(row: &WinsRow) -> Self {
        let WinsRow { kernel, dtype, matrices, tied, .. } = *row;
        let model =
            |&ModelWins { model, mean_error, wins }: &ModelWins| StripModelWins { model, mean_error, wins };
        Self {
            kernel: kernel.to_string(),
            dtype,
            matrices,
            tied,
            models: row.models.iter().map(model).collect(),
        }
    }
}

/// Cost of the choices of one model, or without a model.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ChoiceCost {
    /// A model, or a choice without one: `csr-by-mean`, `ell-rule`, `csr-vector/t32/b256`, `vendor-csr`, `best-single`,
    /// `transfer`, `as-on-reference`.
    pub model: String,
    /// Rule that picked the benchmark matrices for the columns; absent for a choice without a model of this device.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub placement: Option<PlacementRule>,
    /// Statistic of the row lengths that was used; absent for a choice without a model of this device.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub row_length: Option<RowLengthRule>,
    /// Value type.
    pub dtype: Dtype,
    /// Matrices counted: `all` or `beyond-launch`.
    pub scope: &'static str,
    /// The candidate that `best-single` stands for; absent for others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub candidate: Option<Candidate>,
    /// Measured time of the chosen candidate over the best measured one.
    #[serde(flatten)]
    pub quality: ChoiceQuality,
    /// Matrices whose first choice was recorded as not possible.
    pub first_infeasible: usize,
    /// Matrices whose first choice has no time for another reason.
    pub first_unmeasured: usize,
}

impl From<&ChoiceRow> for ChoiceCost {
    fn from(row: &ChoiceRow) -> Self {
        let (placement, row_length) = match row.chooser {
            Chooser::Model { placement, row_length, .. } => (Some(placement), Some(row_length)),
            Chooser::Recommended
            | Chooser::Runs(_)
            | Chooser::Baseline(_)
            | Chooser::GuoWang2013
            | Chooser::Rescaling
            | Chooser::Reference => (None, None),
        };
        let candidate = match row.chooser {
            Chooser::Baseline(Baseline::BestSingle(candidate)) => Some(candidate),
            _ => None,
        };
        Self {
            model: row.chooser.to_string(),
            placement,
            row_length,
            dtype: row.dtype,
            scope: row.scope.name(),
            candidate,
            quality: row.quality,
            first_infeasible: row.first_infeasible,
            first_unmeasured: row.first_unmeasured,
        }
    }
}

/// A matrix on which a model is far off.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WorstPrediction {
    /// Matrix.
    pub matrix: String,
    /// Kernel with its knobs.
    pub kernel: String,
    /// Model.
    pub model: ModelName,
    /// Value type.
    pub dtype: Dtype,
    /// Predicted, of the block size that is worst, seconds.
    pub predicted_s: Seconds,
    /// Measured, of the same, seconds.
    pub measured_s: Seconds,
    /// `|predicted - measured| / measured`.
    pub error: f64,
}

impl From<&Miss> for WorstPrediction {
    fn from(miss: &Miss) -> Self {
        Self {
            matrix: miss.matrix.clone(),
            kernel: miss.kernel.to_string(),
            model: miss.model,
            dtype: miss.dtype,
            predicted_s: miss.predicted,
            measured_s: miss.measured,
            error: miss.error(),
        }
    }
}
