//! The coarse profile of this machine's processor, measured when first asked for and kept in the cache.
//!
//! ```text
//! $SPARSIGHT_CACHE, else $XDG_CACHE_HOME/sparsight, else ~/.cache/sparsight
//!   profiles/cpu-8-some-cpu-3-0ghz/                 8 worker threads
//!   profiles/cpu-8-some-cpu-3-0ghz.set-aside-1/     one that could not be read: kept, and used by nothing
//! ```

use crate::context::Context;
use crate::device_choice::{DeviceName, OpenDevice, described};
use crate::failure::Failure;
use crate::profiling;
use crate::set_aside::set_aside;
use sparsight::kernels::DeviceFacts;
use sparsight::matrix::{Bytes, Dtype};
use sparsight::model::Variant;
use sparsight::profile::{GridName, ProfileFolder};
use sparsight::{Error, Grid, Profile};
use std::env;
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
    keep_unreadable(&path, context)?;
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
    profiling::fit_and_write(&folder, &[], |_| true, &context.printer)?;
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

/// Sets a folder aside with which a run cannot go on. What is wrong with it may be a single byte or the rights to a file,
/// and what it holds was measured: nothing of it is removed.
fn keep_unreadable(path: &Path, context: &Context) -> Result<(), Failure> {
    let Some(why) = unreadable(path) else { return Ok(()) };
    let aside = set_aside(path).map_err(|error| {
        Failure::input(format!("{why}; {} could not be set aside: {error}", path.display())).hinted(
            "nothing was changed: make it readable or move it elsewhere, or set SPARSIGHT_CACHE to another folder",
        )
    })?;
    context.printer.note(format_args!("{why}: set aside, with all that is in it, as {}", aside.display()));
    Ok(())
}

/// Why a run cannot go on with what `path` holds, if it is there at all. Models are not looked at: they are made again.
fn unreadable(path: &Path) -> Option<Error> {
    let read = || -> Result<(), Error> {
        let folder = ProfileFolder::open(path)?;
        if folder.has_device() {
            folder.device()?;
        }
        folder.benchmark()?;
        folder.corpus()?;
        folder.cuts().map(|_| ())
    };
    path.symlink_metadata().ok().and_then(|_| read().err())
}

/// Where the coarse profile of a processor is kept.
pub(crate) fn folder_of(facts: &DeviceFacts) -> Result<PathBuf, Failure> {
    let name = format!("cpu-{}-{}", facts.multiprocessors, slug(&facts.name));
    Ok(cache()?.join("profiles").join(name))
}

fn cache() -> Result<PathBuf, Failure> {
    let variable = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    variable("SPARSIGHT_CACHE")
        .or_else(|| variable("XDG_CACHE_HOME").map(|cache| cache.join("sparsight")))
        .or_else(|| env::home_dir().map(|home| home.join(".cache").join("sparsight")))
        .ok_or_else(|| {
            Failure::input("there is no folder to keep a profile of this processor in")
                .hinted("set SPARSIGHT_CACHE to one, or give a profile with --profile")
        })
}

/// Letters and digits in lower case, everything else as single dashes.
fn slug(text: &str) -> String {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_ascii_lowercase).collect::<Vec<_>>().join("-")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_processor_s_name_becomes_a_folder_s_name() {
        assert_eq!(slug("Some(R) CPU @ 3.0 GHz"), "some-r-cpu-3-0-ghz");
    }

    #[test]
    fn a_folder_is_unreadable_if_anything_measured_in_it_is_and_an_absent_one_is_not() {
        let dir = tempfile::tempdir().unwrap();
        assert!(unreadable(&dir.path().join("absent")).is_none());
        assert!(unreadable(dir.path()).is_none(), "an empty folder is gone on with");
        for name in ["benchmark.jsonl", "corpus.jsonl", "cuts.jsonl"] {
            let file = dir.path().join(name);
            // What a run leaves that was killed.
            fs::write(&file, "{\"kern").unwrap();
            assert!(unreadable(dir.path()).is_none(), "half a line in {name}");
            fs::write(&file, "{\"kern\n").unwrap();
            let why = unreadable(dir.path()).map(|why| why.to_string()).unwrap_or_default();
            assert!(why.contains(&format!("{name}:1: ")), "{why}");
            fs::remove_file(&file).unwrap();
        }
        fs::create_dir(dir.path().join("models")).unwrap();
        fs::write(dir.path().join("models/index.json"), "no models").unwrap();
        assert!(unreadable(dir.path()).is_none(), "models are made again");
        fs::write(dir.path().join("device.json"), "{}").unwrap();
        assert!(unreadable(dir.path()).is_some());
        assert!(unreadable(&dir.path().join("device.json")).is_some(), "a file in the place of the folder");
    }
}
