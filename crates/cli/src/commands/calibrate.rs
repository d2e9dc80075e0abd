//! `sparsight calibrate`: carries the predictions for one GPU to another, and lets a processor learn from some matrices.

use crate::calibration;
use crate::context::Context;
use crate::device_choice::DeviceName;
use crate::failure::{Exit, Failure};
use sparsight::profile::{CalibrationFile, ProfileFolder};
use sparsight::{Profile, carry_calibration};
use std::path::PathBuf;

/// Calibrate a device that has no profile, within seconds
///
/// A GPU then answers with the predictions for another GPU, rescaled; a processor with what it learned from generated matrices.
/// `advise` and others do the same by themselves when such a device is first named, and keep it in the cache. What was measured
/// stays in the folder: a run that was stopped goes on with the same command. `sparsight lab profile --quick` is the same.
#[derive(Debug, clap::Args)]
pub(crate) struct Calibrate {
    /// Device of this machine: cpu, cuda[:N], or cuda[:N]/smM for M of its multiprocessors
    #[arg(long, value_name = "DEVICE", default_value = "cuda:0")]
    device: DeviceName,
    /// Folder to write to, made if it is not there
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
    /// Profile whose predictions are carried over to a GPU, by name or folder [default: the shipped one that leaves least unexplained]
    #[arg(long, value_name = "NAME|DIR")]
    reference: Option<String>,
    /// Measure nothing: take what the GPU of this profile measured, to see how good a calibration of it would have been
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
