//! Predicting with fitted strip models.
//!
//! ```text
//! candidate, features -> parts        csr, csr-balanced, ell, coo: one; hyb: ELL of width K and COO of the rest (empty: none)
//! part                -> T            the fitted equation at (I, p), never below the launch cost
//! parts               -> T            their sum
//! banded, scattered      -> T            r T_banded + (1 - r) T_scattered, r = x_reuse of the matrix
//! ```
//!
//! The sum is HYB of Guo, Wang and Chen 2014, section 3.5.4. Its interval adds the ends of its parts, as if both
//! went wrong the same way; that is the widest that two intervals can give.
//!
//! The blend is this project's. The papers' benchmark matrices leave the columns out ("the value of C does not
//! affect the performance"); on a GPU with a large L2 they decide up to a factor of 3. `x_reuse` is read as the
//! chance that a matrix behaves as banded. Its interval therefore lets the weight run over
//! `r ± 1.645 sqrt(r (1 - r))`, 90 % of such a chance, cut to 0..=1, and takes the lowest low and the highest
//! high on the way: near r = 0.5 it spans both placements, at 0 and 1 it is that of one of them. A calibration
//! knows what the columns of real matrices do and replaces it; outside the grid that interval is widened, too.
//!
//! Floor: no prediction is below the measured launch cost of the device, nor, if that is unknown, below the
//! shortest time measured with the candidate. So it is never zero, negative or NaN, an empty matrix included.

use crate::baseline::reuse;
use crate::row_length_rule::Statistic;
use crate::{
    Calibration, Extent, Extrapolation, FittedCandidate, Footprint, Model, PredictError, Prediction,
    RowLengthRule, SplitBy, StripFit, StripModel, Term,
};
use serde::{Deserialize, Serialize};
use sparsight_kernels::{Candidate, DeviceFacts, Placement, compulsory_bytes, strip};
use sparsight_matrix::{Bytes, Features, Seconds};

/// Rule that picks the benchmark matrices for the columns of a matrix. A placement that was not measured is replaced by
/// the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PlacementRule {
    /// Columns next to the diagonal.
    Banded,
    /// Columns anywhere: `strewn`.
    #[serde(rename = "strewn")]
    Scattered,
    /// Between the two, by the matrix' own `x_reuse`: 1 banded, 0 scattered.
    #[default]
    Blend,
}

/// Fitted models with what a prediction needs beside them.
#[derive(Debug, Clone, Copy)]
pub struct StripPredictor<'a> {
    /// The fits.
    pub model: &'a StripModel,
    /// The device that they were fitted on: its strips, its launch cost.
    pub facts: &'a DeviceFacts,
    /// Rule for the columns.
    pub placement: PlacementRule,
    /// Rule for the row lengths.
    pub row_length: RowLengthRule,
    /// Replaces the intervals, if there.
    pub calibration: Option<&'a Calibration>,
}

/// Standard deviations that hold 90 % of a normal distribution; one holds 68 %.
const NORMAL_90: f64 = 1.645;

/// A kernel of a product.
#[derive(Debug, Clone, Copy)]
struct Part {
    candidate: Candidate,
    strip_size: u64,
    strips: u64,
    row_length: u64,
    /// Footprint of the whole product.
    footprint: Footprint,
}

/// Seconds, and what lies outside the grid.
struct Estimate {
    time: f64,
    low: f64,
    high: f64,
    /// Widening by the part that lies furthest outside.
    widening: f64,
    outside: Vec<Extrapolation>,
}

impl Part {
    /// The parts of `candidate`, the second only for HYB; none if neither part of HYB holds anything.
    fn all(
        candidate: &Candidate,
        features: &Features,
        facts: &DeviceFacts,
        row_length: RowLengthRule,
    ) -> [Option<Self>; 2] {
        let x = Bytes(features.ncols.saturating_mul(candidate.dtype.vector_bytes()));
        let footprint = Footprint { working_set: compulsory_bytes(candidate, features), x };
        let part = |kernel, count, row_length| {
            let strip = strip(kernel, facts);
            Self {
                candidate: Candidate { kernel, ..*candidate },
                strip_size: strip.size,
                strips: strip.strips(count),
                row_length,
                footprint,
            }
        };
        match (candidate.kernel.parts(), Statistic::of(candidate.kernel, row_length)) {
            (Some([ell, coo]), _) => {
                let (width, rest) = (features.hyb.width, features.hyb.coo_nnz);
                // Of an empty matrix the ELL part stands for the launch that takes place all the same.
                [
                    (width > 0 || rest == 0).then(|| part(ell, features.nrows, width)),
                    (rest > 0).then(|| part(coo, rest, 0)),
                ]
            }
            (None, None) => {
                let count = candidate.kernel.unit().count(features.nrows, features.nnz);
                [Some(part(candidate.kernel, count, 0)), None]
            }
            (None, Some(p)) => [Some(part(candidate.kernel, features.nrows, p.value(features))), None],
        }
    }

