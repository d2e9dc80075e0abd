//! `bench`: every candidate that fits, run and timed.

use super::{DeviceSummary, MatrixSummary, MeasuredOutcome, NamedCandidate};
use crate::bench::MeasuredOwn;
use crate::records::{ClockRecord, Measured, Outcome};
use serde::Serialize;
use serde_with::skip_serializing_none;
use sparsight_device::timing::Caches;
use sparsight_kernels::{DeviceFacts, useful_bytes};
use sparsight_matrix::{Dtype, Features, Format, Narrowing, Seconds};

/// `sparsight/bench/1`: measured times, each of a y that was right.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BenchAnswer {
    /// The device that they were measured on.
    pub device: DeviceSummary,
    /// Value type.
    pub dtype: Dtype,
    /// `warm` or `cold`.
    pub caches: Caches,
    /// Matrices in the order of the request.
    pub matrices: Vec<BenchedMatrix>,
}

impl BenchAnswer {
    /// Keeps the first `top` candidates of each matrix.
    #[must_use]
    pub fn shortened(mut self, top: usize) -> Self {
        for matrix in &mut self.matrices {
            matrix.candidates.truncate(top);
        }
        self
    }
}

/// A matrix with the times measured on it.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BenchedMatrix {
    /// The matrix.
    pub matrix: MatrixSummary,
    /// Clock of the device during the measurement; absent if the device does not report it.
    pub clock: Option<ClockRecord>,
    /// Effect of storing the values in `f32`; absent if no such candidate was asked for.
    pub narrowing: Option<Narrowing>,
    /// The fastest first, then what has no time, in the order in which it was given.
    pub candidates: Vec<BenchedCandidate>,
}

impl BenchedMatrix {
    /// Answer for the matrix called `name`, measured on the device with `facts`.
    pub fn of(
        name: impl Into<String>,
        features: &Features,
        results: &[Measured],
        own: &[MeasuredOwn],
        clock: Option<ClockRecord>,
        facts: &DeviceFacts,
    ) -> Self {
        let ours =
            results.iter().map(|Measured { id, outcome }| (BenchedKernel::Ours((*id).into()), outcome));
        let own = own.iter().map(|own| (BenchedKernel::Own(own.into()), &own.outcome));
        let all =
            ours.chain(own).map(|(kernel, outcome)| BenchedCandidate::of(kernel, outcome, features, facts));
        let mut candidates: Vec<BenchedCandidate> = all.collect();
        candidates.sort_by(|a, b| a.time().total_cmp(&b.time()));
        Self { matrix: MatrixSummary::of(name, features), clock, narrowing: None, candidates }
    }
}

/// A candidate with its outcome.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BenchedCandidate {
    /// The candidate.
    #[serde(flatten)]
    pub candidate: BenchedKernel,
    /// Measured time, or why there is none.
    #[serde(flatten)]
    pub outcome: MeasuredOutcome,
    /// Bytes that one product cannot avoid moving, without padding, over the measured time, as a fraction of the device's copy
    /// rate; above 1 from a cache. Absent without a time or a copy rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bandwidth_fraction: Option<f64>,
    /// Outcome in an earlier run; absent without a comparison.
    #[serde(flatten)]
    pub before: Option<BenchedBefore>,
}

/// A candidate of the catalogue, or a user's own kernel.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum BenchedKernel {
    /// A candidate of the catalogue.
    Ours(NamedCandidate),
    /// A kernel from a file.
    Own(OwnCandidate),
}

/// The kernels of a file with one block size.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OwnCandidate {
    /// `my.cu/b128/f64`.
    pub id: String,
    /// Format that it reads.
    pub format: Format,
    /// The name of its file.
    pub kernel: String,
    /// Threads a block.
    pub block: u32,
    /// Value type.
    pub dtype: Dtype,
    /// Always true: it is none of the catalogue.
    pub own: bool,
}

impl From<&MeasuredOwn> for OwnCandidate {
    fn from(MeasuredOwn { kernel, block, .. }: &MeasuredOwn) -> Self {
        Self {
            id: kernel.id(*block),
            format: kernel.format(),
            kernel: kernel.name().to_owned(),
            block: *block,
            dtype: kernel.dtype(),
            own: true,
        }
    }
}

impl BenchedKernel {
    /// `csr-vector/t8/b256/f64`, `my.cu/b128/f64`.
    pub fn id(&self) -> String {
        match self {
            Self::Ours(candidate) => candidate.id.to_string(),
            Self::Own(own) => own.id.clone(),
        }
    }

    /// Format that it reads.
    pub fn format(&self) -> Format {
        match self {
            Self::Ours(candidate) => candidate.format,
            Self::Own(own) => own.format,
        }
    }

    fn dtype(&self) -> Dtype {
        match self {
            Self::Ours(candidate) => candidate.dtype,
            Self::Own(own) => own.dtype,
        }
    }
}

/// The time of a candidate in an earlier run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct BenchedBefore {
    /// Time of one product then, seconds.
    pub before_s: Seconds,
    /// Time now over time then.
    pub over_before: f64,
    /// True if they differ by more than the sum of both interquartile ranges; `false` if one of them is a single sample.
    pub beyond_spread: bool,
}

impl BenchedCandidate {
    /// Answer for a matrix with `features`, measured on the device with `facts`.
    fn of(candidate: BenchedKernel, outcome: &Outcome, features: &Features, facts: &DeviceFacts) -> Self {
        let rate = facts.copy_bytes_per_s;
        let bytes = useful_bytes(candidate.format(), candidate.dtype(), features).0 as f64;
        let bandwidth_fraction = match outcome {
            Outcome::Time { time_s, .. } if rate > 0.0 && time_s.0.is_finite() => {
                Some(bytes / time_s.0 / rate)
            }
            _ => None,
        };
        Self { candidate, outcome: outcome.into(), bandwidth_fraction, before: None }
    }

    /// Infinite without a time, so that it sorts behind.
    fn time(&self) -> f64 {
        if let MeasuredOutcome::Time { measured_s, .. } = self.outcome { measured_s.0 } else { f64::INFINITY }
    }
}
