//! The strip model of CSR with one team of threads per row (`csr-vector`).
//!
//! ```text
//! Relationship 1, at I_1 strips        E(p)  = A p + B
//! Relationship 2, at p_1 a row         E'(I) = C I + D
//! with T_2 measured at (I_1, p_1)      T = E(p) / T_2 * E'(I)
//! ```
//! Both lines are fitted apart for p up to the threshold and for p above it; the threshold is the largest
//! thread block of the device (a CPU has none). p is the mode of the row lengths.
//!
//! Sources: Guo, Wang and Chen 2014, section 3.5.1; Guo and Wang 2012, section III-F1; Wang, Gu and Li 2017
//! for other teams than a warp. The papers leave `I_1` and `p_1` free ("it can be any arbitrary value within the
//! range"). Here each side tries every measured `(I_1, p_1)` through which both lines can be fitted and keeps the
//! one whose product has the least squared logarithmic error over all of the side's benchmark matrices: where the
//! equation holds all choices agree, and where it does not the papers give no reason for another.

use crate::observation::{NOTHING_S, Point, distinct, squared_log_error};
use crate::{Extent, Line};
use serde::{Deserialize, Serialize};

/// The fitted CSR model of one candidate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CsrStrip {
    /// Fitted to p up to the threshold; without a second side it answers for every p.
    pub below: CsrSide,
    /// Fitted to p above the threshold; `None` on a device without one, or if a side has too few matrices.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub above: Option<AboveThreshold>,
    /// p of the benchmark matrices of the fitted sides.
    pub row_lengths: Extent,
}

/// The side of the long rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AboveThreshold {
    /// Largest p of the other side.
    pub threshold: u64,
    /// The fit.
    pub side: CsrSide,
}

/// The two lines of one side of the threshold and the point where they cross.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CsrSide {
    /// E: time over p at `I_1`.
    pub over_row_length: Line,
    /// E': time over I at `p_1`.
    pub over_strips: Line,
    /// `I_1`.
    pub strips: u64,
    /// `p_1`.
    pub row_length: u64,
    /// `T_2`, seconds.
    pub time_s: f64,
    /// I of the side's benchmark matrices.
    pub extent: Extent,
}

impl CsrSide {
    /// `E(p) / T_2 * E'(I)`. A line below zero counts as zero, lest two negative factors make a time.
    pub fn time_s(&self, strips: f64, row_length: f64) -> f64 {
        self.over_row_length.at(row_length).max(0.0) / self.time_s * self.over_strips.at(strips).max(0.0)
    }

    /// Tries every crossing. `None` without two distinct p and two distinct I that meet in a measured point.
    /// O(points^2).
    fn fit(points: &[Point]) -> Option<Self> {
        let all_strips = distinct(points, |p| p.strips);
        let all_lengths = distinct(points, |p| p.row_length);
        let lines = |keys: &[u64], key: fn(&Point) -> u64, x: fn(&Point) -> u64| -> Vec<Option<Line>> {
            let on = |k| points.iter().filter(move |p| key(p) == k).map(|p| (x(p) as f64, p.time_s));
            keys.iter().map(|&k| Line::fit(on(k))).collect()
        };
        let over_row_length = lines(&all_strips, |p| p.strips, |p| p.row_length);
        let over_strips = lines(&all_lengths, |p| p.row_length, |p| p.strips);
        let find = |keys: &[u64], key| keys.binary_search(&key).expect("keys were collected from the points");
        // Each point as (index of I, index of p), so that a line is evaluated once a column, not once a point.
        let cells: Vec<(usize, usize, f64)> = points
            .iter()
            .map(|p| (find(&all_strips, p.strips), find(&all_lengths, p.row_length), p.time_s.ln()))
            .collect();
        // Logarithms, so that the error of a crossing is a sum of what its two lines say.
        let column = |line: &Line, xs: &[u64]| -> Vec<f64> {
            xs.iter().map(|&x| line.at(x as f64).max(NOTHING_S).ln()).collect()
        };
        let e: Vec<_> = over_row_length.iter().map(|l| l.map(|l| column(&l, &all_lengths))).collect();
        let e_prime: Vec<_> = over_strips.iter().map(|l| l.map(|l| column(&l, &all_strips))).collect();

        let mut best: Option<(f64, usize)> = None;
        for (at, &(i1, p1, t2)) in cells.iter().enumerate() {
            let (Some(e), Some(e_prime)) = (&e[i1], &e_prime[p1]) else { continue };
            let limit = best.map_or(f64::INFINITY, |b| b.0);
            let mut error = 0.0;
            for &(i, p, t) in &cells {
                error += (e[p] + e_prime[i] - t2 - t).powi(2);
                if error >= limit {
                    break;
                }
            }
            if error < limit {
                best = Some((error, at));
            }
        }
        let (_, at) = best?;
        let (i1, p1, _) = cells[at];
        Some(Self {
            over_row_length: over_row_length[i1]?,
            over_strips: over_strips[p1]?,
            strips: all_strips[i1],
            row_length: all_lengths[p1],
            time_s: points[at].time_s,
            extent: Extent::of(all_strips)?,
        })
    }
}

