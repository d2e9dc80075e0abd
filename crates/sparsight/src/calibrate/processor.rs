//! A processor without a profile, calibrated by itself: its models learn from what runs on it.
//!
//! ```text
//! coarse benchmark matrices                                    -> strip models
//! CPU_CALIBRATION_MATRICES, each with every kernel              -> learned models, and intervals that know real matrices
//! ```
//! Nothing is carried over from another processor: between CPUs that is further off than what some seconds on the processor
//! itself teach (docs/results/cpu-calibration.md). Everything that was measured is on disk as soon as it is, and a run that was
//! stopped goes on where it was. One that was made while the machine was not quiet answers in the process that made it; the next one
//! measures again.

use super::fit::fit_each;
use super::{
    CPU_CALIBRATION_MATRICES, CalibratedDevice, Grid, Step, instrument, measure_conversion, write_fitted,
};
use crate::bench::{Bench, Noise};
use crate::models::registry;
use crate::profile::{GridName, ProfileFolder, ProfiledDevice, cached_folder};
use crate::records::{BenchmarkRecord, CorpusRecord};
use crate::{Error, Profile};
use sparsight_device::DeviceError;
use sparsight_kernels::DeviceFacts;
use sparsight_matrix::gallery::{self, Recipe};
use sparsight_matrix::{Bytes, Csr, Dtype, Features};
use sparsight_model::Variant;
use std::fs;
use std::path::{Path, PathBuf};

/// Largest benchmark matrix: more than most caches, and some seconds for the whole grid. Chosen.
const BOUND: u64 = 64_000_000;
/// Derived: a strip is 4096 rows a worker, and a fit needs two strips of 64 non-zeros a row, 12 bytes each.
const BOUND_PER_WORKER: u64 = 2 * 4096 * 64 * 12 + 2 * 4096 * 20;

/// Where the calibration of a processor is kept; `None` where the user has no folder for such things.
pub fn cpu_calibration_folder(facts: &DeviceFacts) -> Option<PathBuf> {
    cached_folder(&["cpu", &facts.multiprocessors.to_string(), &facts.name])
}

/// The recipes of [`CPU_CALIBRATION_MATRICES`].
fn cpu_calibration_recipes() -> impl Iterator<Item = Recipe> {
    CPU_CALIBRATION_MATRICES.iter().map(|recipe| recipe.parse().expect("recipes of the gallery"))
}

/// The name of a generated matrix in records.
fn name_of(recipe: &Recipe) -> String {
    format!("{}{recipe}", gallery::PREFIX)
}

/// The benchmark matrices with which a processor is calibrated.
pub fn cpu_calibration_grid(facts: &DeviceFacts, dtypes: &[Dtype]) -> Grid {
    let bound = Bytes(BOUND.max(BOUND_PER_WORKER * u64::from(facts.multiprocessors)));
    Grid::new(facts, dtypes, bound).coarse()
}

impl Profile {
    /// What was calibrated of the processor with these facts, if it is complete and knows `dtype`. A damaged one counts as none, as
    /// does one of benchmark matrices alone, of which what is whole is used again by the next calibration, and one that was made while
    /// the machine was not quiet.
    pub fn of_calibrated_cpu(facts: &DeviceFacts, dtype: Dtype) -> Option<Self> {
        let profile = Self::load(&cpu_calibration_folder(facts)?).ok()?;
        (profile.device.provenance.noise.is_none() && profile.was_calibrated_in(dtype)).then_some(profile)
    }

    /// Whether it is a complete calibration of a processor that knows `dtype`: one that learned from fewer matrices than
    /// [`CPU_CALIBRATION_MATRICES`], as of an earlier version, is not.
    pub fn was_calibrated_in(&self, dtype: Dtype) -> bool {
        let Some(strip) = self.models.strip(Variant::Strip).ok().flatten() else { return false };
        let known = strip.model.fitted().iter().any(|fit| fit.candidate.dtype == dtype);
        let trained_on = &self.models.index.trained_on;
        known && cpu_calibration_recipes().all(|recipe| trained_on.contains(&name_of(&recipe)))
    }
}

