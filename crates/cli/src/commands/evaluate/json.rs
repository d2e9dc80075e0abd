//! The object of `evaluate --json`.

use crate::json::DeviceJson;
use serde::Serialize;
use sparsight::kernels::{Candidate, Format, Kernel};
use sparsight::matrix::{Dtype, Seconds};
use sparsight::model::accuracy::Accuracy;
use sparsight::model::{ChoiceQuality, PlacementRule, RowLengthRule};
use sparsight::{AccuracyRow, Baseline, ChoiceRow, Chooser, Evaluation, Miss, Profile, Scope, WinsRow};
use std::collections::BTreeMap;
use std::path::PathBuf;

#[derive(Serialize)]
pub(super) struct EvaluateJson {
    device: DeviceJson,
    test: Vec<String>,
    matrices: Vec<MatricesJson>,
    /// Matrices left out of a model's errors since it was trained on them.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    trained_on: BTreeMap<String, usize>,
    errors: Vec<ErrorJson>,
    /// The same over all kernels of a format.
    errors_by_format: Vec<ErrorJson>,
    /// On how many matrices each strip model is the nearest.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    wins: Vec<WinsJson>,
    /// Measured time of the first-ranked candidate against the best measured one.
    choices: Vec<ChoiceJson>,
    worst: Vec<MissJson>,
    /// Files written by `--plots`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    plots: Vec<PathBuf>,
}

#[derive(Serialize)]
pub(super) struct MatricesJson {
    dtype: Dtype,
    all: usize,
    beyond_launch: usize,
}

#[derive(Serialize)]
struct ErrorJson {
    #[serde(flatten)]
    of: GroupJson,
    model: String,
    placement: PlacementRule,
    row_length: RowLengthRule,
    dtype: Dtype,
    scope: &'static str,
    #[serde(flatten)]
    error: Accuracy,
    /// Of matrices that took no part in the calibration of the intervals.
    covered: Option<f64>,
}

/// `"kernel": "csr-vector/t8"` or `"format": "csr"`.
#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum GroupJson {
    Kernel(String),
    Format(String),
}

#[derive(Serialize)]
struct WinsJson {
    kernel: String,
    dtype: Dtype,
    matrices: usize,
    tied: usize,
    models: Vec<ModelWinsJson>,
}

#[derive(Serialize)]
struct ModelWinsJson {
    model: String,
    mean_error: f64,
    wins: usize,
}

#[derive(Serialize)]
pub(super) struct ChoiceJson {
    model: String,
    /// Of a model; a choice without a model has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    placement: Option<PlacementRule>,
    #[serde(skip_serializing_if = "Option::is_none")]
    row_length: Option<RowLengthRule>,
    dtype: Dtype,
    scope: &'static str,
    /// The one that `best-single` stands for.
    #[serde(skip_serializing_if = "Option::is_none")]
    candidate: Option<Candidate>,
    #[serde(flatten)]
    quality: ChoiceQuality,
    first_infeasible: usize,
    first_unmeasured: usize,
}

#[derive(Serialize)]
struct MissJson {
    matrix: String,
    kernel: String,
    model: String,
    dtype: Dtype,
    predicted_s: Seconds,
    measured_s: Seconds,
    error: f64,
}

impl EvaluateJson {
    pub(super) fn new(
        profile: &Profile,
        test: Vec<String>,
        evaluation: Evaluation,
        plots: Vec<PathBuf>,
    ) -> Self {
        let Evaluation { rows, formats, choices, wins, misses, matrices, trained_on, predicted: _ } =
            evaluation;
        let by_kernel = |r| ErrorJson::new(r, |kernel: Kernel| GroupJson::Kernel(kernel.to_string()));
        let by_format = |r| ErrorJson::new(r, |format: Format| GroupJson::Format(format.to_string()));
        Self {
            device: DeviceJson::profiled(profile),
            test,
            matrices: MatricesJson::all(matrices),
            trained_on: trained_on.into_iter().map(|(model, count)| (model.to_string(), count)).collect(),
            errors: rows.into_iter().map(by_kernel).collect(),
            errors_by_format: formats.into_iter().map(by_format).collect(),
            wins: wins.iter().map(WinsJson::from).collect(),
            choices: choices.into_iter().map(ChoiceJson::from).collect(),
            worst: misses.into_iter().map(MissJson::from).collect(),
            plots,
        }
    }
}

impl MatricesJson {
    pub(super) fn all(matrices: BTreeMap<Dtype, (usize, usize)>) -> Vec<Self> {
        let of_dtype = |(dtype, (all, beyond_launch))| Self { dtype, all, beyond_launch };
        matrices.into_iter().map(of_dtype).collect()
    }
}

impl ErrorJson {
    fn new<G>(row: AccuracyRow<G>, named: impl Fn(G) -> GroupJson) -> Self {
        let AccuracyRow { of, model, placement, row_length, dtype, scope, error, covered } = row;
        let (model, scope) = (model.to_string(), self::scope(scope));
        Self { of: named(of), model, placement, row_length, dtype, scope, error, covered }
    }
}

impl From<&WinsRow> for WinsJson {
    fn from(row: &WinsRow) -> Self {
        let models = row.models.iter().map(|m| ModelWinsJson {
            model: m.model.to_string(),
            mean_error: m.mean_error,
            wins: m.wins,
        });
        let WinsRow { kernel, dtype, matrices, tied, .. } = *row;
        Self { kernel: kernel.to_string(), dtype, matrices, tied, models: models.collect() }
    }
}

impl From<ChoiceRow> for ChoiceJson {
    fn from(row: ChoiceRow) -> Self {
        let ChoiceRow { chooser, dtype, scope, quality, first_infeasible, first_unmeasured, .. } = row;
        let (placement, row_length) = match chooser {
            Chooser::Model { placement, row_length, .. } => (Some(placement), Some(row_length)),
            Chooser::Baseline(_) | Chooser::Transfer | Chooser::Reference => (None, None),
        };
        let candidate = match chooser {
            Chooser::Baseline(Baseline::BestSingle(candidate)) => Some(candidate),
            _ => None,
        };
        let (model, scope) = (chooser.to_string(), self::scope(scope));
        Self {
            model,
            placement,
            row_length,
            dtype,
            scope,
            candidate,
            quality,
            first_infeasible,
            first_unmeasured,
        }
    }
}

impl From<Miss> for MissJson {
    fn from(m: Miss) -> Self {
        Self {
            error: m.error(),
            kernel: m.kernel.to_string(),
            model: m.model.to_string(),
            dtype: m.dtype,
            matrix: m.matrix,
            predicted_s: m.predicted,
            measured_s: m.measured,
        }
    }
}

/// The one name of a scope in tables and JSON.
pub(super) fn scope(scope: Scope) -> &'static str {
    match scope {
        Scope::All => "all",
        Scope::BeyondLaunch => "beyond-launch",
        Scope::LikeBenchmarks => "like-benchmarks",
    }
}
