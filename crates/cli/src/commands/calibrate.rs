//! `sparsight calibrate`: carries the predictions for one GPU to another.

use crate::calibration;
use crate::context::Context;
use crate::device_choice::{DeviceName, OpenDevice, described};
use crate::failure::{Exit, Failure};
use sparsight::answer::CalibrateAnswer;
use sparsight::kernels::DeviceKind;
use sparsight::profile::{CalibrationFile, ProfileFolder};
use sparsight::{Profile, carry_calibration};
use std::path::PathBuf;

/// Calibrates a GPU that has no profile, in some seconds: what is predicted for another GPU then answers for it
///
/// `advise` and others do the same by themselves when such a GPU is first named, and keep it in the cache. What was measured
/// stays in the folder: a run that was stopped goes on with the same command.
#[derive(Debug, clap::Args)]
pub(crate) struct Calibrate {
    /// Device of this machine: cuda[:N], or cuda[:N]/smM for M of its multiprocessors
    #[arg(long, value_name = "DEVICE", default_value = "cuda:0")]
    device: DeviceName,
    /// Folder to write to, made if it is not there
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
    /// Profile whose predictions are carried over, by name or folder [default: the shipped one that leaves least unexplained]
    #[arg(long, value_name = "NAME|DIR")]
    reference: Option<String>,
    /// Measure nothing: take what the GPU of this profile measured, to see how good a calibration of it would have been
    #[arg(long, value_name = "NAME|DIR", conflicts_with = "device")]
    recorded: Option<String>,
}

impl Calibrate {
    pub(crate) fn run(&self, context: &Context) -> Result<Exit, Failure> {
        let folder = ProfileFolder::create(&self.output)?;
        if folder.models()?.is_some() {
            let text = format!("{} holds models of its own, which answer already", self.output.display());
            return Err(Failure::input(text).hinted("give another folder with -o"));
        }
        match &self.recorded {
            Some(recorded) => self.take(recorded, &folder),
            None => self.measure(&folder, context),
        }?;
        let profile = Profile::load(&self.output)?;
        let Some(rescaled) = &profile.rescaled else {
            return Err(Failure::input(format!("{} was changed by another run", self.output.display())));
        };
        let rescaling = rescaled.rescaling;
        let answer = CalibrateAnswer {
            device: (&profile).into(),
            folder: self.output.clone(),
            matrices: rescaling.matrices,
            weights: rescaling.weights,
            log_sd: rescaling.log_sd,
        };
        context.printer.answer(&answer, || {
            let [launch, memory, rest] = rescaling.weights;
            context.printer.line(format_args!(
                "{}: {} matrices beside those of {}; launch x {launch:.2}, memory x {memory:.2}, rest x {rest:.2} of what the \
                 facts say, {:.1} % unexplained",
                described(&profile.device.facts),
                rescaling.matrices,
                rescaled.reference.name,
                100.0 * rescaling.log_sd
            ))?;
            context.printer.line(format_args!(
                "`sparsight advise A.mtx --profile {}` uses it",
                self.output.display()
            ))
        })?;
        Ok(Exit::Done)
    }

    fn measure(&self, folder: &ProfileFolder, context: &Context) -> Result<(), Failure> {
        let device = OpenDevice::open(&self.device)?;
        if device.facts().kind != DeviceKind::Cuda {
            return Err(Failure::input("a processor is measured when it is first asked about").hinted(
                "`sparsight advise A.mtx --device cpu` does so, `sparsight profile --device cpu` thoroughly",
            ));
        }
        calibration::measure(&device, folder, self.reference.as_deref(), context).map(|_| ())
    }

    /// The device and its times from another profile.
    fn take(&self, recorded: &str, folder: &ProfileFolder) -> Result<(), Failure> {
        let device = Profile::find(recorded)?.device;
        let known = CalibrationFile::find(recorded)?.ok_or_else(|| {
            Failure::input(format!("{recorded} holds no calibration.json"))
                .hinted("`sparsight fit` writes it")
        })?;
        let facts = device.facts.clone();
        folder.write_device(&device)?;
        folder.write_calibration(&known)?;
        Ok(carry_calibration(folder, &facts, &known, self.reference.as_deref()).map(|_| ())?)
    }
}
