//! A measured time to learn from.

use super::MIN_MATRICES;
use sparsight_kernels::Candidate;
use sparsight_matrix::{Features, Seconds};
use std::collections::BTreeSet;

/// A candidate measured on one matrix.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LearningSample<'a> {
    /// The matrix' name. All samples of one name stay together in cross-validation.
    pub matrix: &'a str,
    /// Structural features.
    pub features: &'a Features,
    /// Candidate that was run.
    pub candidate: Candidate,
    /// Time of one product.
    pub time: Seconds,
    /// The least time of any candidate on this matrix, in the same value type.
    pub best: Seconds,
    /// Origin of the matrix.
    pub origin: Origin,
}

/// Origin of a matrix. All teach; where there are enough real ones, errors and intervals are judged by those alone, since what a
/// generator makes is easier to predict than what people compute with, and what is derived is nearer to what was learned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// A matrix from an application, unchanged.
    Real,
    /// Made from one of these: more layers, more unknowns a node, another order. It counts as little in learning as a generated one:
    /// there are several of each real one. (With 398 of them learned from beside 172 real ones, folders a and c held out in turn, the mean
    /// error on other derived ones went from 6.4 to 5.3 %, and on real ones from 4.2 to 4.0.)
    Derived,
    /// Made by a generator.
    Generated,
}

impl Origin {
    /// Tells whether the matrix is from an application, or a large one made from such.
    pub fn is_real(self) -> bool {
        self == Self::Real
    }

    /// Tells whether a generator made the matrix.
    pub fn is_generated(self) -> bool {
        self == Self::Generated
    }
}

/// Weight of a real matrix beside a generated one. Chosen by holding out folders a, b, c and d in turn on an H200
/// (412 choices): with 1 and 2 the mean error of `best` was 6.05 and 6.01 %, best / chosen 0.9778 and 0.9783,
/// within 5 % 85.0 and 85.4 %.
const REAL: f64 = 2.0;

impl LearningSample<'_> {
    /// Returns whether the time is a positive number and the features hold all that methods look at.
    pub(crate) fn is_usable(&self) -> bool {
        self.time.0.is_finite() && self.time.0 > 0.0 && self.features.loads().is_some()
    }

    /// Weight in learning: `sqrt(best
    /// time)`, 1 for the best candidate, and [`REAL`] times as much for a matrix from an application. Candidates
    /// far from the best are never chosen, so an error there costs little; they are still learned, since their times are asked for, too.
    ///
    /// Which power was chosen by cross-validation on an H200, without folders e and f: with 0 (all count the same) the
    /// first choice was within 5 % of the best for 75.9 % of the matrices, with 1/2 for 76.7, with 1 for 78.2, but then
    /// the mean error was 6.4 % instead of 5.9 %.
    pub(crate) fn weight(&self) -> f64 {
        let share = self.best.0 / self.time.0;
        let share = if share.is_finite() && share > 0.0 { share.min(1.0).sqrt() } else { 1.0 };
        if self.origin == Origin::Real { REAL * share } else { share }
    }
}

/// Tells whether enough of some `(matrix, made)` were not made, by a generator or from others, so that these alone may judge.
pub fn enough_real<'a>(matrices: impl IntoIterator<Item = (&'a str, bool)>) -> bool {
    let real = matrices.into_iter().filter(|(_, made)| !made).map(|(matrix, _)| matrix);
    real.collect::<BTreeSet<&str>>().len() >= MIN_MATRICES
}