    fn equation<'f>(&self, fit: &'f FittedCandidate, facts: &DeviceFacts) -> &'f StripFit {
        fit.regimes.of(&self.footprint, self.strips, self.row_length, fit.floor_s(facts))
    }

    fn time_s(&self, fit: &FittedCandidate, facts: &DeviceFacts) -> f64 {
        // `max` drops a NaN.
        self.equation(fit, facts).time_s(self.strips, self.row_length).max(fit.floor_s(facts))
    }

    /// Adds this part to `sum`.
    fn add_to(&self, sum: &mut Estimate, fit: &FittedCandidate, facts: &DeviceFacts, second: bool) {
        let equation = self.equation(fit, facts);
        let mut widening = 0.0;
        let mut check = |quantity, value, extent: Extent| {
            if !extent.contains(value) {
                widening += extent.widening(value);
                note(&mut sum.outside, quantity, value, extent);
            }
        };
        check(if second { "I of COO" } else { "I" }, self.strips, equation.strips(self.row_length));
        if let Some(extent) = equation.row_lengths() {
            check("p", self.row_length, extent);
        }
        if !fit.regimes.is_single() {
            check("working set", self.footprint.working_set.0, fit.working_sets);
        }
        let time = self.time_s(fit, facts);
        let (low, high) = fit.interval.widened(widening).around(time);
        sum.widening = sum.widening.max(widening);
        sum.time += time;
        sum.low += low;
        sum.high += high;
    }

    /// The numbers of the formula.
    fn explain(&self, terms: &mut Vec<Term>, name: &'static str, fit: &FittedCandidate, facts: &DeviceFacts) {
        let mut term = |name_of, value, unit| terms.push(Term { part: name, name: name_of, value, unit });
        term("S", self.strip_size as f64, "");
        term("I", self.strips as f64, "");
        for (by, border) in fit.regimes.borders(&self.footprint) {
            let (quantity, name) = match by {
                SplitBy::WorkingSet => ("working set", "border in the working set"),
                SplitBy::X => ("bytes of x", "border in x"),
            };
            term(quantity, by.of(&self.footprint).0 as f64, "B");
            term(name, border.0 as f64, "B");
        }
        let (strips, p) = (self.strips as f64, self.row_length as f64);
        match self.equation(fit, facts) {
            StripFit::Csr(fit) => {
                let side = fit.side(self.row_length);
                term("p", p, "");
                term("E(p)", side.over_row_length.at(p), "s");
                term("T_2", side.time_s, "s");
                term("E'(I)", side.over_strips.at(strips), "s");
            }
            StripFit::Ell(fit) => {
                term("p", p, "");
                term("f(I)", fit.slope_over_strips.at(strips), "s");
                term("e(I)", fit.over_strips.at(strips), "s");
                term("p_1", fit.row_length as f64, "");
                term("g(I)", fit.intercept_s(strips), "s");
            }
            StripFit::Coo(fit) => term("E(I)", fit.time_s(self.strips), "s"),
        }
        term("floor", fit.floor_s(facts), "s");
        term("T", self.time_s(fit, facts), "s");
    }
}

/// Notes a quantity once, whichever placement it came from.
fn note(outside: &mut Vec<Extrapolation>, quantity: &'static str, value: u64, extent: Extent) {
    if outside.iter().all(|known| known.quantity != quantity) {
        let (from, to) = (extent.from as f64, extent.to as f64);
        outside.push(Extrapolation { quantity, value: value as f64, from, to });
    }
}

/// `weight` of the first and the rest of the second; never outside the two, which rounding alone would leave: a blend
/// of two times at the launch cost is not below it.
fn mix(weight: f64, first: f64, second: f64) -> f64 {
    (weight * first + (1.0 - weight) * second).clamp(first.min(second), first.max(second))
}

impl Estimate {
    /// Between both placements: see the module.
    fn blend(mut self, scattered: Self, reuse: f64) -> Self {
        let spread = NORMAL_90 * (reuse * (1.0 - reuse)).sqrt();
        let weights = [(reuse - spread).max(0.0), reuse, (reuse + spread).min(1.0)];
        let low = weights.map(|w| mix(w, self.low, scattered.low));
        let high = weights.map(|w| mix(w, self.high, scattered.high));
        for found in scattered.outside {
            if self.outside.iter().all(|known| known.quantity != found.quantity) {
                self.outside.push(found);
            }
        }
        Self {
            time: mix(reuse, self.time, scattered.time),
            low: low.into_iter().fold(f64::INFINITY, f64::min),
            high: high.into_iter().fold(0.0, f64::max),
            widening: self.widening.max(scattered.widening),
            outside: self.outside,
        }
    }
}

