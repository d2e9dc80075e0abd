//! Predicting with what was learned.

use super::{LearnedKernel, LearnedModel, Learner};
use crate::{Model, PredictError, Prediction, Term};
use sparsight_kernels::{Candidate, DeviceFacts};
use sparsight_matrix::{Features, Seconds};

/// A learned model with the device that it was learned on.
///
/// A prediction is never below the launch cost (or, where that is unknown, the shortest measured time), so it is never
/// zero, negative or NaN. In a quantity outside of what was learned from (rows, columns, non-zeros, longest row, working
/// set) the interval is widened as that of a strip model, [`LogInterval::widened`](crate::LogInterval::widened):
/// residuals say how far a power of the quantity may be off.
#[derive(Debug)]
pub struct LearnedPredictor<'a, L: Learner> {
    /// What was learned.
    pub model: &'a LearnedModel<L>,
    /// The device.
    pub facts: &'a DeviceFacts,
}

#[expect(clippy::expl_impl_clone_on_copy, reason = "derived, it would ask for an L that can be copied")]
impl<L: Learner> Clone for LearnedPredictor<'_, L> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<L: Learner> Copy for LearnedPredictor<'_, L> {}

impl<L: Learner> LearnedPredictor<'_, L> {
    /// What was learned of the candidate's kernel, and the time that it says.
    fn answer(
        &self,
        candidate: &Candidate,
        features: &Features,
    ) -> Result<(&LearnedKernel<L>, f64), PredictError> {
        let kernel = self.model.kernel(candidate.kernel).filter(|_| self.model.knows(candidate.dtype));
        let found = kernel.and_then(|k| Some((k, k.time_s(candidate, features, self.facts)?)));
        found.ok_or_else(|| PredictError::NotFitted { model: L::NAME, candidate: candidate.to_string() })
    }
}

impl<L: Learner> Model for LearnedPredictor<'_, L> {
    fn name(&self) -> &'static str {
        L::NAME
    }

    fn predict(&self, candidate: &Candidate, features: &Features) -> Result<Prediction, PredictError> {
        let (kernel, time_s) = self.answer(candidate, features)?;
        let (widening, extrapolates) = kernel.trained.outside(candidate, features);
        let (low, high) = kernel.interval.widened(widening).around(time_s);
        Ok(Prediction { time: Seconds(time_s), low: Seconds(low), high: Seconds(high), extrapolates })
    }

    fn explain(&self, candidate: &Candidate, features: &Features) -> Result<Vec<Term>, PredictError> {
        let (kernel, time_s) = self.answer(candidate, features)?;
        let mut all = kernel.learned.terms(candidate, features, self.facts);
        let whole = |name, value| Term { part: "", name, value, unit: "s" };
        all.extend([whole("floor", kernel.floor_s(self.facts)), whole("T", time_s)]);
        Ok(all)
    }
}
