//! The least predicted time of every block of strips.

use super::Among;
use crate::Predictor;
use sparsight_kernels::{BLOCKS, Candidate, Format, Kernel, feasible};
use sparsight_matrix::{Block, Features, Limits, Strips};
use sparsight_model::{BlockCosts, BlockTimes, Model, PreparedStrip};

/// Predicts all candidates for one block of strips after another.
#[derive(Debug, Clone)]
pub(super) struct BlockPredictor<'a> {
    how: How<'a>,
    candidates: &'a [Candidate],
    /// Of the candidates, each once, in their order; and whether its format holds every block, since it holds the whole
    /// matrix and pads nothing.
    kernels: Vec<(Kernel, bool)>,
    limits: Limits,
}

#[derive(Debug, Clone)]
enum How<'a> {
    Prepared(PreparedStrip<'a>),
    Asked(Predictor<'a>),
}

/// The least times over some kernels: of those that share a launch, and of all others.
#[derive(Clone, Copy)]
struct Least {
    sharing: BlockTimes,
    others: BlockTimes,
}

impl Least {
    fn of(self, among: Among) -> f64 {
        match among {
            Among::Fused(at) => self.sharing[at],
            Among::All => {
                let mut least = f64::INFINITY;
                for at in 0..BLOCKS.len() {
                    least = lesser(least, lesser(self.sharing[at], self.others[at]));
                }
                least
            }
        }
    }
}

impl<'a> BlockPredictor<'a> {
    /// For the blocks of a matrix with features `whole`.
    pub(super) fn new(
        predictor: Predictor<'a>,
        candidates: &'a [Candidate],
        whole: &Features,
        limits: Limits,
    ) -> Self {
        let prepared = match &predictor {
            Predictor::Strip(strip) => strip.prepared(candidates, whole.ncols).map(How::Prepared),
            _ => None,
        };
        let mut kernels: Vec<Kernel> = candidates.iter().map(|c| c.kernel).collect();
        kernels.dedup();
        let is_unpadded = |kernel: Kernel| {
            let one = candidates.iter().find(|c| c.kernel == kernel);
            matches!(kernel.format(), Format::Csr | Format::Coo | Format::Jad)
                && one.is_some_and(|one| feasible(one, whole, &limits).is_ok())
        };
        let kernels = kernels.into_iter().map(|kernel| (kernel, is_unpadded(kernel))).collect();
        Self { how: prepared.unwrap_or(How::Asked(predictor)), candidates, kernels, limits }
    }

    /// Whether a block takes nanoseconds a candidate, and needs no more of its features than its outline.
    pub(super) fn is_prepared(&self) -> bool {
        matches!(self.how, How::Prepared(_))
    }

    /// The time of every block, infinite where none is possible: a table for each of `among`. In parallel.
    pub(super) fn costs(&self, strips: &Strips, among: &[Among]) -> Vec<BlockCosts> {
        BlockCosts::fill(strips.count(), among.len(), |first, rows| {
            let mut predictor = self.clone();
            let mut times = vec![[0.0; BLOCKS.len()]; self.kernels.len()];
            let mut block = strips.block_from(first);
            for at in 0..strips.count() - first {
                block.grow();
                predictor.times_s(&block, &mut times);
                let least = self.least(&times);
                for (row, &among) in rows.iter_mut().zip(among) {
                    row[at] = least.of(among);
                }
            }
        })
    }

    fn least(&self, times: &[BlockTimes]) -> Least {
        let mut least =
            Least { sharing: [f64::INFINITY; BLOCKS.len()], others: [f64::INFINITY; BLOCKS.len()] };
        for (&(kernel, _), times) in self.kernels.iter().zip(times) {
            let into = if kernel.shares_a_launch() { &mut least.sharing } else { &mut least.others };
            for (least, &time) in into.iter_mut().zip(times) {
                *least = lesser(*least, time);
            }
        }
        least
    }

    /// The time of each kernel with each block size; infinite where it is not possible, wanted or predicted.
    fn times_s(&mut self, block: &Block<'_>, times: &mut [BlockTimes]) {
        match &mut self.how {
            How::Prepared(prepared) => {
                let features = block.outline();
                prepared.times_s(features, times);
                let mut checked: Option<(Format, bool)> = None;
                for (&(kernel, is_unpadded), times) in self.kernels.iter().zip(times) {
                    // What is not padded fits if the whole matrix does.
                    if is_unpadded || times.iter().all(|time| time.is_infinite()) {
                        continue;
                    }
                    let format = kernel.format();
                    let is_possible = match checked {
                        Some((same, is_possible)) if same == format => is_possible,
                        _ => {
                            let one = Candidate { kernel, ..self.candidates[0] };
                            feasible(&one, features, &self.limits).is_ok()
                        }
                    };
                    checked = Some((format, is_possible));
                    if !is_possible {
                        times.fill(f64::INFINITY);
                    }
                }
            }
            How::Asked(predictor) => {
                let predictor = *predictor;
                self.ask(&predictor, &block.features(), times);
            }
        }
    }

    fn ask(&self, predictor: &Predictor<'_>, features: &Features, times: &mut [BlockTimes]) {
        times.as_flattened_mut().fill(f64::INFINITY);
        let possible = |c: &&Candidate| feasible(c, features, &self.limits).is_ok();
        let possible: Vec<Candidate> = self.candidates.iter().filter(possible).copied().collect();
        for (candidate, predicted) in possible.iter().zip(predictor.predict_each(&possible, features)) {
            let kernel = self.kernels.iter().position(|&(kernel, _)| kernel == candidate.kernel);
            let block = BLOCKS.iter().position(|&block| block == candidate.block);
            if let (Some(kernel), Some(block), Ok(prediction)) = (kernel, block, predicted) {
                times[kernel][block] = prediction.time.0;
            }
        }
    }
}

/// Not `min`, which takes more instructions since it has an opinion on NaN.
#[inline]
fn lesser(a: f64, b: f64) -> f64 {
    if b < a { b } else { a }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Advisor, ModelName, Profile};
    use sparsight_kernels::catalogue;
    use sparsight_matrix::gallery::Recipe;
    use sparsight_matrix::{Dtype, StripDetail};
    use sparsight_model::{PlacementRule, RowLengthRule};

    /// Every block once by the prepared model and once by the model itself.
    #[test]
    fn a_prepared_model_gives_the_costs_that_asking_it_gives() {
        let profile = Profile::shipped("nvidia-h200").unwrap();
        let candidates: Vec<Candidate> = catalogue(Dtype::F64).collect();
        let a = "kkt,n=30000,m=6000,row=90".parse::<Recipe>().unwrap().generate::<f64>().unwrap();
        let strips = Strips::of(&a, 3200, StripDetail::RowLengths);
        // So little memory that not every block may be padded as far as it likes.
        for memory in [profile.device.facts.memory_bytes, sparsight_matrix::Bytes(20_000_000)] {
            let limits = Limits::with_memory(memory);
            for model in [ModelName::Strip, ModelName::StripCache] {
                let predictor = Advisor::new(&profile)
                    .predictor(model, PlacementRule::Blend, RowLengthRule::Paper)
                    .unwrap();
                let prepared = BlockPredictor::new(predictor, &candidates, &Features::of(&a), limits);
                assert!(prepared.is_prepared());
                let asked = BlockPredictor { how: How::Asked(predictor), ..prepared.clone() };
                let among: Vec<Among> = [Among::All].into_iter().chain((0..5).map(Among::Fused)).collect();
                let pairs = prepared.costs(&strips, &among).into_iter().zip(asked.costs(&strips, &among));
                for ((ours, theirs), among) in pairs.zip(among) {
                    for first in 0..strips.count() {
                        for last in first..strips.count() {
                            let (ours, theirs) = (ours.get(first, last), theirs.get(first, last));
                            let what = format!("{model} {among:?} {first} to {last}: {ours} for {theirs}");
                            assert!(ours.is_finite() && (ours / theirs - 1.0).abs() < 1e-9, "{what}");
                        }
                    }
                }
            }
        }
    }
}
