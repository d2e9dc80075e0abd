//! The coarse profile of this machine's processor, measured when first asked for and kept in the cache.

use crate::context::Context;
use crate::device_choice::{DeviceName, OpenDevice, described};
use crate::failure::Failure;
use crate::profile_cache;
use crate::profiling;
use sparsight::kernels::DeviceFacts;
use sparsight::matrix::{Bytes, Dtype};
use sparsight::model::Variant;
use sparsight::profile::{GridName, ProfileFolder};
use sparsight::{Grid, Profile};
use std::path::{Path, PathBuf};

/// Largest benchmark matrix: more than most caches, and some seconds for the whole grid. Chosen.
const BOUND: u64 = 64_000_000;
/// Derived: a strip is 4096 rows a worker, and a fit needs two strips of 64 non-zeros a row, 12 bytes each.
const BOUND_PER_WORKER: u64 = 2 * 4096 * 64 * 12 + 2 * 4096 * 20;

/// The cached profile, with `dtype` in it; measured now if it is not there.
pub(crate) fn find_or_measure(context: &Context, dtype: Dtype) -> Result<Profile, Failure> {
    let mut device = OpenDevice::open(&DeviceName::Cpu)?;
    let path = folder_of(device.facts())?;
    if let Some(profile) = cached(&path, dtype) {
        context.printer.detail(format_args!("profile of this processor: {}", path.display()));
        return Ok(profile);
    }
    profile_cache::keep_unreadable(&path, context)?;
    context.printer.note(format_args!(
        "no profile of {} in {dtype} yet: measuring a coarse one, once (`sparsight profile --device cpu -o DIR` \
         measures a thorough one)",
        described(device.facts())
    ));
    let folder = ProfileFolder::create(&path)?;
    context.interrupt.listen();
    folder.benchmark()?.begin()?;
    profiling::begin(&folder, &mut device, Some(GridName::Coarse), context)?;
    let bound = Bytes(BOUND.max(BOUND_PER_WORKER * u64::from(device.facts().multiprocessors)));
    let kept = || "what was measured is kept and the same command goes on".to_owned();
    let grid = Grid::new(device.facts(), &[dtype], bound).coarse();
    profiling::run_benchmark(&folder, &device, &grid, None, context).map_err(|f| f.keeping(kept))?;
    profiling::fit_and_write(&folder, &[], (&[], |_| true), &[], &context.printer)?;
    context.printer.note(format_args!("kept in {}", path.display()));
    Profile::load(&path).map_err(Failure::from)
}

/// A complete profile that knows `dtype`; a damaged one counts as none, and what is whole of it is used again.
fn cached(path: &Path, dtype: Dtype) -> Option<Profile> {
    let profile = Profile::load(path).ok()?;
    let strip = profile.models.strip(Variant::Strip).ok().flatten()?;
    let known = strip.model.fitted().iter().any(|fit| fit.candidate.dtype == dtype);
    known.then_some(profile)
}

/// Where the coarse profile of a processor is kept.
pub(crate) fn folder_of(facts: &DeviceFacts) -> Result<PathBuf, Failure> {
    profile_cache::folder_of(&["cpu", &facts.multiprocessors.to_string(), &facts.name])
}
