//! `compare`: one matrix on several devices.

use super::{AdvisedCandidate, DeviceSummary, MatrixSummary};
use crate::compare::{Compared, ComparedDevice, Comparison, Contender};
use serde::Serialize;
use serde_with::skip_serializing_none;
use sparsight_kernels::Candidate;
use sparsight_matrix::Dtype;

/// `sparsight/compare/1`: how fast each device will be, what limits it, and what that is worth.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CompareAnswer {
    /// The matrix.
    pub matrix: MatrixSummary,
    /// Value type.
    pub dtype: Dtype,
    /// Products to come, of which each has its share of conversion and upload; absent if these do not count.
    pub products: Option<u64>,
    /// Unit of the prices; absent without prices.
    pub unit: Option<String>,
    /// The candidate that every device was asked for; absent if none was.
    pub common: Option<Candidate>,
    /// Devices in the order of the request; the others are compared with the first.
    pub devices: Vec<ComparedProfile>,
}

impl CompareAnswer {
    /// Answer for devices that are called `ids`, in their order; without a unit of the prices.
    pub fn of(
        matrix: MatrixSummary,
        dtype: Dtype,
        products: Option<u64>,
        ids: impl IntoIterator<Item = String>,
        contenders: &[Contender<'_>],
        comparison: &Comparison,
    ) -> Self {
        let common = comparison.common;
        let all = ids.into_iter().zip(contenders).zip(&comparison.devices);
        let devices = all.map(|((id, contender), compared)| {
            ComparedProfile::of(id, contender, compared, (products, common))
        });
        Self { matrix, dtype, products, unit: None, common, devices: devices.collect() }
    }

    /// Keeps the first `top` candidates of each device.
    #[must_use]
    pub fn shortened(mut self, top: usize) -> Self {
        for device in &mut self.devices {
            device.candidates.truncate(top);
        }
        self
    }
}

/// A device of a comparison.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ComparedProfile {
    /// Name in the request: a device of this machine, or the name or folder of a profile.
    pub id: String,
    /// The device.
    #[serde(flatten)]
    pub device: DeviceSummary,
    /// Price of the device, in [`CompareAnswer::unit`]; absent if not given.
    pub price: Option<f64>,
    /// Power at work, watts; absent if not given.
    pub power_w: Option<f64>,
    /// Best first; speeds against the best of the first device.
    pub candidates: Vec<ComparedCandidate>,
    /// The common candidate; speeds against the same candidate on the first device. Absent if there is none.
    pub common: Option<ComparedCandidate>,
}

impl ComparedProfile {
    fn of(
        id: String,
        contender: &Contender<'_>,
        compared: &ComparedDevice,
        (products, common): (Option<u64>, Option<Candidate>),
    ) -> Self {
        let entry = |one: &Compared| ComparedCandidate::of(one, products);
        let common = compared.common.as_ref().zip(common).map(|(found, wanted)| match found {
            Ok(one) => entry(one),
            Err(why) => ComparedCandidate { advised: AdvisedCandidate::refused(wanted, why), numbers: None },
        });
        Self {
            id,
            device: contender.profile.into(),
            price: contender.price,
            power_w: contender.power_w,
            candidates: compared.ranked.iter().map(entry).collect(),
            common,
        }
    }
}

/// A candidate on one device, beside others.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ComparedCandidate {
    /// The candidate with its prediction, or why there is none.
    #[serde(flatten)]
    pub advised: AdvisedCandidate,
    /// Figures of the comparison; absent without a prediction.
    #[serde(flatten)]
    pub numbers: Option<Compared>,
}

impl ComparedCandidate {
    fn of(one: &Compared, products: Option<u64>) -> Self {
        let in_all_s = products.and_then(|products| one.in_all(products));
        Self { advised: AdvisedCandidate::ranked(&one.advised, in_all_s), numbers: Some(one.clone()) }
    }
}
