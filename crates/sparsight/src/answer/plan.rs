//! `plan`: the optimal partition of each matrix, beside the best single candidate.

use super::{AdviceProvenance, DeviceSummary, MatrixSummary, NamedCandidate, Structure};
use crate::Plan;
use crate::advise::Refused;
use crate::model_name::ModelName;
use crate::partition::{MOST_CUT, Part, Partitioning, Strategy};
use crate::run::MeasuredPartition;
use serde::Serialize;
use serde_with::skip_serializing_none;
use sparsight_kernels::{Candidate, Execution, device_bytes};
use sparsight_matrix::{Bytes, Dtype, Narrowing, Seconds, grouped};
use sparsight_model::{CutCost, NextRun, PlacementRule, Prediction, RowLengthRule};
use std::fmt::Display;

/// `sparsight/plan/1`: which row blocks, and what runs each.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PlanAnswer {
    /// The device that is planned for.
    pub device: DeviceSummary,
    /// Value type.
    pub dtype: Dtype,
    /// Rule that picked the benchmark matrices for the columns.
    pub placement: PlacementRule,
    /// Statistic of the row lengths that was used.
    pub row_length: RowLengthRule,
    /// Origin of the answer.
    pub provenance: AdviceProvenance,
    /// Matrices in the order of the request, without those that could not be read.
    pub matrices: Vec<PlannedMatrix>,
}

impl PlanAnswer {
    /// Keeps the first `top` parts of each strategy.
    #[must_use]
    pub fn shortened(mut self, top: usize) -> Self {
        for strategy in self.matrices.iter_mut().flat_map(|matrix| &mut matrix.strategies) {
            strategy.parts.truncate(top);
        }
        self
    }
}

/// Plan of one matrix.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PlannedMatrix {
    /// The matrix.
    pub matrix: MatrixSummary,
    /// Row lengths and positions of the non-zeros; absent for several matrices.
    pub structure: Option<Structure>,
    /// The model that was asked; `best` asks others.
    pub model: ModelName,
    /// Strips that the rows were cut into.
    pub strips: usize,
    /// Rows of a strip; the last one may have fewer.
    pub strip_rows: u64,
    /// The whole matrix in the best single candidate; absent if none is possible.
    pub single: Option<PlannedPart>,
    /// Memory of the matrix on the device in that candidate, without x and y; absent if none is possible.
    pub memory_bytes: Option<Bytes>,
    /// The whole matrix in the best candidate that stores its values in `f32`, beside x, y and sums in `f64`; absent if none was asked
    /// for or is possible.
    pub mixed: Option<PlannedPart>,
    /// Effect of storing the values in `f32`; absent if not asked for.
    pub narrowing: Option<Narrowing>,
    /// The best of each execution asked for, without those for which no candidate is possible.
    pub strategies: Vec<PlannedStrategy>,
    /// The candidates, and why none of them is possible; absent if one is.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub candidates: Vec<RefusedCandidate>,
    /// Plans that were run, in turn; absent if none was.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub measured: Vec<MeasuredPlan>,
    /// Expected gain of another run of a single candidate; absent if none was tried or all were.
    pub next_run: Option<NextRunAnswer>,
    /// Verdict.
    pub verdict: PlanVerdict,
}

/// A candidate that is not possible.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RefusedCandidate {
    /// The candidate.
    #[serde(flatten)]
    pub candidate: NamedCandidate,
    /// Why it is not possible, in words.
    pub infeasible: String,
}

impl From<&Refused> for RefusedCandidate {
    fn from(refused: &Refused) -> Self {
        Self { candidate: refused.candidate.into(), infeasible: refused.why.to_string() }
    }
}

/// Decision to cut the matrix or not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PlanVerdict {
    /// Execution of the parts; absent if the matrix is to be left whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub execution: Option<Execution>,
    /// A sentence.
    pub text: String,
}

