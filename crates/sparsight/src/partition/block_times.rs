//! The least predicted time of every block of strips.

use super::Among;
use crate::predict::Predictor;
use sparsight_kernels::{Candidate, Kernel, feasible};
use sparsight_matrix::{Features, Limits, Strips};
use sparsight_model::{BlockCosts, Model, PreparedStrip};

/// Predicts all candidates for one block of strips after another.
#[derive(Debug, Clone)]
pub(super) struct BlockPredictor<'a> {
    how: How<'a>,
    candidates: &'a [Candidate],
    limits: Limits,
}

#[derive(Debug, Clone)]
enum How<'a> {
    Prepared(PreparedStrip<'a>),
    Asked(Predictor<'a>),
}

impl<'a> BlockPredictor<'a> {
    /// Times for the blocks of a matrix with features `whole`.
    pub(super) fn new(
        predictor: Predictor<'a>,
        candidates: &'a [Candidate],
        whole: &Features,
        limits: Limits,
    ) -> Self {
        // What is not padded holds every block if it holds the whole matrix.
        let is_guarded = |kernel: Kernel| {
            let one = candidates.iter().find(|c| c.kernel == kernel);
            kernel.format().is_padded() || one.is_none_or(|one| feasible(one, whole, &limits).is_err())
        };
        let prepared = match &predictor {
            Predictor::Strip(strip) => strip.prepared(candidates, whole.ncols, is_guarded),
            _ => None,
        };
        Self { how: prepared.map_or(How::Asked(predictor), How::Prepared), candidates, limits }
    }

    /// Returns whether a block takes about a nanosecond a candidate, and needs no more of its features than its outline.
    pub(super) fn is_prepared(&self) -> bool {
        matches!(self.how, How::Prepared(_))
    }

    /// The time of every block, infinite where none is possible: a table for each of `among`. In parallel.
    pub(super) fn costs(&self, strips: &Strips, among: &[Among]) -> Vec<BlockCosts> {
        BlockCosts::fill(
            strips.count(),
            among.len(),
            || self.how.clone(),
            |how, first, rows| match how {
                How::Prepared(prepared) => self.fill_prepared(prepared, strips, first, among, rows),
                How::Asked(predictor) => self.fill_asked(predictor, strips, first, among, rows),
            },
        )
    }

    /// The times of the blocks that begin with strip `first`: a row of a table for each of `among`.
    fn fill_prepared(
        &self,
        prepared: &mut PreparedStrip<'_>,
        strips: &Strips,
        first: usize,
        among: &[Among],
        rows: &mut [&mut [f64]],
    ) {
        prepared.clear();
        let mut block = strips.block_from(first);
        for _ in first..strips.count() {
            let features = block.grow();
            prepared.push(features, |kernel| {
                feasible(&Candidate { kernel, ..self.candidates[0] }, features, &self.limits).is_ok()
            });
        }
        for (row, among) in rows.iter_mut().zip(among) {
            prepared.lower(|candidate| among.has(candidate), row);
        }
    }

    /// Fills the times by asking a model for every candidate of every block.
    fn fill_asked(
        &self,
        predictor: &Predictor<'_>,
        strips: &Strips,
        first: usize,
        among: &[Among],
        rows: &mut [&mut [f64]],
    ) {
        let mut block = strips.block_from(first);
        for at in 0..strips.count() - first {
            block.grow();
            let features = block.features();
            let possible = |c: &&Candidate| feasible(c, &features, &self.limits).is_ok();
            let possible: Vec<Candidate> = self.candidates.iter().filter(possible).copied().collect();
            for (candidate, predicted) in possible.iter().zip(predictor.predict_each(&possible, &features)) {
                let Ok(prediction) = predicted else { continue };
                for (row, _) in rows.iter_mut().zip(among).filter(|(_, among)| among.has(candidate)) {
                    row[at] = row[at].min(prediction.time.0);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model_name::ModelName;
    use crate::{Advisor, Profile};
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
                let prepared = BlockPredictor::new(predictor.clone(), &candidates, &Features::of(&a), limits);
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
