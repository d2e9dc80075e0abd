//! The optimal partition of a matrix: row blocks, a candidate for each, and the predicted total.
//!
//! ```text
//! matrix -> strips -> features of every block of strips -> least predicted time of each      block_times.rs
//!        -> the partition with the least total (sparsight_model::optimal_partition)
//!        -> its parts, predicted once more with everything that a prediction says
//! ```
//! With [`Execution::Sequential`] every candidate may answer for every block. Parts that share a launch
//! ([`Execution::Fused`]) have one number of threads a block, and what needs launches of its own cannot take part, see
//! [`Kernel::shares_a_launch`](sparsight_kernels::Kernel::shares_a_launch): the partition is found once for each block size, and the best of them is taken.
//!
//! What the parts come to together is [`CutCost`]: learned from cuts that were run, where the profile holds such.
//!
//! Source: Guo, Wang and Chen 2014, section 4.

mod block_times;

use crate::advise::{Refused, Why, is_wide};
use crate::missing::Missing;
use crate::model_name::ModelName;
use crate::predict::Predictor;
use crate::{Advisor, Error, Profile};
use block_times::BlockPredictor;
use sparsight_kernels::{
    BLOCKS, Candidate, DeviceFacts, DeviceKind, Execution, FUSED_PARTS, Strip, StripUnit, feasible,
    fits_one_launch,
};
use sparsight_matrix::{Bytes, Csr, Features, Limits, Scalar, Seconds, StripDetail, Strips};
use sparsight_model::{
    BlockCosts, CutCost, Piece, PlacementRule, Prediction, RowLengthRule, optimal_partition,
    optimal_partition_of,
};
use std::num::NonZeroUsize;
use std::ops::Range;

/// Non-zeros above which no gain is claimed for a cut. Measured on an H200 and an H100: of 47 matrices with 20 to 53 million non-zeros
/// two gained over 3 % by their best cut; of ten fused cuts with 20 to 265 million eight were predicted to gain, and one did.
pub const MOST_CUT: u64 = 20_000_000;

/// The question.
#[derive(Debug, Clone, PartialEq)]
pub struct PartitionObjective {
    /// Model that predicts; `None` for [`ModelName::Best`].
    pub model: Option<ModelName>,
    /// Placement rule, as in [`Objective`](crate::Objective).
    pub placement: PlacementRule,
    /// Row length rule, as in [`Objective`](crate::Objective).
    pub row_length: RowLengthRule,
    /// Most strips that the rows are cut into; `None` for strips as in the paper, at most as many as the model predicts
    /// all blocks of in a fraction of a second.
    pub strips: Option<NonZeroUsize>,
    /// Executions of the parts, with a strategy for each.
    pub executions: Vec<Execution>,
    /// Cuts into at least two parts where there are two strips, even if one is predicted to be faster, and above [`MOST_CUT`]: to
    /// measure the cost of cutting.
    pub cut_always: bool,
}

impl Default for PartitionObjective {
    fn default() -> Self {
        Self {
            model: None,
            placement: PlacementRule::Blend,
            row_length: RowLengthRule::Paper,
            strips: None,
            executions: Execution::ALL.to_vec(),
            cut_always: false,
        }
    }
}

/// A cut of a matrix, and the best strategies for it.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Partitioning {
    /// Model that was asked; [`ModelName::Best`] asks others.
    pub model: ModelName,
    /// Features of the whole matrix.
    pub features: Features,
    /// Strips that the rows were cut into.
    pub strips: usize,
    /// Rows of a strip; the last one may have fewer.
    pub rows_per_strip: u64,
    /// The best strategy of each execution asked for; without those for which no candidate is possible.
    pub strategies: Vec<Strategy>,
    /// The candidates and why each is impossible, if none is possible; else empty.
    pub refused: Vec<Refused>,
}

