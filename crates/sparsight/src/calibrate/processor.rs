//! A processor without a profile, calibrated by itself: its models learn from what runs on it.
//!
//! ```text
//! coarse benchmark matrices                                    -> strip models
//! CPU_CALIBRATION_MATRICES, each with every kernel              -> learned models, and intervals that know real matrices
//! ```
//! Nothing is carried over from another processor: between CPUs that is further off than what some seconds on the processor
//! itself teach (docs/results/cpu-calibration.md). Everything that was measured is on disk as soon as it is, and a run that was
//! stopped goes on where it was.

use super::{CPU_CALIBRATION_MATRICES, CalibratedDevice};
use crate::profile::{GridName, ProfileFolder, ProfiledDevice, cached_folder};
use crate::records::CorpusRecord;
use crate::{Bench, Error, Fitted, Grid, Profile, Step, fit, instrument, measure_conversion, write_fitted};
use sparsight_device::DeviceError;
use sparsight_kernels::DeviceFacts;
use sparsight_matrix::gallery::{self, Recipe};
use sparsight_matrix::{Bytes, Csr, Dtype, Features};
use sparsight_model::Variant;
use std::path::PathBuf;

/// Largest benchmark matrix: more than most caches, and some seconds for the whole grid. Chosen.
const BOUND: u64 = 64_000_000;
/// Derived: a strip is 4096 rows a worker, and a fit needs two strips of 64 non-zeros a row, 12 bytes each.
const BOUND_PER_WORKER: u64 = 2 * 4096 * 64 * 12 + 2 * 4096 * 20;

/// Where the calibration of a processor is kept; `None` where the user has no folder for such things.
pub fn cpu_calibration_folder(facts: &DeviceFacts) -> Option<PathBuf> {
    cached_folder(&["cpu", &facts.multiprocessors.to_string(), &facts.name])
}

/// The benchmark matrices with which a processor is calibrated.
pub fn cpu_calibration_grid(facts: &DeviceFacts, dtypes: &[Dtype]) -> Grid {
    let bound = Bytes(BOUND.max(BOUND_PER_WORKER * u64::from(facts.multiprocessors)));
    Grid::new(facts, dtypes, bound).coarse()
}

impl Profile {
    /// What was calibrated of the processor with these facts, if it is complete and knows `dtype`. A damaged one counts as none, as
    /// does one of benchmark matrices alone; what is whole of it is used again by whoever calibrates.
    pub fn of_calibrated_cpu(facts: &DeviceFacts, dtype: Dtype) -> Option<Self> {
        let profile = Self::load(&cpu_calibration_folder(facts)?).ok()?;
        let strip = profile.models.strip(Variant::Strip).ok().flatten()?;
        let known = strip.model.fitted().iter().any(|fit| fit.candidate.dtype == dtype);
        (known && !profile.models.index.trained_on.is_empty()).then_some(profile)
    }
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
    for (at, recipe) in CPU_CALIBRATION_MATRICES.into_iter().enumerate() {
        let recipe: Recipe = recipe.parse().expect("recipes of the gallery");
        let name = format!("{}{recipe}", gallery::PREFIX);
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
/// models. `before` is told, before each step, which part of the whole is done and what comes; its error ends the run.
///
/// # Errors
/// [`Error::OtherDevice`] if the folder is of another one; errors of files, and those of `before`.
pub fn measure_cpu_calibration(
    device: &CalibratedDevice<'_>,
    folder: &ProfileFolder,
    dtypes: &[Dtype],
    seed: u64,
    before: &mut dyn FnMut(f64, &str) -> Result<(), Error>,
) -> Result<Fitted, Error> {
    let facts = &device.as_profiled.facts;
    if folder.known_device(facts)?.is_none() {
        let conversion = measure_conversion(device.of_f64)?.into_iter().collect();
        let now = ProfiledDevice { conversion, grid: GridName::Coarse, ..device.as_profiled.clone() };
        folder.write_device(&now)?;
    }
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
        let keep = |record| journal.append(record);
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
    measure_cpu_matrices(device, folder, dtypes, seed, &mut of_matrices, &mut |_| ())?;
    let fitted = fit(folder, &[], |_| true)?;
    write_fitted(folder, &fitted)?;
    Ok(fitted)
}
