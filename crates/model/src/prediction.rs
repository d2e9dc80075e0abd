//! A predicted time, how sure it is, and how it came about.

use sparsight_matrix::Seconds;

/// A predicted time. It always has an interval and says when it left the ground that was measured.
///
/// Invariant, kept by every model: `0 < low <= time <= high`, all finite.
#[derive(Debug, Clone, PartialEq)]
pub struct Prediction {
    /// Time of one y = A x, launch included.
    pub time: Seconds,
    /// Lower end of the 90 % interval.
    pub low: Seconds,
    /// Upper end of the 90 % interval.
    pub high: Seconds,
    /// Quantities in which the matrix lies outside the benchmark grid; empty inside.
    pub extrapolates: Vec<Extrapolation>,
}

impl Prediction {
    /// Takes it to another time: the interval is a factor and moves with it.
    pub fn move_to(&mut self, time: Seconds) {
        let factor = time.0 / self.time.0;
        self.low = Seconds((self.low.0 * factor).min(time.0));
        self.high = Seconds((self.high.0 * factor).max(time.0));
        self.time = time;
    }
}

/// A quantity beyond the benchmark grid.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Extrapolation {
    /// `I`, `p`, `I of COO` or `working set`.
    pub quantity: &'static str,
    /// The matrix' value.
    pub value: f64,
    /// Smallest measured among the benchmark matrices of the fit that answered.
    pub from: f64,
    /// Largest of them.
    pub to: f64,
}

/// A named number of a formula, for people who want to see how a prediction came about.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Term {
    /// Sum that the term belongs to, if there are several: `banded`, `strewn, COO part`; empty for the whole.
    pub part: &'static str,
    /// The symbol of the paper: `I`, `p`, `E(p)`, ...
    pub name: &'static str,
    /// Value, in the unit below.
    pub value: f64,
    /// `s`, `B`, or empty for a count or a ratio.
    pub unit: &'static str,
}
