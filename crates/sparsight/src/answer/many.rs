//! `info`, `predict`, `transfer` and `compare` for several matrices: the answers for each, and a mean over them.

use super::{Answer, CompareAnswer, InfoAnswer, PredictAnswer, TransferAnswer};
use serde::Serialize;

/// `sparsight/info-many/1`: the structure of several matrices.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct InfoManyAnswer {
    /// In the order in which they were asked about, without those that could not be read.
    pub matrices: Vec<InfoAnswer>,
}

impl Answer for InfoManyAnswer {
    const SCHEMA: &'static str = "sparsight/info-many/1";
}

/// `sparsight/predict-many/1`: what one model predicts for several matrices.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PredictManyAnswer {
    /// As in [`InfoManyAnswer`].
    pub matrices: Vec<PredictAnswer>,
}

impl Answer for PredictManyAnswer {
    const SCHEMA: &'static str = "sparsight/predict-many/1";
}

/// `sparsight/transfer-many/1`: the times of several matrices, carried over from another device.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TransferManyAnswer {
    /// As in [`InfoManyAnswer`].
    pub matrices: Vec<TransferAnswer>,
}

impl Answer for TransferManyAnswer {
    const SCHEMA: &'static str = "sparsight/transfer-many/1";
}

/// `sparsight/compare-many/1`: several matrices on several devices.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CompareManyAnswer {
    /// How fast each device is over all of them, in the order in which they were named.
    pub mean_speeds: Vec<MeanSpeed>,
    /// As in [`InfoManyAnswer`].
    pub matrices: Vec<CompareAnswer>,
}

/// How many times as fast as the first device, over several matrices.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MeanSpeed {
    /// As the device was asked for.
    pub id: String,
    /// Matrices of which the speed is known, and counts.
    pub count: usize,
    /// Geometric mean of their speeds, each weighted; absent without any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mean_speed: Option<f64>,
}

impl Answer for CompareManyAnswer {
    const SCHEMA: &'static str = "sparsight/compare-many/1";
}

impl CompareManyAnswer {
    /// Of comparisons of the same devices, each with the weight of its matrix, not below 0.
    pub fn of(weighted: Vec<(CompareAnswer, f64)>) -> Self {
        let devices = weighted.first().map_or(0, |(answer, _)| answer.devices.len());
        let mean = |at: usize| {
            let speeds = weighted.iter().filter_map(|(answer, weight)| {
                let speed = answer.devices[at].candidates.first()?.numbers?.speed?;
                (*weight > 0.0).then_some((speed.ln(), *weight))
            });
            let (count, sum, weights) = speeds.fold((0, 0.0, 0.0), |(count, sum, weights), (log, weight)| {
                (count + 1, sum + weight * log, weights + weight)
            });
            let mean_speed = (count > 0).then(|| (sum / weights).exp());
            MeanSpeed { id: weighted[0].0.devices[at].id.clone(), count, mean_speed }
        };
        let mean_speeds = (0..devices).map(mean).collect();
        Self { mean_speeds, matrices: weighted.into_iter().map(|(answer, _)| answer).collect() }
    }
}
