//! Common part of all learned models: a method learns the times of a group of kernels ([`Learner`]), the rest is done here once.
//!
//! ```text
//! LearningSample (matrix, candidate, time)
//!   -> Folds            all times of a matrix held out together        folds.rs
//!   -> L::learn         once without each fold, once with all          learner.rs
//!   -> CrossValidation  errors, intervals, quality of the choice       cross_validation.rs
//! LearnedModel<L>       a learned L for each group, as it is stored    model.rs, format.rs
//! LearnedPredictor<L>   a `Model`: floor, interval, extrapolation      predictor.rs
//! ```
//! Folds depend on the matrices' names alone, so every method is judged by the same matrices and their errors may be
//! compared, kernel by kernel.

mod cross_validation;
mod folds;
mod format;
mod learner;
mod model;
mod predictor;
mod quantity;
mod sample;
mod size_classes;
mod trained;

pub use cross_validation::CrossValidation;
pub use learner::Learner;
pub use model::{Judged, LearnedKernel, LearnedModel, MIN_MATRICES};
pub use predictor::LearnedPredictor;
pub use quantity::Quantity;
pub use sample::{LearningSample, Origin, enough_real};

pub(crate) use folds::{FOLDS, Folds};
pub(crate) use size_classes::{HeldTo, SizeClasses};
