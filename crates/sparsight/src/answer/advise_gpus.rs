//! `advise --gpus`: how a matrix would run on several GPUs.

use super::{DeviceSummary, MatrixSummary, MeasuredOutcome};
use crate::advise::Advised;
use crate::distributed::{Deal, Distributed, DistributedPlan, PlannedRows, PlannedShare};
use crate::profile::KnownLinks;
use crate::records::Outcome;
use crate::{Advice, Advisor, Error, Objective, Profile};
use serde::Serialize;
use serde_with::skip_serializing_none;
use sparsight_kernels::Candidate;
use sparsight_matrix::{Bytes, Csr, Dtype, Scalar, Seconds};
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
    /// Distribution of rows: `in order`, or the name of the file.
    pub deal: String,
    /// The links between GPUs.
    pub links: LinksAnswer,
    /// Predictions, one for each number of GPUs that can hold the matrix, in the order of the request.
    pub gpus: Vec<OnGpus>,
    /// Numbers of GPUs that cannot.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub too_few: Vec<TooFewGpus>,
    /// The number of GPUs with the least predicted time among those with an efficiency of a half at least; more than the fewest only
    /// if it gains more than 5 % over these. The fewest are one, where one can hold the matrix; else efficiency is held against them.
    pub best: usize,
    /// The number of GPUs with the least predicted time, however little each is used; more than the fewest only if it gains more than 5 %
    /// over these.
    pub fastest: usize,
}

/// Links between GPUs, with their origin.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LinksAnswer {
    /// A profile's name or a file.
    pub source: String,
    /// The numbers.
    #[serde(flatten)]
    pub links: Links,
}

/// A number of GPUs that cannot hold the matrix in that distribution.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TooFewGpus {
    /// Number of GPUs.
    pub count: usize,
    /// Reason.
    pub why: String,
}

/// A matrix on so many GPUs.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct OnGpus {
    /// Number of GPUs.
    pub count: usize,
    /// Predicted time of one product, seconds.
    pub predicted_s: Seconds,
    /// Lower end of its interval, seconds.
    pub low_s: Seconds,
    /// Upper end, seconds.
    pub high_s: Seconds,
    /// Speedup over one GPU; absent if one GPU cannot hold the matrix.
    pub speedup: Option<f64>,
    /// Parallel efficiency, `speedup / count`; absent if one GPU cannot hold the matrix.
    pub efficiency: Option<f64>,
    /// `product`, `exchange`, `imbalance` or `launch`; absent for one GPU.
    pub limit: Option<&'static str>,
    /// True for more GPUs than the links were measured or stated for.
    pub extrapolated: bool,
    /// Bytes of x that all GPUs together get in a product.
    pub exchanged_bytes: Bytes,
    /// The most that one GPU gets or gives.
    pub most_exchanged_bytes: Bytes,
    /// The most that one GPU holds: the matrix, x and y, and room for what is exchanged.
    pub memory_bytes: Bytes,
    /// Shares of the GPUs by rank; absent for more than 64 of them.
    pub shares: Option<Vec<ShareAnswer>>,
    /// Measured time; absent if it was not run.
    #[serde(flatten)]
    pub measured: Option<MeasuredOutcome>,
}

/// Share of one GPU.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ShareAnswer {
    /// Rows that read its own entries of x alone; absent if there are none.
    pub interior: Option<RowsAnswer>,
    /// Rows that read others' entries, too; absent if there are none.
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
    /// Candidate that computes them.
    pub id: Candidate,
    /// Predicted time of these rows, seconds.
    pub predicted_s: Seconds,
}

/// Largest number of shares that are listed. Chosen: about what a person reads.
const LISTED: usize = 64;

/// More GPUs than this part of which is used are never named. Chosen.
const EFFICIENT: f64 = 0.5;

/// Least speedup for which several GPUs are recommended. Chosen: about the error of predictions.
pub(super) const GAIN: f64 = 1.05;