/// Parts of a matrix, each with a candidate, and how they are run: what an executor needs to know.
///
/// Invariant: the parts follow each other without a gap and cover all rows. Fused ones have one block size and kernels that
/// [`Kernel::shares_a_launch`](sparsight_kernels::Kernel::shares_a_launch) names.
#[derive(Debug, Clone, PartialEq)]
pub struct Strategy {
    /// Kind of the device.
    pub kind: DeviceKind,
    /// Execution of the parts.
    pub execution: Execution,
    /// Parts from the first row on; a single one if nothing is gained by cutting, and above [`MOST_CUT`] non-zeros, unless
    /// [`PartitionObjective::cut_always`] asks for more.
    pub parts: Vec<Part>,
    /// Predicted time of one product: [`CutCost::total`] of the parts.
    pub predicted: Seconds,
    /// Interval of nine of ten measured times: for a single part its own, for several that of the cuts from which the cost was
    /// learned; without these, the sum of the parts' ends.
    pub interval: (Seconds, Seconds),
    /// Model of the sum of the parts.
    pub cost: CutCost,
    /// The whole matrix in the best single of the candidates, whatever the execution: what `advise` ranks first of them.
    pub single: Part,
}

/// Neighbouring rows and what to run them with.
#[derive(Debug, Clone, PartialEq)]
pub struct Part {
    /// Strips of the [`Partitioning`].
    pub strips: Range<usize>,
    /// Rows of the matrix.
    pub rows: Range<u64>,
    /// Non-zeros in them.
    pub nnz: u64,
    /// Candidate.
    pub candidate: Candidate,
    /// The model that predicted it; never [`ModelName::Best`].
    pub model: ModelName,
    /// Predicted time of the part by itself, a launch included.
    pub prediction: Prediction,
}

impl Strategy {
    /// Share of the best single candidate's time that is saved; negative where parts that share a launch cannot do what the
    /// best single candidate does, or where the matrix had to be cut.
    pub fn gain(&self) -> f64 {
        1.0 - self.predicted.0 / self.single.prediction.time.0
    }

    /// Returns whether a gain of this cut is claimed, as those of matrices are from which cutting was learned.
    pub fn is_learned(&self) -> bool {
        self.parts.len() < 2 || self.single.nnz <= MOST_CUT
    }
}

/// Candidates for the parts of one partition.
#[derive(Debug, Clone, Copy)]
enum Among {
    /// Every candidate, by itself.
    All,
    /// Candidates that share a launch, with a block size by its place in [`BLOCKS`].
    Fused(usize),
}

impl Among {
    fn has(self, candidate: &Candidate) -> bool {
        match self {
            Self::All => true,
            Self::Fused(at) => candidate.block == BLOCKS[at] && candidate.kernel.shares_a_launch(),
        }
    }

    fn of(execution: Execution) -> Vec<Self> {
        match execution {
            Execution::Sequential => vec![Self::All],
            Execution::Fused => (0..BLOCKS.len()).map(Self::Fused).collect(),
        }
    }
}

/// State while one matrix is planned.
struct Planner<'a> {
    profile: &'a Profile,
    model: ModelName,
    predictor: Predictor<'a>,
    candidates: &'a [Candidate],
    limits: Limits,
    cut_always: bool,
    whole: Features,
    strips: Strips,
}

impl Advisor<'_> {
    /// The optimal partition of `a` among `candidates`, which share a value type, for each execution asked for.
    ///
    /// O(nnz), and for N strips N^2 / 2 predictions of all candidates.
    ///
    /// # Errors
    /// [`Error::Lacking`] if the profile does not hold the model, or predicts no candidate that is possible with it.
    pub fn partition<T: Scalar>(
        &self,
        a: &Csr<T>,
        candidates: &[Candidate],
        objective: &PartitionObjective,
    ) -> Result<Partitioning, Error> {
        let model = objective.model.unwrap_or(ModelName::Best);
        let predictor = self.predictor(model, objective.placement, objective.row_length)?;
        let facts = &self.profile().device.facts;
        let limits = Limits::with_memory(facts.memory_bytes);
        let whole = Features::of(a);
        let blocks = BlockPredictor::new(predictor.clone(), candidates, &whole, limits);
        let rows_per_strip = rows_per_strip(a.nrows(), facts, objective.strips, blocks.is_prepared());
        let detail = if blocks.is_prepared() { StripDetail::RowLengths } else { StripDetail::All };
        let strips = Strips::of(a, rows_per_strip, detail);
        let (profile, cut_always) = (self.profile(), objective.cut_always);
        let planner = Planner { profile, model, predictor, candidates, limits, cut_always, whole, strips };
        let strategies = planner.strategies(&blocks, &objective.executions);
        let refused = if strategies.is_empty() { planner.refused() } else { Vec::new() };
        if strategies.is_empty() && refused.len() < candidates.len() {
            let missing = Missing::Model { model, dtype: T::DTYPE };
            return Err(Error::Lacking { profile: self.profile().place(), missing });
        }
        let (strips, rows_per_strip) = (planner.strips.count(), rows_per_strip as u64);
        Ok(Partitioning { model, features: planner.whole, strips, rows_per_strip, strategies, refused })
    }
}

