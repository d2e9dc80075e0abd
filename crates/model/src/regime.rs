//! Regimes of a strip model: one equation for everything, or one for each cache that still holds what the product needs.
//!
//! ```text
//! T |            . '   above: the equation fitted to what lies above the border
//!   |        . '
//!   |     |'           a step, not smoothed
//!   |  ..-|            below: the same equation fitted to what lies up to the border
//!   +-----+---------- working set = matrix in its format + x + y, or x alone
//!       border
//! ```
//! The papers' GPUs had small caches, so their lines are straight. Today a matrix of tens of megabytes stays in
//! the L2 from one product to the next, and a short x stays in the L1 of every multiprocessor; where either no
//! longer does, the line breaks. `strip` ignores that and is the papers' model; `strip-cache` is this project's:
//! the same equations, fitted apart on either side of a border in the working set (the L2) and of a border in
//! the bytes of x (the L1), each at most once, in either order, if the benchmark matrices ask for it.
//!
//! No border is taken from a data sheet, because a part of a cache (copies in both halves of the L2, other data)
//! is not there for the product. A border lies between two neighbouring measured values, at their geometric
//! mean. Of all cuts the one with the least squared logarithmic error of both fits is taken, of equally good
//! ones the nearest to the size of the L2. It must pay for its parameters: `n ln(error / n) + k ln n` (Schwarz
//! 1978; n points, k parameters) has to fall, else there is one regime. Each candidate and placement has its own
//! borders.
//!
//! A regime has fewer benchmark matrices than the whole and may not reach as far: beyond what it was fitted to, its
//! equation can fall below the launch cost or even below zero. Where it does, the fit of both sides of the border
//! together answers, and so on up to the fit of everything, which is `strip`.
//!
//! At a border the prediction jumps from one fit to the other, in either direction. A real cache gives way
//! gradually over a factor of about two; smoothing the step would leave neither regime the papers' equation.
//! What the step does wrong is in the residuals, and so in the interval.

use crate::observation::{Footprint, Point};
use crate::{Extent, StripFit};
use serde::{Deserialize, Serialize};
use sparsight_kernels::{DeviceFacts, Kernel};
use sparsight_matrix::Bytes;

/// The fits of one candidate and placement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Regimes {
    /// A single equation.
    Single(StripFit),
    /// A border with regimes on both sides.
    Split(Box<Split>),
}

/// A border.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Split {
    /// Quantity that is compared with the border.
    pub by: SplitBy,
    /// Largest value of the lower side.
    pub border_bytes: Bytes,
    /// Fitted to both sides: answers where the fit of one side leaves the ground.
    pub whole: StripFit,
    /// Up to the border.
    pub below: Regimes,
    /// Beyond it.
    pub above: Regimes,
}

/// The quantity that a border compares.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SplitBy {
    /// Matrix in its format, x and y: the L2 may hold them from one product to the next.
    WorkingSet,
    /// x: the L1 of each multiprocessor may hold it during a product.
    X,
}

impl SplitBy {
    /// Value of that quantity in a footprint.
    pub const fn of(self, footprint: &Footprint) -> Bytes {
        match self {
            Self::WorkingSet => footprint.working_set,
            Self::X => footprint.x,
        }
    }
}

/// A border in the working set further than this factor from the size of the L2 is not the L2's. Chosen:
/// effective capacities of a half to a quarter have been seen, a factor of two more leaves room.
const BORDER_WINDOW: f64 = 8.0;

/// Squared logarithmic error a point below which a fit counts as exact: a millionth of the time.
const EXACT: f64 = 1e-12;

/// Schwarz' criterion; smaller is better.
fn criterion(error: f64, points: usize, parameters: usize) -> f64 {
    let n = points as f64;
    n * (error / n + EXACT).ln() + parameters as f64 * n.ln()
}

/// Two fits, the place of the cut in the sorted points, and what they cost.
struct Cut {
    by: SplitBy,
    border: f64,
    at: usize,
    criterion: f64,
}

impl Regimes {
    /// A single regime: the papers' model.
    pub(crate) fn single(kernel: Kernel, facts: &DeviceFacts, points: &[Point]) -> Option<Self> {
        StripFit::fit(kernel, facts, points).map(Self::Single)
    }

    /// Splits into as many regimes as the points require and suffice for.
    pub(crate) fn split(kernel: Kernel, facts: &DeviceFacts, points: &[Point]) -> Option<Self> {
        Self::split_by(&[SplitBy::WorkingSet, SplitBy::X], kernel, facts, &mut points.to_vec())
    }

