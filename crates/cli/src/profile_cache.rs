//! Profiles that this program measured by itself, kept between runs.
//!
//! ```text
//! $SPARSIGHT_CACHE, else $XDG_CACHE_HOME/sparsight, else ~/.cache/sparsight
//!   profiles/cpu-8-some-cpu-3-0ghz/                 8 worker threads
//!   profiles/cuda-some-gpu-580-1-cuda-13-0-464df506/  a GPU, its driver, the kernels
//!   profiles/cpu-8-some-cpu-3-0ghz.set-aside-1/     one that could not be read: kept, and used by nothing
//! ```

use crate::context::Context;
use crate::failure::Failure;
use crate::set_aside::set_aside;
use sparsight::Error;
use sparsight::profile::ProfileFolder;
use std::env;
use std::path::{Path, PathBuf};

/// Where the profile of a device is kept that is called by these words.
pub(crate) fn folder_of(words: &[&str]) -> Result<PathBuf, Failure> {
    Ok(cache()?.join("profiles").join(slug(&words.join(" "))))
}

/// Sets a folder aside with which a run cannot go on. What is wrong with it may be a single byte or the rights to a file,
/// and what it holds was measured: nothing of it is removed.
pub(crate) fn keep_unreadable(path: &Path, context: &Context) -> Result<(), Failure> {
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
        folder.calibration()?;
        folder.cuts().map(|_| ())
    };
    path.symlink_metadata().ok().and_then(|_| read().err())
}

fn cache() -> Result<PathBuf, Failure> {
    let variable = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    variable("SPARSIGHT_CACHE")
        .or_else(|| variable("XDG_CACHE_HOME").map(|cache| cache.join("sparsight")))
        .or_else(|| env::home_dir().map(|home| home.join(".cache").join("sparsight")))
        .ok_or_else(|| {
            Failure::input("there is no folder to keep a profile of this device in")
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
    fn a_device_s_name_becomes_a_folder_s_name() {
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
        fs::write(dir.path().join("calibration.json"), "{}").unwrap();
        assert!(unreadable(dir.path()).is_some());
        fs::remove_file(dir.path().join("calibration.json")).unwrap();
        fs::write(dir.path().join("device.json"), "{}").unwrap();
        assert!(unreadable(dir.path()).is_some());
        assert!(unreadable(&dir.path().join("device.json")).is_some(), "a file in the place of the folder");
    }
}
