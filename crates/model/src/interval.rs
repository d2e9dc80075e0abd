//! Uncertainty of a time: an interval in the logarithm, from the residuals of the benchmark matrices.
//!
//! ```text
//! r = ln(measured / predicted)         low = time * exp(q05),  high = time * exp(q95)
//! ```
//! With n residuals, `q05` is the k-th smallest and `q95` the k-th largest, k = floor(0.05 (n + 1)): the rank of
//! split-conformal prediction (Vovk; Lei et al. 2018), which leaves at most 5 % on either side for one more
//! residual of the same kind, with the correction for finite n. Below 19 residuals no rank does; then the
//! extremes are taken, stretched by H(19) / H(n), the ratio in which the expected extreme of residuals with
//! exponential tails grows from n to 19 of them (H: harmonic number).
//!
//! What it covers: benchmark matrices like those measured, whose rows are all alike. Most of them did not enter
//! the lines (a CSR fit uses one row and one column of the grid), but some did, so even for them 90 % is a little
//! hopeful. It knows nothing of the irregularity of a real matrix; a [`Calibration`](crate::Calibration) from
//! measured real matrices does.
//!
//! Outside the measured grid both ends move away, see [`LogInterval::widened`].

use serde::{Deserialize, Serialize};

/// Residuals needed before a rank leaves 5 % on each side: `0.05 (n + 1) >= 1`.
pub(crate) const CONFORMAL_MIN: usize = 19;

/// Ends are kept within this factor of the time: beyond a million "unknown" is all that they say, and the
/// exponential stays finite.
const WIDEST: f64 = 1e6;

/// An interval around 0 in the logarithm of time. Stored as `[low, high]`.
///
/// Invariant, kept by [`LogInterval::new`]: `low <= 0 <= high`, both finite.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(from = "[f64; 2]", into = "[f64; 2]")]
pub struct LogInterval {
    low: f64,
    high: f64,
}

impl From<[f64; 2]> for LogInterval {
    fn from([low, high]: [f64; 2]) -> Self {
        Self::new(low, high)
    }
}

impl From<LogInterval> for [f64; 2] {
    fn from(interval: LogInterval) -> Self {
        [interval.low, interval.high]
    }
}

impl LogInterval {
    /// An interval from `low` to `high`, extended to hold 0 (a predicted time lies in its own interval).
    pub fn new(low: f64, high: f64) -> Self {
        let widest = WIDEST.ln();
        // `clamp` keeps a NaN; `max` and `min` drop it.
        Self { low: low.max(-widest).min(0.0), high: high.min(widest).max(0.0) }
    }

    /// The 90 % interval of residuals `ln(measured / predicted)`.
    pub fn of_residuals(mut residuals: Vec<f64>) -> Self {
        residuals.sort_by(f64::total_cmp);
        let n = residuals.len();
        let (Some(&least), Some(&most)) = (residuals.first(), residuals.last()) else {
            return Self::new(0.0, 0.0);
        };
        if n >= CONFORMAL_MIN {
            let k = (n + 1) / 20;
            Self::new(residuals[k - 1], residuals[n - k])
        } else {
            let harmonic = |n: usize| (1..=n).map(|i| 1.0 / i as f64).sum::<f64>();
            let stretch = harmonic(CONFORMAL_MIN) / harmonic(n);
            Self::new(least * stretch, most * stretch)
        }
    }

    /// Logarithm of the lower end over the time; at most 0.
    pub fn low(self) -> f64 {
        self.low
    }

    /// Logarithm of the upper end over the time; at least 0.
    pub fn high(self) -> f64 {
        self.high
    }

    /// Both ends `1 + widening` times as far: the sum of `2 d / L` over the quantities that lie outside the
    /// grid, d the logarithmic distance from it and L its logarithmic length.
    #[must_use]
    pub fn widened(self, widening: f64) -> Self {
        Self::new(self.low * (1.0 + widening), self.high * (1.0 + widening))
    }

    /// `(low, high)` in seconds around `time_s`.
    pub fn around(self, time_s: f64) -> (f64, f64) {
        (time_s * self.low.exp(), time_s * self.high.exp())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ends_are_the_ranks_of_split_conformal_prediction() {
        // 39 residuals -19 ..= 19: k = floor(40 / 20) = 2, so the second smallest and second largest.
        let r = |n: i32| (-n..=n).map(f64::from).collect::<Vec<_>>();
        let interval = LogInterval::of_residuals(r(19).iter().map(|v| v / 10.0).collect());
        assert_eq!((interval.low(), interval.high()), (-1.8, 1.8));
        // 19 residuals: k = 1, the extremes.
        let interval = LogInterval::of_residuals(r(9).iter().map(|v| v / 10.0).collect());
        assert_eq!((interval.low(), interval.high()), (-0.9, 0.9));
    }

    #[test]
    fn few_residuals_stretch_the_extremes() {
        let interval = LogInterval::of_residuals(vec![-0.1, 0.2]);
        let stretch = (1..=19).map(|i| 1.0 / f64::from(i)).sum::<f64>() / 1.5;
        assert!((interval.low() + 0.1 * stretch).abs() < 1e-12);
        assert!((interval.high() - 0.2 * stretch).abs() < 1e-12);
    }

    #[test]
    fn an_interval_holds_its_time_and_stays_finite() {
        for (low, high) in [(0.5, 1.0), (-1.0, -0.5), (f64::NAN, f64::NAN), (-1e300, 1e300)] {
            let (l, h) = LogInterval::new(low, high).widened(1e9).around(1e-6);
            assert!(l > 0.0 && l <= 1e-6 && h >= 1e-6 && h.is_finite(), "{low} {high}");
        }
    }
}
