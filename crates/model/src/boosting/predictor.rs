//! Predicting with learned trees.

use super::inputs::{inputs, terms};
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
        found.ok_or_else(|| PredictError::NotFitted { model: self.name(), candidate: candidate.to_string() })
    }

    fn time_s(&self, kernel: &KernelBoosting, candidate: &Candidate, features: &Features) -> f64 {
        let baseline = kernel.baseline_s(candidate, features, self.facts);
        let factor = kernel.trees.sum(&inputs(candidate, features, self.facts)).exp();
        // A damaged file may hold any leaf: the product stays finite.
        (baseline * factor.min(MOST)).max(floor_s(kernel.least, self.facts))
    }
}

/// Largest factor over the baseline: beyond it no measurement was ever seen. Chosen.
const MOST: f64 = 1e9;

impl Model for BoostingPredictor<'_> {
    fn name(&self) -> &'static str {
        "boosting"
    }

    fn predict(&self, candidate: &Candidate, features: &Features) -> Result<Prediction, PredictError> {
        let kernel = self.kernel(candidate)?;
        let time = self.time_s(kernel, candidate, features);
        let trained = &kernel.trained;
        let (mut widening, mut extrapolates) = (0.0, Vec::new());
        for (quantity, value, extent) in [
            ("rows", features.nrows, trained.rows),
            ("columns", features.ncols, trained.columns),
            ("non-zeros", features.nnz, trained.non_zeros),
            ("longest row", features.row_max, trained.longest_row),
            ("working set", compulsory_bytes(candidate, features).0, trained.working_set),
        ] {
            if !extent.contains(value) {
                widening += extent.widening(value);
                let (from, to) = (extent.from as f64, extent.to as f64);
                extrapolates.push(Extrapolation { quantity, value: value as f64, from, to });
            }
        }
        let (low, high) = kernel.interval.widened(widening).around(time);
        Ok(Prediction { time: Seconds(time), low: Seconds(low), high: Seconds(high), extrapolates })
    }

    fn explain(&self, candidate: &Candidate, features: &Features) -> Result<Vec<Term>, PredictError> {
        let kernel = self.kernel(candidate)?;
        let mut all = terms(candidate, features, self.facts);
        let factor = kernel.trees.sum(&inputs(candidate, features, self.facts)).exp();
        let baseline = kernel.baseline_s(candidate, features, self.facts);
        let whole = |name, value, unit| Term { part: "", name, value, unit };
        all.push(whole("baseline", baseline, "s"));
        all.push(whole("factor of the trees", factor, ""));
        all.push(whole("floor", floor_s(kernel.least, self.facts), "s"));
        all.push(whole("T", self.time_s(kernel, candidate, features), "s"));
        Ok(all)
    }
}
