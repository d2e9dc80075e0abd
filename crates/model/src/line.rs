//! A straight line and its fit by weighted least squares.
//!
//! ```text
//! y = slope * x + intercept        minimise  sum over i of ((slope x_i + intercept - y_i) / y_i)^2
//! ```
//!
//! The weights are 1/y^2 because predictions are judged by |predicted - measured| / measured: an unweighted fit
//! of times from 2 microseconds to 2 milliseconds would care for the last point only. On points that lie
//! exactly on a line every weighting finds that line, so the papers' equations are untouched by the choice.

use serde::{Deserialize, Serialize};

/// `y = slope * x + intercept`. Stored as `[slope, intercept]`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(from = "[f64; 2]", into = "[f64; 2]")]
pub struct Line {
    /// Growth of y for each unit of x.
    pub slope: f64,
    /// y at x = 0.
    pub intercept: f64,
}

impl From<[f64; 2]> for Line {
    fn from([slope, intercept]: [f64; 2]) -> Self {
        Self { slope, intercept }
    }
}

impl From<Line> for [f64; 2] {
    fn from(line: Line) -> Self {
        [line.slope, line.intercept]
    }
}

/// A line with how firmly its points hold the slope.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct LineFit {
    pub line: Line,
    /// `sum of w (x - mean x)^2`: with errors of relative size s and w = 1/y^2, the variance of the slope is s^2
    /// over this.
    pub slope_weight: f64,
}

impl Line {
    /// y at `x`.
    pub fn at(&self, x: f64) -> f64 {
        self.slope * x + self.intercept
    }

    /// The line through `(x, y)` points that minimises the squared relative residuals.
    ///
    /// `None` with fewer than two distinct x, or with a y that is no positive number.
    ///
    /// ```
    /// use sparsight_model::Line;
    /// let line = Line::fit([(1.0, 5.0), (2.0, 7.0), (4.0, 11.0)]).unwrap();
    /// assert!((line.slope - 2.0).abs() < 1e-12 && (line.intercept - 3.0).abs() < 1e-12);
    /// ```
    pub fn fit(points: impl IntoIterator<Item = (f64, f64)>) -> Option<Self> {
        fit_relative(points).map(|fit| fit.line)
    }
}

/// Fits like [`Line::fit`], with the weight of the slope.
pub(crate) fn fit_relative(points: impl IntoIterator<Item = (f64, f64)>) -> Option<LineFit> {
    let weighted: Vec<_> = points.into_iter().map(|(x, y)| (x, y, y.powi(-2))).collect();
    if weighted.iter().all(|p| p.1 > 0.0) { fit_weighted(&weighted) } else { None }
}

/// The line through `(x, y, weight)` points that minimises the weighted squared residuals. `None` with fewer
/// than two distinct x or if any number is not finite.
pub(crate) fn fit_weighted(points: &[(f64, f64, f64)]) -> Option<LineFit> {
    let least = points.iter().map(|p| p.0).fold(f64::INFINITY, f64::min);
    if points.iter().all(|p| p.0 <= least) {
        return None;
    }
    let total: f64 = points.iter().map(|p| p.2).sum();
    let mean_x = points.iter().map(|p| p.0 * p.2).sum::<f64>() / total;
    let mean_y = points.iter().map(|p| p.1 * p.2).sum::<f64>() / total;
    let slope_weight: f64 = points.iter().map(|p| p.2 * (p.0 - mean_x).powi(2)).sum();
    let products: f64 = points.iter().map(|p| p.2 * (p.0 - mean_x) * (p.1 - mean_y)).sum();
    let slope = products / slope_weight;
    let line = Line { slope, intercept: mean_y - slope * mean_x };
    (line.slope.is_finite() && line.intercept.is_finite()).then_some(LineFit { line, slope_weight })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_on_a_line_give_that_line_however_far_their_times_are_apart() {
        let points = [1.0, 4.0, 64.0, 1024.0, 65_536.0].map(|x| (x, 3e-9 * x + 2e-6));
        let line = Line::fit(points).unwrap();
        for (x, y) in points {
            assert!((line.at(x) / y - 1.0).abs() < 1e-12);
        }
    }

    #[test]
    fn a_residual_counts_relative_to_its_time() {
        // Through (0, 1), (1, 1) and (1, 3). At x = 1 the weighted mean is (1/1 + 3/9) / (1 + 1/9) = 1.2, not 2;
        // two parameters meet both (0, 1) and (1, 1.2).
        let line = Line::fit([(0.0, 1.0), (1.0, 1.0), (1.0, 3.0)]).unwrap();
        assert!((line.intercept - 1.0).abs() < 1e-12 && (line.slope - 0.2).abs() < 1e-12);
    }

    #[test]
    fn a_single_distinct_x_or_a_time_of_zero_gives_no_line() {
        assert_eq!(Line::fit([]), None);
        assert_eq!(Line::fit([(2.0, 1.0), (2.0, 3.0)]), None);
        assert_eq!(Line::fit([(1.0, 0.0), (2.0, 3.0)]), None);
        assert_eq!(Line::fit([(1.0, f64::NAN), (2.0, 3.0)]), None);
    }
}
