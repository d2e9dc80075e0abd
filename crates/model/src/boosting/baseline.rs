//! The time that a product would take if bytes, the launch and waiting for rows alone counted: what the trees correct.
//!
//! ```text
//! b = launch + compulsory bytes / copy bandwidth + step * (longest row / threads a row) + turn * turns
//! turns = steps of all warps / warps that the device holds
//! ```
//! Trees are constant beyond the matrices that they saw. Relative to b, a matrix ten times as large as the
//! largest of them is predicted to take ten times as long and not the same time.
//!
//! The third term is what a team does alone while the rest of the device waits for it: without it one row of 40,000
//! non-zeros looks like nothing. The last one is the same for the device as a whole: where neighbouring rows differ in
//! length, or a team is wider than its rows, warps take more steps than there are bytes to wait for. `step` and `turn`,
//! each the time of one step, are fitted for each kernel.

use serde::{Deserialize, Serialize};
use sparsight_kernels::{Candidate, DeviceFacts, compulsory_bytes};
use sparsight_matrix::{Features, Locality};

/// Bytes a second where the device's bandwidth was never measured. Chosen; any will do, since the same number
/// stands in training and in prediction.
const UNKNOWN_BYTES_PER_S: f64 = 1e11;
/// Seconds a launch where that was never measured. Chosen, as above.
const UNKNOWN_LAUNCH_S: f64 = 1e-6;

fn positive_or(value: f64, otherwise: f64) -> f64 {
    if value.is_finite() && value > 0.0 { value } else { otherwise }
}

/// The device's measured launch cost, or what stands for it.
pub(super) fn launch_s(facts: &DeviceFacts) -> f64 {
    positive_or(facts.launch_s.0, UNKNOWN_LAUNCH_S)
}

/// The device's measured bandwidth, or what stands for it.
pub(super) fn bytes_per_s(facts: &DeviceFacts) -> f64 {
    positive_or(facts.copy_bytes_per_s, UNKNOWN_BYTES_PER_S)
}

/// `launch + bytes / bandwidth`, seconds; finite and positive for any features.
fn streamed_s(candidate: &Candidate, features: &Features, facts: &DeviceFacts) -> f64 {
    launch_s(facts) + compulsory_bytes(candidate, features).0 as f64 / bytes_per_s(facts)
}

/// What the baseline is put together from, of one candidate on one matrix.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Parts {
    /// `launch + bytes / bandwidth`, seconds.
    pub(super) streamed_s: f64,
    /// Steps that the team of the longest row takes; 0 where rows are not given to teams.
    pub(super) longest_steps: f64,
    /// Steps of all warps over the warps that the device holds; 0 where rows are not given to teams.
    pub(super) turns: f64,
}

impl Parts {
    /// The block size does not matter. Without locality there are no turns.
    pub(crate) fn of(candidate: &Candidate, features: &Features, facts: &DeviceFacts) -> Self {
        let streamed_s = streamed_s(candidate, features, facts);
        let Some(threads) = candidate.kernel.threads_per_row() else {
            return Self { streamed_s, longest_steps: 0.0, turns: 0.0 };
        };
        let in_parts = candidate.kernel.parts().is_some();
        let longest = if in_parts { features.hyb.width } else { features.row_max };
        let steps = features.locality.as_ref().map_or(0, |l| l.team_steps[Locality::team(threads)]);
        let held = f64::from(facts.multiprocessors) * f64::from(facts.warps_per_multiprocessor);
        Self {
            streamed_s,
            longest_steps: longest as f64 / f64::from(threads),
            turns: steps as f64 / held.max(1.0),
        }
    }
}

/// Seconds of a step along a row, of one kernel.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub(crate) struct Steps {
    longest_s: f64,
    turn_s: f64,
}

/// Candidates for a step: nothing, then 2^-3 ns to 2^10 ns in half powers of two. From less than one addition to more
/// than a load that misses every cache.
fn steps_s() -> impl Iterator<Item = f64> {
    std::iter::once(0.0).chain((-6..=20).map(|half| 1e-9 * 2_f64.powf(f64::from(half) / 2.0)))
}

impl Steps {
    /// b, seconds; finite and positive for any features.
    pub(crate) fn baseline_s(&self, parts: &Parts) -> f64 {
        parts.streamed_s + self.longest_s * parts.longest_steps + self.turn_s * parts.turns
    }

    /// Those that leave the logarithms `ln(measured / b)` closest together, over parts and measured seconds. Every pair
    /// is tried: looking for one step at a time ends beside the best pair.
    pub(crate) fn fit(rows: &[(Parts, f64)]) -> Self {
        let variance = |steps: &Self| {
            let (sum, squares) = rows.iter().fold((0.0, 0.0), |(sum, squares), (parts, measured)| {
                let log = (measured / steps.baseline_s(parts)).ln();
                (sum + log, squares + log * log)
            });
            squares - sum * sum / rows.len().max(1) as f64
        };
        let pairs = steps_s().flat_map(|longest_s| steps_s().map(move |turn_s| Self { longest_s, turn_s }));
        let judged = pairs.map(|steps| (variance(&steps), steps));
        // Of equal ones the first: a kernel without teams gets nothing.
        judged.min_by(|a, b| a.0.total_cmp(&b.0)).map_or_else(Self::default, |(_, steps)| steps)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_steps_of_made_up_times_are_found() {
        let made = |steps: Steps| {
            let rows = [
                (1e-6, 10.0, 3.0),
                (1e-6, 1e4, 1.0),
                (3e-6, 500.0, 90.0),
                (9e-6, 2.0, 7000.0),
                (1e-6, 1.0, 400.0),
            ];
            rows.map(|(streamed_s, longest_steps, turns)| {
                let parts = Parts { streamed_s, longest_steps, turns };
                (parts, 1.7 * steps.baseline_s(&parts))
            })
        };
        for (longest_s, turn_s) in [(16e-9, 0.0), (0.0, 64e-9), (16e-9, 64e-9)] {
            let found = Steps::fit(&made(Steps { longest_s, turn_s }));
            let near = |a: f64, b: f64| (a - b).abs() < 1e-15;
            assert!(near(found.longest_s, longest_s) && near(found.turn_s, turn_s), "{found:?}");
        }
        assert_eq!(Steps::fit(&made(Steps::default())), Steps::default());
        assert_eq!(Steps::fit(&[]), Steps::default());
    }
}
