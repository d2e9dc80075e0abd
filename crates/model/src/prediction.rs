//! A predicted time, how sure it is, and how it came about.

use serde::Serialize;
use sparsight_matrix::Seconds;

/// A predicted time. It always has an interval and says when it left the ground that was measured.
///
/// Invariant, kept by every model: `0 < low <= time <= high`, all finite.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Prediction {
    /// Time of one y = A x, launch included.
    #[serde(rename = "predicted_s")]
    pub time: Seconds,
    /// Lower end of the 90 % interval.
    #[serde(rename = "low_s")]
    pub low: Seconds,
    /// Upper end of the 90 % interval.
    #[serde(rename = "high_s")]
    pub high: Seconds,
    /// Quantities in which the matrix lies outside the benchmark grid; empty inside.
    pub extrapolates: Vec<Extrapolation>,
}

impl Prediction {
    /// Takes it to another time: the interval is a factor and moves with it.
    pub fn move_to(&mut self, time: Seconds) {
        let factor = time.0 / self.time.0;
        self.low = Seconds((self.low.0 * factor).min(time.0));
        self.high = Seconds((self.high.0 * factor).max(time.0));
        self.time = time;
    }

    /// Both ends `factor` times as far from the time, in logarithms; a launch takes `launch`, and the lower end is not taken below half
    /// of one.
    pub fn scale_interval(&mut self, factor: f64, launch: Seconds) {
        let scaled = |end: Seconds| end.0 * (end.0 / self.time.0).powf(factor - 1.0);
        let low = scaled(self.low).max(self.low.0.min(0.5 * launch.0)).min(self.time.0);
        let high = scaled(self.high).max(self.time.0);
        (self.low, self.high) = (Seconds(low), Seconds(high));
    }

    /// Adds `difference` to the time and both ends: what each product takes more or less on another machine with the same device. A launch
    /// counts as `launch` there, and none of them becomes shorter than half of one.
    pub fn move_by(&mut self, difference: Seconds, launch: Seconds) {
        let moved = |end: Seconds| Seconds((end.0 + difference.0).max(0.5 * launch.0));
        (self.low, self.time, self.high) = (moved(self.low), moved(self.time), moved(self.high));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_longer_launch_is_added_and_a_shorter_one_leaves_an_interval() {
        let mut prediction = Prediction {
            time: Seconds(2e-6),
            low: Seconds(0.7e-6),
            high: Seconds(3e-6),
            extrapolates: Vec::new(),
        };
        let near = |a: Seconds, b: f64| (a.0 / b - 1.0).abs() < 1e-9;
        prediction.move_by(Seconds(0.5e-6), Seconds(1.8e-6));
        let Prediction { time, low, high, .. } = prediction;
        assert!(near(time, 2.5e-6) && near(low, 1.2e-6) && near(high, 3.5e-6));
        prediction.move_by(Seconds(-0.9e-6), Seconds(0.9e-6));
        let Prediction { time, low, high, .. } = prediction;
        assert!(near(time, 1.6e-6) && near(low, 0.45e-6) && near(high, 2.6e-6));
    }

    #[test]
    fn a_scaled_interval_keeps_its_time_and_no_end_is_below_half_a_launch() {
        let (time, low, high) = (Seconds(2e-6), Seconds(1e-6), Seconds(3e-6));
        let mut prediction = Prediction { time, low, high, extrapolates: Vec::new() };
        let near = |a: Seconds, b: f64| (a.0 / b - 1.0).abs() < 1e-9;
        prediction.scale_interval(2.0, Seconds(0.4e-6));
        assert!(prediction.time == time && near(prediction.low, 0.5e-6) && near(prediction.high, 4.5e-6));
        prediction.scale_interval(2.0, Seconds(0.4e-6));
        assert!(near(prediction.low, 0.2e-6), "half a launch");
        prediction.scale_interval(0.5, Seconds(0.4e-6));
        assert!(near(prediction.low, 0.4e-6_f64.sqrt() * 1e-3) && near(prediction.high, 4.5e-6));
        let before = prediction.clone();
        prediction.scale_interval(1.0, Seconds(6e-6));
        assert_eq!(prediction, before, "neither end moves, whatever a launch takes");
    }
}

/// A quantity beyond the benchmark grid.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Extrapolation {
    /// Name of the quantity. Strip models: `I` (strips), `I of COO`, `p` (non-zeros a row) or `working set` (bytes); learned models:
    /// `rows`, `columns`, `non-zeros`, `longest row` or `working set`.
    pub quantity: &'static str,
    /// The matrix' value, in the unit of the quantity.
    pub value: f64,
    /// Smallest measured among the benchmark matrices of the fit that answered.
    pub from: f64,
    /// Largest of them.
    pub to: f64,
}

/// A named number of a formula, for people who want to see how a prediction came about.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Term {
    /// Sum that the term belongs to, if there are several: `banded`, `strewn, COO part`; empty for the whole.
    pub part: &'static str,
    /// The symbol of the paper: `I`, `p`, `E(p)`, ...
    pub name: &'static str,
    /// Value, in the unit below.
    pub value: f64,
    /// `s`, `B`, or empty for a count or a ratio.
    pub unit: &'static str,
}
