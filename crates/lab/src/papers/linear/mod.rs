//! `linear`: the logarithm of the time is a sum over the logarithms of a matrix' features.
//!
//! ```text
//! ln T = w_0 + w_1 ln v_1 + ... + w_m ln v_m          T = e^w_0 v_1^w_1 ... v_m^w_m
//! ```
//! Source: Lehnert, Berrendorf, Ecker and Mannuss 2016, equation 1 with features and response as logarithms; which
//! features, their Table 2. As there, least squares for each kernel and thread mapping: here each block size and value
//! type has coefficients of its own.
//!
//! Where there are enough matrices that no generator made, it is fitted to these alone: one plane cannot pass through both,
//! and in cross-validation on an H200 the error was 1.7 times as large with both.
//!
//! What it cannot know: a time that is a sum. For small matrices the launch, for large ones the bytes decide, and a
//! power law goes through the middle of both.

mod learner;
mod least_squares;

pub use learner::Linear;

/// A power law for every kernel that enough matrices were measured with.
pub type LinearModel = sparsight_model::LearnedModel<Linear>;
/// `linear` with the device that it was learned on.
pub type LinearPredictor<'a> = sparsight_model::LearnedPredictor<'a, Linear>;
