//! `info` and `compare` for several matrices: the answers for each, and a mean over them.

use super::{CompareAnswer, InfoAnswer};
use crate::compare::Compared;
use serde::Serialize;
use serde_with::skip_serializing_none;

/// `sparsight/info-many/1`: the structure of several matrices.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct InfoManyAnswer {
    /// Matrices in the order of the request, without those that could not be read.
    pub matrices: Vec<InfoAnswer>,
}

/// `sparsight/compare-many/1`: several matrices on several devices.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CompareManyAnswer {
    /// Mean speed of each device over all matrices, in the order of the request.
    pub mean_speeds: Vec<MeanSpeed>,
    /// Comparison of each matrix, as in [`InfoManyAnswer`].
    pub matrices: Vec<CompareAnswer>,
}

/// Mean speedup over the first device, over several matrices.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MeanSpeed {
    /// Name of the device in the request.
    pub id: String,
    /// Matrices of which the speed is known, and counts.
    pub count: usize,
    /// Geometric mean of their speeds, each weighted; absent without any.
    pub mean_speed: Option<f64>,
    /// Mean of the lower ends of the speeds, as if every matrix went wrong in the same direction.
    pub mean_speed_low: Option<f64>,
    /// Mean of the upper ends. Where both enclose 1, the devices cannot be told apart.
    pub mean_speed_high: Option<f64>,
    /// Mean products a second for each unit of price; absent without a price.
    pub mean_products_per_s_per_price: Option<f64>,
    /// Mean products a joule; absent without watts.
    pub mean_products_per_joule: Option<f64>,
}

impl MeanSpeed {
    /// Returns true if the intervals leave open which of this device and the first is faster over all matrices.
    pub fn is_open(&self) -> bool {
        self.mean_speed_low.is_some_and(|low| low <= 1.0)
            && self.mean_speed_high.is_some_and(|high| high >= 1.0)
    }
}

impl CompareManyAnswer {
    /// Mean over comparisons of the same devices, each with the weight of its matrix, not below 0.
    pub fn of(weighted: Vec<(CompareAnswer, f64)>) -> Self {
        let devices = weighted.first().map_or(0, |(answer, _)| answer.devices.len());
        let of_device = |at: usize| {
            let numbers = weighted.iter().filter_map(|(answer, weight)| {
                let numbers = answer.devices[at].candidates.first()?.numbers.as_ref()?;
                (*weight > 0.0 && numbers.speed.is_some()).then_some((numbers, *weight))
            });
            let numbers: Vec<_> = numbers.collect();
            let mean = |of: &dyn Fn(&Compared) -> Option<f64>| {
                let logs = numbers.iter().filter_map(|(numbers, weight)| Some((of(numbers)?.ln(), *weight)));
                let (sum, weights) = logs
                    .fold((0.0, 0.0), |(sum, weights), (log, weight)| (sum + weight * log, weights + weight));
                (weights > 0.0).then(|| (sum / weights).exp())
            };
            MeanSpeed {
                id: weighted[0].0.devices[at].id.clone(),
                count: numbers.len(),
                mean_speed: mean(&|n| Some(n.speed?.ratio)),
                mean_speed_low: mean(&|n| Some(n.speed?.low)),
                mean_speed_high: mean(&|n| Some(n.speed?.high)),
                mean_products_per_s_per_price: mean(&|n| n.products_per_s_per_price),
                mean_products_per_joule: mean(&|n| n.products_per_joule),
            }
        };
        let mean_speeds = (0..devices).map(of_device).collect();
        Self { mean_speeds, matrices: weighted.into_iter().map(|(answer, _)| answer).collect() }
    }
}
