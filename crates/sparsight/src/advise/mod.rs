//! Choice of format, kernel and block size: every candidate of the device, predicted and ranked.
//!
//! ```text
//! Advisor::advise -> Advice    ranked candidates, refusals
//! Advisor::advise_iteration     the same by the time of an iteration of a solver
//! run_now, run_now_name        what is run today, from which break-evens are counted
//! verdict                      the candidate to use, and what it gains, in one sentence
//! reasons/, reason             what about the matrix costs time, in one sentence
//! ```

mod iteration;
mod reason;
mod reasons;
mod run_now;
mod run_now_name;
mod verdict;

pub use iteration::{ByIteration, Transposed};
pub use reason::{Before, Reason};
pub use reasons::Told;
pub use run_now::{RunNow, RunNowKind};
pub use run_now_name::RunNowName;
pub use verdict::{TIE, Verdict};

use crate::missing::Missing;
use crate::model_name::ModelName;
use crate::predict::{Answered, Predictor};
use crate::{Error, Profile};
use serde::Serialize;
use serde_with::skip_serializing_none;
use sparsight_kernels::{Candidate, DeviceKind, feasible, useful_bytes};
use sparsight_matrix::{Bytes, Dtype, Features, Infeasible, Limits, Seconds};
use sparsight_model::{Iteration, IterationTime, PlacementRule, Prediction, RowLengthRule};
use std::fmt;

/// The question.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Objective {
    /// Products y = A x to come. With a number, candidates are ranked by what everything costs: conversion,
    /// upload and all products. Without, by the time of one product.
    pub products: Option<u64>,
    /// Model that predicts; `None` for [`ModelName::Best`]: for each kernel the best that the profile holds,
    /// [`Profile::best_model`].
    pub model: Option<ModelName>,
    /// Rule that picks the benchmark matrices for the columns of the matrix; used by strip models.
    pub placement: PlacementRule,
    /// Statistic of the row lengths that a strip model takes.
    pub row_length: RowLengthRule,
    /// True if a matrix in `f64` may be stored in `f32`, beside x, y and sums in `f64`: such candidates are ranked with the others
    /// then. What that changes: [`Narrowing`](sparsight_matrix::Narrowing).
    pub mixed_precision: bool,
}

impl Default for Objective {
    fn default() -> Self {
        Self {
            products: None,
            model: None,
            placement: PlacementRule::Blend,
            row_length: RowLengthRule::Paper,
            mixed_precision: false,
        }
    }
}

/// Every candidate for one matrix, best first, and those that are not possible.
#[derive(Debug, Clone, PartialEq)]
pub struct Advice {
    /// Kind of the device.
    pub kind: DeviceKind,
    /// Model that was asked; [`ModelName::Best`] asks others.
    pub model: ModelName,
    /// Best first.
    pub ranked: Vec<Advised>,
    /// Candidates that are impossible or not predictable, with the reason.
    pub refused: Vec<Refused>,
    /// True if the matrix has no non-zeros, so that there is nothing to gain.
    pub is_empty: bool,
    /// Present implementation, from which break-evens are counted; `None` if no CSR is ranked and no other one was named.
    pub run_now: Option<RunNow>,
    /// The iteration by which it is ranked; `None` if by products.
    pub iteration: Option<ByIteration>,
}

/// A candidate with its prediction.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Advised {
    /// Candidate; answers name it before.
    #[serde(skip)]
    pub candidate: Candidate,
    /// Predicted time with its interval.
    #[serde(flatten)]
    pub prediction: Prediction,
    /// The model that said so; never [`ModelName::Best`].
    pub model: ModelName,
    /// Matrix, x and y in this format without padding: what one product cannot avoid moving.
    pub bytes: Bytes,
    /// Memory of the matrix on the device in this format, without x and y.
    #[serde(rename = "memory_bytes")]
    pub memory: Bytes,
    /// [`bytes`](Advised::bytes) over the predicted time, as a fraction of the device's copy bandwidth; above 1 is "from
    /// cache". `None` if the device's bandwidth is not known.
    pub bandwidth_fraction: Option<f64>,
    /// Conversion and upload, and what the vendor's library does beforehand; `None` if the profile did not measure them.
    #[serde(rename = "conversion_s", skip_serializing_if = "Option::is_none")]
    pub preparation: Option<Seconds>,
    /// Products after which it has caught up with [`Advice::run_now`], both with conversion and upload. `Some(0)` for that
    /// itself; `None` if never. Iterations where these are ranked by.
    pub pays_off_after: Option<u64>,
    /// Time of an iteration; `None` if candidates are ranked by products.
    #[serde(flatten)]
    pub iteration: Option<IterationTime>,
}

