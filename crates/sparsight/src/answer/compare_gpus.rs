//! `compare --gpus`: one matrix on several numbers of GPUs of several kinds.

use super::advise_gpus::best;
use super::{DeviceSummary, LinksAnswer, MatrixSummary, OnGpus, TooFewGpus};
use crate::compare::Contender;
use serde::Serialize;
use serde_with::skip_serializing_none;
use sparsight_matrix::{Dtype, Seconds};

/// `sparsight/compare-gpus/1`: devices by numbers of GPUs, rows dealt out in order.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CompareGpusAnswer {
    /// The matrix.
    pub matrix: MatrixSummary,
    /// Value type.
    pub dtype: Dtype,
    /// Unit of the prices; absent without prices.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// Devices in the order of the request; the others are compared with the first.
    pub devices: Vec<ComparedGpus>,
}

/// A device with several numbers of it.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ComparedGpus {
    /// Name in the request.
    pub id: String,
    /// Facts of one of the GPUs: all are alike.
    #[serde(flatten)]
    pub device: DeviceSummary,
    /// Price of one of them, in [`CompareGpusAnswer::unit`]; absent if not given.
    pub price: Option<f64>,
    /// Power of one of them at work, watts; absent if not given.
    pub power_w: Option<f64>,
    /// The links between them; absent for a processor, which is compared as one.
    pub links: Option<LinksAnswer>,
    /// Predictions, one for each number of them that can hold the matrix, fewest first.
    pub gpus: Vec<ComparedOnGpus>,
    /// Numbers of them that cannot.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub too_few: Vec<TooFewGpus>,
    /// The number that `advise --gpus` would name; absent if none of them can hold the matrix.
    pub best: Option<usize>,
}

/// A number of GPUs of one device, compared with the first device.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ComparedOnGpus {
    /// Prediction.
    #[serde(flatten)]
    pub on: OnGpus,
    /// Speedup over the fewest GPUs of the first device that can hold the matrix; absent if none can.
    pub speed: Option<f64>,
    /// Products a second.
    pub products_per_s: f64,
    /// Products a second for each unit of price, which is that of all of them; absent without a price.
    pub products_per_s_per_price: Option<f64>,
    /// Products a joule, which all of them draw; absent without the power.
    pub products_per_joule: Option<f64>,
}

/// A device that is compared, and what is predicted of each number of it.
#[derive(Debug, Clone)]
pub struct NumbersOfDevice<'p> {
    /// Name in the request.
    pub id: String,
    /// A GPU of the device as a contender.
    pub contender: Contender<'p>,
    /// The links between them, where there are several.
    pub links: Option<LinksAnswer>,
    /// Each number, fewest first.
    pub numbers: Vec<Result<OnGpus, TooFewGpus>>,
}

impl CompareGpusAnswer {
    /// Answer for devices in the order of the request; without a unit of the prices and without shares.
    pub fn of(matrix: MatrixSummary, dtype: Dtype, devices: Vec<NumbersOfDevice<'_>>) -> Self {
        let first =
            devices.first().and_then(|first| Some(first.numbers.iter().flatten().next()?.predicted_s));
        let devices = devices.into_iter().map(|NumbersOfDevice { id, contender, links, numbers }| {
            let fits: Vec<OnGpus> = numbers.iter().flatten().cloned().collect();
            ComparedGpus {
                id,
                device: contender.profile.into(),
                price: contender.price,
                power_w: contender.power_w,
                links,
                best: best(&fits),
                gpus: fits.into_iter().map(|on| ComparedOnGpus::of(on, first, &contender)).collect(),
                too_few: numbers.into_iter().filter_map(Result::err).collect(),
            }
        });
        Self { matrix, dtype, unit: None, devices: devices.collect() }
    }
}

impl ComparedOnGpus {
    fn of(on: OnGpus, first: Option<Seconds>, contender: &Contender<'_>) -> Self {
        let products_per_s = 1.0 / on.predicted_s.0;
        let of_all = |one: f64| one * on.count as f64;
        Self {
            speed: first.map(|first| first.0 / on.predicted_s.0),
            products_per_s,
            products_per_s_per_price: contender.price.map(|price| products_per_s / of_all(price)),
            products_per_joule: contender.power_w.map(|power| products_per_s / of_all(power)),
            on: OnGpus { shares: None, ..on },
        }
    }
}
