//! `lab evaluate`: how far predictions are from measurements, and what each part of the catalogue brings.

use crate::evaluate::{Evaluation, TransferEvaluation, WithoutRow};
use serde::Serialize;
use sparsight::answer::DeviceSummary;
use std::path::PathBuf;

/// `sparsight/evaluate/1`: the models of a profile held against its corpus.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EvaluateAnswer {
    /// The device.
    pub device: DeviceSummary,
    /// Starts of the names of the matrices that were asked for; empty: all.
    pub test: Vec<String>,
    /// Errors and choices.
    #[serde(flatten)]
    pub evaluation: Evaluation,
    /// Files that were drawn; absent without any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub plots: Vec<PathBuf>,
}

/// `sparsight/evaluate-transfer/1`: a transfer held against what the target measured.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EvaluateTransferAnswer {
    /// The device that is well known.
    pub reference: DeviceSummary,
    /// The device that was predicted, and measured after all.
    pub target: DeviceSummary,
    /// Starts of the names of the matrices that were asked for; empty: all.
    pub test: Vec<String>,
    /// Errors and choices.
    #[serde(flatten)]
    pub evaluation: TransferEvaluation,
}

/// `sparsight/evaluate-without/1`: the fastest time without a part of the catalogue over that with it, by recorded times.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EvaluateWithoutAnswer {
    /// The device.
    pub device: DeviceSummary,
    /// Starts of the names of the matrices that were asked for; empty: all.
    pub test: Vec<String>,
    /// Effects, one for each part, value type and class that counts a matrix.
    pub without: Vec<WithoutRow>,
}
