//! The object of `evaluate --from --json`.

use super::super::json::{ChoiceJson, GroupJson, MatricesJson, scope};
use crate::json::DeviceJson;
use serde::Serialize;
use sparsight::kernels::{Candidate, Format, Kernel};
use sparsight::matrix::{Dtype, Seconds};
use sparsight::model::accuracy::Accuracy;
use sparsight::profile::TransferProfile;
use sparsight::{TransferEvaluation, TransferMiss, TransferRow};
use std::collections::BTreeMap;

/// `sparsight/evaluate-transfer/1`.
#[derive(Serialize)]
pub(super) struct TransferEvaluationJson {
    reference: DeviceJson,
    target: DeviceJson,
    test: Vec<String>,
    matrices: Vec<MatricesJson>,
    /// Times by where `T_ref` came from: `measured`, or the model that predicts it.
    reference_origins: BTreeMap<String, usize>,
    errors: Vec<TransferErrorJson>,
    /// The same over all kernels of a format.
    errors_by_format: Vec<TransferErrorJson>,
    /// Measured time of the chosen candidate against the best measured one.
    choices: Vec<ChoiceJson>,
    worst: Vec<TransferMissJson>,
    /// Measured times that could not be transferred.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    refused: Vec<RefusedJson>,
}

#[derive(Serialize)]
struct TransferErrorJson {
    #[serde(flatten)]
    of: GroupJson,
    /// `transfer`, `by-bandwidth` or `by-multiprocessors`.
    method: String,
    dtype: Dtype,
    scope: &'static str,
    #[serde(flatten)]
    error: Accuracy,
    /// Geometric mean of predicted / measured.
    mean_ratio: f64,
    at_launch_cost: usize,
}

#[derive(Serialize)]
struct TransferMissJson {
    matrix: String,
    candidate: Candidate,
    reference_s: Seconds,
    predicted_s: Seconds,
    measured_s: Seconds,
    error: f64,
}

#[derive(Serialize)]
struct RefusedJson {
    kernel: String,
    times: usize,
    why: String,
}

impl TransferEvaluationJson {
    pub(super) fn new(
        [reference, target]: [&TransferProfile; 2],
        test: Vec<String>,
        evaluation: TransferEvaluation,
    ) -> Self {
        let TransferEvaluation { rows, formats, choices, misses, matrices, origins, refused } = evaluation;
        let by_kernel =
            |row| TransferErrorJson::new(row, |kernel: Kernel| GroupJson::Kernel(kernel.to_string()));
        let by_format =
            |row| TransferErrorJson::new(row, |format: Format| GroupJson::Format(format.to_string()));
        let refused = refused.into_iter();
        Self {
            reference: DeviceJson::of(&reference.name, &reference.device),
            target: DeviceJson::of(&target.name, &target.device),
            test,
            matrices: MatricesJson::all(matrices),
            reference_origins: origins.into_iter().map(|(from, count)| (from.to_string(), count)).collect(),
            errors: rows.into_iter().map(by_kernel).collect(),
            errors_by_format: formats.into_iter().map(by_format).collect(),
            choices: choices.into_iter().map(ChoiceJson::from).collect(),
            worst: misses.into_iter().map(TransferMissJson::from).collect(),
            refused: refused
                .map(|(kernel, (times, why))| RefusedJson { kernel: kernel.to_string(), times, why })
                .collect(),
        }
    }
}

impl TransferErrorJson {
    fn new<G>(row: TransferRow<G>, named: impl Fn(G) -> GroupJson) -> Self {
        let TransferRow { of, method, dtype, scope, error, ratio, at_launch_cost } = row;
        let (method, scope) = (method.to_string(), self::scope(scope));
        Self { of: named(of), method, dtype, scope, error, mean_ratio: ratio, at_launch_cost }
    }
}

impl From<TransferMiss> for TransferMissJson {
    fn from(miss: TransferMiss) -> Self {
        Self {
            error: miss.error(),
            matrix: miss.matrix,
            candidate: miss.candidate,
            reference_s: miss.transferred.reference,
            predicted_s: miss.transferred.time,
            measured_s: miss.measured,
        }
    }
}
