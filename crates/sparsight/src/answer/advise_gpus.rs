//! `advise --gpus`: how a matrix would run on several GPUs.

use super::{Answer, DeviceSummary, MatrixSummary, MeasuredOutcome};
use crate::records::Outcome;
use crate::{DistributedPlan, PlannedRows, PlannedShare, Profile};
use serde::Serialize;
use sparsight_kernels::Candidate;
use sparsight_matrix::{Bytes, Dtype, Seconds};
use sparsight_model::Links;

/// `sparsight/advise-gpus/1`: a matrix on several numbers of GPUs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AdviseGpusAnswer {
    /// The matrix.
    pub matrix: MatrixSummary,
    /// A GPU of those that are predicted for: all are alike.
    pub device: DeviceSummary,
    /// Value type.
    pub dtype: Dtype,
    /// How rows are dealt out: `in order`, or the file that says so.
    pub deal: String,
    /// The links between GPUs.
    pub links: LinksAnswer,
    /// One for each number of GPUs, in the order in which they were asked about.
    pub gpus: Vec<OnGpus>,
    /// The number of GPUs with the least predicted time among those with an efficiency of a half at least; more than one only if it
    /// gains more than 5 % over one.
    pub best: usize,
}

/// Where what is known of the links comes from, and what it is.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LinksAnswer {
    /// A profile's name or a file.
    pub source: String,
    /// The numbers.
    #[serde(flatten)]
    pub links: Links,
}

/// A matrix on so many GPUs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OnGpus {
    /// How many.
    pub count: usize,
    /// Predicted time of one product, seconds.
    pub predicted_s: Seconds,
    /// Lower end of its interval, seconds.
    pub low_s: Seconds,
    /// Upper end, seconds.
    pub high_s: Seconds,
    /// How many times as fast as on one.
    pub speedup: f64,
    /// That over the number of GPUs.
    pub efficiency: f64,
    /// `product`, `exchange`, `imbalance` or `launch`; absent for one GPU.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<&'static str>,
    /// Whether more GPUs are asked about than the links were measured or stated for.
    pub extrapolated: bool,
    /// Bytes of x that all GPUs together get in a product.
    pub exchanged_bytes: Bytes,
    /// The most that one GPU gets or gives.
    pub most_exchanged_bytes: Bytes,
    /// The most that one GPU holds: the matrix, x and y, and room for what is exchanged.
    pub memory_bytes: Bytes,
    /// What each GPU does, by its rank; absent for more than 64 of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shares: Option<Vec<ShareAnswer>>,
    /// What it took when it was run; absent if it was not.
    #[serde(flatten)]
    pub measured: Option<MeasuredOutcome>,
}

/// What one GPU does.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ShareAnswer {
    /// Rows that read its own entries of x alone; absent if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interior: Option<RowsAnswer>,
    /// Rows that read others' entries, too; absent if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub boundary: Option<RowsAnswer>,
    /// Other GPUs that it exchanges entries of x with.
    pub peers: usize,
    /// Predicted time of the exchange, seconds.
    pub exchange_s: Seconds,
    /// Predicted time of its part of the product, seconds.
    pub predicted_s: Seconds,
}

/// Some rows of a share.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RowsAnswer {
    /// Rows.
    pub nrows: u64,
    /// Non-zeros in them.
    pub nnz: u64,
    /// What computes them.
    pub id: Candidate,
    /// How long that is predicted to take, seconds.
    pub predicted_s: Seconds,
}

/// More shares than this are not listed. Chosen: about what somebody reads.
const LISTED: usize = 64;

/// More GPUs than this part of which is used are never named. Chosen.
const EFFICIENT: f64 = 0.5;

/// So much has to be gained before several GPUs are named. Chosen: about what predictions are off by.
const GAIN: f64 = 1.05;

impl OnGpus {
    /// One GPU, with the time of one product on it and what it holds.
    pub fn one([predicted, low, high]: [Seconds; 3], memory: Bytes) -> Self {
        Self {
            count: 1,
            predicted_s: predicted,
            low_s: low,
            high_s: high,
            speedup: 1.0,
            efficiency: 1.0,
            limit: None,
            extrapolated: false,
            exchanged_bytes: Bytes(0),
            most_exchanged_bytes: Bytes(0),
            memory_bytes: memory,
            shares: None,
            measured: None,
        }
    }

    /// Several, beside what one takes.
    pub fn several(plan: &DistributedPlan, one: Seconds, known: usize) -> Self {
        let speedup = if plan.time.0 > 0.0 { one.0 / plan.time.0 } else { 1.0 };
        let shares = || plan.shares.iter().map(ShareAnswer::from).collect();
        Self {
            count: plan.gpus(),
            predicted_s: plan.time,
            low_s: plan.low,
            high_s: plan.high,
            speedup,
            efficiency: speedup / plan.gpus() as f64,
            limit: Some(plan.limit.name()),
            extrapolated: plan.gpus() > known,
            exchanged_bytes: plan.exchanged(),
            most_exchanged_bytes: plan.most_exchanged(),
            memory_bytes: plan.most_memory(),
            shares: (plan.gpus() <= LISTED).then(shares),
            measured: None,
        }
    }

    /// With what was measured.
    #[must_use]
    pub fn with_measured(self, outcome: &Outcome) -> Self {
        Self { measured: Some(outcome.into()), ..self }
    }
}

impl AdviseGpusAnswer {
    /// Of one number of GPUs after another.
    pub fn of(
        matrix: MatrixSummary,
        profile: &Profile,
        dtype: Dtype,
        deal: String,
        links: LinksAnswer,
        gpus: Vec<OnGpus>,
    ) -> Self {
        let one = gpus.iter().find(|on| on.count == 1).map_or(f64::INFINITY, |on| on.predicted_s.0);
        let useful = gpus.iter().filter(|on| on.efficiency >= EFFICIENT);
        let best = useful.min_by(|a, b| a.predicted_s.0.total_cmp(&b.predicted_s.0));
        let best = best.filter(|best| one > GAIN * best.predicted_s.0).map_or(1, |best| best.count);
        Self { matrix, device: profile.into(), dtype, deal, links, gpus, best }
    }
}

impl From<&PlannedShare> for ShareAnswer {
    fn from(share: &PlannedShare) -> Self {
        let rows = |rows: &PlannedRows| {
            let (id, prediction) = rows.planned.as_ref()?;
            Some(RowsAnswer { nrows: rows.rows, nnz: rows.nnz, id: *id, predicted_s: prediction.time })
        };
        Self {
            interior: rows(&share.interior),
            boundary: rows(&share.boundary),
            peers: share.exchanged.len(),
            exchange_s: share.times.exchange,
            predicted_s: share.time,
        }
    }
}

impl Answer for AdviseGpusAnswer {
    const SCHEMA: &'static str = "sparsight/advise-gpus/1";
}
