//! A GPU without a profile: calibrated when it is first asked about, and kept in the cache.
//!
//! ```text
//! reference matrices -> measured here, and in a profile of another GPU -> how that one's predictions are carried over
//! ```
//! Everything that was measured is on disk as soon as it is: a run that was stopped goes on where it was.

use crate::context::Context;
use crate::device_choice::{DeviceName, OpenDevice, described};
use crate::failure::Failure;
use crate::{profile_cache, profiling};
use sparsight::kernels::{DeviceFacts, DeviceKind};
use sparsight::matrix::gallery::{self, Recipe};
use sparsight::matrix::{Dtype, Features};
use sparsight::model::Rescaling;
use sparsight::profile::{CalibrationFile, GridName, ProfileFolder, RescalingFile};
use sparsight::records::{CorpusRecord, Outcome};
use sparsight::{CALIBRATION_MATRICES, Error, Profile, calibrated, calibration_candidates};
use std::path::Path;
use std::time::Instant;

/// The calibrated profile in the folder, if it was made before.
pub(crate) fn find(path: &Path, context: &Context) -> Option<Profile> {
    let found = Profile::load(path).ok()?;
    context.printer.detail(format_args!("calibration of this GPU: {}", path.display()));
    Some(found)
}

/// The same, measured now if it was not.
pub(crate) fn find_or_measure(
    path: &Path,
    device: &DeviceName,
    context: &Context,
) -> Result<Profile, Failure> {
    if let Some(found) = find(path, context) {
        return Ok(found);
    }
    profile_cache::keep_unreadable(path, context)?;
    let begun = Instant::now();
    let device = OpenDevice::open(device)?;
    context.printer.note(format_args!(
        "no profile of {}: calibrating with {} generated matrices, once",
        described(device.facts()),
        CALIBRATION_MATRICES.len()
    ));
    let folder = ProfileFolder::create(path)?;
    let made = measure(&device, &folder, None, context)?;
    context.printer.note(format_args!(
        "calibrated in {:.0} s from {}; kept in {}",
        begun.elapsed().as_secs_f64(),
        made.reference,
        path.display()
    ));
    Profile::load(path).map_err(Failure::from)
}

/// Measures what the folder lacks of a calibration, and writes how the predictions of `reference` are carried over: of the
/// shipped profile that leaves least unexplained if none is named.
pub(crate) fn measure(
    device: &OpenDevice,
    folder: &ProfileFolder,
    reference: Option<&str>,
    context: &Context,
) -> Result<RescalingFile, Failure> {
    context.interrupt.listen();
    let facts = device.facts();
    if profiling::known_device(folder, device)?.is_none() {
        folder.write_device(&profiling::now_here(device, GridName::Quick))?;
    }
    let mut known = folder.calibration()?.unwrap_or_else(|| Vec::new().into());
    // What failed, for want of a library perhaps, is tried again.
    known.records.retain(|record| record.times().next().is_some());
    let bar = context.printer.progress(2 * CALIBRATION_MATRICES.len() as u64, "records");
    for (at, recipe) in CALIBRATION_MATRICES.iter().enumerate() {
        let name = format!("{}{recipe}", gallery::PREFIX);
        let lacks = |dtype| !known.records.iter().any(|r| r.matrix == name && r.dtype == dtype);
        let missing: Vec<Dtype> = Dtype::ALL.into_iter().filter(|dtype| lacks(*dtype)).collect();
        if missing.is_empty() {
            continue;
        }
        bar.at(2 * at as u64, name.clone());
        let made = recipe.parse::<Recipe>().and_then(|recipe| recipe.generate::<f64>());
        let matrix = made.map_err(|error| Failure::input(format!("{name}: {error}")))?;
        let features = Features::of(&matrix);
        for dtype in missing {
            context.interrupt.check().map_err(|failure| failure.keeping(|| kept(folder)))?;
            let candidates = calibration_candidates(facts.kind, dtype);
            let record = match dtype {
                Dtype::F32 => profiling::one::<f32>(
                    device,
                    (&name, &matrix.to_dtype()),
                    &features,
                    &candidates,
                    context,
                ),
                Dtype::F64 => {
                    profiling::one::<f64>(device, (&name, &matrix), &features, &candidates, context)
                }
            }?;
            // What this device cannot hold says nothing; where everything fails, something is missing.
            if let Some(why) = failure_of_all(&record) {
                let text = format!("{} could not be calibrated, no kernel ran: {why}", described(facts));
                let hint = "`sparsight devices` says what is missing; the same command goes on";
                return Err(Failure::device(text).hinted(hint));
            }
            known.records.push(record);
            folder.write_calibration(&known)?;
        }
    }
    drop(bar);
    carry(folder, facts, &known, reference)
}

