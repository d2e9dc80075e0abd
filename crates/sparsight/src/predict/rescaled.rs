//! Predictions of a device without models of its own: those of another, rescaled.

use super::Predictor;
use crate::model_name::ModelName;
use crate::profile::Rescaled;
use sparsight_kernels::{Candidate, DeviceFacts};
use sparsight_matrix::Features;
use sparsight_model::{Between, Model, PredictError, Prediction, Term};

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

    fn carry(&self, prediction: &mut Prediction, candidate: &Candidate, features: &Features) {
        let between = Between { from: &self.rescaled.reference.device.facts, to: self.to };
        self.rescaled.rescaling.carry(prediction, candidate, features, between);
    }

    /// Predicts like [`Predictor::answer_each`].
    pub(crate) fn answer_each(
        &self,
        candidates: &[Candidate],
        features: &Features,
    ) -> Vec<Result<(ModelName, Prediction), PredictError>> {
        let mut answers = self.inner.answer_each(candidates, features);
        for (answer, candidate) in answers.iter_mut().zip(candidates) {
            if let Ok((_, prediction)) = answer {
                self.carry(prediction, candidate, features);
            }
        }
        answers
    }
}

impl Model for RescaledPredictor<'_> {
    fn name(&self) -> &'static str {
        self.inner.name()
    }

    fn predict(&self, candidate: &Candidate, features: &Features) -> Result<Prediction, PredictError> {
        let mut prediction = self.inner.predict(candidate, features)?;
        self.carry(&mut prediction, candidate, features);
        Ok(prediction)
    }

    fn predict_each(
        &self,
        candidates: &[Candidate],
        features: &Features,
    ) -> Vec<Result<Prediction, PredictError>> {
        let mut predictions = self.inner.predict_each(candidates, features);
        for (prediction, candidate) in predictions.iter_mut().zip(candidates) {
            if let Ok(prediction) = prediction {
                self.carry(prediction, candidate, features);
            }
        }
        predictions
    }

    /// The sum on the reference, and how many times as long it takes here.
    fn explain(&self, candidate: &Candidate, features: &Features) -> Result<Vec<Term>, PredictError> {
        let mut terms = self.inner.explain(candidate, features)?;
        let mut prediction = self.inner.predict(candidate, features)?;
        let there = prediction.time.0;
        self.carry(&mut prediction, candidate, features);
        let value = prediction.time.0 / there;
        terms.push(Term { part: "", name: "T / T on the reference", value, unit: "" });
        Ok(terms)
    }
}
