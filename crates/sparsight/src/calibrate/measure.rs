//! A GPU without a profile, measured for some seconds: everything that was measured is on disk as soon as it is, and a run that was
//! stopped goes on where it was.

use super::budget::while_there_is_time;
use super::{CALIBRATION_MATRICES, calibrated, calibration_candidates};
use crate::bench::{Bench, bench};
use crate::missing::Missing;
use crate::profile::{CalibrationFile, GridName, ProfileFolder, ProfiledDevice, RescalingFile, folder_of};
use crate::records::{CorpusRecord, Outcome};
use crate::{Error, Profile};
use sparsight_device::timing::took;
use sparsight_device::{Device, DeviceError};
use sparsight_kernels::DeviceFacts;
use sparsight_matrix::gallery::{self, Recipe};
use sparsight_matrix::{Csr, Dtype, Features, Seconds};
use sparsight_model::Rescaling;

/// The device that is calibrated.
pub struct CalibratedDevice<'a> {
    /// It with values of either type.
    pub of_f32: &'a dyn Device<f32>,
    /// Likewise.
    pub of_f64: &'a dyn Device<f64>,
    /// What a new folder says of it.
    pub as_profiled: ProfiledDevice,
}

impl<'a> CalibratedDevice<'a> {
    /// An open device as it is now, for a folder that is calibrated on `grid`. Nothing is said of cuSPARSE, which is not calibrated.
    pub fn now<D: Device<f32> + Device<f64>>(device: &'a D, grid: GridName) -> Self {
        let facts = Device::<f64>::facts(device).clone();
        let as_profiled = ProfiledDevice::now(facts, grid, String::new(), rayon::current_num_threads());
        Self { of_f32: device, of_f64: device, as_profiled }
    }

    /// Runs every kernel of a calibration on the matrix called `name`, in `dtype`.
    pub(super) fn measured(
        &self,
        name: &str,
        matrix: &Csr<f64>,
        features: &Features,
        dtype: Dtype,
        how: &Bench,
    ) -> Result<CorpusRecord, DeviceError> {
        let candidates = calibration_candidates(self.as_profiled.facts.kind, dtype);
        match dtype {
            Dtype::F32 => {
                bench(self.of_f32, (name, &matrix.to_dtype()), features, &candidates, how, |_| Ok(()))
            }
            Dtype::F64 | Dtype::Mixed => {
                bench(self.of_f64, (name, matrix), features, &candidates, how, |_| Ok(()))
            }
        }
    }
}

/// Measures what `folder` lacks of a calibration and there is time for, and writes how the predictions of `reference` are carried over:
/// of the shipped profile that leaves least unexplained if none is named. `spent` is how much of [`CALIBRATION_BUDGET`](super::CALIBRATION_BUDGET)
/// opening the device has taken: no matrix is begun that would outlast it, going by how long the ones before took, but for the first
/// four. What is left out a later run measures. `before` is told of each of the `2 x` [`CALIBRATION_MATRICES`] records, by number and
/// matrix, before it is measured; its error ends the run.
///
/// # Errors
/// [`Error::OtherDevice`] if the folder is of another one; [`Error::NotCalibrated`] if no kernel runs, or if no profile can be
/// carried over; [`Error::Lacking`] if `reference` measured none of the matrices; errors of files, and those of `before`.
pub fn measure_calibration(
    device: &CalibratedDevice<'_>,
    folder: &ProfileFolder,
    reference: Option<&str>,
    seed: u64,
    spent: Seconds,
    before: &mut dyn FnMut(usize, &str) -> Result<(), Error>,
) -> Result<RescalingFile, Error> {
    let facts = &device.as_profiled.facts;
    if folder.known_device(facts)?.is_none() {
        folder.write_device(&device.as_profiled)?;
    }
    let mut known = folder.calibration()?.unwrap_or_else(|| Vec::new().into());
    // What failed, for want of a library perhaps, is tried again.
    known.records.retain(|record| record.times().next().is_some());
    let numbers = 0..CALIBRATION_MATRICES.len();
    let lacking: Vec<usize> = numbers.filter(|&at| !missing(&known, &name_of(at)).is_empty()).collect();
    while_there_is_time(spent, &lacking, |at| {
        let (measured, time) = took(|| measure_matrix(device, folder, at, seed, &mut known, before));
        measured.map(|()| time)
    })?;
    carry_calibration(folder, facts, &known, reference)
}

/// What records call the matrix with that number.
fn name_of(at: usize) -> String {
    format!("{}{}", gallery::PREFIX, CALIBRATION_MATRICES[at])
}

