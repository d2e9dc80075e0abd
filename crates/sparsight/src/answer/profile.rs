//! `profile` and `calibrate`: what measuring a device gave.

use super::DeviceSummary;
use crate::calibrate::Benchmarked;
use crate::profile::{GridName, ProfiledDevice};
use serde::Serialize;
use sparsight_matrix::Dtype;
use std::path::{Path, PathBuf};

/// `sparsight/profile/1`: the benchmark matrices of one run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ProfileAnswer {
    /// The device, with its measured rates.
    pub device: DeviceSummary,
    /// Folder of the profile.
    pub folder: PathBuf,
    /// The largest grid of benchmark matrices that was asked for: `quick`, `coarse` or `full`.
    pub grid: GridName,
    /// Points of the grid; those that are none of the following were known before.
    pub points: usize,
    /// Points measured by this run.
    pub measured: usize,
    /// Points of this run that are beyond the bound on memory.
    pub beyond_bound: usize,
    /// Points of this run that failed.
    pub failed: usize,
    /// Points left for another run, since the budget was spent.
    pub left: usize,
    /// Value types.
    pub dtypes: Vec<Dtype>,
    /// Generated matrices that the models of a calibrated processor learned from; absent of another profile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub matrices: Option<usize>,
}

impl ProfileAnswer {
    /// Results of a run over the benchmark matrices, in the profile of `known` in `folder`.
    pub fn of(done: &Benchmarked, folder: &Path, known: &ProfiledDevice, dtypes: Vec<Dtype>) -> Self {
        Self {
            device: (&known.facts).into(),
            folder: folder.to_owned(),
            grid: known.grid,
            points: done.points,
            measured: done.measured,
            beyond_bound: done.beyond,
            failed: done.failed.len(),
            left: done.left,
            dtypes,
            matrices: None,
        }
    }
}

/// `sparsight/calibrate/1`: a calibration.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CalibrateAnswer {
    /// The device, with its measured rates.
    pub device: DeviceSummary,
    /// Folder of the calibrated profile.
    pub folder: PathBuf,
    /// Generated matrices that were measured on both devices.
    pub matrices: usize,
    /// Weights of the launch, of memory traffic and of the rest of a time, relative to the facts of both devices.
    pub weights: [f64; 3],
    /// Standard deviation of ln(measured / carried over) on matrices that took no part in the weights.
    pub log_sd: f64,
}