    fn split_by(by: &[SplitBy], kernel: Kernel, facts: &DeviceFacts, points: &mut [Point]) -> Option<Self> {
        let single = StripFit::fit(kernel, facts, points)?;
        let undivided = criterion(single.squared_error(points), points.len(), single.parameters());
        let mut best: Option<Cut> = None;
        for &by in by {
            points.sort_by_key(|p| by.of(&p.footprint));
            for (border, at) in cuts(by, facts, points) {
                let (low, high) = points.split_at(at);
                let fit = |part| StripFit::fit(kernel, facts, part).map(|f| (f.squared_error(part), f));
                let Some((error_low, low)) = fit(low) else { continue };
                let Some((error_high, high)) = fit(high) else { continue };
                let parameters = low.parameters() + high.parameters() + 1;
                let criterion = criterion(error_low + error_high, points.len(), parameters);
                if criterion < best.as_ref().map_or(undivided, |b| b.criterion) {
                    best = Some(Cut { by, border, at, criterion });
                }
            }
        }
        let Some(Cut { by: chosen, border, at, .. }) = best else { return Some(Self::Single(single)) };
        points.sort_by_key(|p| chosen.of(&p.footprint));
        let (low, high) = points.split_at_mut(at);
        let left: Vec<SplitBy> = by.iter().copied().filter(|by| *by != chosen).collect();
        let below = Self::split_by(&left, kernel, facts, low)?;
        let above = Self::split_by(&left, kernel, facts, high)?;
        Some(Self::Split(Box::new(Split {
            by: chosen,
            border_bytes: Bytes(border as u64),
            whole: single,
            below,
            above,
        })))
    }

    /// The equation for a footprint at (I, p): that of its regime, unless it gives less than `floor_s`, which
    /// nothing can take. Then the nearest wider fit that gives more; if none does, the regime's all the same.
    pub fn of(&self, footprint: &Footprint, strips: u64, row_length: u64, floor_s: f64) -> &StripFit {
        let stands = |fit: &StripFit| fit.time_s(strips, row_length) > floor_s;
        let (mut regimes, mut wider) = (self, None);
        loop {
            match regimes {
                Self::Single(fit) if stands(fit) => return fit,
                Self::Single(fit) => return wider.unwrap_or(fit),
                Self::Split(split) => {
                    wider = Some(&split.whole).filter(|fit| stands(fit)).or(wider);
                    let below = split.by.of(footprint) <= split.border_bytes;
                    regimes = if below { &split.below } else { &split.above };
                }
            }
        }
    }

    /// Borders on the way to the equation for a footprint.
    pub fn borders(&self, footprint: &Footprint) -> Vec<(SplitBy, Bytes)> {
        let (mut borders, mut regimes) = (Vec::new(), self);
        while let Self::Split(split) = regimes {
            borders.push((split.by, split.border_bytes));
            let below = split.by.of(footprint) <= split.border_bytes;
            regimes = if below { &split.below } else { &split.above };
        }
        borders
    }

    /// Returns whether there is a single equation.
    pub const fn is_single(&self) -> bool {
        matches!(self, Self::Single(_))
    }
}

/// `(border, points below)` for each place between two neighbouring values of points sorted by them, the nearest
/// to the L2 first.
fn cuts(by: SplitBy, facts: &DeviceFacts, sorted: &[Point]) -> Vec<(f64, usize)> {
    let l2 = facts.l2_bytes.0 as f64;
    let value = |k: usize| by.of(&sorted[k].footprint).0 as f64;
    let mut cuts: Vec<(f64, usize)> = (1..sorted.len())
        .filter(|&k| value(k - 1) < value(k))
        .map(|k| ((value(k - 1) * value(k)).sqrt(), k))
        .collect();
    if by == SplitBy::WorkingSet && l2 > 0.0 {
        let away = |border: f64| (border / l2).ln().abs();
        cuts.retain(|cut| away(cut.0) <= BORDER_WINDOW.ln());
        cuts.sort_by(|a, b| away(a.0).total_cmp(&away(b.0)));
    }
    cuts
}

/// Working sets of the points.
pub(crate) fn working_sets(points: &[Point]) -> Option<Extent> {
    Extent::of(points.iter().map(|p| p.footprint.working_set.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CooStrip, Line};

    fn line(slope: f64, intercept: f64) -> StripFit {
        StripFit::Coo(CooStrip {
            over_strips: Line { slope, intercept },
            strips: Extent { from: 1, to: 100 },
        })
    }

    #[test]
    fn a_regime_that_falls_below_the_floor_is_answered_by_the_wider_fit() {
        // Beyond the border T = 1e-6 I - 2e-5, below the launch cost of 2e-6 up to I = 22; both sides: 1e-6 I.
        let (below, above) = (Regimes::Single(line(1e-7, 3e-6)), Regimes::Single(line(1e-6, -2e-5)));
        let split = Split {
            by: SplitBy::WorkingSet,
            border_bytes: Bytes(1000),
            whole: line(1e-6, 0.0),
            below,
            above,
        };
        let regimes = Regimes::Split(Box::new(split));
        let at = |bytes, strips| {
            let footprint = Footprint { working_set: Bytes(bytes), x: Bytes(0) };
            regimes.of(&footprint, strips, 0, 2e-6).time_s(strips, 0)
        };
        assert!((at(1000, 10) - 4e-6).abs() < 1e-15, "below the border");
        assert!((at(1001, 50) - 3e-5).abs() < 1e-15, "beyond it");
        assert!(
            (at(1001, 10) - 1e-5).abs() < 1e-15,
            "beyond it, where its own equation gives less than nothing"
        );
        assert!(
            (at(1001, 1) - (1e-6 - 2e-5)).abs() < 1e-15,
            "where neither stands, its own is left to the floor"
        );
    }
}