impl Planner<'_> {
    fn strategies(&self, blocks: &BlockPredictor<'_>, executions: &[Execution]) -> Vec<Strategy> {
        let all = 0..self.strips.count();
        let Some(single) = self.part(all, Among::All) else { return Vec::new() };
        let among: Vec<Among> = executions.iter().flat_map(|&execution| Among::of(execution)).collect();
        let is_cut = self.whole.nnz <= MOST_CUT || self.cut_always;
        let mut costs = is_cut.then(|| blocks.costs(&self.strips, &among).into_iter());
        let mut strategies = Vec::new();
        for &execution in executions {
            let of_each = Among::of(execution).into_iter().filter_map(|among| {
                let costs = costs.as_mut().and_then(Iterator::next);
                self.best(execution, among, costs, &single)
            });
            // Of equal totals the first, with the smaller block.
            strategies.extend(of_each.min_by(|a, b| a.predicted.0.total_cmp(&b.predicted.0)));
        }
        strategies
    }

    /// The candidates that cannot hold the whole matrix, and why.
    fn refused(&self) -> Vec<Refused> {
        let why = |candidate: &Candidate| feasible(candidate, &self.whole, &self.limits).err();
        let refused = |&candidate| Some(Refused { candidate, why: Why::Infeasible(why(&candidate)?) });
        self.candidates.iter().filter_map(refused).collect()
    }

    /// The best strategy among some candidates; without `costs` the matrix stays whole.
    fn best(
        &self,
        execution: Execution,
        among: Among,
        costs: Option<BlockCosts>,
        single: &Part,
    ) -> Option<Strategy> {
        let all = 0..self.strips.count();
        let cost = self.profile.cut_cost(self.model, execution, single.prediction.time);
        let ranges = if let Some(mut costs) = costs.filter(|_| !all.is_empty()) {
            let alone = self.part(all.clone(), among);
            // Of the whole more is known than its strips say, it is what `advise` predicts, and nothing is cut.
            let is_allowed = !self.cut_always || all.end == 1;
            let whole = alone.filter(|_| is_allowed).map_or(f64::INFINITY, |part| part.prediction.time.0);
            costs.set(0, all.end - 1, whole);
            let (once, bytes) = (Seconds(cost.fixed_s), self.bytes(&all));
            let of_block = |first: usize, last: usize| {
                let (time, strips) = (Seconds(costs.get(first, last)), first..last + 1);
                if strips.len() == all.end {
                    return time.0;
                }
                let own = if cost.s_per_byte > 0.0 { self.bytes(&strips) } else { Bytes(0) };
                once.0 + cost.part(Piece { time, bytes: own }, bytes).0
            };
            let found = optimal_partition(all.end, once, of_block)?;
            if execution == Execution::Fused && found.parts.len() > FUSED_PARTS {
                optimal_partition_of(FUSED_PARTS, all.end, once, of_block)?.parts
            } else {
                found.parts
            }
        } else {
            vec![all]
        };
        let parts = ranges.into_iter().map(|range| self.part(range, among)).collect::<Option<Vec<_>>>()?;
        let kernels = parts.iter().map(|part| part.candidate.kernel);
        if execution == Execution::Fused && !fits_one_launch(kernels, parts[0].candidate.dtype) {
            return None;
        }
        let total = |end: fn(&Prediction) -> Seconds| {
            let piece = |part: &Part| Piece { time: end(&part.prediction), bytes: self.bytes(&part.strips) };
            cost.total(&parts.iter().map(piece).collect::<Vec<_>>())
        };
        let predicted = total(|prediction| prediction.time);
        let interval = match cost.learned {
            Some(learned) if parts.len() > 1 => {
                let (low, high) = learned.range;
                (Seconds(predicted.0 * low.min(1.0)), Seconds(predicted.0 * high.max(1.0)))
            }
            _ => (total(|prediction| prediction.low), total(|prediction| prediction.high)),
        };
        let kind = self.profile.device.facts.kind;
        Some(Strategy { kind, execution, parts, predicted, interval, cost, single: single.clone() })
    }

    /// Bytes of neighbouring strips in CSR.
    fn bytes(&self, strips: &Range<usize>) -> Bytes {
        let rows = self.strips.rows(strips);
        Csr::<f32>::device_bytes(rows.end - rows.start, self.strips.nnz(strips), self.candidates[0].dtype)
    }

    /// The best candidate for a block; `None` if none is possible and predicted.
    fn part(&self, strips: Range<usize>, among: Among) -> Option<Part> {
        let is_whole = strips == (0..self.strips.count());
        let features =
            if is_whole { self.whole.clone() } else { self.strips.block(strips.clone()).features() };
        let possible = |c: &&Candidate| among.has(c) && feasible(c, &features, &self.limits).is_ok();
        let possible: Vec<Candidate> = self.candidates.iter().filter(possible).copied().collect();
        let answers = self.predictor.answer_each(&possible, &features).into_iter().zip(possible);
        let predicted = answers.filter_map(|(answer, candidate)| Some((answer.ok()?, candidate)));
        let ((model, prediction), candidate) = predicted.min_by(|((_, a), one), ((_, b), other)| {
            let is_late = |prediction: &Prediction| is_whole && is_wide(prediction);
            is_late(a).cmp(&is_late(b)).then(a.time.0.total_cmp(&b.time.0)).then(one.cmp(other))
        })?;
        let rows = self.strips.rows(&strips);
        Some(Part { strips, rows, nnz: features.nnz, candidate, model, prediction })
    }
}

