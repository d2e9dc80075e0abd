//! A processor without a profile: calibrated when it is first asked about, and kept in the cache.
//!
//! ```text
//! coarse benchmark matrices                                    -> strip models
//! CPU_CALIBRATION_MATRICES, each with every kernel              -> learned models, and intervals that know real matrices
//! ```
//! Nothing is carried over from another processor: between CPUs that is further off than what some seconds on the processor
//! itself teach (docs/results/cpu-calibration.md). Everything that was measured is on disk as soon as it is.

use crate::context::Context;
use crate::device_choice::{DeviceName, OpenDevice, described};
use crate::failure::Failure;
use crate::noise::Noise;
use crate::profile_cache;
use crate::profiling::{self, Instrumented};
use sparsight::kernels::{DeviceFacts, DeviceKind};
use sparsight::matrix::gallery::{self, Recipe};
use sparsight::matrix::{Bytes, Csr, Dtype, Features};
use sparsight::model::Variant;
use sparsight::profile::{GridName, ProfileFolder};
use sparsight::{CPU_CALIBRATION_MATRICES, Grid, Profile, calibration_candidates};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Largest benchmark matrix: more than most caches, and some seconds for the whole grid. Chosen.
const BOUND: u64 = 64_000_000;
/// Derived: a strip is 4096 rows a worker, and a fit needs two strips of 64 non-zeros a row, 12 bytes each.
const BOUND_PER_WORKER: u64 = 2 * 4096 * 64 * 12 + 2 * 4096 * 20;

/// The cached profile, with `dtype` in it; measured now if it is not there.
pub(crate) fn find_or_measure(context: &Context, dtype: Dtype) -> Result<Profile, Failure> {
    let mut device = OpenDevice::open(&DeviceName::Cpu)?;
    let path = folder_of(device.facts())?;
    if let Some(profile) = cached(&path, dtype) {
        context.printer.detail(format_args!("calibration of this processor: {}", path.display()));
        return Ok(profile);
    }
    profile_cache::keep_unreadable(&path, context)?;
    context.printer.note(format_args!(
        "no profile of {} in {dtype} yet: calibrating with {} generated matrices, once",
        described(device.facts()),
        CPU_CALIBRATION_MATRICES.len()
    ));
    let begun = Instant::now();
    let folder = ProfileFolder::create(&path)?;
    measure(&folder, &mut device, &[dtype], context)?;
    let seconds = begun.elapsed().as_secs_f64();
    context.printer.note(format_args!("calibrated in {seconds:.0} s; kept in {}", path.display()));
    Profile::load(&path).map_err(Failure::from)
}

/// Measures what the folder lacks of a calibration, with progress, says if the machine was not quiet, and fits the models.
pub(crate) fn measure(
    folder: &ProfileFolder,
    device: &mut OpenDevice,
    dtypes: &[Dtype],
    context: &Context,
) -> Result<Instrumented, Failure> {
    context.interrupt.listen();
    let mut noise = Noise::before(DeviceKind::Cpu);
    folder.benchmark()?.begin()?;
    profiling::begin(folder, device, Some(GridName::Coarse), context)?;
    let bound = Bytes(BOUND.max(BOUND_PER_WORKER * u64::from(device.facts().multiprocessors)));
    let kept =
        || format!("what was measured is kept in {}; the same command goes on", folder.path().display());
    let grid = Grid::new(device.facts(), dtypes, bound).coarse();
    let done = profiling::run_benchmark(folder, device, &grid, None, &mut noise, context)
        .map_err(|failure| failure.keeping(kept))?;
    let new = measure_matrices(folder, device, dtypes, &mut noise, context)
        .map_err(|failure| failure.keeping(kept))?;
    if done.measured + new > 0 {
        noise.warn(&context.printer);
    }
    profiling::fit_and_write(folder, &[], (&[], |_| true), &[], &context.printer)?;
    Ok(done)
}

/// The matrices that the folder does not hold yet; how many records that were.
fn measure_matrices(
    folder: &ProfileFolder,
    device: &OpenDevice,
    dtypes: &[Dtype],
    noise: &mut Noise,
    context: &Context,
) -> Result<usize, Failure> {
    let mut corpus = folder.corpus()?;
    corpus.begin()?;
    let bar = context.printer.progress(CPU_CALIBRATION_MATRICES.len() as u64, "matrices");
    let mut new = 0;
    for (at, recipe) in CPU_CALIBRATION_MATRICES.into_iter().enumerate() {
        context.interrupt.check()?;
        let recipe: Recipe = recipe.parse().expect("recipes of the gallery");
        let name = format!("{}{recipe}", gallery::PREFIX);
        bar.at(at as u64, name.clone());
        let lacks = |dtype: &&Dtype| !corpus.records().iter().any(|r| r.matrix == name && r.dtype == **dtype);
        let missing: Vec<Dtype> = dtypes.iter().filter(lacks).copied().collect();
        if missing.is_empty() {
            continue;
        }
        let matrix: Csr<f64> =
            recipe.generate().map_err(|error| Failure::input(format!("{name}: {error}")))?;
        let features = Features::of(&matrix);
        for dtype in missing {
            let candidates = calibration_candidates(DeviceKind::Cpu, dtype);
            let record = match dtype {
                Dtype::F32 => profiling::one::<f32>(
                    device,
                    (&name, &matrix.to_dtype()),
                    &features,
                    &candidates,
                    context,
                ),
                Dtype::F64 | Dtype::Mixed => {
                    profiling::one::<f64>(device, (&name, &matrix), &features, &candidates, context)
                }
            }?;
            for measured in &record.results {
                noise.saw(&measured.outcome);
            }
            corpus.append(record)?;
            corpus.sync()?;
            new += 1;
        }
    }
    Ok(new)
}

/// A complete calibration that knows `dtype`; a damaged one counts as none, as does one of benchmark matrices alone, and what is
/// whole of it is used again.
fn cached(path: &Path, dtype: Dtype) -> Option<Profile> {
    let profile = Profile::load(path).ok()?;
    let strip = profile.models.strip(Variant::Strip).ok().flatten()?;
    let known = strip.model.fitted().iter().any(|fit| fit.candidate.dtype == dtype);
    (known && !profile.models.index.trained_on.is_empty()).then_some(profile)
}

/// Where the calibration of a processor is kept.
pub(crate) fn folder_of(facts: &DeviceFacts) -> Result<PathBuf, Failure> {
    profile_cache::folder_of(&["cpu", &facts.multiprocessors.to_string(), &facts.name])
}
