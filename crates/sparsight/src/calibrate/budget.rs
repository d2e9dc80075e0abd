//! How many of the matrices of a calibration there is time for.
//!
//! No clock is read here: whoever measures says how long it took.

use super::{CALIBRATION_MATRICES, CALIBRATION_SIZES};
use crate::Error;
use sparsight_matrix::Seconds;

/// What a calibration of a GPU may take, from the opening of the GPU on, compiling its kernels included. Chosen: as long as one is
/// willing to wait once; a fast machine measures all matrices in it.
pub const CALIBRATION_BUDGET: Seconds = Seconds(20.0);

/// Matrices that are measured however long they take. Chosen: three weights are fitted, and with the first four of the list each
/// of them is seen where it counts.
const FEWEST: usize = 4;

/// Measures of [`CALIBRATION_MATRICES`] those with the numbers in `lacking`, in this order, of which `spent` and what `measure` says
/// that each took leave time for; the others are known already. An error ends it.
pub(super) fn while_there_is_time(
    spent: Seconds,
    lacking: &[usize],
    mut measure: impl FnMut(usize) -> Result<Seconds, Error>,
) -> Result<(), Error> {
    let left = CALIBRATION_BUDGET.0 - spent.0;
    let mut spending = Spending { left, known: CALIBRATION_MATRICES.len() - lacking.len(), took: Vec::new() };
    for &at in lacking {
        let size = CALIBRATION_SIZES[at];
        if spending.has_room(size) {
            let took = measure(at)?;
            spending.did(size, took);
        }
    }
    Ok(())
}

/// A budget that is being spent.
struct Spending {
    /// Seconds.
    left: f64,
    /// Matrices that were measured, by whomever.
    known: usize,
    /// Sizes, and the seconds that each took.
    took: Vec<(u64, f64)>,
}

impl Spending {
    /// Whether a matrix of that size may begin: at the beginning anything does while there is time.
    fn has_room(&self, size: u64) -> bool {
        self.known < FEWEST || (self.left > 0.0 && self.expected(size) <= self.left)
    }

    /// No longer than any before that was as large, nor in proportion than a smaller one, of whose time a part does not grow with the
    /// size. So the first, on which most kernels are compiled, makes nobody expect the same of the next.
    fn expected(&self, size: u64) -> f64 {
        let larger = |before: u64| (size as f64 / before as f64).max(1.0);
        let bounds = self.took.iter().map(|&(before, seconds)| seconds * larger(before));
        bounds.min_by(f64::total_cmp).unwrap_or(0.0)
    }

    fn did(&mut self, size: u64, took: Seconds) {
        self.left -= took.0;
        self.known += 1;
        self.took.push((size, took.0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sparsight_device::DeviceError;

    /// What is measured, and how long it takes in all: `compiling` seconds with the first, then 0.3 a matrix and so many microseconds
    /// for each row and non-zero.
    fn run(spent: f64, lacking: &[usize], compiling: f64, each_us: f64) -> (Vec<usize>, f64) {
        let (mut measured, mut clock) = (Vec::new(), spent);
        let measure = |at: usize| {
            let once = if measured.is_empty() { compiling } else { 0.0 };
            let took = once + 0.3 + 1e-6 * each_us * CALIBRATION_SIZES[at] as f64;
            measured.push(at);
            clock += took;
            Ok(Seconds(took))
        };
        while_there_is_time(Seconds(spent), lacking, measure).unwrap();
        (measured, clock)
    }

    fn all() -> Vec<usize> {
        (0..CALIBRATION_MATRICES.len()).collect()
    }

    #[test]
    fn a_fast_machine_measures_every_matrix_and_a_slow_one_the_first_four() {
        assert_eq!(run(1.0, &all(), 6.0, 0.1).0, all());
        assert_eq!(run(1.0, &all(), 8.0, 0.4).0, [0, 1, 2, 3]);
        assert_eq!(run(30.0, &all(), 60.0, 10.0).0, [0, 1, 2, 3], "whatever it takes");
    }

    #[test]
    fn what_would_outlast_the_budget_is_left_out_and_a_smaller_one_still_measured() {
        let (measured, clock) = run(0.0, &all(), 8.0, 0.2);
        assert_eq!(measured, [0, 1, 2, 3, 4, 5, 6, 7, 9], "{clock}");
        assert!((19.0..=20.0).contains(&clock), "{clock}");
    }

    #[test]
    fn no_machine_takes_longer_with_more_than_four() {
        for compiling in [0.0, 2.0, 5.0, 10.0, 15.0] {
            for each_us in (0..60).map(|step| 0.02 * f64::from(step)) {
                let (measured, clock) = run(1.0, &all(), compiling, each_us);
                assert_eq!(measured[..4], [0, 1, 2, 3]);
                assert!(measured.len() == 4 || clock <= 20.0, "{compiling} {each_us}: {clock}");
            }
        }
    }

    #[test]
    fn what_was_stopped_goes_on_with_a_budget_of_its_own() {
        let (measured, clock) = run(1.0, &[2, 5, 6, 7, 8, 9], 1.0, 0.2);
        assert_eq!((measured, clock < 20.0), (vec![2, 5, 6, 7, 8, 9], true));
        assert!(run(20.0, &[8, 9], 0.0, 0.1).0.is_empty(), "there are eight, and the time is over");
        assert!(run(1.0, &[], 0.0, 0.1).0.is_empty());
    }

    #[test]
    fn an_error_ends_it() {
        let mut begun = Vec::new();
        let stopped = while_there_is_time(Seconds(0.0), &all(), |at| {
            begun.push(at);
            if at == 1 { Err(DeviceError::Interrupted.into()) } else { Ok(Seconds(1.0)) }
        });
        assert!(matches!(stopped, Err(Error::Device(DeviceError::Interrupted))));
        assert_eq!(begun, [0, 1]);
    }
}
