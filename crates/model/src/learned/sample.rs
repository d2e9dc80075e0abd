//! One measured time to learn from.

use super::MIN_MATRICES;
use sparsight_kernels::Candidate;
use sparsight_matrix::{Features, Seconds};
use std::collections::BTreeSet;

/// One candidate on one matrix, measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LearningSample<'a> {
    /// The matrix' name. All samples of one name stay together in cross-validation.
    pub matrix: &'a str,
    /// Its structure.
    pub features: &'a Features,
    /// What was run.
    pub candidate: Candidate,
    /// Time of one product.
    pub time: Seconds,
    /// Whether a generator made it. Generated matrices teach; where there are enough others, errors and intervals
    /// are judged by those alone, since what a generator makes is easier to predict than what people compute with.
    pub generated: bool,
}

impl LearningSample<'_> {
    /// Whether the time is a positive number and the features hold all that methods look at.
    pub(crate) fn is_usable(&self) -> bool {
        self.time.0.is_finite() && self.time.0 > 0.0 && self.features.locality.is_some()
    }
}

/// Whether enough of some `(matrix, generated)` were made by no generator, so that these alone may judge.
pub(crate) fn enough_real<'a>(matrices: impl IntoIterator<Item = (&'a str, bool)>) -> bool {
    let real = matrices.into_iter().filter(|(_, generated)| !generated).map(|(matrix, _)| matrix);
    real.collect::<BTreeSet<&str>>().len() >= MIN_MATRICES
}
