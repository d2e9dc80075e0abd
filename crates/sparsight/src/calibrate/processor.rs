//! A processor without a profile, calibrated by itself: its models learn from what runs on it.
//!
//! ```text
//! coarse benchmark matrices                                    -> strip models
//! CPU_CALIBRATION_MATRICES, each with every kernel              -> learned models, and intervals that know real matrices
//! ```
//! Nothing is carried over from another processor: between CPUs that is less accurate than some seconds of measuring on the processor
//! itself (docs/results/cpu-calibration.md). Each record is on disk before the next is measured, and a stopped run continues where it
//! was. A calibration from a busy machine answers in the process that made it; the next process measures again.

use super::fit::fit_each;
use super::instrument::measure_lacking_conversions;
use super::{
    Benchmarked, CPU_CALIBRATION_MATRICES, Calibrated, CalibratedDevice, Event, Grid, Watcher,
    measure_conversion, run_benchmark, write_fitted,
};
use crate::bench::{Bench, Noise};
use crate::models::registry;
use crate::profile::{GridName, ProfileFolder, ProfiledDevice, cached_folder};
use crate::{Error, Profile};
use sparsight_device::Device;
use sparsight_kernels::{DeviceFacts, DeviceKind, Format};
use sparsight_matrix::gallery::Recipe;
use sparsight_matrix::{Bytes, Csr, Dtype, Features};
use sparsight_model::Variant;
use std::fs;
use std::path::{Path, PathBuf};

/// Largest benchmark matrix: more than most caches, and some seconds for the whole grid. Chosen.
const BOUND: u64 = 64_000_000;
/// Derived: a strip is 4096 rows a worker, and a fit needs two strips of 64 non-zeros a row, 12 bytes each.
const BOUND_PER_WORKER: u64 = 2 * 4096 * 64 * 12 + 2 * 4096 * 20;

/// Folder of the calibration of a processor in the user's cache; `None` if the user has no folder for it.
pub fn cpu_calibration_folder(facts: &DeviceFacts) -> Option<PathBuf> {
    cached_folder(&["cpu", &facts.multiprocessors.to_string(), &facts.name])
}

/// The recipes of [`CPU_CALIBRATION_MATRICES`].
fn cpu_calibration_recipes() -> impl Iterator<Item = Recipe> {
    CPU_CALIBRATION_MATRICES.lines().map(|recipe| recipe.parse().expect("recipes of the gallery"))
}

/// The benchmark matrices with which a processor is calibrated.
fn cpu_calibration_grid(facts: &DeviceFacts, dtypes: &[Dtype]) -> Grid {
    let bound = Bytes(BOUND.max(BOUND_PER_WORKER * u64::from(facts.multiprocessors)));
    Grid::new(facts, dtypes, bound).coarse()
}

impl Profile {
    /// Cached calibration of the processor with these facts, if it is complete, knows `dtype`, is not damaged and was not made on a busy
    /// machine.
    pub fn of_calibrated_cpu(facts: &DeviceFacts, dtype: Dtype) -> Option<Self> {
        Self::of_quiet_calibration(&cpu_calibration_folder(facts)?, &[dtype])
    }

    /// The calibration of a processor in `folder` that knows `dtypes`, was made on a quiet machine, and learned from all
    /// [`CPU_CALIBRATION_MATRICES`]: one of an earlier version, which had fewer, is incomplete.
    pub(super) fn of_quiet_calibration(folder: &Path, dtypes: &[Dtype]) -> Option<Self> {
        let profile = Self::load(folder).ok()?;
        let is_quiet = profile.device.provenance.noise.is_none();
        let trained_on = &profile.models.index.trained_on;
        let is_complete = cpu_calibration_recipes().all(|recipe| trained_on.contains(&recipe.to_string()));
        let knows_all = dtypes.iter().all(|dtype| profile.was_calibrated_in(*dtype));
        (is_quiet && is_complete && knows_all).then_some(profile)
    }

    /// True for a profile of a processor that knows `dtype` and learned from matrices, whichever these are.
    pub fn was_calibrated_in(&self, dtype: Dtype) -> bool {
        let Some(strip) = self.models.strip(Variant::Strip).ok().flatten() else { return false };
        let known = strip.model.fitted().iter().any(|fit| fit.candidate.dtype == dtype);
        known && !self.models.index.trained_on.is_empty()
    }
}

/// Writes the signs of a busy machine into `folder`, if there are any. A later quiet run does not remove them.
fn keep_noise(folder: &ProfileFolder, noise: &Noise) -> Result<(), Error> {
    if let Some(reasons) = noise.reasons() {
        let mut device = folder.device()?;
        device.provenance.noise = Some(reasons);
        folder.write_device(&device)?;
    }
    Ok(())
}

