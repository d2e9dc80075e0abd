//! Measurements as they are kept: one JSON object a line, appended as soon as it is known.
//!
//! ```text
//! journal               a file of records: appended to by one run at a time, read, united by matrix
//! benchmark, corpus, cut   a record: a benchmark matrix, a matrix of a corpus, a matrix cut into parts
//! repair                damaged lines, taken out
//! ```

mod benchmark;
mod corpus;
mod corpus_line;
mod cut;
mod journal;
mod repair;

pub use benchmark::{BenchmarkOutcome, BenchmarkRecord, BlockTiming, DrawnLengths};
pub use corpus::{ClockRecord, CorpusRecord, Measured, Outcome, PreparationRecord};
pub use cut::{CutPart, CutRecord};
pub use journal::{Journal, lines_of};
pub use repair::{DamagedLine, RepairedFile};

pub(crate) use repair::{Damaged, find as find_damaged};

use sparsight_matrix::Seconds;
use std::ops::RangeInclusive;

/// A time as it is recorded: five significant digits, more than any clock here resolves.
pub(crate) fn recorded(time: Seconds) -> Seconds {
    Seconds(significant(time.0, 5))
}

/// `value` rounded to `digits` significant decimal digits.
fn significant(value: f64, digits: i32) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    // Through text: multiplying by a negative power of ten would leave 3.0000000000000004e-6 in the file.
    format!("{value:.*e}", (digits - 1) as usize).parse().unwrap_or(value)
}

/// Range of plausible seconds of one product: no device starts one in 10 ns, and none takes a day.
const PRODUCT_S: RangeInclusive<f64> = 1e-8..=86_400.0;

/// Returns whether one product can take so long.
pub(crate) fn is_plausible(time: Seconds) -> bool {
    PRODUCT_S.contains(&time.0)
}

/// Returns whether a preparation can take so long: nothing at all, where there is nothing to do.
pub(crate) fn is_plausible_preparation(time: Seconds) -> bool {
    (0.0..=*PRODUCT_S.end()).contains(&time.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recorded_times_keep_five_digits() {
        assert_eq!(recorded(Seconds(3.123_456_7e-6)), Seconds(3.1235e-6));
        assert_eq!(recorded(Seconds(0.0)), Seconds(0.0));
        assert_eq!(serde_json::to_string(&recorded(Seconds(3.0e-6))).unwrap(), "3e-6");
    }

    #[test]
    fn times_that_no_clock_can_give_are_implausible() {
        let wrong = [f64::NAN, f64::INFINITY, -1e-6, 0.0, 1e-300, 1e308].map(Seconds);
        assert!(wrong.into_iter().all(|time| !is_plausible(time)));
        assert!([1e-6, 3.0].map(Seconds).into_iter().all(is_plausible));
        assert!(is_plausible_preparation(Seconds(0.0)) && !is_plausible_preparation(Seconds(-0.1)));
    }
}
