//! Why there is no prediction, or no fit.

use thiserror::Error;

/// A model's refusal.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum PredictError {
    /// The profile holds no model for this kernel.
    #[error("the profile holds no {model} model for {candidate}")]
    NotFitted {
        /// Model asked for.
        model: &'static str,
        /// Candidate's id.
        candidate: String,
    },
    /// Too few benchmark matrices to fit.
    #[error("{candidate} needs {needed} to fit {model}, the profile holds {got}")]
    TooFewObservations {
        /// Model asked for.
        model: &'static str,
        /// Candidate's id.
        candidate: String,
        /// What is needed, in words.
        needed: &'static str,
        /// What there is.
        got: usize,
    },
}
