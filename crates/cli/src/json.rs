//! The objects of `--json`. Times are seconds (`*_s`), sizes bytes, fractions 0.58 and not 58.

use serde::Serialize;
use sparsight::kernels::{Candidate, DeviceFacts, DeviceKind, Format};
use sparsight::matrix::{Bytes, Dtype, Features, Seconds};
use sparsight::model::Prediction;
use sparsight::profile::ProfiledDevice;
use sparsight::records::Outcome;
use sparsight::{Advised, Profile};

/// An object with the name of its schema in front.
#[derive(Debug, Serialize)]
pub(crate) struct Document<T> {
    /// `sparsight/COMMAND/1`.
    schema: &'static str,
    #[serde(flatten)]
    body: T,
}

impl<T> Document<T> {
    pub(crate) fn new(schema: &'static str, body: T) -> Self {
        Self { schema, body }
    }
}

/// A matrix in short.
#[derive(Debug, Serialize)]
pub(crate) struct MatrixJson {
    name: String,
    nrows: u64,
    ncols: u64,
    nnz: u64,
    row_mean: f64,
    row_min: u64,
    row_max: u64,
}

impl MatrixJson {
    pub(crate) fn new(name: String, f: &Features) -> Self {
        let Features { nrows, ncols, nnz, row_min, row_max, .. } = *f;
        Self { name, nrows, ncols, nnz, row_mean: f.row_mean(), row_min, row_max }
    }
}

/// A device in short, with the profile that speaks of it.
#[derive(Debug, Serialize)]
pub(crate) struct DeviceJson {
    name: String,
    kind: DeviceKind,
    multiprocessors: u32,
    copy_bytes_per_s: f64,
    launch_s: Seconds,
    #[serde(skip_serializing_if = "Option::is_none")]
    profile: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    profile_date: Option<String>,
}

impl DeviceJson {
    pub(crate) fn here(facts: &DeviceFacts) -> Self {
        let DeviceFacts { name, kind, multiprocessors, copy_bytes_per_s, launch_s, .. } = facts.clone();
        Self { name, kind, multiprocessors, copy_bytes_per_s, launch_s, profile: None, profile_date: None }
    }

    pub(crate) fn profiled(profile: &Profile) -> Self {
        Self::of(&profile.name, &profile.device)
    }

    /// The device of the profile of that name.
    pub(crate) fn of(profile: &str, device: &ProfiledDevice) -> Self {
        let date = device.provenance.date.clone();
        Self { profile: Some(profile.to_owned()), profile_date: Some(date), ..Self::here(&device.facts) }
    }
}

/// A candidate, the same everywhere.
#[derive(Debug, Serialize)]
pub(crate) struct CandidateJson {
    id: Candidate,
    format: Format,
    kernel: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    threads_per_row: Option<u32>,
    /// 0 where the vendor's library decides.
    block: u32,
    dtype: Dtype,
    /// A routine of the vendor's library; absent for kernels of ours.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    vendor: bool,
}

impl From<Candidate> for CandidateJson {
    fn from(id: Candidate) -> Self {
        let Candidate { kernel, block, dtype } = id;
        let (format, threads_per_row) = (kernel.format(), kernel.threads_per_row());
        Self { id, format, kernel: kernel.name(), threads_per_row, block, dtype, vendor: kernel.is_vendors() }
    }
}

/// A predicted time.
#[derive(Debug, Serialize)]
pub(crate) struct PredictionJson {
    predicted_s: Seconds,
    low_s: Seconds,
    high_s: Seconds,
    /// Quantities in which the matrix lies outside the benchmark matrices.
    extrapolates: Vec<ExtrapolationJson>,
}

/// One quantity beyond the grid.
#[derive(Debug, Serialize)]
pub(crate) struct ExtrapolationJson {
    quantity: &'static str,
    value: f64,
    from: f64,
    to: f64,
}

impl From<&Prediction> for PredictionJson {
    fn from(p: &Prediction) -> Self {
        let extrapolates = p.extrapolates.iter().map(|e| ExtrapolationJson {
            quantity: e.quantity,
            value: e.value,
            from: e.from,
            to: e.to,
        });
        Self { predicted_s: p.time, low_s: p.low, high_s: p.high, extrapolates: extrapolates.collect() }
    }
}

/// A candidate of `advise`, ranked or not.
#[derive(Debug, Serialize)]
pub(crate) struct AdvisedJson {
    #[serde(flatten)]
    candidate: CandidateJson,
    #[serde(flatten)]
    prediction: Option<PredictionJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<Bytes>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bandwidth_fraction: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    conversion_s: Option<Seconds>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pays_off_after: Option<u64>,
    /// With `--iterations`: conversion, upload and all products.
    #[serde(skip_serializing_if = "Option::is_none")]
    in_all_s: Option<Seconds>,
    #[serde(flatten)]
    outcome: Option<OutcomeJson>,
}

impl AdvisedJson {
    pub(crate) fn ranked(advised: &Advised, in_all_s: Option<Seconds>, measured: Option<&Outcome>) -> Self {
        Self {
            candidate: advised.candidate.into(),
            prediction: Some((&advised.prediction).into()),
            model: Some(advised.model.to_string()),
            bytes: Some(advised.bytes),
            bandwidth_fraction: advised.bandwidth_fraction,
            conversion_s: advised.preparation,
            pays_off_after: advised.pays_off_after,
            in_all_s,
            outcome: measured.map(OutcomeJson::from),
        }
    }

    /// A candidate that is not possible, or not predictable.
    pub(crate) fn refused(candidate: Candidate, infeasible: String) -> Self {
        Self {
            candidate: candidate.into(),
            prediction: None,
            model: None,
            bytes: None,
            bandwidth_fraction: None,
            conversion_s: None,
            pays_off_after: None,
            in_all_s: None,
            outcome: Some(OutcomeJson::Infeasible { infeasible }),
        }
    }
}

/// What a measurement gave.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(crate) enum OutcomeJson {
    /// Right, and this fast.
    Time { measured_s: Seconds, spread: f64, samples: u32 },
    /// Cannot be held.
    Infeasible { infeasible: String },
    /// Failed or wrong.
    Failed { failed: String },
}

impl From<&Outcome> for OutcomeJson {
    fn from(outcome: &Outcome) -> Self {
        match outcome {
            Outcome::Time { time_s, spread, samples } => {
                Self::Time { measured_s: *time_s, spread: *spread, samples: *samples }
            }
            Outcome::Infeasible { infeasible } => Self::Infeasible { infeasible: infeasible.to_string() },
            Outcome::Failed { failed } => Self::Failed { failed: failed.clone() },
        }
    }
}