/// Writes into `folder` what was not quiet while it was measured, if anything. What a quiet run adds to a noisy one does not undo it.
///
/// # Errors
/// Errors of files.
pub fn keep_noise(folder: &ProfileFolder, noise: &Noise) -> Result<(), Error> {
    if let Some(reasons) = noise.reasons() {
        let mut device = folder.device()?;
        device.provenance.noise = Some(reasons);
        folder.write_device(&device)?;
    }
    Ok(())
}

/// Moves the calibration in the folder `path` to `PATH.busy`, in place of an older one, if it was made while the machine was not quiet:
/// so that it is made again. Gives whether that was so.
///
/// # Errors
/// [`Error::File`] if it cannot be moved.
pub fn set_noisy_calibration_apart(path: &Path) -> Result<bool, Error> {
    let device = ProfileFolder::open(path).and_then(|folder| folder.device());
    if !device.is_ok_and(|device| device.provenance.noise.is_some()) {
        return Ok(false);
    }
    let mut apart = path.as_os_str().to_owned();
    apart.push(".busy");
    let apart = PathBuf::from(apart);
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source| Error::File { path, source }
    };
    if apart.exists() {
        fs::remove_dir_all(&apart).map_err(failed(&apart))?;
    }
    fs::rename(path, &apart).map_err(failed(path))?;
    Ok(true)
}

/// Runs every kernel on those of [`CPU_CALIBRATION_MATRICES`] that `folder` does not hold yet; how many records that were. `before` is
/// told of each matrix, by number and name; its error ends the run. `after` sees each record.
///
/// # Errors
/// [`Error::NotCalibrated`] if a matrix cannot be made; errors of files, and those of `before`.
///
/// # Panics
/// Never: the recipes are those of the gallery.
pub fn measure_cpu_matrices(
    device: &CalibratedDevice<'_>,
    folder: &ProfileFolder,
    dtypes: &[Dtype],
    seed: u64,
    before: &mut dyn FnMut(usize, &str) -> Result<(), Error>,
    after: &mut dyn FnMut(&CorpusRecord),
) -> Result<usize, Error> {
    let how = Bench::of_a_corpus(seed);
    let mut corpus = folder.corpus()?;
    corpus.begin()?;
    let mut new = 0;
    for (at, recipe) in cpu_calibration_recipes().enumerate() {
        let name = name_of(&recipe);
        before(at, &name)?;
        let lacks = |dtype: &&Dtype| !corpus.records().iter().any(|r| r.matrix == name && r.dtype == **dtype);
        let missing: Vec<Dtype> = dtypes.iter().filter(lacks).copied().collect();
        if missing.is_empty() {
            continue;
        }
        let matrix: Csr<f64> = recipe.generate().map_err(|error| Error::NotCalibrated {
            device: device.as_profiled.facts.name.clone(),
            why: format!("{name}: {error}"),
        })?;
        let features = Features::of(&matrix);
        for dtype in missing {
            let record = device.measured(&name, &matrix, &features, dtype, &how)?;
            after(&record);
            corpus.append(record)?;
            corpus.sync()?;
            new += 1;
        }
    }
    Ok(new)
}

