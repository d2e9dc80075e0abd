//! `sparsight calibrate`: carries the predictions for one GPU to another, and lets a processor learn from some matrices.

use crate::calibration::{self, Watch};
use crate::context::Context;
use crate::device_choice::DeviceName;
use crate::failure::{Exit, Failure};
use crate::text::{counted, described, matrices as many_matrices};
use sparsight::Profile;
use sparsight::answer::{CalibrateAnswer, ProfileAnswer};
use sparsight::calibrate::{
    Benchmarked, CALIBRATION_BUDGET, CALIBRATION_MATRICES, CalibratedDevice, carry_calibration,
};
use sparsight::kernels::DeviceKind;
use sparsight::matrix::Dtype;
use sparsight::profile::{CalibrationFile, GridName, ProfileFolder};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Calibrate a device that has no profile, within seconds
///
/// A GPU then answers with the predictions for another GPU, rescaled; a processor with what it learned from generated matrices.
/// `advise` and other commands do this when such a device is first named, and keep the result in the cache. Measurements are kept
/// in the folder: the same command continues a run that was stopped. `sparsight lab profile --quick` is the same.
#[derive(Debug, clap::Args)]
pub(crate) struct Calibrate {
    /// Device of this machine: cpu, cuda[:N], cuda[:N]/smM for M of its multiprocessors, or hip[:N]
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
            return by_hand(&self.device, &self.output, self.reference.as_deref(), context);
        };
        self.take(recorded, &empty_enough(&self.output)?)?;
        say_carried(&self.output, context)
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

/// Calibrates a device of this machine into a folder of the user's, and prints the result.
pub(crate) fn by_hand(
    device: &DeviceName,
    output: &Path,
    reference: Option<&str>,
    context: &Context,
) -> Result<Exit, Failure> {
    let mut device = CalibratedDevice::open(device.here()?)?;
    let folder = empty_enough(output)?;
    let is_processor = device.facts().kind == DeviceKind::Cpu;
    if let Some(reference) = reference.filter(|_| is_processor) {
        let text = format!("--reference {reference}: nothing is carried over to a processor");
        return Err(Failure::input(text).hinted("leave it out: a processor is calibrated by itself"));
    }
    context.interrupt.listen();
    let (dtypes, mut watch) = (context.dtypes(), Watch::new(context, is_processor));
    let done = device
        .calibrate(&folder, &dtypes, reference, context.seed, &mut |event| watch.saw(event, None))
        .map_err(|error| Failure::from(error).keeping(|| calibration::kept(folder.path())))?;
    if is_processor {
        return say_learned(output, &folder, &done.benchmarked, dtypes, context);
    }
    let records = folder.calibration()?.map_or(Vec::new(), |known| known.records);
    let measured = records.iter().map(|record| record.matrix.as_str()).collect::<BTreeSet<_>>().len();
    let all = CALIBRATION_MATRICES.len();
    if measured < all {
        let seconds = CALIBRATION_BUDGET.0;
        context.printer.note(format_args!(
            "{measured} of {all} matrices are measured so far, as {seconds:.0} s at a time are spent on them; the same command goes on \
             with the others"
        ));
    }
    say_carried(output, context)
}

/// The folder `output`, unless it holds a thorough profile.
fn empty_enough(output: &Path) -> Result<ProfileFolder, Failure> {
    let folder = ProfileFolder::create(output)?;
    if folder.models()?.is_some() && folder.device()?.grid != GridName::Coarse {
        let text = format!("{} holds models of its own, which answer already", output.display());
        return Err(Failure::input(text).hinted("give another folder with -o"));
    }
    Ok(folder)
}

/// Prints the calibration in the folder of a GPU.
fn say_carried(output: &Path, context: &Context) -> Result<Exit, Failure> {
    let profile = Profile::load(output)?;
    let Some(rescaled) = &profile.rescaled else {
        return Err(Failure::input(format!("{} was changed by another run", output.display())));
    };
    let rescaling = rescaled.rescaling;
    let answer = CalibrateAnswer {
        device: (&profile).into(),
        folder: output.to_owned(),
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
        context.printer.line(format_args!("`sparsight advise A.mtx --profile {}` uses it", output.display()))
    })
}

/// Prints the calibration in the folder of a processor.
fn say_learned(
    output: &Path,
    folder: &ProfileFolder,
    done: &Benchmarked,
    dtypes: Vec<Dtype>,
    context: &Context,
) -> Result<Exit, Failure> {
    let known = folder.device()?;
    let matrices = folder.models()?.map_or(0, |models| models.index.trained_on.len());
    let answer =
        ProfileAnswer { matrices: Some(matrices), ..ProfileAnswer::of(done, output, &known, dtypes) };
    context.printer.answer(&answer, || {
        context.printer.line(format_args!(
            "{}: {} measured, models learned from {}",
            described(&known.facts),
            counted(done.measured as u64, "benchmark"),
            many_matrices(matrices)
        ))?;
        context.printer.line(format_args!("`sparsight advise A.mtx --profile {}` uses it", output.display()))
    })?;
    Ok(if answer.failed > 0 { Exit::No } else { Exit::Done })
}