impl OnGpus {
    /// Answer for one GPU, with the time of one product and the memory.
    pub fn one([predicted, low, high]: [Seconds; 3], memory: Bytes) -> Self {
        Self {
            count: 1,
            predicted_s: predicted,
            low_s: low,
            high_s: high,
            speedup: Some(1.0),
            efficiency: Some(1.0),
            memory_bytes: memory,
            ..Self::default()
        }
    }

    /// Several, beside what one takes, if one can hold the matrix.
    pub fn several(plan: &DistributedPlan, one: Option<Seconds>, known: usize) -> Self {
        let speedup = one.map(|one| if plan.time.0 > 0.0 { one.0 / plan.time.0 } else { 1.0 });
        let shares = || plan.shares.iter().map(ShareAnswer::from).collect();
        Self {
            count: plan.gpus(),
            predicted_s: plan.time,
            low_s: plan.low,
            high_s: plan.high,
            speedup,
            efficiency: speedup.map(|speedup| speedup / plan.gpus() as f64),
            limit: Some(plan.limit.name()),
            extrapolated: plan.gpus() > known,
            exchanged_bytes: plan.exchanged(),
            most_exchanged_bytes: plan.most_exchanged(),
            memory_bytes: plan.most_memory(),
            shares: (plan.gpus() <= LISTED).then(shares),
            measured: None,
        }
    }

    /// Adds the measured time.
    #[must_use]
    pub fn with_measured(self, outcome: &Outcome) -> Self {
        Self { measured: Some(outcome.into()), ..self }
    }
}

impl AdviseGpusAnswer {
    /// Answer for several numbers of GPUs, in order.
    ///
    /// # Errors
    /// [`Error::NothingToRun`] if none of them can hold the matrix.
    pub fn of(
        matrix: MatrixSummary,
        profile: &Profile,
        dtype: Dtype,
        deal: String,
        links: LinksAnswer,
        all: Vec<Result<OnGpus, TooFewGpus>>,
    ) -> Result<Self, Error> {
        let gpus: Vec<OnGpus> = all.iter().flatten().cloned().collect();
        let too_few: Vec<TooFewGpus> = all.into_iter().filter_map(Result::err).collect();
        let Some((best, fastest)) = best(&gpus).zip(fastest(&gpus)) else {
            let most = too_few.iter().max_by_key(|few| few.count);
            let why = most.map_or_else(String::new, |few| format!("on {}, {}", few.counted(), few.why));
            return Err(Error::NothingToRun { why });
        };
        Ok(Self { matrix, device: profile.into(), dtype, deal, links, gpus, too_few, best, fastest })
    }
}

/// Makes an [`OnGpus`] of one matrix for each number of GPUs of one kind, compared with one GPU if that can hold the matrix.
#[derive(Debug, Clone, Copy)]
pub struct NumbersOfGpus<'a, T: Scalar> {
    /// The matrix.
    pub matrix: &'a Csr<T>,
    /// Predicts for one of the GPUs.
    pub advisor: Advisor<'a>,
    /// Advice for the matrix on one GPU.
    pub advice: &'a Advice,
    /// The question.
    pub objective: &'a Objective,
}

