//! Measurements as they are kept: one JSON object a line, appended as soon as it is known.

mod benchmark;
mod corpus;
mod corpus_line;
mod cut;
mod journal;
mod plausible;
mod repair;

pub use benchmark::{BenchmarkOutcome, BenchmarkRecord, BlockTiming, DrawnLengths};
pub use corpus::{ClockRecord, CorpusRecord, Measured, Outcome, PreparationRecord};
pub use cut::{CutPart, CutRecord};
pub use journal::Journal;
pub use repair::{DamagedLine, RepairedFile};

pub(crate) use journal::lines_of;
pub(crate) use plausible::{is_plausible, is_plausible_preparation};
pub(crate) use repair::{Damaged, find as find_damaged};

use sparsight_matrix::Seconds;

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recorded_times_keep_five_digits() {
        assert_eq!(recorded(Seconds(3.123_456_7e-6)), Seconds(3.1235e-6));
        assert_eq!(recorded(Seconds(0.0)), Seconds(0.0));
        assert_eq!(serde_json::to_string(&recorded(Seconds(3.0e-6))).unwrap(), "3e-6");
    }
}
