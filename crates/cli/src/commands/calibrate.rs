//! `sparsight calibrate`: carries the predictions for one GPU to another, and lets a processor learn from some matrices.

use crate::calibration;
use crate::context::Context;
use crate::device_choice::DeviceName;
use crate::failure::{Exit, Failure};
use sparsight::Profile;
use sparsight::calibrate::carry_calibration;
use sparsight::profile::{CalibrationFile, ProfileFolder};
use std::path::PathBuf;

/// Calibrate a device that has no profile, within seconds
///
/// A GPU then answers with the predictions for another GPU, rescaled; a processor with what it learned from generated matrices.
/// `advise` and other commands do this when such a device is first named, and keep the result in the cache. Measurements are kept
/// in the folder: the same command continues a run that was stopped. `sparsight lab profile --quick` is the same.
#[derive(Debug, clap::Args)]
pub(crate) struct Calibrate {
    /// Device of this machine: cpu, cuda[:N], or cuda[:N]/smM for M of its multiprocessors
    #[arg(long, value_name = "DEVICE", default_value = "cuda:0")]
    device: DeviceName,
    /// Folder to write to, created if absent
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
    /// Profile whose predictions are rescaled for a GPU, by name or folder [default: the shipped one that fits best]
    #[arg(long, value_name = "NAME|DIR")]
    reference: Option<String>,
    /// Measure nothing: use the recorded times of this profile's GPU, to test a calibration of it
    #[arg(long, value_name = "NAME|DIR", conflicts_with = "device")]
    recorded: Option<String>,
}

impl Calibrate {
    pub(crate) fn run(&self, context: &Context) -> Result<Exit, Failure> {
        let Some(recorded) = &self.recorded else {
            return calibration::by_hand(&self.device, &self.output, self.reference.as_deref(), context);
        };
        self.take(recorded, &calibration::empty_enough(&self.output)?)?;
        calibration::say_carried(&self.output, context)
    }

    /// The device and its times from another profile.
    fn take(&self, recorded: &str, folder: &ProfileFolder) -> Result<(), Failure> {
        let device = Profile::find(recorded)?.device;
        let known = CalibrationFile::find(recorded)?.ok_or_else(|| {
            Failure::input(format!("{recorded} holds no calibration.json"))
                .hinted("`sparsight lab fit` writes it")
        })?;
        let facts = device.facts.clone();
        folder.write_device(&device)?;
        folder.write_calibration(&known)?;
        Ok(carry_calibration(folder, &facts, &known, self.reference.as_deref()).map(|_| ())?)
    }
}
