//! The stretch of a quantity that benchmark matrices cover, and how far outside it a matrix lies.

use serde::{Deserialize, Serialize};

/// Smallest and largest value measured. Stored as `[from, to]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "[u64; 2]", into = "[u64; 2]")]
pub struct Extent {
    /// Smallest.
    pub from: u64,
    /// Largest; not below `from`.
    pub to: u64,
}

impl From<[u64; 2]> for Extent {
    fn from([from, to]: [u64; 2]) -> Self {
        Self { from, to }
    }
}

impl From<Extent> for [u64; 2] {
    fn from(extent: Extent) -> Self {
        [extent.from, extent.to]
    }
}

impl Extent {
    /// Extent of `values`; `None` without any.
    pub(crate) fn of(values: impl IntoIterator<Item = u64>) -> Option<Self> {
        values.into_iter().fold(None, |extent, v| {
            let Self { from, to } = extent.unwrap_or(Self { from: v, to: v });
            Some(Self { from: from.min(v), to: to.max(v) })
        })
    }

    /// Smallest extent that holds both.
    pub(crate) fn union(self, other: Self) -> Self {
        Self { from: self.from.min(other.from), to: self.to.max(other.to) }
    }

    /// Factor by which the interval of a prediction widens because `value` lies outside: `2 d / L` with the
    /// distance `d = |ln(value / nearest end)|` and the length `L = ln(to / from)`. 0 inside.
    ///
    /// Why: suppose that the time truly grows with another power of the quantity than the model says, the
    /// exponents e apart. From the middle of the grid to its end, L/2 away, the model goes wrong by a factor
    /// exp(e L / 2), so residuals of log-size h over the grid permit e = 2 h / L; at the distance d beyond the
    /// end such an e adds e d = h (2 d / L) to h. A grid of a single value says nothing about the exponent: it
    /// counts as one doubling.
    pub(crate) fn widening(self, value: u64) -> f64 {
        // A count below 1 is 0 or nothing: no logarithm, and no further away than 1.
        let ln = |v: u64| (v.max(1) as f64).ln();
        let distance = if value < self.from {
            ln(self.from) - ln(value)
        } else if value > self.to {
            ln(value) - ln(self.to)
        } else {
            return 0.0;
        };
        2.0 * distance / (ln(self.to) - ln(self.from)).max(std::f64::consts::LN_2)
    }

    /// Returns whether `value` lies inside.
    pub(crate) fn contains(self, value: u64) -> bool {
        (self.from..=self.to).contains(&value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_widening_is_zero_inside_and_two_at_one_length_beyond() {
        let e = Extent { from: 4, to: 16 };
        assert_eq!((e.widening(4), e.widening(10), e.widening(16)), (0.0, 0.0, 0.0));
        assert!((e.widening(64) - 2.0).abs() < 1e-12, "ln 4 beyond a length of ln 4");
        assert!((e.widening(2) - 1.0).abs() < 1e-12, "ln 2 before a length of ln 4");
        assert!(e.widening(0).is_finite());
        assert!((Extent { from: 5, to: 5 }.widening(10) - 2.0).abs() < 1e-12);
    }
}
