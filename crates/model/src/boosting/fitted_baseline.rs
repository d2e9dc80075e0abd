//! The baseline of one kernel, with its step fitted.

use super::baseline::{fit_step_s, longest_steps, streamed_s};
use crate::LearningSample;
use serde::{Deserialize, Serialize};
use sparsight_kernels::{Candidate, DeviceFacts};
use sparsight_matrix::Features;

/// `b` of `baseline.rs` for one kernel.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct FittedBaseline {
    step_s: f64,
}

impl FittedBaseline {
    /// Fitted to samples of one kernel.
    pub(crate) fn fit(samples: &[LearningSample<'_>], facts: &DeviceFacts) -> Self {
        let parts = |s: &LearningSample<'_>| {
            let streamed = streamed_s(&s.candidate, s.features, facts);
            (streamed, longest_steps(s.candidate.kernel, s.features), s.time.0)
        };
        Self { step_s: fit_step_s(&samples.iter().map(parts).collect::<Vec<_>>()) }
    }

    /// Seconds; finite and positive for any features.
    pub(crate) fn seconds(self, candidate: &Candidate, features: &Features, facts: &DeviceFacts) -> f64 {
        streamed_s(candidate, features, facts) + self.step_s * longest_steps(candidate.kernel, features)
    }
}
