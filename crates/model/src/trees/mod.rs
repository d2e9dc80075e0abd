//! Boosted regression trees: how they are grown, stored and walked.
//!
//! ```text
//! rows of inputs, responses and weights -> grow -> Tree, Tree, ...     grow.rs, bins.rs
//!     -> ScalarForest     a number in each leaf, walked for millions of blocks       scalar.rs
//!     -> VectorForest     a number for each of several outputs in each leaf          vector.rs
//! both hold Complete trees                                             complete.rs
//! either <-> bytes                                                     packed.rs
//! ```
//! One grower for both: a number is a vector of one. Inputs are whole numbers, so thresholds are, too, and what a
//! forest answers does not depend on rounding. Leaves are whole multiples of a unit that each forest names.
//!
//! Squared loss, histograms of intervals between quantiles (Ke et al. 2017), the gain and the draw towards
//! zero of second order (Chen and Guestrin 2016), a random part of the rows (Friedman 2002) and of the inputs for every tree. Trees with vectors for leaves are the multi-target trees of De'ath 2002; their splits are looked for along a few
//! random projections of the residuals (Iosipoi and Vakhrushev 2022).

mod bins;
mod complete;
mod grow;
mod packed;
mod scalar;
mod tree;
mod vector;

pub(crate) use grow::{Growth, Row};
pub(crate) use scalar::ScalarForest;
pub(crate) use vector::VectorForest;