impl CsrStrip {
    /// Fits both sides. A threshold with fewer than two p above it takes the matrices at the threshold too (the
    /// 2012 paper draws them with both sides). If only one side can be fitted, it answers for the other, whose p
    /// then lie outside its row lengths.
    pub(crate) fn fit(points: &[Point], threshold: Option<u64>) -> Option<Self> {
        let limit = threshold.unwrap_or(u64::MAX);
        let side = |keep: &dyn Fn(u64) -> bool| {
            let kept: Vec<Point> = points.iter().copied().filter(|p| keep(p.row_length)).collect();
            let row_lengths = Extent::of(kept.iter().map(|p| p.row_length))?;
            Some((CsrSide::fit(&kept)?, row_lengths))
        };
        let below = side(&|p| p <= limit);
        let above = threshold.and_then(|t| side(&|p| p > t).or_else(|| side(&|p| p >= t)));
        match (below, above) {
            (Some((below, short)), Some((side, long))) => {
                let above = Some(AboveThreshold { threshold: limit, side });
                Some(Self { below, above, row_lengths: short.union(long) })
            }
            (only, other) => {
                only.or(other).map(|(below, row_lengths)| Self { below, above: None, row_lengths })
            }
        }
    }

    /// The side that answers for p.
    pub fn side(&self, row_length: u64) -> &CsrSide {
        match &self.above {
            Some(above) if row_length > above.threshold => &above.side,
            _ => &self.below,
        }
    }

    /// Seconds for `strips` and p; not yet held above the launch cost.
    pub fn time_s(&self, strips: u64, row_length: u64) -> f64 {
        self.side(row_length).time_s(strips as f64, row_length as f64)
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
        // E(p) = 2 p + 10 at I_1 = 5; E'(I) = 4 I + 6 at p_1 = 8; both meet at T_2 = 2*8 + 10 = 4*5 + 6 = 26.
        // p = 21, I = 11: E = 52, E' = 50, T = 52 / 26 * 50 = 100.
        let side = CsrSide {
            over_row_length: Line { slope: 2.0, intercept: 10.0 },
            over_strips: Line { slope: 4.0, intercept: 6.0 },
            strips: 5,
            row_length: 8,
            time_s: 26.0,
            extent: Extent { from: 1, to: 10 },
        };
        assert!((side.time_s(11.0, 21.0) - 100.0).abs() < 1e-12);
    }

    #[test]
    fn two_lines_below_zero_do_not_multiply_to_a_time() {
        let falling = Line { slope: 1.0, intercept: -10.0 };
        let side = CsrSide {
            over_row_length: falling,
            over_strips: falling,
            strips: 20,
            row_length: 20,
            time_s: 10.0,
            extent: Extent { from: 20, to: 30 },
        };
        assert!(side.time_s(0.0, 0.0).abs() < f64::MIN_POSITIVE);
    }

    #[test]
    fn a_cross_of_three_points_is_enough_and_two_are_not() {
        let cross = [point(1, 4, 1.0), point(1, 8, 2.0), point(2, 4, 3.0)];
        assert!(CsrStrip::fit(&cross, None).is_some());
        assert!(CsrStrip::fit(&cross[..2], None).is_none());
        // Both lines exist but meet in no measured point: T_2 would be missing.
        assert!(
            CsrStrip::fit(&[point(1, 4, 1.0), point(1, 8, 2.0), point(2, 16, 1.0), point(3, 16, 2.0)], None)
                .is_none()
        );
    }
}
