//! `boosting`: gradient-boosted regression trees and a network over a matrix' features, learned from measured matrices.
//!
//! ```text
//! features, candidate, facts -> baseline b, seconds             ../baseline
//!                            -> inputs v (whole numbers)        inputs.rs
//! T = b * exp(d + sum of the trees' leaves at v)                ../trees
//! d = 0.3 (network - trees), at the middle block size           ../network
//! ```
//! Source: Lehnert, Berrendorf, Ecker and Mannuss 2016, who learn SELL-C-sigma and BRO-ELL so, from twelve
//! features. As there, the block size is an input; the kernels of a family share their trees, with their knobs as inputs, where the
//! paper learns each by itself. This project's own: the inputs that know the device (strips, the working set over the L2), the
//! response relative to a baseline, the network, both value types in one model, intervals from
//! cross-validation. Why: see `inputs.rs` and `../baseline`.

mod growth;
mod inputs;
mod learner;

pub(crate) use inputs::{Matrix, names_without_block};
pub use learner::Boosting;

/// Trees for every family with a kernel that enough matrices were measured with, and a network of all kernels.
pub type BoostingModel = crate::LearnedModel<Boosting>;
/// `boosting` with the device that it was learned on. Beyond the matrices learned from, trees and network go on as the baseline does.
pub type BoostingPredictor<'a> = crate::LearnedPredictor<'a, Boosting>;
