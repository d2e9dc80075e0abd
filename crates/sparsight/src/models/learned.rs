//! A learned model whose method is not known where it is used: what `best`, `fit` and tables ask of it.

use super::index::KnownKernels;
use super::model_file;
use sparsight_kernels::{Candidate, DeviceFacts};
use sparsight_matrix::Features;
use sparsight_model::{
    CrossValidation, LearnedModel, LearnedPredictor, Learner, Model, PredictError, Prediction, Term,
};
use std::any::Any;
use std::fmt::Debug;

/// A model learned from measured matrices; its kind is told by
/// [`Models::of`](crate::profile::Models::of).
pub trait Learned: Any + Debug + Send + Sync {
    /// The model's name in flags and tables.
    fn name(&self) -> &'static str;

    /// Name and version of its stored form.
    fn format(&self) -> &'static str;

    /// Matrices learned from.
    fn matrices(&self) -> usize;

    /// Errors of its predictions of held-out matrices.
    fn cross_validation(&self) -> &CrossValidation;

    /// The kernels that it knows, with their errors.
    fn known(&self) -> KnownKernels;

    /// Predicted times of `candidates` on the device that it was learned on, as [`Model::predict_each`].
    fn predict_each(
        &self,
        facts: &DeviceFacts,
        candidates: &[Candidate],
        features: &Features,
    ) -> Vec<Result<Prediction, PredictError>>;

    /// The numbers behind a prediction, as [`Model::explain`].
    ///
    /// # Errors
    /// As [`Model::explain`].
    fn explain(
        &self,
        facts: &DeviceFacts,
        candidate: &Candidate,
        features: &Features,
    ) -> Result<Vec<Term>, PredictError>;

    /// The bytes of a file with it.
    fn pack(&self) -> Vec<u8>;
}

impl<L: Learner + 'static> Learned for LearnedModel<L> {
    fn name(&self) -> &'static str {
        L::NAME
    }

    fn format(&self) -> &'static str {
        L::FORMAT
    }

    fn matrices(&self) -> usize {
        Self::matrices(self)
    }

    fn cross_validation(&self) -> &CrossValidation {
        Self::cross_validation(self)
    }

    fn known(&self) -> KnownKernels {
        let log_errors = self.kernels().iter().map(|kernel| (kernel.kernel(), kernel.log_error)).collect();
        KnownKernels { dtypes: self.dtypes().to_vec(), log_errors }
    }

    fn predict_each(
        &self,
        facts: &DeviceFacts,
        candidates: &[Candidate],
        features: &Features,
    ) -> Vec<Result<Prediction, PredictError>> {
        LearnedPredictor { model: self, facts }.predict_each(candidates, features)
    }

    fn explain(
        &self,
        facts: &DeviceFacts,
        candidate: &Candidate,
        features: &Features,
    ) -> Result<Vec<Term>, PredictError> {
        LearnedPredictor { model: self, facts }.explain(candidate, features)
    }

    fn pack(&self) -> Vec<u8> {
        model_file::pack(L::NAME, self)
    }
}

/// A learned model on its device.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct LearnedOn<'p> {
    /// The model.
    pub model: &'p dyn Learned,
    /// The device that it was learned on.
    pub facts: &'p DeviceFacts,
}

impl Model for LearnedOn<'_> {
    fn name(&self) -> &'static str {
        self.model.name()
    }

    fn predict(&self, candidate: &Candidate, features: &Features) -> Result<Prediction, PredictError> {
        self.predict_each(std::slice::from_ref(candidate), features).swap_remove(0)
    }

    fn predict_each(
        &self,
        candidates: &[Candidate],
        features: &Features,
    ) -> Vec<Result<Prediction, PredictError>> {
        self.model.predict_each(self.facts, candidates, features)
    }

    fn explain(&self, candidate: &Candidate, features: &Features) -> Result<Vec<Term>, PredictError> {
        self.model.explain(self.facts, candidate, features)
    }
}