/// Measures what `folder` lacks of the calibration of a processor, whose rates have been measured if the folder is new, and fits the
/// models. What was not quiet meanwhile is kept with it, and given. `before` is told, before each step, which part of the whole is done and what comes; its error ends the run.
///
/// # Errors
/// [`Error::OtherDevice`] if the folder is of another one; errors of files, and those of `before`.
pub fn measure_cpu_calibration(
    device: &CalibratedDevice<'_>,
    folder: &ProfileFolder,
    dtypes: &[Dtype],
    seed: u64,
    before: &mut dyn FnMut(f64, &str) -> Result<(), Error>,
) -> Result<Option<String>, Error> {
    let facts = &device.as_profiled.facts;
    if folder.known_device(facts)?.is_none() {
        let conversion = measure_conversion(device.of_f64)?.into_iter().collect();
        let now = ProfiledDevice { conversion, grid: GridName::Coarse, ..device.as_profiled.clone() };
        folder.write_device(&now)?;
    }
    let mut noise = Noise::before(facts.kind);
    let grid = cpu_calibration_grid(facts, dtypes);
    let points = grid.points().len();
    // A matrix takes about as long as eight points of the grid.
    let whole = (points + 8 * CPU_CALIBRATION_MATRICES.len()) as f64;
    let mut journal = folder.benchmark()?;
    journal.begin()?;
    let (known, mut done, mut stopped) = (journal.records().to_vec(), 0, None);
    for part in grid.parts() {
        let step = |step: Step<'_>| {
            let what = format!("{} {}", step.point.kernel, step.point.dtype);
            stopped = before((done + step.done) as f64 / whole, &what).err();
            stopped.is_none()
        };
        let keep = |record: BenchmarkRecord| {
            noise.benchmarked(&record);
            journal.append(record)
        };
        let ran = match part.points()[0].dtype {
            Dtype::F32 => instrument(device.of_f32, &part, &known, step, keep),
            Dtype::F64 | Dtype::Mixed => instrument(device.of_f64, &part, &known, step, keep),
        };
        done += part.points().len();
        match (ran, stopped.take()) {
            (Err(Error::Device(DeviceError::Interrupted)), Some(why)) => return Err(why),
            (ran, _) => ran?,
        }
        journal.sync()?;
    }
    let mut of_matrices = |at: usize, name: &str| before((points + 8 * at) as f64 / whole, name);
    let mut after = |record: &CorpusRecord| noise.recorded(record);
    measure_cpu_matrices(device, folder, dtypes, seed, &mut of_matrices, &mut after)?;
    keep_noise(folder, &noise)?;
    // The library's own models alone: the program, Python and C then answer alike.
    let fitted = fit_each(folder, &[], |_| true, registry::own())?;
    write_fitted(folder, &fitted)?;
    Ok(noise.reasons())
}

#[cfg(test)]
mod tests {
    use super::*;
    use sparsight_device::cpu::Cpu;
    use sparsight_kernels::DeviceKind;

    #[test]
    fn what_was_not_quiet_is_kept_and_a_quiet_run_does_not_undo_it() {
        let dir = tempfile::tempdir().unwrap();
        let folder = ProfileFolder::create(dir.path()).unwrap();
        let cpu = Cpu::with_threads(1).unwrap();
        folder.write_device(&CalibratedDevice::now(&cpu, GridName::Coarse).as_profiled).unwrap();
        let kept = || folder.device().unwrap().provenance.noise;
        // Of a GPU, since the load here is not known.
        let mut noise = Noise::before(DeviceKind::Cuda);
        keep_noise(&folder, &noise).unwrap();
        assert_eq!(kept(), None);
        noise.timed_with(0.5, 5);
        keep_noise(&folder, &noise).unwrap();
        assert_eq!(kept().as_deref(), Some("the samples of 1 of 1 time spread over more than 10.0 %"));
        keep_noise(&folder, &Noise::before(DeviceKind::Cuda)).unwrap();
        assert!(kept().is_some());
    }

    #[test]
    fn a_calibration_of_a_busy_machine_is_set_apart_and_a_quiet_one_stays() {
        let dir = tempfile::tempdir().unwrap();
        let (path, apart) =
            (dir.path().join("cpu-2-some-1.5-ghz"), dir.path().join("cpu-2-some-1.5-ghz.busy"));
        assert!(!set_noisy_calibration_apart(&path).unwrap(), "there is none");
        let cpu = Cpu::with_threads(1).unwrap();
        for round in 0..2 {
            let folder = ProfileFolder::create(&path).unwrap();
            folder.write_device(&CalibratedDevice::now(&cpu, GridName::Coarse).as_profiled).unwrap();
            assert!(!set_noisy_calibration_apart(&path).unwrap() && path.is_dir(), "{round}");
            let mut noise = Noise::before(DeviceKind::Cuda);
            noise.timed_with(0.5, 5);
            keep_noise(&folder, &noise).unwrap();
            assert!(set_noisy_calibration_apart(&path).unwrap());
            assert!(apart.join("device.json").is_file() && !path.exists(), "{round}");
        }
    }
}