/// The value types in which it was not measured.
fn missing(known: &CalibrationFile, name: &str) -> Vec<Dtype> {
    let lacks = |dtype: &Dtype| !known.records.iter().any(|r| r.matrix == name && r.dtype == *dtype);
    Dtype::ALL.into_iter().filter(lacks).collect()
}

/// Measures what `known`, which is what `folder` holds, lacks of the matrix with that number.
fn measure_matrix(
    device: &CalibratedDevice<'_>,
    folder: &ProfileFolder,
    at: usize,
    seed: u64,
    known: &mut CalibrationFile,
    before: &mut dyn FnMut(usize, &str) -> Result<(), Error>,
) -> Result<(), Error> {
    let (facts, name, how) = (&device.as_profiled.facts, name_of(at), Bench::of_a_corpus(seed));
    let failed = |why: String| Error::NotCalibrated { device: facts.name.clone(), why };
    let made = CALIBRATION_MATRICES[at].parse::<Recipe>().and_then(|recipe| recipe.generate::<f64>());
    let matrix = made.map_err(|error| failed(format!("{name}: {error}")))?;
    let features = Features::of(&matrix);
    for dtype in missing(known, &name) {
        before(2 * at + usize::from(dtype == Dtype::F64), &name)?;
        let record = device.measured(&name, &matrix, &features, dtype, &how)?;
        // What this device cannot hold says nothing; where everything fails, something is missing.
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
/// As [`measure_calibration`].
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

/// A folder's name stands for the folder wherever the profile is read; a shipped one's for itself.
fn absolute(name: &str) -> String {
    let path = folder_of(name).and_then(|path| path.canonicalize().ok());
    path.map_or_else(|| name.to_owned(), |path| path.display().to_string())
}

/// From the profile `name`; `None` if that is no GPU's or has nothing in common with what was measured.
fn against(name: &str, facts: &DeviceFacts, known: &CalibrationFile) -> Result<Option<Rescaling>, Error> {
    let reference = Profile::find(name)?;
    let from = &reference.device.facts;
    if !from.kind.is_gpu() || reference.rescaled.is_some() {
        return Ok(None);
    }
    let Some(records) = CalibrationFile::find(name)? else { return Ok(None) };
    Ok(calibrated((from, &records.records), (facts, &known.records)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calibrate::CALIBRATION_BUDGET;
    use crate::profile::GridName;
    use sparsight_device::DeviceError;
    use sparsight_device::cuda::Cuda;
    use std::path::Path;
    use std::{env, thread};

    /// As a program does it: what is carried over, and how long it took if it was measured here.
    fn calibrated_in(path: &Path) -> (Rescaling, Option<Seconds>) {
        let (folder, _alone) = ProfileFolder::alone(path, &mut || Ok(())).unwrap();
        let made = || folder.rescaling().unwrap().map(|made| made.rescaling);
        if let Some(made) = made() {
            return (made, None);
        }
        let ((), time) = took(|| {
            let (gpu, opening) = took(|| Cuda::open(0).unwrap());
            let device = CalibratedDevice::now(&gpu, GridName::Quick);
            measure_calibration(&device, &folder, None, 0, opening, &mut |_, _| Ok(())).unwrap();
        });
        (made().unwrap(), Some(time))
    }

    // Without a driver it says that it is skipped; `SPARSIGHT_REQUIRE_GPU=1` turns that into a failure.
    #[test]
    fn of_two_that_calibrate_a_gpu_one_measures_within_its_time_and_the_other_finds_that() {
        if let Err(error @ (DeviceError::NoDriver | DeviceError::LoaderPath { .. })) = Cuda::name(0) {
            assert!(env::var_os("SPARSIGHT_REQUIRE_GPU").is_none(), "{error}");
            eprintln!("skipped: {error}");
            return;
        }
        let dir = tempfile::tempdir().unwrap();
        let both = thread::scope(|scope| {
            let one = || calibrated_in(dir.path());
            [scope.spawn(one), scope.spawn(one)].map(|thread| thread.join().unwrap())
        });
        assert_eq!(both[0].0, both[1].0);
        let measured: Vec<Seconds> = both.iter().filter_map(|(_, time)| *time).collect();
        let [time] = measured[..] else { panic!("it was measured {} times", measured.len()) };
        let matrices = both[0].0.matrices;
        eprintln!("{matrices} matrices in {time}");
        assert!((4..=CALIBRATION_MATRICES.len()).contains(&matrices));
        // The last one may take somewhat longer than was to be expected.
        assert!(matrices == 4 || time.0 < 1.25 * CALIBRATION_BUDGET.0, "{matrices} matrices took {time}");
    }
}
