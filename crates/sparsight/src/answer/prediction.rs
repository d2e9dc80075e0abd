//! A predicted time.

use serde::Serialize;
use sparsight_matrix::Seconds;
use sparsight_model::{Extrapolation, Prediction};

/// The predicted time of one product y = A x, launch included, with its 90 % interval.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PredictedInterval {
    /// As predicted, seconds.
    pub predicted_s: Seconds,
    /// Lower end of the 90 % interval, seconds.
    pub low_s: Seconds,
    /// Upper end of the 90 % interval, seconds.
    pub high_s: Seconds,
    /// Quantities in which the matrix lies outside what was measured; empty inside.
    pub extrapolates: Vec<Extrapolated>,
}

/// A quantity beyond what was measured.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Extrapolated {
    /// Of a strip model `I` (strips), `I of COO`, `p` (non-zeros a row) or `working set` (bytes); of a learned one `rows`,
    /// `columns`, `non-zeros`, `longest row` or `working set`.
    pub quantity: &'static str,
    /// The matrix' value, in the unit of the quantity.
    pub value: f64,
    /// Smallest that was measured.
    pub from: f64,
    /// Largest that was measured.
    pub to: f64,
}

impl From<&Prediction> for PredictedInterval {
    fn from(prediction: &Prediction) -> Self {
        Self {
            predicted_s: prediction.time,
            low_s: prediction.low,
            high_s: prediction.high,
            extrapolates: prediction.extrapolates.iter().map(Extrapolated::from).collect(),
        }
    }
}

impl From<&Extrapolation> for Extrapolated {
    fn from(beyond: &Extrapolation) -> Self {
        let Extrapolation { quantity, value, from, to } = *beyond;
        Self { quantity, value, from, to }
    }
}