impl PlanVerdict {
    /// Verdict by predictions: a cut is worth it if its interval lies below the time of the whole, and, on a GPU, if the cost of cuts was
    /// learned on it: sums of parts alone were off by up to 63 % on an H100.
    fn of(planned: &Partitioning) -> Self {
        let whole = |text: String| Self { execution: None, text };
        let Some(Strategy { single, .. }) = planned.strategies.first() else {
            return whole("No candidate is possible.".to_owned());
        };
        if planned.features.nnz == 0 {
            return whole("CSR is as good as anything: there are no non-zeros to multiply.".to_owned());
        }
        let time = single.prediction.time;
        let leave = format!("Leave it whole: {} takes {time} a product", single.candidate.in_words());
        if planned.features.nnz > MOST_CUT {
            let most = grouped(MOST_CUT);
            return whole(format!(
                "{leave}. Cuts of more than {most} non-zeros hardly ever gain, so no gain is claimed for one."
            ));
        }
        let cuts = planned.strategies.iter().filter(|strategy| strategy.parts.len() > 1);
        let best = cuts.min_by(|a, b| a.predicted.0.total_cmp(&b.predicted.0));
        let Some(best) = best.filter(|best| best.predicted < time) else {
            return whole(format!("{leave}, and no cut is predicted to be faster."));
        };
        let (parts, execution, less) = (best.parts.len(), best.execution, 100.0 * best.gain());
        if best.interval.1 >= time {
            return whole(format!(
                "{leave}. The best cut ({parts} parts, {execution}) is predicted to take {less:.1} % less, which is within the \
                 error: --run measures both."
            ));
        }
        if best.kind.is_gpu() && best.cost.learned.is_none() {
            return whole(format!(
                "{leave}. The best cut ({parts} parts, {execution}) is predicted to take {less:.1} % less, but what a cut costs was \
                 not learned on this device: --run measures both."
            ));
        }
        let text = format!(
            "Cut it into {parts} parts ({execution}): {} a product, {less:.1} % less than {} on all rows ({time}), as predicted: \
             --run measures both.",
            best.predicted,
            single.candidate.in_words()
        );
        Self { execution: Some(execution), text }
    }

    /// Verdict by measured times; `None` without any.
    fn of_measured(strategies: &[PlannedStrategy], measured: &[MeasuredPlan]) -> Option<Self> {
        let timed = || measured.iter().filter_map(|run| Some((run, run.time_s?)));
        let (fastest, time) = timed().min_by(|a, b| a.1.0.total_cmp(&b.1.0))?;
        let is_cut = |strategy: &&PlannedStrategy| strategy.parts.len() > 1;
        let named = |strategy: &&PlannedStrategy| strategy.execution.to_string() == fastest.what;
        let count = timed().count();
        if let Some(cut) = strategies.iter().filter(is_cut).find(named) {
            let (parts, execution) = (cut.parts.len(), cut.execution);
            let text = format!(
                "Cut it into {parts} parts ({execution}): measured, they take {time} a product, the least of {count}."
            );
            return Some(Self { execution: Some(execution), text });
        }
        let plan =
            fastest.plan.parse().map_or_else(|_| fastest.plan.clone(), |one: Candidate| one.in_words());
        let text = format!("Leave it whole: measured, {plan} takes {time} a product, the least of {count}.");
        Some(Self { execution: None, text })
    }
}

/// Next candidate to run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct NextRunAnswer {
    /// The candidate.
    #[serde(flatten)]
    pub candidate: NamedCandidate,
    /// Expected gain in a product over the fastest that was run, seconds.
    pub gain_s: Seconds,
}

impl From<&NextRun> for NextRunAnswer {
    fn from(next: &NextRun) -> Self {
        Self { candidate: next.candidate.into(), gain_s: next.gain }
    }
}

impl PlannedMatrix {
    /// Plan of the matrix called `name`, without measurements.
    pub fn of(name: impl Into<String>, planned: &Partitioning) -> Self {
        Self {
            matrix: MatrixSummary::of(name, &planned.features),
            structure: None,
            model: planned.model,
            strips: planned.strips,
            strip_rows: planned.rows_per_strip,
            single: planned.strategies.first().map(|strategy| (&strategy.single).into()),
            memory_bytes: planned
                .strategies
                .first()
                .map(|strategy| device_bytes(&strategy.single.candidate, &planned.features)),
            mixed: None,
            narrowing: None,
            strategies: planned.strategies.iter().map(PlannedStrategy::from).collect(),
            candidates: planned.refused.iter().map(RefusedCandidate::from).collect(),
            measured: Vec::new(),
            next_run: None,
            verdict: PlanVerdict::of(planned),
        }
    }

