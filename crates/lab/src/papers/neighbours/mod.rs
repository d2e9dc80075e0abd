//! `neighbours`: the times of the most similar matrices that were measured.
//!
//! ```text
//! z_j = sqrt(w_j) (ln v_j - least) / (most - least)      over the matrices learned from
//! d_i = |z - z_i|                                        Euclidean
//! ln(T / b) = sum_i (1 / d_i) ln(T_i / b_i) / sum_i (1 / d_i)      over the k nearest
//! ```
//! Source: Lehnert, Berrendorf, Ecker and Mannuss 2016: features brought to 0..1, weighted Euclidean distance, weights
//! 1 / d, k = 4; which features, their Table 2. This project's own: features as logarithms (row counts span five decades, so
//! all small matrices would be one); the baseline b that `boosting` has, too, in front, since the nearest matrix may be half the
//! size; weights of the features from the samples and not by hand, see `weights.rs`.

mod learner;
mod nearest;
mod weights;

pub use learner::Neighbours;

/// The measured matrices of every kernel that has enough of them.
pub type NeighboursModel = sparsight_model::LearnedModel<Neighbours>;
/// `neighbours` with the device that it was learned on.
pub type NeighboursPredictor<'a> = sparsight_model::LearnedPredictor<'a, Neighbours>;