impl Advised {
    /// Time by which it is ranked: of an iteration where candidates are ranked by these, else of a product.
    pub fn ranked_by(&self) -> Seconds {
        self.iteration.map_or(self.prediction.time, |iteration| iteration.time)
    }

    /// The time by which it is ranked, with its interval.
    pub(crate) fn predicted(&self) -> Prediction {
        let mut predicted = self.prediction.clone();
        if let Some(IterationTime { time, low, high, .. }) = self.iteration {
            (predicted.time, predicted.low, predicted.high) = (time, low, high);
        }
        predicted
    }

    /// The time by which it is ranked if a product takes `product`: of an iteration the rest stays as predicted. `iteration` is that of
    /// the advice.
    pub(crate) fn with_product(&self, product: Seconds, iteration: Option<Iteration>) -> Seconds {
        let Some((name, predicted)) = iteration.zip(self.iteration) else { return product };
        let longer = f64::from(name.products_with_a()) * (product.0 - self.prediction.time.0);
        // No iteration takes less than its product.
        Seconds((predicted.time.0 + longer).max(product.0))
    }

    /// Conversion, upload and `products` products or iterations; `None` if what the first two take was not measured.
    pub fn in_all(&self, products: u64) -> Option<Seconds> {
        Some(Seconds(self.preparation?.0 + products as f64 * self.ranked_by().0))
    }
}

/// A candidate without a prediction.
#[derive(Debug, Clone, PartialEq)]
pub struct Refused {
    /// The candidate.
    pub candidate: Candidate,
    /// Cannot be held, or no model for it.
    pub why: Why,
}

/// Why a candidate is not ranked.
#[derive(Debug, Clone, PartialEq)]
pub enum Why {
    /// The format cannot hold the matrix.
    Infeasible(Infeasible),
    /// The model that was asked for knows nothing of it.
    NoModel(String),
    /// No model of the profile knows anything of it: none of its times was measured. It may even be the fastest.
    Unmeasured(String),
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Infeasible(reason) => reason.fmt(f),
            Self::NoModel(reason) | Self::Unmeasured(reason) => f.write_str(reason),
        }
    }
}

/// An interval whose ends are farther apart than this factor says too little for a first place. Chosen: a hit of the first cache and one of
/// memory are about that far apart.
const WIDE: f64 = 4.0;

/// Answers from one profile.
#[derive(Debug, Clone, Copy)]
pub struct Advisor<'p> {
    profile: &'p Profile,
}

impl<'p> Advisor<'p> {
    /// An advisor for the profile's device.
    pub fn new(profile: &'p Profile) -> Self {
        Self { profile }
    }

