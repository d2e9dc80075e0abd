//! A GPU without a profile, measured for some seconds: everything that was measured is on disk as soon as it is, and a run that was
//! stopped goes on where it was.

use super::budget::while_there_is_time;
use super::{CALIBRATION_MATRICES, Calibrated, CalibratedDevice, Event, Watcher, calibrated};
use crate::bench::{Bench, Noise};
use crate::missing::Missing;
use crate::profile::{CalibrationFile, ProfileFolder, RescalingFile, folder_of};
use crate::records::{CorpusRecord, Outcome};
use crate::{Error, Profile};
use sparsight_device::timing::took;
use sparsight_kernels::{DeviceFacts, DeviceKind};
use sparsight_matrix::gallery::{self, Recipe};
use sparsight_matrix::{Dtype, Features};
use sparsight_model::Rescaling;

/// Measures what `folder` lacks of a calibration and there is time for, and writes how the predictions of `reference` are carried over.
/// No matrix is begun that would outlast the budget, by how long the ones before took, but for the first four.
pub(super) fn calibrate(
    device: &CalibratedDevice,
    folder: &ProfileFolder,
    reference: Option<&str>,
    seed: u64,
    watcher: &mut Watcher<'_>,
) -> Result<Calibrated, Error> {
    let (facts, mut noise) = (device.facts(), Noise::before(device.facts().kind));
    if folder.known_device(facts)?.is_none() {
        folder.write_device(&device.opened.as_profiled())?;
    }
    let mut known = folder.calibration()?.unwrap_or_else(|| Vec::new().into());
    // Records without a time are measured again: a library may have been missing.
    known.records.retain(|record| record.times().next().is_some());
    let numbers = 0..CALIBRATION_MATRICES.len();
    let lacking: Vec<usize> = numbers.filter(|&at| !missing(&known, &name_of(at)).is_empty()).collect();
    while_there_is_time(device.opening, &lacking, |at| {
        let (measured, time) = took(|| measure_matrix(device, folder, at, seed, &mut known, watcher));
        measured.map(|()| time)
    })?;
    carry_calibration(folder, facts, &known, reference)?;
    known.records.iter().for_each(|record| noise.recorded(record));
    Ok(Calibrated { noise: noise.reasons(), ..Calibrated::default() })
}

/// Name of the matrix with that number in records.
fn name_of(at: usize) -> String {
    format!("{}{}", gallery::PREFIX, CALIBRATION_MATRICES[at])
}

/// Value types in which it was not measured.
fn missing(known: &CalibrationFile, name: &str) -> Vec<Dtype> {
    let lacks = |dtype: &Dtype| !known.records.iter().any(|r| r.matrix == name && r.dtype == *dtype);
    Dtype::ALL.into_iter().filter(lacks).collect()
}

/// Measures the matrix with that number in the value types that `known`, the content of `folder`, lacks.
fn measure_matrix(
    device: &CalibratedDevice,
    folder: &ProfileFolder,
    at: usize,
    seed: u64,
    known: &mut CalibrationFile,
    watcher: &mut Watcher<'_>,
) -> Result<(), Error> {
    let (name, how) = (name_of(at), Bench::of_a_corpus(seed));
    let failed = |why: String| Error::NotCalibrated { device: device.facts().name.clone(), why };
    let made = CALIBRATION_MATRICES[at].parse::<Recipe>().and_then(|recipe| recipe.generate::<f64>());
    let matrix = made.map_err(|error| failed(format!("{name}: {error}")))?;
    let features = Features::of(&matrix);
    for dtype in missing(known, &name) {
        let at = 2 * at + usize::from(dtype == Dtype::F64);
        watcher(Event::Matrix { at, total: 2 * CALIBRATION_MATRICES.len(), name: &name })?;
        let record = device.measured(&name, &matrix, &features, dtype, &how)?;
        // A format that does not fit is no fault; if every kernel fails, something is missing.
        if let Some(why) = failure_of_all(&record) {
            return Err(failed(format!("no kernel ran: {why}")));
        }
        known.records.push(record);
        folder.write_calibration(known)?;
    }
    Ok(())
}

/// Why no candidate ran at all, if one of them failed.
fn failure_of_all(record: &CorpusRecord) -> Option<&str> {
    let failed = record.results.iter().find_map(|measured| match &measured.outcome {
        Outcome::Failed { failed } => Some(failed.as_str()),
        Outcome::Time { .. } | Outcome::Infeasible { .. } => None,
    });
    failed.filter(|_| record.times().next().is_none())
}

/// Writes into `folder` how the predictions of `reference`, or of the shipped profile that leaves least unexplained, are carried
/// to the device with `facts`, which measured `known`.
///
/// # Errors
/// [`Error::Lacking`] if `reference` measured none of the matrices, [`Error::NotCalibrated`] if no profile can be carried over; errors
/// of files.
pub fn carry_calibration(
    folder: &ProfileFolder,
    facts: &DeviceFacts,
    known: &CalibrationFile,
    reference: Option<&str>,
) -> Result<RescalingFile, Error> {
    let (name, rescaling) = match reference {
        Some(name) => {
            let name = absolute(name);
            let lacking = || Error::Lacking { profile: name.clone(), missing: Missing::Calibration };
            let found = against(&name, facts, known)?.ok_or_else(lacking)?;
            (name, found)
        }
        None => nearest(facts, known)?,
    };
    let carried = RescalingFile::new(&name, rescaling);
    folder.write_rescaling(&carried)?;
    Ok(carried)
}

/// The shipped profile that leaves least unexplained.
fn nearest(facts: &DeviceFacts, known: &CalibrationFile) -> Result<(String, Rescaling), Error> {
    let mut all = Vec::new();
    for name in Profile::shipped_names() {
        all.extend(against(name, facts, known)?.map(|found| (name.to_owned(), found)));
    }
    all.into_iter().min_by(|a, b| a.1.log_sd.total_cmp(&b.1.log_sd)).ok_or_else(|| {
        let why = "no shipped profile can be carried over to it".to_owned();
        Error::NotCalibrated { device: facts.name.clone(), why }
    })
}

/// Absolute path of a profile's folder, so that it is found from everywhere; the name itself of a shipped profile.
fn absolute(name: &str) -> String {
    let path = folder_of(name).and_then(|path| path.canonicalize().ok());
    path.map_or_else(|| name.to_owned(), |path| path.display().to_string())
}

/// Calibration against the profile `name`; `None` if that is no GPU's or has nothing in common with what was measured.
fn against(name: &str, facts: &DeviceFacts, known: &CalibrationFile) -> Result<Option<Rescaling>, Error> {
    let reference = Profile::find(name)?;
    let from = &reference.device.facts;
    if from.kind != DeviceKind::Cuda || reference.rescaled.is_some() {
        return Ok(None);
    }
    let Some(records) = CalibrationFile::find(name)? else { return Ok(None) };
    Ok(calibrated((from, &records.records), (facts, &known.records)))
}
