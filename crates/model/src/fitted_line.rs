//! The lines of a fit beside the benchmark times that lie where they were drawn: the papers' figures as data.
//!
//! ```text
//!  T |        x .'         measured at the I that is held, p on the axis: E(p)
//!    |     x.'             measured at the p that is held, I on the axis: E'(I), e(I)
//!    |  .'x
//!    +------------ p or I
//! ```
//! A fit has one line of each kind for every regime and side of the threshold. Of the ELL model, whose slope over p is
//! itself a line over I, the lines over p are those at the smallest and the largest I with two measured p.

use crate::observation::{Point, distinct};
use crate::{Line, Observation, Regimes, SplitBy, StripFit, StripModel};
use sparsight_kernels::{Candidate, DeviceFacts, Placement};
use sparsight_matrix::{Bytes, Seconds};

/// The quantity on the axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Along {
    /// p; I is held.
    RowLength,
    /// I; p is held.
    Strips,
}

/// The regime of a fitted line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bound {
    /// p up to the threshold.
    UpTo(u64),
    /// p above it.
    Beyond(u64),
    /// Up to a border.
    Below(SplitBy, Bytes),
    /// Beyond a border.
    Above(SplitBy, Bytes),
}

/// A line of a fit.
#[derive(Debug, Clone, PartialEq)]
pub struct FittedLine {
    /// Placement of the columns of the benchmark matrices.
    pub placement: Placement,
    /// Quantity of the axis.
    pub along: Along,
    /// Value of the other quantity, `I_1` or `p_1`; `None` for COO, where p does not enter.
    pub held: Option<u64>,
    /// Regime and side of the threshold; empty for a fit of everything.
    pub bounds: Vec<Bound>,
    /// Seconds over the quantity on the axis.
    pub line: Line,
    /// `(quantity on the axis, measured time)` of the benchmark matrices within the bounds at the held value,
    /// increasing; never empty.
    pub measured: Vec<(u64, Seconds)>,
}

impl StripModel {
    /// The lines of a candidate at every placement, beside those of `observations` that belong to it. Empty if it was not
    /// fitted.
    pub fn lines(
        &self,
        facts: &DeviceFacts,
        candidate: &Candidate,
        observations: &[Observation],
    ) -> Vec<FittedLine> {
        let mut lines = Vec::new();
        for fitted in self.fitted().iter().filter(|f| f.candidate == *candidate) {
            let lengths = self.variant().lengths();
            let own = |o: &&Observation| {
                (o.candidate, o.placement, o.lengths) == (*candidate, fitted.placement, lengths)
            };
            let points = observations.iter().filter(own).filter_map(|o| Point::of(o, facts)).collect();
            let mut drawing = Drawing { placement: fitted.placement, lines: &mut lines };
            drawing.regimes(&fitted.regimes, points, &[]);
        }
        lines
    }
}

/// Collects the lines of one fit.
struct Drawing<'l> {
    placement: Placement,
    lines: &'l mut Vec<FittedLine>,
}

impl Drawing<'_> {
    fn regimes(&mut self, regimes: &Regimes, points: Vec<Point>, bounds: &[Bound]) {
        match regimes {
            Regimes::Single(fit) => self.fit(fit, &points, bounds),
            Regimes::Split(split) => {
                let (by, border) = (split.by, split.border_bytes);
                let is_below = |p: &Point| by.of(&p.footprint) <= border;
                let (low, high) = points.into_iter().partition(is_below);
                self.regimes(&split.below, low, &[bounds, &[Bound::Below(by, border)]].concat());
                self.regimes(&split.above, high, &[bounds, &[Bound::Above(by, border)]].concat());
            }
        }
    }

    fn fit(&mut self, fit: &StripFit, points: &[Point], bounds: &[Bound]) {
        match fit {
            StripFit::Csr(fit) => {
                let threshold = fit.above.as_ref().map(|above| above.threshold);
                let sides = [Some(&fit.below), fit.above.as_ref().map(|above| &above.side)];
                for (side, long) in sides.into_iter().zip([false, true]) {
                    let Some(side) = side else { continue };
                    let bound = threshold.map(|t| if long { Bound::Beyond(t) } else { Bound::UpTo(t) });
                    // The matrices at the threshold are drawn with both sides, as the 2012 paper does.
                    let on_side = |p: &&Point| match bound {
                        Some(Bound::Beyond(t)) => p.row_length >= t,
                        Some(Bound::UpTo(t)) => p.row_length <= t,
                        _ => fit.row_lengths.contains(p.row_length),
                    };
                    let points: Vec<Point> = points.iter().filter(on_side).copied().collect();
                    let bounds: Vec<Bound> = bounds.iter().copied().chain(bound).collect();
                    self.line(Along::RowLength, Some(side.strips), side.over_row_length, &points, &bounds);
                    self.line(Along::Strips, Some(side.row_length), side.over_strips, &points, &bounds);
                }
            }
            StripFit::Ell(fit) => {
                let mut strips = distinct(points, |p| p.strips);
                strips.retain(|&i| points.iter().filter(|p| p.strips == i).count() > 1);
                let ends = [strips.first(), strips.last().filter(|_| strips.len() > 1)];
                for &i in ends.into_iter().flatten() {
                    let at = i as f64;
                    let line = Line { slope: fit.slope_over_strips.at(at), intercept: fit.intercept_s(at) };
                    self.line(Along::RowLength, Some(i), line, points, bounds);
                }
                self.line(Along::Strips, Some(fit.row_length), fit.over_strips, points, bounds);
            }
            StripFit::Coo(fit) => self.line(Along::Strips, None, fit.over_strips, points, bounds),
        }
    }

    fn line(&mut self, along: Along, held: Option<u64>, line: Line, points: &[Point], bounds: &[Bound]) {
        let place = |p: &Point| match along {
            Along::RowLength => (p.row_length, p.strips),
            Along::Strips => (p.strips, p.row_length),
        };
        let here = |p: &&Point| held.is_none_or(|held| place(p).1 == held);
        let measured = points.iter().filter(here).map(|p| (place(p).0, Seconds(p.time_s)));
        let mut measured: Vec<(u64, Seconds)> = measured.collect();
        measured.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.0.total_cmp(&b.1.0)));
        if !measured.is_empty() {
            let (placement, bounds) = (self.placement, bounds.to_vec());
            self.lines.push(FittedLine { placement, along, held, bounds, line, measured });
        }
    }
}
