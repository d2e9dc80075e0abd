//! The time that a product would take if bytes, the launch and the longest row alone counted: what the trees correct.
//!
//! ```text
//! b = launch + compulsory bytes / copy bandwidth + step * (longest row / threads a row)
//! ```
//! Trees are constant beyond the matrices that they saw. Relative to b, a matrix ten times as large as the
//! largest of them is predicted to take ten times as long and not the same time.
//!
//! The last term is what a team does alone while the rest of the device waits for it: without it one row of 40,000
//! non-zeros looks like nothing. `step`, the time of one step along a row, is fitted for each kernel.

use sparsight_kernels::{Candidate, DeviceFacts, Kernel, compulsory_bytes};
use sparsight_matrix::Features;

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
pub(super) fn streamed_s(candidate: &Candidate, features: &Features, facts: &DeviceFacts) -> f64 {
    launch_s(facts) + compulsory_bytes(candidate, features).0 as f64 / bytes_per_s(facts)
}

/// Steps that the team of the longest row takes; 0 where rows are not given to teams.
pub(super) fn longest_steps(kernel: Kernel, features: &Features) -> f64 {
    let longest = if kernel == Kernel::Hyb { features.hyb.width } else { features.row_max };
    kernel.threads_per_row().map_or(0.0, |threads| longest as f64 / f64::from(threads))
}

/// Candidates for a step: nothing, then 2^-3 ns to 2^8 ns in half powers of two. From less than one addition to more
/// than a load that misses every cache.
fn steps_s() -> impl Iterator<Item = f64> {
    std::iter::once(0.0).chain((-6..=16).map(|half| 1e-9 * 2_f64.powf(f64::from(half) / 2.0)))
}

/// The step that leaves the logarithms `ln(measured / b)` closest together, over
/// `(streamed_s, longest_steps, measured_s)`.
pub(super) fn fit_step_s(rows: &[(f64, f64, f64)]) -> f64 {
    let variance = |step: f64| {
        let (sum, squares) = rows.iter().fold((0.0, 0.0), |(sum, squares), (streamed, steps, measured)| {
            let log = (measured / (streamed + step * steps)).ln();
            (sum + log, squares + log * log)
        });
        squares - sum * sum / rows.len().max(1) as f64
    };
    // Of equal ones the first: a kernel without teams gets 0.
    steps_s().min_by(|a, b| variance(*a).total_cmp(&variance(*b))).unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_step_of_made_up_times_is_found() {
        let made = |step: f64| {
            let rows = [(1e-6, 10.0), (1e-6, 1e4), (3e-6, 500.0), (9e-6, 2.0)];
            rows.map(|(streamed, steps)| (streamed, steps, 1.7 * (streamed + step * steps)))
        };
        assert!((fit_step_s(&made(16e-9)) - 16e-9).abs() < 1e-15);
        assert_eq!(fit_step_s(&made(0.0)).to_bits(), 0);
        assert_eq!(fit_step_s(&[]).to_bits(), 0);
    }
}
