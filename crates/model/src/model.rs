//! Interface of every model.

use crate::{PredictError, Prediction, Term};
use sparsight_kernels::Candidate;
use sparsight_matrix::Features;
use std::fmt::Debug;

/// The answer of a model about one candidate.
pub type Predicted = Result<Prediction, PredictError>;

/// A fitted model of one device.
pub trait Model: Debug + Send + Sync {
    /// Name in flags and tables: `strip`, `strip-cache`.
    fn name(&self) -> &'static str;

    /// Predicted time of one y = A x with `candidate` of a matrix with `features`, launch included. O(1).
    ///
    /// # Errors
    /// [`PredictError::NotFitted`] if the model holds nothing for this candidate, [`PredictError::NoLocality`] if it
    /// looks at what these features do not hold.
    fn predict(&self, candidate: &Candidate, features: &Features) -> Predicted;

    /// [`Model::predict`] for each of `candidates`, in order. A model that looks at a matrix for all of them at once
    /// overrides this; the answers are the same.
    fn predict_each(&self, candidates: &[Candidate], features: &Features) -> Vec<Predicted> {
        candidates.iter().map(|candidate| self.predict(candidate, features)).collect()
    }

    /// The numbers behind [`Model::predict`], in the order of the formula; the last is the predicted time.
    /// Apart from `predict`, which ranks every candidate and should not pay for them.
    ///
    /// # Errors
    /// As [`Model::predict`].
    fn explain(&self, candidate: &Candidate, features: &Features) -> Result<Vec<Term>, PredictError>;
}
