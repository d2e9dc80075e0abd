//! Predicting with what was learned.

use super::model::within;
use super::{LearnedKernel, LearnedModel, Learner};
use crate::side_by_side::side_by_side;
use crate::{Model, PredictError, Predicted, Prediction, Term};
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
    /// The model.
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
    fn learned(&self, candidate: &Candidate) -> Option<(&LearnedKernel, &L)> {
        self.model.learned(candidate.kernel).filter(|_| self.model.knows(candidate.dtype))
    }

    /// Predictions of candidates of one value type whose kernels were learned together, kernels side by side.
    fn group(&self, candidates: &[Candidate], features: &Features) -> Vec<Predicted> {
        let known =
            candidates.iter().find_map(|candidate| Some((self.learned(candidate)?.1, candidate.dtype)));
        let known = known.filter(|_| features.loads().is_some());
        let matrix = known.and_then(|(learned, dtype)| learned.matrix(features, dtype, self.facts));
        let kernels: Vec<&[Candidate]> = candidates.chunk_by(|a, b| a.kernel == b.kernel).collect();
        let predicted = side_by_side(&kernels, |blocks| self.blocks(blocks, features, matrix.as_ref()));
        predicted.into_iter().flatten().collect()
    }

    fn not_fitted(candidate: &Candidate) -> PredictError {
        PredictError::NotFitted { model: L::NAME, candidate: candidate.to_string() }
    }

    /// Predictions of candidates that differ in their block size alone. `matrix`: what their group's model computed once for the matrix;
    /// `None` if the features lack what it looks at.
    fn blocks(
        &self,
        blocks: &[Candidate],
        features: &Features,
        matrix: Option<&L::Matrix<'_>>,
    ) -> Vec<Predicted> {
        let Some(first) = blocks.first() else { return Vec::new() };
        let Some((kernel, learned)) = self.learned(first) else {
            return blocks.iter().map(|candidate| Err(Self::not_fitted(candidate))).collect();
        };
        let Some(matrix) = matrix else {
            return vec![Err(PredictError::NoLocality { model: L::NAME }); blocks.len()];
        };
        // Neither looks at the block size.
        let (widening, extrapolates) = kernel.trained.outside(first, features);
        // However far beyond what was measured: a launch may be faster than launches are on average, but not by more.
        let floor_s = kernel.floor_s(self.facts);
        let least_s = floor_s / 2.0;
        let times = learned.times_s(blocks, matrix).into_iter().zip(blocks);
        let factors = self.model.size_classes.of_kernel(kernel.kernel);
        let prediction = |(time_s, candidate): (Option<f64>, &Candidate)| {
            let time_s = within(time_s.ok_or_else(|| Self::not_fitted(candidate))?, floor_s);
            let interval = factors.scaled(kernel.interval, time_s).widened(widening);
            let (low, high) = interval.around(time_s);
            let low = low.max(least_s);
            let extrapolates = extrapolates.clone();
            Ok(Prediction { time: Seconds(time_s), low: Seconds(low), high: Seconds(high), extrapolates })
        };
        times.map(prediction).collect()
    }
}

impl<L: Learner> Model for LearnedPredictor<'_, L> {
    fn name(&self) -> &'static str {
        L::NAME
    }

    fn predict(&self, candidate: &Candidate, features: &Features) -> Predicted {
        self.group(std::slice::from_ref(candidate), features).swap_remove(0)
    }

    fn predict_each(&self, candidates: &[Candidate], features: &Features) -> Vec<Predicted> {
        let group = |candidate: &Candidate| (L::group(candidate.kernel), candidate.dtype);
        let groups: Vec<&[Candidate]> = candidates.chunk_by(|a, b| group(a) == group(b)).collect();
        side_by_side(&groups, |group| self.group(group, features)).into_iter().flatten().collect()
    }

    fn explain(&self, candidate: &Candidate, features: &Features) -> Result<Vec<Term>, PredictError> {
        let time_s = self.predict(candidate, features)?.time.0;
        let (kernel, learned) = self.learned(candidate).ok_or_else(|| Self::not_fitted(candidate))?;
        let mut all = learned.terms(candidate, features, self.facts);
        let whole = |name, value| Term { part: "", name, value, unit: "s" };
        all.extend([whole("floor", kernel.floor_s(self.facts)), whole("T", time_s)]);
        Ok(all)
    }
}
