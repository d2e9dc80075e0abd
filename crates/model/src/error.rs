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
    /// Not one candidate has enough benchmark matrices. (A single candidate without enough is listed in the
    /// model, not refused.)
    #[error("no candidate has enough benchmark matrices to fit {model}; {got} usable observations in all")]
    NothingFitted {
        /// Model asked for.
        model: &'static str,
        /// Observations with a positive time.
        got: usize,
    },
    /// Features without [`Locality`](sparsight_matrix::Locality): of row lengths alone, or recorded by an older
    /// version, which did not count [lines of loads](sparsight_matrix::Loads).
    #[error("{model} looks at where the non-zeros lie and what loads touch, which these features do not say")]
    NoLocality {
        /// Model asked for.
        model: &'static str,
    },
    /// Fewer measured matrices than a model learns from.
    #[error("{got} measured matrices are too few to learn {model} from; it needs {needed} with one kernel")]
    TooFewMatrices {
        /// Model asked for.
        model: &'static str,
        /// Matrices with a positive time.
        got: usize,
        /// Number that is needed.
        needed: usize,
    },
    /// A stored model that turned out to be damaged when it was asked for the first time.
    #[error("the {model} model cannot be read: {reason}")]
    Unreadable {
        /// Model asked for.
        model: &'static str,
        /// Description of the fault, with its place.
        reason: String,
    },
}