/// Why no candidate ran at all, if one of them failed.
fn failure_of_all(record: &CorpusRecord) -> Option<&str> {
    let failed = record.results.iter().find_map(|measured| match &measured.outcome {
        Outcome::Failed { failed } => Some(failed.as_str()),
        Outcome::Time { .. } | Outcome::Infeasible { .. } => None,
    });
    failed.filter(|_| record.times().next().is_none())
}

fn kept(folder: &ProfileFolder) -> String {
    format!("what was measured is kept in {}; the same command goes on", folder.path().display())
}

/// Writes how the predictions of `reference`, or of the shipped profile that leaves least unexplained, are carried to the device
/// with `facts`, which measured `known`.
pub(crate) fn carry(
    folder: &ProfileFolder,
    facts: &DeviceFacts,
    known: &CalibrationFile,
    reference: Option<&str>,
) -> Result<RescalingFile, Failure> {
    let (name, rescaling) = match reference {
        Some(name) => named(&absolute(name), facts, known),
        None => nearest(facts, known),
    }?;
    let carried = RescalingFile::new(&name, rescaling);
    folder.write_rescaling(&carried)?;
    Ok(carried)
}

fn named(name: &str, facts: &DeviceFacts, known: &CalibrationFile) -> Result<(String, Rescaling), Failure> {
    let found = against(name, facts, known)?;
    found.map(|found| (name.to_owned(), found)).ok_or_else(|| {
        Failure::input(format!("{name} measured none of the matrices of a calibration")).hinted(
            "give the name or folder of a GPU's profile that holds calibration.json, which `sparsight fit` writes",
        )
    })
}

/// The shipped profile that leaves least unexplained.
fn nearest(facts: &DeviceFacts, known: &CalibrationFile) -> Result<(String, Rescaling), Failure> {
    let mut all = Vec::new();
    for name in Profile::shipped_names() {
        all.extend(against(name, facts, known)?.map(|found| (name.to_owned(), found)));
    }
    all.into_iter().min_by(|a, b| a.1.log_sd.total_cmp(&b.1.log_sd)).ok_or_else(|| {
        Failure::device(format!("no shipped profile can be carried to {}", described(facts)))
            .hinted("`sparsight profile -o DIR` and `sparsight measure` make a profile of its own")
    })
}

/// A folder's name stands for the folder wherever the profile is read; a shipped one's for itself.
fn absolute(name: &str) -> String {
    let is_folder = sparsight::profile::is_folder(name);
    let path = is_folder.then(|| Path::new(name).canonicalize().ok()).flatten();
    path.map_or_else(|| name.to_owned(), |path| path.display().to_string())
}

/// From the profile `name`; `None` if that is no GPU's or has nothing in common with what was measured.
fn against(name: &str, facts: &DeviceFacts, known: &CalibrationFile) -> Result<Option<Rescaling>, Error> {
    let reference = Profile::find(name)?;
    let from = &reference.device.facts;
    if from.kind != DeviceKind::Cuda || reference.rescaled.is_some() {
        return Ok(None);
    }
    let Some(records) = CalibrationFile::find(name)? else { return Ok(None) };
    Ok(calibrated((from, &records.records), (facts, &known.records)))
}
