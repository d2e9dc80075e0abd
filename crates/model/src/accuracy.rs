//! Accuracy of predictions: relative errors, coverage of intervals, and the means and quantiles they need.

use crate::Prediction;
use serde::{Deserialize, Serialize};
use sparsight_matrix::Seconds;

/// `|predicted - measured| / measured`: the error of all the papers.
pub fn relative_error(predicted: Seconds, measured: Seconds) -> f64 {
    (predicted.0 - measured.0).abs() / measured.0
}

/// Summary of relative errors, as fractions.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Accuracy {
    /// Pairs counted.
    pub count: usize,
    /// Arithmetic mean: what the papers report.
    pub mean: f64,
    /// Median.
    pub median: f64,
    /// Nine of ten errors are at most this.
    pub p90: f64,
    /// Largest.
    pub worst: f64,
}

impl Accuracy {
    /// Over `(predicted, measured)` pairs; those without a finite error are left out. `None` without any.
    pub fn of(pairs: impl IntoIterator<Item = (Seconds, Seconds)>) -> Option<Self> {
        let mut errors: Vec<f64> =
            pairs.into_iter().map(|(p, m)| relative_error(p, m)).filter(|e| e.is_finite()).collect();
        errors.sort_by(f64::total_cmp);
        let count = errors.len();
        Some(Self {
            count,
            mean: errors.iter().sum::<f64>() / count as f64,
            median: quantile(&errors, 0.5)?,
            p90: quantile(&errors, 0.9)?,
            worst: *errors.last()?,
        })
    }
}

/// Fraction of measured times inside the predicted interval, ends included; `None` without any.
pub fn coverage<'a>(pairs: impl IntoIterator<Item = (&'a Prediction, Seconds)>) -> Option<f64> {
    let (mut inside, mut count) = (0_usize, 0_usize);
    for (prediction, measured) in pairs {
        count += 1;
        inside += usize::from(prediction.low <= measured && measured <= prediction.high);
    }
    (count > 0).then(|| inside as f64 / count as f64)
}

/// Geometric mean, for ratios; `None` without values or with one that is not positive.
pub fn geometric_mean(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let (mut sum, mut count) = (0.0, 0_usize);
    for value in values {
        if value.is_nan() || value <= 0.0 {
            return None;
        }
        sum += value.ln();
        count += 1;
    }
    (count > 0).then(|| (sum / count as f64).exp())
}

/// Quantile `q` of increasing values, linear between neighbours (type 7 of Hyndman and Fan 1996); `None`
/// without values.
pub fn quantile(sorted: &[f64], q: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    let at = q.clamp(0.0, 1.0) * last as f64;
    let (lower, upper) = (sorted[at.floor() as usize], sorted[at.ceil() as usize]);
    Some(lower + (upper - lower) * at.fract())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-12
    }

    #[test]
    fn errors_of_a_small_set_are_those_worked_by_hand() {
        // Errors 0.1, 0.5, 0.2, 0: sorted 0, 0.1, 0.2, 0.5; median 0.15; 0.9 * 3 = 2.7: 0.2 + 0.7 * 0.3 = 0.41.
        let pairs = [(1.1, 1.0), (1.0, 2.0), (8.0, 10.0), (3.0, 3.0), (1.0, 0.0)];
        let a = Accuracy::of(pairs.map(|(p, m)| (Seconds(p), Seconds(m)))).unwrap();
        assert_eq!(a.count, 4, "a measured time of 0 has no relative error");
        assert!(close(a.mean, 0.2) && close(a.median, 0.15) && close(a.p90, 0.41) && close(a.worst, 0.5));
        assert_eq!(Accuracy::of([]), None);
    }

    #[test]
    fn the_geometric_mean_of_ratios_treats_half_and_double_alike() {
        assert!(close(geometric_mean([0.5, 2.0]).unwrap(), 1.0));
        assert_eq!(geometric_mean([1.0, 0.0]), None);
        assert_eq!(geometric_mean([]), None);
    }

    #[test]
    fn coverage_counts_the_ends_as_inside() {
        let p =
            Prediction { time: Seconds(2.0), low: Seconds(1.0), high: Seconds(3.0), extrapolates: vec![] };
        let measured = [1.0, 3.0, 0.9, 3.1].map(Seconds);
        assert_eq!(coverage(measured.map(|m| (&p, m))), Some(0.5));
        assert_eq!(coverage([]), None);
    }
}
