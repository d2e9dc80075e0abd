//! `lab evaluate --from`: how far transferred times are from measurements.

use super::{ChoiceCost, KernelOrFormat, MatrixCounts};
use crate::evaluate::{TransferEvaluation, TransferMiss, TransferRow};
use crate::transfer::TransferProfile;
use serde::Serialize;
use sparsight::answer::{Answer, DeviceSummary};
use sparsight_kernels::Candidate;
use sparsight_matrix::{Dtype, Seconds};
use sparsight_model::accuracy::Accuracy;
use std::collections::BTreeMap;

/// `sparsight/evaluate-transfer/1`: a transfer held against what the target measured.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EvaluateTransferAnswer {
    /// The device that is well known.
    pub reference: DeviceSummary,
    /// The device that was predicted, and measured after all.
    pub target: DeviceSummary,
    /// Starts of the names of the matrices that were asked for; empty: all.
    pub test: Vec<String>,
    /// Matrices by value type.
    pub matrices: Vec<MatrixCounts>,
    /// Times by where `T_ref` came from: `measured`, or the model that predicts it.
    pub reference_origins: BTreeMap<String, usize>,
    /// Errors by kernel.
    pub errors: Vec<TransferErrorEntry>,
    /// Errors over all kernels of a format.
    pub errors_by_format: Vec<TransferErrorEntry>,
    /// Measured time of the chosen candidate against the best measured one.
    pub choices: Vec<ChoiceCost>,
    /// The worst matrices of each kernel, worst first.
    pub worst: Vec<WorstTransfer>,
    /// Measured times that could not be transferred; absent if all could.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<RefusedTimes>,
}

impl Answer for EvaluateTransferAnswer {
    const SCHEMA: &'static str = "sparsight/evaluate-transfer/1";
}

impl EvaluateTransferAnswer {
    /// Answer from an evaluation on the matrices whose names start with one of `test`.
    pub fn of(
        reference: &TransferProfile,
        target: &TransferProfile,
        test: Vec<String>,
        evaluation: &TransferEvaluation,
    ) -> Self {
        let origins = evaluation.origins.iter();
        let refused = evaluation.refused.iter().map(|(kernel, (times, why))| RefusedTimes {
            kernel: kernel.to_string(),
            times: *times,
            why: why.clone(),
        });
        Self {
            reference: reference.into(),
            target: target.into(),
            test,
            matrices: MatrixCounts::all(&evaluation.matrices),
            reference_origins: origins.map(|(origin, count)| (origin.to_string(), *count)).collect(),
            errors: evaluation.rows.iter().map(TransferErrorEntry::of).collect(),
            errors_by_format: evaluation.formats.iter().map(TransferErrorEntry::of).collect(),
            choices: evaluation.choices.iter().map(ChoiceCost::from).collect(),
            worst: evaluation.misses.iter().map(WorstTransfer::from).collect(),
            refused: refused.collect(),
        }
    }
}

/// Error of one way to carry times over, on one kernel or format.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TransferErrorEntry {
    /// Kernel or format.
    #[serde(flatten)]
    pub of: KernelOrFormat,
    /// `rescaling`, `guo-wang-2013`, `unchanged`, `one-factor`, `by-bandwidth` or `by-multiprocessors`.
    pub method: String,
    /// Value type.
    pub dtype: Dtype,
    /// Matrices counted: `all`, `beyond-launch` or `like-benchmarks`.
    pub scope: &'static str,
    /// Accuracy of `|predicted - measured| / measured`, over matrices, block sizes and the kernels of the group.
    #[serde(flatten)]
    pub error: Accuracy,
    /// Geometric mean of predicted / measured.
    pub mean_ratio: f64,
    /// Number of times for which the equation of `guo-wang-2013` gave less than a launch, which was answered; else 0.
    pub at_launch_cost: usize,
}

impl TransferErrorEntry {
    fn of<G: Copy + Into<KernelOrFormat>>(row: &TransferRow<G>) -> Self {
        Self {
            of: row.of.into(),
            method: row.method.to_string(),
            dtype: row.dtype,
            scope: row.scope.name(),
            error: row.error,
            mean_ratio: row.ratio,
            at_launch_cost: row.at_launch_cost,
        }
    }
}

/// A matrix on which the transfer is far off.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WorstTransfer {
    /// Matrix.
    pub matrix: String,
    /// Candidate that was run, in its worst block size.
    pub candidate: Candidate,
    /// `T_ref`, seconds.
    pub reference_s: Seconds,
    /// Transferred, seconds.
    pub predicted_s: Seconds,
    /// Measured on the target, seconds.
    pub measured_s: Seconds,
    /// `|predicted - measured| / measured`.
    pub error: f64,
}

impl From<&TransferMiss> for WorstTransfer {
    fn from(miss: &TransferMiss) -> Self {
        Self {
            matrix: miss.matrix.clone(),
            candidate: miss.candidate,
            reference_s: miss.transferred.reference,
            predicted_s: miss.transferred.time,
            measured_s: miss.measured,
            error: miss.error(),
        }
    }
}

/// Measured times of one kernel that could not be transferred.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RefusedTimes {
    /// Kernel with its knobs.
    pub kernel: String,
    /// Number of times.
    pub times: usize,
    /// Why the first of them was not, in words.
    pub why: String,
}