    /// Adds measured plans, and derives the verdict from them.
    #[must_use]
    pub fn with_measured(mut self, measured: Vec<MeasuredPlan>) -> Self {
        self.verdict = PlanVerdict::of_measured(&self.strategies, &measured).unwrap_or(self.verdict);
        self.measured = measured;
        self
    }
}

/// Parts, and how they are run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PlannedStrategy {
    /// `sequential` or `fused`.
    pub execution: Execution,
    /// Predicted time of one product, seconds.
    pub predicted_s: Seconds,
    /// Lower end of the 90 % interval, seconds.
    pub low_s: Seconds,
    /// Upper end of the 90 % interval, seconds.
    pub high_s: Seconds,
    /// Share of the best single candidate's time that is saved, as predicted; below 0 where it takes longer. Above 20 million non-zeros
    /// it is no claim: such cuts hardly ever gain.
    pub gain: f64,
    /// Model of the sum of several parts.
    pub cost: CutCost,
    /// Parts from the first row on; a single one if nothing is gained by cutting.
    pub parts: Vec<PlannedPart>,
}

impl From<&Strategy> for PlannedStrategy {
    fn from(strategy: &Strategy) -> Self {
        let (low_s, high_s) = strategy.interval;
        Self {
            execution: strategy.execution,
            predicted_s: strategy.predicted,
            low_s,
            high_s,
            gain: strategy.gain(),
            cost: strategy.cost,
            parts: strategy.parts.iter().map(PlannedPart::from).collect(),
        }
    }
}

/// Neighbouring rows and what to run them with.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PlannedPart {
    /// First strip, and the one behind the last, counted from 0.
    pub strips: [usize; 2],
    /// First row, and the one behind the last, counted from 0.
    pub rows: [u64; 2],
    /// Non-zeros in them.
    pub nnz: u64,
    /// Candidate that computes the part.
    #[serde(flatten)]
    pub candidate: NamedCandidate,
    /// The model that predicted it, never `best`.
    pub model: ModelName,
    /// Predicted time of the part by itself, a launch included.
    #[serde(flatten)]
    pub prediction: Prediction,
}

impl From<&Part> for PlannedPart {
    fn from(part: &Part) -> Self {
        Self {
            strips: [part.strips.start, part.strips.end],
            rows: [part.rows.start, part.rows.end],
            nnz: part.nnz,
            candidate: part.candidate.into(),
            model: part.model,
            prediction: part.prediction.clone(),
        }
    }
}

/// A plan that was run.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MeasuredPlan {
    /// `single` (the next ones tried: `single 2`, ...), `sequential` or `fused`, else the routine of the vendor's library.
    pub what: String,
    /// A candidate, or the parts.
    pub plan: String,
    /// Seconds a product; absent of a routine of the vendor's, of which nothing is predicted here.
    pub predicted_s: Option<Seconds>,
    /// Measured, seconds a product; absent if it failed, as are the next two.
    pub time_s: Option<Seconds>,
    /// Interquartile range over median, a fraction.
    pub spread: Option<f64>,
    /// The slowest clock of the device that a sample ended with, MHz; absent where the device does not say.
    pub sm_mhz: Option<u32>,
    /// Samples thrown away, since the device had slowed its clock down; absent if none was.
    pub throttled: Option<u32>,
    /// Conversion, preprocessing and upload, seconds.
    pub preparation_s: Option<Seconds>,
    /// Why there is no time; absent with one.
    pub failed: Option<String>,
}

impl MeasuredPlan {
    /// Outcome of a run of the plan called `what`.
    pub fn of<E: Display>(
        what: impl Into<String>,
        plan: &Plan,
        outcome: &Result<MeasuredPartition, E>,
    ) -> Self {
        let known = outcome.as_ref().ok();
        Self {
            what: what.into(),
            plan: plan.to_string(),
            predicted_s: plan.predicted(),
            time_s: known.map(|known| known.timing.time),
            spread: known.map(|known| known.timing.spread),
            sm_mhz: known.and_then(|known| known.timing.sm_mhz),
            throttled: known.map(|known| known.timing.throttled).filter(|throttled| *throttled > 0),
            preparation_s: known.map(|known| known.preparation.total()),
            failed: outcome.as_ref().err().map(ToString::to_string),
        }
    }
}
