//! `boosting`: gradient-boosted regression trees over a matrix' features, learned from measured matrices.
//!
//! ```text
//! features, candidate, facts -> inputs v (whole numbers)        inputs.rs
//!                            -> baseline b, seconds             baseline.rs
//! T = b * exp(sum of the trees' leaves at v)                    forest.rs
//! ```
//! Source: Lehnert, Berrendorf, Ecker and Mannuss 2016, who learn SELL-C-sigma and BRO-ELL so, from twelve
//! features. As there, one model for each kernel with its knobs, the block size an input. This project's own: the
//! inputs that know the device (strips, the working set over the L2), the response relative to a baseline, both
//! value types in one model, intervals from cross-validation. Why: see `inputs.rs` and `baseline.rs`.
//!
//! The trees are grown by `forust-ml`; they are stored and walked in a form of our own, which is small and does not
//! change with the library.

mod baseline;
mod cross_validation;
mod folds;
mod forest;
mod inputs;
mod model;
mod predictor;
mod sample;
mod trainer;

pub use cross_validation::CrossValidation;
pub use model::{BoostingModel, KernelBoosting, MIN_MATRICES};
pub use predictor::BoostingPredictor;
pub use sample::LearningSample;
