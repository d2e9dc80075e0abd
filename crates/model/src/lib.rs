//! Predicts: pure functions from a matrix' features and a device's benchmark times to a time with an interval.
//! Knows no device, which proves that a prediction needs no GPU.

use sparsight_kernels::{Candidate, Placement};
use sparsight_matrix::{Features, Seconds};

mod error;
pub use error::PredictError;

/// One measured benchmark matrix: what a strip model is fitted to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Observation {
    /// What was run.
    pub candidate: Candidate,
    /// Where the columns lie.
    pub placement: Placement,
    /// Non-zeros a row, p.
    pub row_length: u64,
    /// Strips, I.
    pub strips: u64,
    /// Rows (and columns).
    pub nrows: u64,
    /// Time of one product.
    pub time: Seconds,
}

/// A predicted time. It always has an interval and says when it left the ground that was measured.
#[derive(Debug, Clone, PartialEq)]
pub struct Prediction {
    /// Time of one y = A x, launch included.
    pub time: Seconds,
    /// Lower end of the 90 % interval.
    pub low: Seconds,
    /// Upper end of the 90 % interval.
    pub high: Seconds,
    /// In which quantity the matrix lies outside the benchmark grid; empty inside.
    pub extrapolates: Vec<Extrapolation>,
    /// The numbers that went into it, in the order of the formula.
    pub terms: Vec<Term>,
}

/// A quantity beyond the benchmark grid.
#[derive(Debug, Clone, PartialEq)]
pub struct Extrapolation {
    /// `I` or `p` (or another input by its name).
    pub quantity: &'static str,
    /// The matrix' value.
    pub value: f64,
    /// Smallest measured.
    pub from: f64,
    /// Largest measured.
    pub to: f64,
}

/// A named number of a formula, for people who want to see how a prediction came about.
#[derive(Debug, Clone, PartialEq)]
pub struct Term {
    /// The symbol of the paper: `I`, `p`, `E(p)`, ...
    pub name: &'static str,
    /// Its value, in SI units.
    pub value: f64,
}

/// A fitted model of one device.
pub trait Model {
    /// Its name in flags and tables: `strip`, `strip-cache`.
    fn name(&self) -> &'static str;

    /// Predicted time of one y = A x with `candidate` of a matrix with `features`, launch included. O(1).
    ///
    /// # Errors
    /// [`PredictError::NotFitted`] if the model holds nothing for this candidate.
    fn predict(&self, candidate: &Candidate, features: &Features) -> Result<Prediction, PredictError>;
}
