//! Choice of the matrices of a calibration for which there is time.
//!
//! No clock is read here: the caller passes how long each took.

use super::{CALIBRATION_MATRICES, CALIBRATION_SIZES};
use crate::Error;
use sparsight_matrix::Seconds;

/// Time limit of the calibration of a GPU, opening it and compiling its kernels included. Chosen: an acceptable wait that happens once; a
/// fast machine measures all matrices in it.
pub const CALIBRATION_BUDGET: Seconds = Seconds(20.0);

/// Number of matrices that are measured however long they take. Chosen: three weights are fitted, and with the first four of the list each
/// of them is seen where it counts.
const FEWEST: usize = 4;

/// Measures the [`CALIBRATION_MATRICES`] with the numbers in `lacking`, in this order, as long as there is time; the others are known.
/// `spent` is gone already, and `measure` returns how long each took. An error ends it.
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
    /// Matrices that were measured, by this run or before.
    known: usize,
    /// Sizes, and the seconds that each took.
    took: Vec<(u64, f64)>,
}

impl Spending {
    /// True if a matrix of that size may begin: the first ones always may.
    fn has_room(&self, size: u64) -> bool {
        self.known < FEWEST || (self.left > 0.0 && self.expected(size) <= self.left)
    }

    /// Upper bound of the time of a matrix of that size: the least time of a larger one, and that of a smaller one in proportion, of which a
    /// part does not grow with the size. So the first, on which most kernels are compiled, does not raise the bound of the next.
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

    /// The measured matrices, and the time of all: `compiling` seconds with the first, then 0.3 a matrix and so many microseconds
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
    fn a_matrix_beyond_the_budget_is_skipped_and_a_smaller_one_measured() {
        let (measured, clock) = run(0.0, &all(), 8.0, 0.2);
        assert_eq!(measured, [0, 1, 2, 3, 4, 5, 6, 7, 9], "{clock}");
        assert!((19.0..=20.0).contains(&clock), "{clock}");
    }

    #[test]
    fn more_than_four_matrices_stay_within_the_budget() {
        for compiling in [0.0, 2.0, 5.0, 10.0, 15.0] {
            for each_us in (0..60).map(|step| 0.02 * f64::from(step)) {
                let (measured, clock) = run(1.0, &all(), compiling, each_us);
                assert_eq!(measured[..4], [0, 1, 2, 3]);
                assert!(measured.len() == 4 || clock <= 20.0, "{compiling} {each_us}: {clock}");
            }
        }
    }

    #[test]
    fn a_continued_calibration_has_a_budget_of_its_own() {
        let (measured, clock) = run(1.0, &[2, 5, 6, 7, 8, 9], 1.0, 0.2);
        assert_eq!((measured, clock < 20.0), (vec![2, 5, 6, 7, 8, 9], true));
        assert!(run(20.0, &[8, 9], 0.0, 0.1).0.is_empty(), "there are eight, and the time is over");
        assert!(run(1.0, &[], 0.0, 0.1).0.is_empty());
    }

    #[test]
    fn an_error_ends_the_calibration() {
        let mut begun = Vec::new();
        let stopped = while_there_is_time(Seconds(0.0), &all(), |at| {
            begun.push(at);
            if at == 1 { Err(DeviceError::Interrupted.into()) } else { Ok(Seconds(1.0)) }
        });
        assert!(matches!(stopped, Err(Error::Device(DeviceError::Interrupted))));
        assert_eq!(begun, [0, 1]);
    }
}
