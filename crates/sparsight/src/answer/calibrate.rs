//! `calibrate`: how the predictions for one GPU are carried to another.

use super::{Answer, DeviceSummary};
use serde::Serialize;
use std::path::PathBuf;

/// `sparsight/calibrate/1`: a calibration.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CalibrateAnswer {
    /// The device, with its measured rates.
    pub device: DeviceSummary,
    /// Where the calibrated profile is.
    pub folder: PathBuf,
    /// Generated matrices that were measured on both devices.
    pub matrices: usize,
    /// How many times as much the launch, what memory brings and the rest of a time count as the facts of both devices say.
    pub weights: [f64; 3],
    /// Standard deviation of ln(measured / carried over) on matrices that took no part in the weights.
    pub log_sd: f64,
}

impl Answer for CalibrateAnswer {
    const SCHEMA: &'static str = "sparsight/calibrate/1";
}
