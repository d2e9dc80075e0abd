//! Candidates in the order of their predicted times, and how good the first of them turned out to be.

use crate::accuracy::{geometric_mean, quantile};
use crate::{Model, PredictError, Prediction};
use serde::{Deserialize, Serialize};
use sparsight_kernels::Candidate;
use sparsight_matrix::{Features, Seconds};

/// A candidate with its prediction.
#[derive(Debug, Clone, PartialEq)]
pub struct Ranked {
    /// Candidate.
    pub candidate: Candidate,
    /// Predicted time.
    pub prediction: Prediction,
}

/// All candidates that could be predicted, fastest first, and those that could not, with the reason.
#[derive(Debug, Clone, PartialEq)]
pub struct Ranking {
    /// Predicted, fastest first; of equal times the smaller id first.
    pub ranked: Vec<Ranked>,
    /// Candidates that are not predicted.
    pub refused: Vec<(Candidate, PredictError)>,
}

/// Ranks `candidates` for a matrix. Whether a candidate fits into memory is the caller's question
/// (`sparsight_kernels::feasible`). O(candidates log candidates).
pub fn rank(
    model: &dyn Model,
    candidates: impl IntoIterator<Item = Candidate>,
    features: &Features,
) -> Ranking {
    let mut ranking = Ranking { ranked: Vec::new(), refused: Vec::new() };
    let candidates: Vec<Candidate> = candidates.into_iter().collect();
    for (&candidate, predicted) in candidates.iter().zip(model.predict_each(&candidates, features)) {
        match predicted {
            Ok(prediction) => ranking.ranked.push(Ranked { candidate, prediction }),
            Err(error) => ranking.refused.push((candidate, error)),
        }
    }
    ranking.ranked.sort_by(|a, b| {
        let by_time = a.prediction.time.0.total_cmp(&b.prediction.time.0);
        by_time.then_with(|| a.candidate.to_string().cmp(&b.candidate.to_string()))
    });
    ranking
}

impl Ranking {
    /// The fastest, unless nothing could be predicted.
    pub fn best(&self) -> Option<&Ranked> {
        self.ranked.first()
    }

    /// Candidates predicted to take at most `1 + fraction` times as long as the fastest: 0.05 for "within 5 %".
    pub fn within(&self, fraction: f64) -> &[Ranked] {
        let limit = self.best().map_or(0.0, |best| best.prediction.time.0 * (1.0 + fraction));
        &self.ranked[..self.ranked.partition_point(|r| r.prediction.time.0 <= limit)]
    }
}

/// Returns whether `chosen` takes at most `1 + fraction` times as long as `best`.
pub fn is_within(chosen: Seconds, best: Seconds, fraction: f64) -> bool {
    chosen.0 <= best.0 * (1.0 + fraction)
}

/// Measured time of the first-ranked candidate against the best measured one, over many matrices: the
/// evaluation of Lehnert et al. 2016. The three shares add up to 1.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ChoiceQuality {
    /// Matrices.
    pub count: usize,
    /// Share chosen within 5 % of the best.
    pub within_5_percent: f64,
    /// Share beyond 5 % but within 20 %.
    pub within_20_percent: f64,
    /// Share beyond 20 %.
    pub beyond_20_percent: f64,
    /// Geometric mean of chosen / best.
    pub mean_ratio: f64,
    /// 90th percentile of chosen / best.
    pub p90_ratio: f64,
    /// Largest chosen / best.
    pub worst_ratio: f64,
}

impl ChoiceQuality {
    /// Over `(measured time of the chosen, best measured time)`, one a matrix; pairs without two positive times
    /// are left out. `None` without any.
    pub fn of(choices: impl IntoIterator<Item = (Seconds, Seconds)>) -> Option<Self> {
        let choices: Vec<(Seconds, Seconds)> =
            choices.into_iter().filter(|(c, b)| c.0 > 0.0 && b.0 > 0.0 && (c.0 / b.0).is_finite()).collect();
        let share = |fraction| {
            let hits = choices.iter().filter(|(c, b)| is_within(*c, *b, fraction)).count();
            hits as f64 / choices.len() as f64
        };
        let mut ratios: Vec<f64> = choices.iter().map(|(c, b)| c.0 / b.0).collect();
        ratios.sort_by(f64::total_cmp);
        Some(Self {
            count: choices.len(),
            mean_ratio: geometric_mean(ratios.iter().copied())?,
            p90_ratio: quantile(&ratios, 0.9)?,
            worst_ratio: *ratios.last()?,
            within_5_percent: share(0.05),
            within_20_percent: share(0.2) - share(0.05),
            beyond_20_percent: 1.0 - share(0.2),
        })
    }
}