/// Most strips for a prepared strip model: 1.1 million blocks, a tenth of a second of one core. Chosen; the matrix with
/// most strips in the paper has 1,489.
const PREPARED: usize = 1500;

/// Most strips for any other model, which takes about 1.6 us a candidate: with all of the catalogue, 1,176 blocks take some
/// tenths of a second. Chosen.
const ASKED: usize = 48;

/// Strips of a chosen number have a multiple of this many rows: whole warps, so that what is counted by warps adds up.
const WARP: usize = 32;

/// Rows of a strip, at least 1. `wanted`: most strips that were asked for.
pub(super) fn rows_per_strip(
    nrows: usize,
    facts: &DeviceFacts,
    wanted: Option<NonZeroUsize>,
    is_prepared: bool,
) -> usize {
    if let Some(strips) = wanted {
        return nrows.div_ceil(strips.get()).next_multiple_of(WARP).max(WARP);
    }
    let one = Strip::of(StripUnit::Rows, 32, facts).size as usize;
    let limit = if is_prepared { PREPARED } else { ASKED };
    one * nrows.div_ceil(one).div_ceil(limit).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Profile;

    #[test]
    fn strips_are_the_papers_until_there_are_too_many() {
        // S_CSR of an H200: 132 multiprocessors with 64 warps.
        let facts = Profile::shipped("nvidia-h200").unwrap().device.facts;
        let rows = |nrows, is_prepared| rows_per_strip(nrows, &facts, None, is_prepared) / 8448;
        assert_eq!((rows(0, true), rows(1_000_000, true), rows(8448 * 1500, true)), (1, 1, 1));
        assert_eq!((rows(8448 * 1500 + 1, true), rows(8448 * 3001, true)), (2, 3));
        assert_eq!((rows(8448 * 48, false), rows(8448 * 49, false), rows(8448 * 1489, false)), (1, 2, 32));
        let asked = |nrows, strips| rows_per_strip(nrows, &facts, NonZeroUsize::new(strips), false);
        assert_eq!((asked(1000, 10), asked(1000, 1), asked(5, 10), asked(0, 3)), (128, 1024, 32, 32));
    }
}
