//! What a measurement gave.

use crate::records::Outcome;
use serde::Serialize;
use sparsight_matrix::Seconds;

/// A measured time, or why there is none.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum MeasuredOutcome {
    /// Right, and this fast.
    Time {
        /// Time of one product, seconds.
        measured_s: Seconds,
        /// Interquartile range over median, a fraction; 0 of one sample, where it means nothing.
        spread: f64,
        /// Samples; 1 if the first product took so long that it was not run again.
        samples: u32,
    },
    /// Cannot be held, or is not predicted by the model that was asked for.
    Infeasible {
        /// Why, in words.
        infeasible: String,
    },
    /// Would run, but the profile holds no time of it from which it could be predicted.
    Unmeasured {
        /// Why it is not ranked, in words.
        infeasible: String,
        /// Always true: it is possible, and may even be the fastest.
        unmeasured: bool,
    },
    /// Failed or was wrong.
    Failed {
        /// The device's words.
        failed: String,
    },
}

impl From<&Outcome> for MeasuredOutcome {
    fn from(outcome: &Outcome) -> Self {
        match outcome {
            Outcome::Time { time_s, spread, samples } => {
                Self::Time { measured_s: *time_s, spread: *spread, samples: *samples }
            }
            Outcome::Infeasible { infeasible } => Self::Infeasible { infeasible: infeasible.to_string() },
            Outcome::Failed { failed } => Self::Failed { failed: failed.clone() },
        }
    }
}