/// Renames the calibration in `path` to `PATH.busy`, in place of an older one, if it was made on a busy machine. Returns true if it was.
///
/// # Errors
/// [`Error::File`] if it cannot be moved.
pub(super) fn set_noisy_calibration_apart(path: &Path) -> Result<bool, Error> {
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

/// Measures what `folder` lacks of a calibration, and fits the models. Signs of a busy machine are kept with it.
pub(super) fn calibrate(
    device: &mut CalibratedDevice,
    folder: &ProfileFolder,
    dtypes: &[Dtype],
    seed: u64,
    watcher: &mut Watcher<'_>,
) -> Result<Calibrated, Error> {
    let mut noise = Noise::before(DeviceKind::Cpu);
    // A folder that cannot be written to is an error before the rates are measured.
    folder.benchmark()?.begin()?;
    if let Some(mut known) = folder.known_device(device.facts())? {
        complete_device(folder, device.opened.of(), &mut known, Some(GridName::Coarse))?;
    } else {
        watcher(Event::Rates(device.facts()))?;
        device.opened.measure_rates();
        watcher(Event::Conversions)?;
        let conversion = measure_conversion(device.opened.of::<f64>())?.into_iter().collect();
        folder.write_device(&ProfiledDevice { conversion, ..device.opened.as_profiled() })?;
    }
    let (grid, mut benchmarked) = (cpu_calibration_grid(device.facts(), dtypes), Benchmarked::default());
    let both = (device.opened.of(), device.opened.of());
    run_benchmark(both, folder, &grid, &mut noise, &mut benchmarked, watcher)?;
    let new = measure_matrices(device, folder, dtypes, seed, &mut noise, watcher)?;
    let is_new = benchmarked.measured + new > 0;
    if is_new {
        keep_noise(folder, &noise)?;
    }
    // The library's own models alone: the program, Python and C then answer alike.
    let fitted = fit_each(folder, &[], |_| true, registry::own())?;
    write_fitted(folder, &fitted)?;
    let noise = noise.reasons().filter(|_| is_new);
    Ok(Calibrated { benchmarked, noise, implausible: fitted.implausible })
}

/// Adds to the `known` device of `folder` the costs of conversions to formats that it lacks and the name of a larger `grid`.
///
/// # Errors
/// Errors of the device and of files.
pub fn complete_device(
    folder: &ProfileFolder,
    device: &dyn Device<f64>,
    known: &mut ProfiledDevice,
    grid: Option<GridName>,
) -> Result<(), Error> {
    let before = (known.conversion.len(), known.grid);
    if Format::all().any(|format| !known.conversion.contains_key(&format)) {
        measure_lacking_conversions(device, &mut known.conversion)?;
    }
    if let Some(grid) = grid {
        // A folder without benchmark matrices has no grid yet.
        let none = folder.benchmark()?.records().is_empty();
        known.grid = if none { grid } else { known.grid.max(grid) };
    }
    if (known.conversion.len(), known.grid) != before {
        folder.write_device(known)?;
    }
    Ok(())
}

/// Runs every kernel on those of [`CPU_CALIBRATION_MATRICES`] that `folder` lacks, and returns the number of new records.
fn measure_matrices(
    device: &CalibratedDevice,
    folder: &ProfileFolder,
    dtypes: &[Dtype],
    seed: u64,
    noise: &mut Noise,
    watcher: &mut Watcher<'_>,
) -> Result<usize, Error> {
    let how = Bench::of_a_corpus(seed);
    let mut corpus = folder.corpus()?;
    corpus.begin()?;
    let (mut new, total) = (0, CPU_CALIBRATION_MATRICES.lines().count());
    for (at, recipe) in cpu_calibration_recipes().enumerate() {
        let name = recipe.to_string();
        watcher(Event::Matrix { at, total, name: &name })?;
        let lacks = |dtype: &&Dtype| !corpus.records().iter().any(|r| r.matrix == name && r.dtype == **dtype);
        let missing: Vec<Dtype> = dtypes.iter().filter(lacks).copied().collect();
        if missing.is_empty() {
            continue;
        }
        let matrix: Csr<f64> = recipe.generate().map_err(|error| Error::NotCalibrated {
            device: device.facts().name.clone(),
            why: format!("{name}: {error}"),
        })?;
        let features = Features::of(&matrix);
        for dtype in missing {
            let record = device.measured(&name, &matrix, &features, dtype, &how)?;
            noise.recorded(&record);
            corpus.append(record)?;
            corpus.sync()?;
            new += 1;
        }
    }
    Ok(new)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calibrate::CalibrationTarget;

    #[test]
    fn signs_of_a_busy_machine_are_kept_after_a_quiet_run() {
        let dir = tempfile::tempdir().unwrap();
        let folder = ProfileFolder::create(dir.path()).unwrap();
        let cpu = CalibratedDevice::open(CalibrationTarget::Processor).unwrap();
        folder.write_device(&cpu.opened.as_profiled()).unwrap();
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
        let cpu = CalibratedDevice::open(CalibrationTarget::Processor).unwrap();
        for round in 0..2 {
            let folder = ProfileFolder::create(&path).unwrap();
            folder.write_device(&cpu.opened.as_profiled()).unwrap();
            assert!(!set_noisy_calibration_apart(&path).unwrap() && path.is_dir(), "{round}");
            let mut noise = Noise::before(DeviceKind::Cuda);
            noise.timed_with(0.5, 5);
            keep_noise(&folder, &noise).unwrap();
            assert!(set_noisy_calibration_apart(&path).unwrap());
            assert!(apart.join("device.json").is_file() && !path.exists(), "{round}");
        }
    }
}
