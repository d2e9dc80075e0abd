//! A device without a profile: a GPU is calibrated when it is first asked about, and kept in the cache; so is a processor, in
//! [`cpu_profile`]. By hand either is, by `calibrate` and `lab profile --quick`.
//!
//! ```text
//! reference matrices -> measured here, and in a profile of another GPU -> how that one's predictions are carried over
//! ```
//! Everything that was measured is on disk as soon as it is: a run that was stopped goes on where it was.

use crate::context::Context;
use crate::device_choice::{DeviceName, OpenDevice};
use crate::failure::{Exit, Failure};
use crate::profiling::Instrumented;
use crate::text::{counted, described, matrices as many_matrices};
use crate::{cpu_profile, profile_cache, profiling};
use sparsight::Profile;
use sparsight::answer::{CalibrateAnswer, ProfileAnswer};
use sparsight::bench::Noise;
use sparsight::calibrate::{
    CALIBRATION_BUDGET, CALIBRATION_MATRICES, CalibratedDevice, may_calibrate, measure_calibration,
};
use sparsight::device::DeviceError;
use sparsight::device::timing::took;
use sparsight::matrix::{Dtype, Seconds};
use sparsight::profile::{GridName, ProfileFolder, RescalingFile};
use std::collections::BTreeSet;
use std::path::Path;
use std::time::Instant;

/// The calibrated profile in the folder, if it was made before.
pub(crate) fn find(path: &Path, context: &Context) -> Option<Profile> {
    let found = Profile::load(path).ok()?;
    context.printer.detail(format_args!("calibration of this GPU: {}", path.display()));
    Some(found)
}

/// The same, measured now if it was not; of two runs that would, the second waits, and finds what the first has measured.
pub(crate) fn find_or_measure(
    path: &Path,
    device: &DeviceName,
    context: &Context,
) -> Result<Profile, Failure> {
    if let Some(found) = find(path, context) {
        return Ok(found);
    }
    if !may_calibrate() {
        let text = format!("{device} has no profile, and SPARSIGHT_CALIBRATE=0 says not to calibrate it now");
        return Err(Failure::input(text).hinted(format!(
            "`sparsight calibrate --device {device} -o DIR` does it by hand, then `--profile DIR`; or take that of another GPU, \
             such as `--profile {}`",
            Profile::DEFAULT
        )));
    }
    // Before the GPU is opened, which measures its rates.
    let (folder, _alone) = loop {
        // What is no folder keeps nobody out.
        if !path.is_dir() {
            profile_cache::keep_unreadable(path, context)?;
        }
        let alone = profile_cache::alone(path, "this GPU", context)?;
        if let Some(found) = find(path, context) {
            return Ok(found);
        }
        // The lock of one that was set aside just now is not that of the new one.
        if !profile_cache::keep_unreadable(path, context)? {
            break alone;
        }
    };
    let begun = Instant::now();
    let (opened, opening) = took(|| OpenDevice::open(device));
    let device = opened?;
    context.printer.note(format_args!(
        "no profile of {}: calibrating with up to {} generated matrices in some {:.0} s, once",
        described(device.facts()),
        CALIBRATION_MATRICES.len(),
        CALIBRATION_BUDGET.0
    ));
    let made = measure(&device, &folder, None, opening, context)?;
    context.printer.note(format_args!(
        "calibrated in {:.0} s with {} from {}; kept in {}",
        begun.elapsed().as_secs_f64(),
        many_matrices(made.rescaling.matrices),
        made.reference,
        path.display()
    ));
    Profile::load(path).map_err(Failure::from)
}

/// Measures what the folder lacks of a calibration and there is time for, with progress: [`measure_calibration`]. The GPU was opened in
/// `opening`.
fn measure(
    device: &OpenDevice,
    folder: &ProfileFolder,
    reference: Option<&str>,
    opening: Seconds,
    context: &Context,
) -> Result<RescalingFile, Failure> {
    context.interrupt.listen();
    let device = CalibratedDevice {
        of_f32: device.of(),
        of_f64: device.of(),
        as_profiled: profiling::now_here(device, GridName::Quick),
    };
    let bar = context.printer.progress(2 * CALIBRATION_MATRICES.len() as u64, "records");
    let mut before = |at: usize, matrix: &str| {
        bar.at(at as u64, matrix.to_owned());
        context.interrupt.check().map_err(|_| DeviceError::Interrupted.into())
    };
    let measured = measure_calibration(&device, folder, reference, context.seed, opening, &mut before);
    let made = measured.map_err(|error| Failure::from(error).keeping(|| kept(folder)))?;
    let mut noise = Noise::before(device.as_profiled.facts.kind);
    for record in folder.calibration()?.map_or(Vec::new(), |known| known.records) {
        noise.recorded(&record);
    }
    context.printer.warn_of(&noise);
    Ok(made)
}

/// Calibrates a device of this machine into a folder of the user's, and says what came out.
pub(crate) fn by_hand(
    device: &DeviceName,
    output: &Path,
    reference: Option<&str>,
    context: &Context,
) -> Result<Exit, Failure> {
    let (opened, opening) = took(|| OpenDevice::open(device));
    let mut device = opened?;
    let folder = empty_enough(output)?;
    if !device.facts().kind.is_gpu() {
        if let Some(reference) = reference {
            let text = format!("--reference {reference}: nothing is carried over to a processor");
            return Err(Failure::input(text).hinted("leave it out: a processor is calibrated by itself"));
        }
        let dtypes = context.dtypes();
        let done = cpu_profile::measure(&folder, &mut device, &dtypes, context)?;
        return say_learned(output, &folder, done, dtypes, context);
    }
    measure(&device, &folder, reference, opening, context)?;
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

/// A folder that no thorough profile is in.
pub(crate) fn empty_enough(output: &Path) -> Result<ProfileFolder, Failure> {
    let folder = ProfileFolder::create(output)?;
    if folder.models()?.is_some() && folder.device()?.grid != GridName::Coarse {
        let text = format!("{} holds models of its own, which answer already", output.display());
        return Err(Failure::input(text).hinted("give another folder with -o"));
    }
    Ok(folder)
}

/// What was calibrated in the folder of a GPU.
pub(crate) fn say_carried(output: &Path, context: &Context) -> Result<Exit, Failure> {
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
    })?;
    Ok(Exit::Done)
}

/// What was calibrated in the folder of a processor.
fn say_learned(
    output: &Path,
    folder: &ProfileFolder,
    done: Instrumented,
    dtypes: Vec<Dtype>,
    context: &Context,
) -> Result<Exit, Failure> {
    let known = folder.device()?;
    let matrices = folder.models()?.map_or(0, |models| models.index.trained_on.len());
    let answer = ProfileAnswer { matrices: Some(matrices), ..done.answer(output, &known, dtypes) };
    context.printer.answer(&answer, || {
        context.printer.line(format_args!(
            "{}: {} measured, models learned from {}",
            described(&known.facts),
            counted(done.measured as u64, "benchmark"),
            many_matrices(matrices)
        ))?;
        context.printer.line(format_args!("`sparsight advise A.mtx --profile {}` uses it", output.display()))
    })?;
    Ok(if done.failed > 0 { Exit::No } else { Exit::Done })
}

fn kept(folder: &ProfileFolder) -> String {
    format!("what was measured is kept in {}; the same command goes on", folder.path().display())
}
