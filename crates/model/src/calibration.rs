//! Intervals that know real matrices: residuals of predictions against measured matrices, by kernel.
//!
//! After split-conformal prediction (Lei et al. 2018): if the matrices to come are like those measured here, nominally
//! 90 % of their times lie in the interval, whatever the model is. Nominally, because the candidates of one matrix are
//! not independent of each other, so there are fewer matrices behind it than residuals. The predicted time itself is never moved: `strip` stays the papers' model, biased or
//! not, and its interval may be lopsided.

use crate::interval::CONFORMAL_MIN;
use crate::{LogInterval, Prediction};
use serde::{Deserialize, Serialize};
use sparsight_kernels::{Candidate, Kernel};
use sparsight_matrix::Seconds;

/// A real matrix, predicted and measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MeasuredPair {
    /// Candidate that was run.
    pub candidate: Candidate,
    /// Time predicted by the model that is calibrated.
    pub predicted: Seconds,
    /// Time measured on the device.
    pub measured: Seconds,
}

/// 90 % intervals of `ln(measured / predicted)`: one a kernel (with its knobs, over all block sizes and value
/// types) that has at least 19 pairs, and one over all pairs for the others.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Calibration {
    kernels: Vec<KernelCalibration>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pooled: Option<LogInterval>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct KernelCalibration {
    kernel: Kernel,
    pairs: usize,
    interval: LogInterval,
}

impl Calibration {
    /// Fits a calibration to measured matrices. Pairs without two positive times are left out. With fewer than 19 usable pairs
    /// the calibration is empty and changes nothing.
    pub fn fit(pairs: &[MeasuredPair]) -> Self {
        let residuals = |keep: &dyn Fn(Kernel) -> bool| -> Vec<f64> {
            pairs
                .iter()
                .filter(|pair| keep(pair.candidate.kernel))
                .filter(|pair| pair.predicted.0 > 0.0 && pair.measured.0 > 0.0)
                .map(|pair| (pair.measured.0 / pair.predicted.0).ln())
                .filter(|r| r.is_finite())
                .collect()
        };
        let interval = |residuals: Vec<f64>| {
            (residuals.len() >= CONFORMAL_MIN).then(|| LogInterval::of_residuals(residuals))
        };
        let kernels = Kernel::all()
            .filter_map(|kernel| {
                let own = residuals(&|k| k == kernel);
                let pairs = own.len();
                interval(own).map(|interval| KernelCalibration { kernel, pairs, interval })
            })
            .collect();
        Self { kernels, pooled: interval(residuals(&|_| true)) }
    }

    /// The kernel's interval, else that over all pairs; `None` if there were too few pairs for either.
    pub fn interval(&self, kernel: Kernel) -> Option<LogInterval> {
        let own = self.kernels.iter().find(|k| k.kernel == kernel).map(|k| k.interval);
        own.or(self.pooled)
    }

    /// Pairs behind the kernel's own interval, 0 if it has none.
    pub fn pairs(&self, kernel: Kernel) -> usize {
        self.kernels.iter().find(|k| k.kernel == kernel).map_or(0, |k| k.pairs)
    }

    /// Replaces the interval of a prediction, never its time. `widening`: how far the matrix lies outside the
    /// benchmark grid, as in [`LogInterval::widened`].
    pub fn apply(&self, kernel: Kernel, widening: f64, prediction: &mut Prediction) {
        if let Some(interval) = self.interval(kernel) {
            let (low, high) = interval.widened(widening).around(prediction.time.0);
            (prediction.low, prediction.high) = (Seconds(low), Seconds(high));
        }
    }
}
