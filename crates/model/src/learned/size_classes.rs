//! Width of intervals by the length of products.
//!
//! Short products are launch cost for the most part, and are predicted better than the residuals of all matrices say; long ones
//! depend on where x is found, and are predicted worse. So the interval of a kernel is scaled by the class of its predicted time:
//!
//! ```text
//! s = r / high for r > 0, r / low else         r = ln(measured / predicted), held out; low, high: of the kernel
//! factor of a class = rank ceil(0.9 (n + 1)) of its s, all kernels together
//! ```
//! The rank is that of split-conformal prediction, within each class (Mondrian: Vovk, Gammerman and Shafer 2005, section 4.5).

use crate::LogInterval;
use serde::{Deserialize, Serialize};

/// Ends of the classes, seconds: those by which results are shown.
const ENDS_S: [f64; 3] = [4e-6, 8e-6, 20e-6];
/// Residuals that a class must have for a factor of its own. Chosen: below, the rank says little.
const ENOUGH: usize = 200;
/// A factor is no further from 1 than this. Chosen: more is no scale but another model.
const MOST: f64 = 4.0;

/// Factors of the classes; 1 where a class has too few residuals.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(super) struct SizeClasses([f64; ENDS_S.len() + 1]);

impl Default for SizeClasses {
    fn default() -> Self {
        Self([1.0; ENDS_S.len() + 1])
    }
}

fn class(time_s: f64) -> usize {
    ENDS_S.iter().take_while(|end| time_s >= **end).count()
}

impl SizeClasses {
    /// Fits classes to `(interval of the kernel, predicted seconds, residual)` of held-out times.
    pub(super) fn of(held_out: impl IntoIterator<Item = (LogInterval, f64, f64)>) -> Self {
        let mut scores: [Vec<f64>; ENDS_S.len() + 1] = Default::default();
        for (interval, time_s, residual) in held_out {
            let end = if residual > 0.0 { interval.high() } else { interval.low() };
            if end.abs() > 1e-9 {
                scores[class(time_s)].push(residual / end);
            }
        }
        Self(scores.map(|mut scores| {
            if scores.len() < ENOUGH {
                return 1.0;
            }
            scores.sort_by(f64::total_cmp);
            let rank = (9 * (scores.len() + 1)).div_ceil(10).min(scores.len());
            scores[rank - 1].clamp(MOST.recip(), MOST)
        }))
    }

    /// The interval of a kernel around a time of that size.
    pub(super) fn scaled(&self, interval: LogInterval, time_s: f64) -> LogInterval {
        let factor = self.0[class(time_s)];
        // A damaged file may say anything.
        let factor = if factor.is_finite() { factor.clamp(MOST.recip(), MOST) } else { 1.0 };
        interval.widened(factor - 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nine_in_ten_of_each_class_lie_inside() {
        let interval = LogInterval::new(-0.1, 0.2);
        // Short products: residuals up to a tenth of the interval's ends; long ones: up to twice as far.
        let residual = |at: usize, reach: f64| {
            let share = (at % 100) as f64 / 100.0 * reach;
            if at.is_multiple_of(2) { 0.2 * share } else { -0.1 * share }
        };
        let short = (0..1000).map(|at| (interval, 3e-6, residual(at, 0.5)));
        let long = (0..1000).map(|at| (interval, 1e-3, residual(at, 2.0)));
        let few = (0..10).map(|at| (interval, 5e-6, residual(at, 3.0)));
        let classes = SizeClasses::of(short.clone().chain(long.clone()).chain(few));
        for (of, time_s) in [(short.collect::<Vec<_>>(), 3e-6), (long.collect(), 1e-3)] {
            let scaled = classes.scaled(interval, time_s);
            let inside = of.iter().filter(|(_, _, r)| scaled.low() <= *r && *r <= scaled.high()).count();
            assert!((890..=920).contains(&inside), "{inside}");
        }
        assert!((classes.scaled(interval, 5e-6).high() - 0.2).abs() < 1e-12, "too few to say anything");
    }

    #[test]
    fn a_damaged_factor_leaves_an_interval() {
        for factor in [f64::NAN, f64::INFINITY, -3.0, 0.0] {
            let scaled = SizeClasses([factor; 4]).scaled(LogInterval::new(-0.1, 0.2), 1e-6);
            assert!(scaled.low() < 0.0 && scaled.high() > 0.0 && scaled.high() <= 0.8);
        }
    }
}
