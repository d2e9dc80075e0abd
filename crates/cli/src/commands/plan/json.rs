//! The answer of `plan` in JSON.

use super::measured::Measured;
use crate::json::{CandidateJson, DeviceJson, MatrixJson, PredictionJson};
use serde::Serialize;
use sparsight::Part;
use sparsight::kernels::Execution;
use sparsight::matrix::{Dtype, Seconds};
use sparsight::model::CutCost;

#[derive(Serialize)]
pub(super) struct PlansJson {
    pub(super) device: DeviceJson,
    pub(super) dtype: Dtype,
    pub(super) placement: sparsight::model::PlacementRule,
    pub(super) row_length: sparsight::model::RowLengthRule,
    pub(super) matrices: Vec<PlanJson>,
}

#[derive(Serialize)]
pub(super) struct PlanJson {
    pub(super) matrix: MatrixJson,
    pub(super) model: String,
    pub(super) strips: usize,
    pub(super) strip_rows: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) single: Option<PartJson>,
    pub(super) strategies: Vec<StrategyJson>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) measured: Vec<MeasuredJson>,
}

#[derive(Serialize)]
pub(super) struct MeasuredJson {
    /// `single`, `sequential` or `fused`, else the id of a routine of the vendor's.
    pub(super) what: String,
    /// A candidate, or the parts.
    pub(super) plan: String,
    /// Of a routine of the vendor's nothing is predicted here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) predicted_s: Option<Seconds>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) time_s: Option<Seconds>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) spread: Option<f64>,
    /// Conversion, preprocessing and upload.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) preparation_s: Option<Seconds>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) failed: Option<String>,
}

#[derive(Serialize)]
pub(super) struct StrategyJson {
    pub(super) execution: Execution,
    pub(super) predicted_s: Seconds,
    pub(super) low_s: Seconds,
    pub(super) high_s: Seconds,
    /// Share of the best single candidate's time that is saved.
    pub(super) gain: f64,
    /// How the times of several parts add up.
    pub(super) cost: CutCost,
    pub(super) parts: Vec<PartJson>,
}

#[derive(Serialize)]
pub(super) struct PartJson {
    /// First, and the one behind the last, counted from 0.
    pub(super) strips: [usize; 2],
    pub(super) rows: [u64; 2],
    pub(super) nnz: u64,
    #[serde(flatten)]
    pub(super) candidate: CandidateJson,
    pub(super) model: String,
    #[serde(flatten)]
    pub(super) prediction: PredictionJson,
}

impl From<&Measured> for MeasuredJson {
    fn from(Measured { what, plan, outcome }: &Measured) -> Self {
        let known = outcome.as_ref().ok();
        Self {
            what: what.clone(),
            plan: plan.to_string(),
            predicted_s: plan.predicted(),
            time_s: known.map(|known| known.timing.time),
            spread: known.map(|known| known.timing.spread),
            preparation_s: known.map(|known| known.preparation.total()),
            failed: outcome.as_ref().err().cloned(),
        }
    }
}

impl From<&Part> for PartJson {
    fn from(part: &Part) -> Self {
        Self {
            strips: [part.strips.start, part.strips.end],
            rows: [part.rows.start, part.rows.end],
            nnz: part.nnz,
            candidate: part.candidate.into(),
            model: part.model.to_string(),
            prediction: (&part.prediction).into(),
        }
    }
}
