//! Predicting with learned trees.

use super::baseline::Parts;
use super::inputs::Matrix;
use super::model::{BoostingModel, KernelBoosting, floor_s};
use crate::{Extrapolation, Model, PredictError, Prediction, Term};
use sparsight_kernels::{Candidate, DeviceFacts, compulsory_bytes};
use sparsight_matrix::{Features, Seconds};

/// The model with the device that it was learned on.
///
/// A prediction is never below the launch cost (or, where that is unknown, the shortest measured time), so it is never
/// zero, negative or NaN. In a quantity outside of what was learned from (rows, columns, non-zeros, longest row, working
/// set) the interval is widened as that of a strip model, [`LogInterval::widened`](crate::LogInterval::widened):
/// trees go on as the baseline does, and residuals say how far a power of the quantity may be off.
#[derive(Debug, Clone, Copy)]
pub struct BoostingPredictor<'a> {
    /// The trees.
    pub model: &'a BoostingModel,
    /// The device.
    pub facts: &'a DeviceFacts,
}

impl BoostingPredictor<'_> {
    fn kernel(&self, candidate: &Candidate) -> Result<&KernelBoosting, PredictError> {
        let found = self.model.find(candidate.kernel).filter(|_| self.model.knows(candidate.dtype));
        found.ok_or_else(|| self.not_fitted(candidate))
    }

    fn not_fitted(&self, candidate: &Candidate) -> PredictError {
        PredictError::NotFitted { model: self.name(), candidate: candidate.to_string() }
    }

    /// Predictions of block sizes of one kernel, which share all but a few inputs.
    fn blocks(&self, matrix: &Matrix<'_>, candidates: &[Candidate]) -> Vec<Result<Prediction, PredictError>> {
        let Some(first) = candidates.first() else { return Vec::new() };
        let Ok(kernel) = self.kernel(first) else {
            return candidates.iter().map(|c| Err(self.not_fitted(c))).collect();
        };
        let parts = Parts::of(first, matrix.features, matrix.locality, self.facts);
        let blocks: Vec<_> = candidates.iter().map(|c| matrix.block_inputs(c, self.facts)).collect();
        let corrections = kernel.trees.sums(&matrix.inputs(first, &parts, self.facts), &blocks);
        let outside = Outside::of(kernel, first, matrix.features);
        let prediction = |correction: f64| {
            let time = self.time_s(kernel, &parts, correction);
            let (low, high) = kernel.interval.widened(outside.widening).around(time);
            let extrapolates = outside.extrapolates.clone();
            Ok(Prediction { time: Seconds(time), low: Seconds(low), high: Seconds(high), extrapolates })
        };
        corrections.into_iter().map(prediction).collect()
    }

    fn time_s(&self, kernel: &KernelBoosting, parts: &Parts, correction: f64) -> f64 {
        // A damaged file may hold any leaf: the product stays finite.
        let factor = correction.exp().min(MOST);
        (kernel.steps.baseline_s(parts) * factor).max(floor_s(kernel.least, self.facts))
    }
}

/// In which quantities a matrix lies outside of what was learned from.
struct Outside {
    widening: f64,
    extrapolates: Vec<Extrapolation>,
}

impl Outside {
    fn of(kernel: &KernelBoosting, candidate: &Candidate, features: &Features) -> Self {
        let trained = &kernel.trained;
        let mut outside = Self { widening: 0.0, extrapolates: Vec::new() };
        for (quantity, value, extent) in [
            ("rows", features.nrows, trained.rows),
            ("columns", features.ncols, trained.columns),
            ("non-zeros", features.nnz, trained.non_zeros),
            ("longest row", features.row_max, trained.longest_row),
            ("working set", compulsory_bytes(candidate, features).0, trained.working_set),
        ] {
            if !extent.contains(value) {
                outside.widening += extent.widening(value);
                let (from, to) = (extent.from as f64, extent.to as f64);
                outside.extrapolates.push(Extrapolation { quantity, value: value as f64, from, to });
            }
        }
        outside
    }
}

/// Largest factor over the baseline: beyond it no measurement was ever seen. Chosen.
const MOST: f64 = 1e9;

impl Model for BoostingPredictor<'_> {
    fn name(&self) -> &'static str {
        "boosting"
    }

    fn predict(&self, candidate: &Candidate, features: &Features) -> Result<Prediction, PredictError> {
        self.kernel(candidate)?;
        let matrix = Matrix::of(features, candidate.dtype, self.facts)?;
        self.blocks(&matrix, std::slice::from_ref(candidate)).swap_remove(0)
    }

    fn predict_each(
        &self,
        candidates: &[Candidate],
        features: &Features,
    ) -> Vec<Result<Prediction, PredictError>> {
        let mut all = Vec::with_capacity(candidates.len());
        for of_a_type in candidates.chunk_by(|a, b| a.dtype == b.dtype) {
            match Matrix::of(features, of_a_type[0].dtype, self.facts) {
                Ok(matrix) => {
                    for blocks in of_a_type.chunk_by(|a, b| a.kernel == b.kernel) {
                        all.extend(self.blocks(&matrix, blocks));
                    }
                }
                Err(_) => all.extend(of_a_type.iter().map(|candidate| self.predict(candidate, features))),
            }
        }
        all
    }

    fn explain(&self, candidate: &Candidate, features: &Features) -> Result<Vec<Term>, PredictError> {
        let kernel = self.kernel(candidate)?;
        let matrix = Matrix::of(features, candidate.dtype, self.facts)?;
        let parts = Parts::of(candidate, features, matrix.locality, self.facts);
        let correction = kernel.trees.sum(&matrix.inputs(candidate, &parts, self.facts));
        let mut all = matrix.terms(candidate, &parts, self.facts);
        let whole = |name, value, unit| Term { part: "", name, value, unit };
        all.push(whole("baseline", kernel.steps.baseline_s(&parts), "s"));
        all.push(whole("factor of the trees", correction.exp(), ""));
        all.push(whole("floor", floor_s(kernel.least, self.facts), "s"));
        all.push(whole("T", self.time_s(kernel, &parts, correction), "s"));
        Ok(all)
    }
}
