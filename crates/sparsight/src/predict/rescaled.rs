//! Predictions of a device without models of its own: those of another, rescaled.

use super::{Answered, Predictor, predictions};
use crate::profile::Rescaled;
use sparsight_kernels::{Candidate, DeviceFacts};
use sparsight_matrix::Features;
use sparsight_model::{Between, Model, PredictError, Predicted, Term};

/// Asks a predictor of the reference and carries its answers over.
#[derive(Debug, Clone)]
pub struct RescaledPredictor<'p> {
    inner: Box<Predictor<'p>>,
    rescaled: &'p Rescaled,
    to: &'p DeviceFacts,
}

impl<'p> RescaledPredictor<'p> {
    pub(crate) fn new(inner: Predictor<'p>, rescaled: &'p Rescaled, to: &'p DeviceFacts) -> Self {
        Self { inner: Box::new(inner), rescaled, to }
    }

    /// Predicts like [`Predictor::answer_each`].
    pub(crate) fn answer_each(&self, candidates: &[Candidate], features: &Features) -> Vec<Answered> {
        let between = Between { from: &self.rescaled.reference.device.facts, to: self.to };
        let mut answers = self.inner.answer_each(candidates, features);
        for (answer, candidate) in answers.iter_mut().zip(candidates) {
            if let Ok((_, prediction)) = answer {
                self.rescaled.rescaling.carry(prediction, candidate, features, between);
            }
        }
        answers
    }
}

impl Model for RescaledPredictor<'_> {
    fn name(&self) -> &'static str {
        self.inner.name()
    }

    fn predict(&self, candidate: &Candidate, features: &Features) -> Predicted {
        self.predict_each(std::slice::from_ref(candidate), features).swap_remove(0)
    }

    fn predict_each(&self, candidates: &[Candidate], features: &Features) -> Vec<Predicted> {
        predictions(self.answer_each(candidates, features))
    }

    /// The sum on the reference, how many times as long it takes here, and the product of both.
    fn explain(&self, candidate: &Candidate, features: &Features) -> Result<Vec<Term>, PredictError> {
        let mut terms = self.inner.explain(candidate, features)?;
        let there = self.inner.predict(candidate, features)?.time.0;
        let here = self.predict(candidate, features)?.time.0;
        terms.push(Term { part: "", name: "T / T on the reference", value: here / there, unit: "" });
        terms.push(Term { part: "", name: "T here", value: here, unit: "s" });
        Ok(terms)
    }
}