    pub(crate) fn profile(self) -> &'p Profile {
        self.profile
    }

    /// The model of that name, as a predictor. Reads it, if that was not done before.
    ///
    /// # Errors
    /// [`Error::Lacking`] if the profile does not hold it, [`Error::NotShipped`] if the program does not; [`Error::File`],
    /// [`Error::Damaged`] or [`Error::Schema`] if it cannot be read.
    pub fn predictor(
        &self,
        model: ModelName,
        placement: PlacementRule,
        row_length: RowLengthRule,
    ) -> Result<Predictor<'p>, Error> {
        Predictor::new(self.profile, model, placement, row_length)
    }

    /// Ranks every candidate that devices of the profile's kind have for a matrix with `features`. O(1) in the matrix.
    ///
    /// The first is the cheapest of those whose interval spans no more than a factor of 4, if there is one.
    ///
    /// Mixed precision, where it was asked for, is for matrices in `f64` on GPUs; elsewhere nothing is ranked beside the rest.
    ///
    /// # Errors
    /// As [`Advisor::predictor`]; [`Error::Lacking`] also if the profile predicts no candidate at all with the model.
    pub fn advise(&self, features: &Features, dtype: Dtype, objective: &Objective) -> Result<Advice, Error> {
        let model = objective.model.unwrap_or(ModelName::Best);
        let predictor = self.predictor(model, objective.placement, objective.row_length)?;
        let facts = &self.profile.device.facts;
        let limits = Limits::with_memory(facts.memory_bytes);
        let mut advice = Advice::new(facts.kind, model, features);
        let (mut possible, mut held) = (Vec::<Candidate>::new(), Vec::new());
        let has_mixed = objective.mixed_precision && facts.kind.has_mixed_precision() && dtype == Dtype::F64;
        let dtypes = [Some(dtype), has_mixed.then_some(Dtype::Mixed)].into_iter().flatten();
        let candidates: Vec<Candidate> = dtypes.flat_map(|dtype| self.profile.candidates(dtype)).collect();
        // No block size takes more memory or preparation than another.
        for blocks in candidates.chunk_by(|a, b| (a.kernel, a.dtype) == (b.kernel, b.dtype)) {
            let Candidate { dtype, .. } = blocks[0];
            match feasible(&blocks[0], features, &limits) {
                Ok(memory) => {
                    let bytes = useful_bytes(blocks[0].format(), dtype, features);
                    let preparation = self.profile.preparation(&blocks[0], features, memory);
                    possible.extend(blocks);
                    held.extend(std::iter::repeat_n((memory, bytes, preparation), blocks.len()));
                }
                Err(reason) => {
                    let why = Why::Infeasible(reason);
                    let refused = |&candidate| Refused { candidate, why: why.clone() };
                    advice.refused.extend(blocks.iter().map(refused));
                }
            }
        }
        let mut answers = predictor
            .answer_possible(&possible[..possible.partition_point(|c| c.dtype != Dtype::Mixed)], features);
        let mixed = &possible[answers.len()..];
        if !mixed.is_empty() {
            answers.extend(self.mixed_precision(&predictor, mixed, features));
        }
        for ((candidate, (memory, bytes, preparation)), answer) in possible.into_iter().zip(held).zip(answers)
        {
            let (answering, prediction) = match answer {
                Ok(answer) => answer,
                Err(reason) => {
                    let why = match model {
                        ModelName::Best => Why::Unmeasured(reason.to_string()),
                        _ => Why::NoModel(reason.to_string()),
                    };
                    advice.refused.push(Refused { candidate, why });
                    continue;
                }
            };
            let rate = bytes.0 as f64 / prediction.time.0;
            advice.ranked.push(Advised {
                candidate,
                model: answering,
                bytes,
                memory,
                bandwidth_fraction: (facts.copy_bytes_per_s > 0.0).then(|| rate / facts.copy_bytes_per_s),
                preparation,
                pays_off_after: None,
                iteration: None,
                prediction,
            });
        }
        if advice.ranked.is_empty() && advice.refused.iter().any(|r| !matches!(r.why, Why::Infeasible(_))) {
            let missing = Missing::Model { model, dtype };
            return Err(Error::Lacking { profile: self.profile.place(), missing });
        }
        advice.rank(objective.products);
        put_known_first(&mut advice.ranked);
        advice.count_from(advice.usually_run(objective.products));
        Ok(advice)
    }
}

impl Advisor<'_> {
    /// The predictions in mixed precision, from those in `f32` and in `f64`.
    fn mixed_precision(
        self,
        predictor: &Predictor<'_>,
        candidates: &[Candidate],
        features: &Features,
    ) -> Vec<Answered> {
        let between = self.profile.mixed_precision();
        let [single, double] = [Dtype::F32, Dtype::F64].map(|dtype| {
            let asked: Vec<Candidate> = candidates.iter().map(|c| Candidate { dtype, ..*c }).collect();
            predictor.answer_each(&asked, features)
        });
        let one = |((candidate, single), double): ((&Candidate, _), Result<_, _>)| {
            let ((_, single), (model, double)): ((_, Prediction), (_, Prediction)) = (single?, double?);
            Ok((model, between.predict(candidate, features, &single, &double)))
        };
        candidates.iter().zip(single).zip(double).map(one).collect()
    }
}

/// Returns whether an interval says too little for a first place.
pub(crate) fn is_wide(prediction: &Prediction) -> bool {
    prediction.high.0 > WIDE * prediction.low.0
}

