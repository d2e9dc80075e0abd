//! The strip model of kernels with one thread per row (`ell`, `csr-scalar`).
//!
//! ```text
//! at each I, over p            T = f(I) p + g(I)     the slopes f(I) lie on a line in I
//! at one p_1, over I           e(I)                  a line
//! so                           g(I) = e(I) - f(I) p_1
//!                              T = f(I) p + g(I)
//! ```
//! p is the maximum of the row lengths: a warp waits for its longest row.
//!
//! Sources: Guo, Wang and Chen 2014, section 3.5.2 (there `g(Y) = e(Y) - f(Y) * Y` is printed; its last factor
//! must be `x_1`, here `p_1`, as the definition of e shows); Wang, Gu and Li 2017 use the same for CSR-S.
//! The papers leave `p_1` free: every measured p with two distinct I is tried and the one with the least squared
//! logarithmic error over all benchmark matrices is kept. Each slope enters the line f with the inverse of its
//! variance, so that an I at which only two short rows were measured does not pull it.

use crate::line::{fit_relative, fit_weighted};
use crate::observation::{Point, distinct, squared_log_error};
use crate::{Extent, Line};
use serde::{Deserialize, Serialize};

/// The fitted ELL model of one candidate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EllStrip {
    /// f: the slope over p, over I.
    pub slope_over_strips: Line,
    /// e: time over I at `p_1`.
    pub over_strips: Line,
    /// `p_1`.
    pub row_length: u64,
    /// I of the benchmark matrices.
    pub strips: Extent,
    /// p of the benchmark matrices.
    pub row_lengths: Extent,
}

impl EllStrip {
    /// `None` without two I that each have two p, or without a p that has two I. O(points * distinct p).
    pub(crate) fn fit(points: &[Point]) -> Option<Self> {
        let slopes: Vec<(f64, f64, f64)> = distinct(points, |p| p.strips)
            .into_iter()
            .filter_map(|i| {
                let row = points.iter().filter(|p| p.strips == i).map(|p| (p.row_length as f64, p.time_s));
                fit_relative(row).map(|fit| (i as f64, fit.line.slope, fit.slope_weight))
            })
            .collect();
        let slope_over_strips = fit_weighted(&slopes)?.line;
        let strips = Extent::of(points.iter().map(|p| p.strips))?;
        let row_lengths = Extent::of(points.iter().map(|p| p.row_length))?;
        distinct(points, |p| p.row_length)
            .into_iter()
            .filter_map(|p_1| {
                let column = points.iter().filter(|p| p.row_length == p_1);
                let over_strips = Line::fit(column.map(|p| (p.strips as f64, p.time_s)))?;
                let fitted = Self { slope_over_strips, over_strips, row_length: p_1, strips, row_lengths };
                Some((fitted.squared_error(points), fitted))
            })
            .min_by(|a, b| a.0.total_cmp(&b.0))
            .map(|best| best.1)
    }

    /// `g(I) = e(I) - f(I) p_1`.
    pub fn intercept_s(&self, strips: f64) -> f64 {
        self.over_strips.at(strips) - self.slope_over_strips.at(strips) * self.row_length as f64
    }

    /// `f(I) p + g(I)` in seconds; not yet held above the launch cost.
    pub fn time_s(&self, strips: u64, row_length: u64) -> f64 {
        let strips = strips as f64;
        self.slope_over_strips.at(strips) * row_length as f64 + self.intercept_s(strips)
    }

    pub(crate) fn squared_error(&self, points: &[Point]) -> f64 {
        squared_log_error(points, |p| self.time_s(p.strips, p.row_length))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observation::point;

    #[test]
    fn the_formula_gives_what_it_gives_by_hand() {
        // f(I) = 2 I + 1, e(I) = 10 I + 4 at p_1 = 3. I = 5: f = 11, e = 54, g = 54 - 11 * 3 = 21.
        // p = 7: T = 11 * 7 + 21 = 98. (With the paper's misprint g = 54 - 11 * 5 = -1 and T = 76.)
        let ell = EllStrip {
            slope_over_strips: Line { slope: 2.0, intercept: 1.0 },
            over_strips: Line { slope: 10.0, intercept: 4.0 },
            row_length: 3,
            strips: Extent { from: 1, to: 10 },
            row_lengths: Extent { from: 3, to: 9 },
        };
        assert!((ell.intercept_s(5.0) - 21.0).abs() < 1e-12);
        assert!((ell.time_s(5, 7) - 98.0).abs() < 1e-12);
    }

    #[test]
    fn a_single_number_of_strips_is_not_enough() {
        let square = [point(1, 4, 1.0), point(1, 8, 2.0), point(2, 4, 2.0), point(2, 8, 3.0)];
        assert!(EllStrip::fit(&square).is_some());
        assert!(EllStrip::fit(&square[..3]).is_none());
    }
}
