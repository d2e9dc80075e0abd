//! Comparison of the candidates of one matrix: their times over the least of them, learned together.
//!
//! ```text
//! features, facts -> inputs v: the matrix, then each kernel beside the others     boosting/inputs.rs
//! ln(T_c / T_best) = sum of the trees' leaves at v, a vector with a number for each candidate c     ../trees
//! ```
//! A model for each kernel has errors of its own for each kernel, and of many candidates that are nearly as fast the
//! one whose time is most underestimated comes first. Here a matrix falls into one leaf with all of its candidates: what
//! is learned about them comes from the same matrices, and what is wrong about these is wrong for all alike. Only
//! what is near the best counts: a candidate weighs `(T_best / T)^2`.
//!
//! That tells which candidate to take and not how long it runs. [`Comparison::joined`] joins it with times that were
//! predicted one kernel at a time.
//!
//! Trees with vectors for leaves for a set of candidates of one matrix, the weights and the join with single times are
//! this project's own.

mod growth;
mod model;
mod samples;

pub use model::Comparison;
