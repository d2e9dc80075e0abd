//! `bench`: every candidate that fits, run and timed.

use super::{Answer, DeviceSummary, MatrixSummary, MeasuredOutcome, NamedCandidate};
use crate::records::{ClockRecord, Measured, Outcome};
use serde::Serialize;
use sparsight_device::timing::Caches;
use sparsight_kernels::{DeviceFacts, compulsory_bytes};
use sparsight_matrix::{Dtype, Features, Seconds};

/// `sparsight/bench/1`: measured times, each of a y that was right.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BenchAnswer {
    /// The device that they were measured on.
    pub device: DeviceSummary,
    /// Value type.
    pub dtype: Dtype,
    /// `warm` or `cold`.
    pub caches: Caches,
    /// In the order in which they were named.
    pub matrices: Vec<BenchedMatrix>,
}

impl Answer for BenchAnswer {
    const SCHEMA: &'static str = "sparsight/bench/1";
}

impl BenchAnswer {
    /// With the first `top` candidates of each matrix.
    #[must_use]
    pub fn shortened(mut self, top: usize) -> Self {
        for matrix in &mut self.matrices {
            matrix.candidates.truncate(top);
        }
        self
    }
}

/// One matrix and what was measured on it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BenchedMatrix {
    /// The matrix.
    pub matrix: MatrixSummary,
    /// How fast the device's clock ran meanwhile; absent where the device does not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clock: Option<ClockRecord>,
    /// In the order in which they were given: the program gives the fastest first, then what has no time.
    pub candidates: Vec<BenchedCandidate>,
}

impl BenchedMatrix {
    /// Of the matrix called `name`, measured on the device with `facts`.
    pub fn of(
        name: impl Into<String>,
        features: &Features,
        results: &[Measured],
        clock: Option<ClockRecord>,
        facts: &DeviceFacts,
    ) -> Self {
        let candidates = results.iter().map(|measured| BenchedCandidate::of(measured, features, facts));
        Self { matrix: MatrixSummary::of(name, features), clock, candidates: candidates.collect() }
    }
}

/// One candidate and what became of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BenchedCandidate {
    /// Which.
    #[serde(flatten)]
    pub candidate: NamedCandidate,
    /// Its time, or why there is none.
    #[serde(flatten)]
    pub outcome: MeasuredOutcome,
    /// What one product cannot avoid moving over the measured time, as a fraction of the device's copy rate; above 1 from
    /// a cache. Absent without a time or a copy rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bandwidth_fraction: Option<f64>,
    /// What an earlier run measured of it; absent where none is compared with.
    #[serde(flatten)]
    pub before: Option<BenchedBefore>,
}

/// The time of a candidate in an earlier run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct BenchedBefore {
    /// Time of one product then, seconds.
    pub before_s: Seconds,
    /// Time now over time then.
    pub over_before: f64,
    /// Whether they are further apart than both interquartile ranges together; `false` where one of them is a single sample.
    pub beyond_spread: bool,
}

impl BenchedCandidate {
    /// Of a matrix with `features`, measured on the device with `facts`.
    pub fn of(measured: &Measured, features: &Features, facts: &DeviceFacts) -> Self {
        let rate = facts.copy_bytes_per_s;
        let bytes = compulsory_bytes(&measured.id, features).0 as f64;
        let bandwidth_fraction = match measured.outcome {
            Outcome::Time { time_s, .. } if rate > 0.0 && time_s.0.is_finite() => {
                Some(bytes / time_s.0 / rate)
            }
            _ => None,
        };
        Self {
            candidate: measured.id.into(),
            outcome: (&measured.outcome).into(),
            bandwidth_fraction,
            before: None,
        }
    }
}