/// Moves the first whose interval is not wide to the front, if there is one.
fn put_known_first(ranked: &mut [Advised]) {
    if let Some(first) = ranked.iter().position(|advised| !is_wide(&advised.prediction)) {
        ranked[..=first].rotate_right(1);
    }
}

impl Advice {
    /// Advice on a matrix with `features` before any candidate was looked at.
    pub(crate) fn new(kind: DeviceKind, model: ModelName, features: &Features) -> Self {
        let (ranked, refused, is_empty) = (Vec::new(), Vec::new(), features.nnz == 0);
        Self { kind, model, ranked, refused, is_empty, run_now: None, iteration: None }
    }

    /// Sorts by one product or iteration, or by all `products` with what it takes to convert.
    fn rank(&mut self, products: Option<u64>) {
        // Costs that are not negative are in the order of their bits.
        self.ranked.sort_by_cached_key(|advised| {
            let (is_in_part, cost) = advised.order(products);
            (is_in_part, cost.max(0.0).to_bits(), advised.candidate)
        });
    }

    /// Counts break-evens from there.
    pub fn count_from(&mut self, run_now: Option<RunNow>) {
        for advised in &mut self.ranked {
            let caught_up = |now: RunNow| {
                now.caught_up_after(advised.candidate, advised.ranked_by(), advised.preparation)
            };
            advised.pays_off_after = run_now.and_then(caught_up);
        }
        self.run_now = run_now;
    }

    /// The most common implementation.
    fn usually_run(&self, products: Option<u64>) -> Option<RunNow> {
        let vendors = self.fastest(Advised::is_vendors_csr, products);
        let vendors = vendors.map(|csr| csr.as_run_now(RunNowKind::VendorsCsr));
        let plain = || self.fastest(Advised::is_plain_csr, products);
        let kind = if self.kind.has_cusparse() { RunNowKind::WithoutVendors } else { RunNowKind::PlainCsr };
        vendors.or_else(|| plain().map(|csr| csr.as_run_now(kind)))
    }

    /// The fastest `wanted` candidate, for one product or for all of them.
    pub(crate) fn fastest(
        &self,
        wanted: impl Fn(&Advised) -> bool,
        products: Option<u64>,
    ) -> Option<&Advised> {
        let all = self.ranked.iter().filter(|advised| wanted(advised));
        let order = |one: &Advised| one.order(products);
        all.min_by(|a, b| order(a).0.cmp(&order(b).0).then(order(a).1.total_cmp(&order(b).1)))
    }
}

impl Advised {
    /// This candidate as the present implementation.
    pub(crate) fn as_run_now(&self, kind: RunNowKind) -> RunNow {
        let Self { candidate, preparation, .. } = *self;
        RunNow { kind, candidate, time: self.ranked_by(), preparation }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_interval_of_more_than_a_factor_of_4_is_ranked_first_if_another_is_narrower() {
        let profile = Profile::shipped("nvidia-h200").unwrap();
        let a = "stencil2d,n=60".parse::<sparsight_matrix::gallery::Recipe>().unwrap();
        let features = Features::of(&a.generate::<f64>().unwrap());
        let advice = Advisor::new(&profile).advise(&features, Dtype::F64, &Objective::default()).unwrap();
        let mut ranked = advice.ranked[..4].to_vec();
        let spans = |ranked: &mut [Advised], factors: [f64; 4]| {
            for (advised, factor) in ranked.iter_mut().zip(factors) {
                advised.prediction.high = Seconds(factor * advised.prediction.low.0);
            }
        };
        let order = |ranked: &[Advised]| ranked.iter().map(|one| one.candidate).collect::<Vec<_>>();
        let [a, b, c, d] = order(&ranked)[..] else { panic!("four were taken") };
        spans(&mut ranked, [4.1, 5.0, 3.9, 1.1]);
        put_known_first(&mut ranked);
        assert_eq!(order(&ranked), [c, a, b, d], "the others stay in their order");
        spans(&mut ranked, [2.0, 9.0, 9.0, 1.1]);
        put_known_first(&mut ranked);
        assert_eq!(order(&ranked), [c, a, b, d]);
        spans(&mut ranked, [9.0; 4]);
        put_known_first(&mut ranked);
        assert_eq!(order(&ranked), [c, a, b, d], "none is narrower");
    }
}