impl<'a> StripPredictor<'a> {
    /// A predictor with the default rules for columns and row lengths and without a calibration.
    pub fn new(model: &'a StripModel, facts: &'a DeviceFacts) -> Self {
        Self {
            model,
            facts,
            placement: PlacementRule::default(),
            row_length: RowLengthRule::default(),
            calibration: None,
        }
    }

    /// The prediction at one placement; `None` if a part is not fitted there.
    fn at(&self, parts: &[Option<Part>; 2], placement: Placement) -> Option<Estimate> {
        let mut sum = Estimate { time: 0.0, low: 0.0, high: 0.0, widening: 0.0, outside: Vec::new() };
        for (part, second) in parts.iter().zip([false, true]).filter_map(|(p, s)| Some((p.as_ref()?, s))) {
            part.add_to(&mut sum, self.model.find(&part.candidate, placement)?, self.facts, second);
        }
        Some(sum)
    }

    /// Placements that the rule asks for, or the other one where those are not fitted: at least one.
    fn placements(
        &self,
        candidate: &Candidate,
        parts: &[Option<Part>; 2],
    ) -> Result<&'static [Placement], PredictError> {
        let fitted = |placement| {
            parts.iter().flatten().all(|part| self.model.find(&part.candidate, placement).is_some())
        };
        let (banded, scattered) = (fitted(Placement::Banded), fitted(Placement::Scattered));
        match (self.placement, banded, scattered) {
            (_, false, false) => Err(PredictError::NotFitted {
                model: self.model.variant().name(),
                candidate: candidate.to_string(),
            }),
            (PlacementRule::Blend, true, true) => Ok(&[Placement::Banded, Placement::Scattered]),
            (PlacementRule::Scattered, _, true) | (_, false, true) => Ok(&[Placement::Scattered]),
            _ => Ok(&[Placement::Banded]),
        }
    }
}

impl Model for StripPredictor<'_> {
    fn name(&self) -> &'static str {
        self.model.variant().name()
    }

    fn predict(&self, candidate: &Candidate, features: &Features) -> Result<Prediction, PredictError> {
        let parts = Part::all(candidate, features, self.facts, self.row_length);
        let placements = self.placements(candidate, &parts)?.iter();
        let estimates =
            placements.map(|at| self.at(&parts, *at).expect("placements() returns fitted ones only"));
        let blended = estimates.reduce(|banded, scattered| banded.blend(scattered, reuse(features)));
        let estimate = blended.expect("placements() returns at least one");
        let widening = estimate.widening;
        let mut prediction = Prediction {
            time: Seconds(estimate.time),
            // Rounding must not push an end past the time.
            low: Seconds(estimate.low.min(estimate.time)),
            high: Seconds(estimate.high.max(estimate.time)),
            extrapolates: estimate.outside,
        };
        if let Some(calibration) = self.calibration {
            calibration.apply(candidate.kernel, widening, &mut prediction);
        }
        Ok(prediction)
    }

    fn explain(&self, candidate: &Candidate, features: &Features) -> Result<Vec<Term>, PredictError> {
        let parts = Part::all(candidate, features, self.facts, self.row_length);
        let placements = self.placements(candidate, &parts)?;
        let mut terms = Vec::new();
        for &placement in placements {
            for (is_second, part) in [false, true].into_iter().zip(&parts) {
                let Some(part) = part else { continue };
                let fit = self.model.find(&part.candidate, placement);
                let fit = fit.expect("placements() returns fitted ones only");
                let name = match (placement, candidate.kernel.parts(), is_second) {
                    (Placement::Banded, Some(_), false) => "banded, ELL part",
                    (Placement::Banded, Some(_), true) => "banded, COO part",
                    (Placement::Scattered, Some(_), false) => "strewn, ELL part",
                    (Placement::Scattered, Some(_), true) => "strewn, COO part",
                    (placement, None, _) => placement.name(),
                };
                part.explain(&mut terms, name, fit, self.facts);
            }
        }
        let whole = |name, value, unit| Term { part: "", name, value, unit };
        if placements.len() > 1 {
            terms.push(whole("x_reuse", reuse(features), ""));
        }
        terms.push(whole("T", self.predict(candidate, features)?.time.0, "s"));
        Ok(terms)
    }
}

#[cfg(test)]
mod tests {
    use super::mix;

    #[test]
    fn a_blend_lies_between_its_two_times() {
        // Rounding alone gives 1.9999999999999995e-6 here.
        assert!(mix(0.451_937_816_156_473_55, 2e-6, 2e-6) >= 2e-6);
        assert!((mix(0.25, 4.0, 8.0) - 7.0).abs() < 1e-15);
    }
}