impl<'a, T: Scalar> NumbersOfGpus<'a, T> {
    /// The best candidate on one GPU; `None` if one cannot hold the matrix.
    pub fn best_on_one(&self) -> Option<&'a Advised> {
        self.advice.ours().next()
    }

    /// Answer for one GPU.
    ///
    /// # Errors
    /// Why one cannot hold it.
    pub fn on_one(&self) -> Result<OnGpus, TooFewGpus> {
        let a = self.matrix;
        let Some(best) = self.best_on_one() else {
            return Err(TooFewGpus { count: 1, why: self.advice.why_nothing() });
        };
        let vectors = (a.nrows() + a.ncols()) as u64 * T::DTYPE.bytes();
        let prediction = &best.prediction;
        let times = [prediction.time, prediction.low, prediction.high];
        Ok(OnGpus::one(times, Bytes(best.memory.0 + vectors)))
    }

    /// Answer for `count` GPUs with these links, and its plan. Cost and memory are those of [`Advisor::distribute`].
    ///
    /// # Errors
    /// As [`Advisor::distribute`]; within, why so few cannot hold it.
    pub fn on(
        &self,
        count: usize,
        deal: &Deal,
        known: &KnownLinks,
    ) -> Result<Result<(OnGpus, Distributed<T>), TooFewGpus>, Error> {
        let one = self.best_on_one().map(|best| best.prediction.time);
        match self.advisor.distribute(self.matrix, count, deal, &known.links, self.objective) {
            Ok(distributed) => {
                let on = OnGpus::several(&distributed.plan, one, known.measured_on);
                Ok(Ok((on, distributed)))
            }
            Err(Error::NothingToRun { why }) => Ok(Err(TooFewGpus { count, why })),
            Err(error) => Err(error),
        }
    }
}

impl TooFewGpus {
    /// `1 GPU`, `2 GPUs`.
    pub fn counted(&self) -> String {
        format!("{} GPU{}", self.count, if self.count == 1 { "" } else { "s" })
    }
}

/// The number that is named, [`AdviseGpusAnswer::best`]; `None` of nothing.
pub(crate) fn best(gpus: &[OnGpus]) -> Option<usize> {
    with_use_of(EFFICIENT, gpus)
}

/// The number with the least time, [`AdviseGpusAnswer::fastest`]; `None` of nothing.
fn fastest(gpus: &[OnGpus]) -> Option<usize> {
    with_use_of(0.0, gpus)
}

/// The number with the least time of those that are used by `share` at least, held against the fewest.
fn with_use_of(share: f64, gpus: &[OnGpus]) -> Option<usize> {
    let fewest = gpus.iter().min_by_key(|on| on.count)?;
    let used =
        |on: &OnGpus| (fewest.predicted_s.0 * fewest.count as f64) / (on.predicted_s.0 * on.count as f64);
    let useful = gpus.iter().filter(|on| on.count == fewest.count || used(on) >= share);
    let best = useful.min_by(|a, b| a.predicted_s.0.total_cmp(&b.predicted_s.0))?;
    let gains = fewest.predicted_s.0 > GAIN * best.predicted_s.0;
    Some(if gains { best.count } else { fewest.count })
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

#[cfg(test)]
mod tests {
    use super::*;

    fn on(count: usize, time: f64) -> OnGpus {
        OnGpus { count, ..OnGpus::one([Seconds(time); 3], Bytes(0)) }
    }

    #[test]
    fn more_gpus_than_needed_are_recommended_only_for_a_clear_gain() {
        assert_eq!(best(&[]), None);
        assert_eq!(best(&[on(1, 1.0), on(2, 0.97)]), Some(1), "within what predictions are off by");
        assert_eq!(best(&[on(1, 1.0), on(2, 0.6), on(8, 0.3)]), Some(2), "eight are used by 42 %");
        // The time of one GPU is unknown: two have to be beaten.
        assert_eq!(best(&[on(2, 1.0), on(4, 0.6), on(8, 0.55)]), Some(4));
        assert_eq!(best(&[on(4, 1.0), on(8, 0.96)]), Some(4));
    }

    #[test]
    fn the_fastest_number_may_be_used_by_less_than_half() {
        assert_eq!(fastest(&[]), None);
        assert_eq!(fastest(&[on(1, 1.0), on(2, 0.97)]), Some(1), "within what predictions are off by");
        assert_eq!(fastest(&[on(1, 1.0), on(2, 0.6), on(8, 0.3)]), Some(8));
        assert_eq!(fastest(&[on(2, 1.0), on(4, 0.6), on(8, 0.65)]), Some(4));
    }
}
