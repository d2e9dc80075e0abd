//! Profiles that this program measured by itself, kept between runs: where, says `sparsight::profile::cached_folder`. One that could
//! not be read is kept beside it, `NAME.set-aside-1`, and used by nothing.

use crate::context::Context;
use crate::failure::Failure;
use crate::set_aside::set_aside;
use sparsight::Error;
use sparsight::device::DeviceError;
use sparsight::profile::{FolderLock, ProfileFolder, calibration_folder};
use std::path::{Path, PathBuf};

/// Where the calibration of the GPU that its driver calls `name` is kept.
pub(crate) fn of_calibration(name: &str, driver: &str) -> Result<PathBuf, Failure> {
    calibration_folder(name, driver).ok_or_else(no_folder)
}

pub(crate) fn no_folder() -> Failure {
    Failure::input("there is no folder to keep a profile of this device in")
        .hinted("set SPARSIGHT_CACHE to one, or give a profile with --profile")
}

/// The folder, in which no other run calibrates as long as the second lives; if one does, that is said and waited for.
pub(crate) fn alone(
    path: &Path,
    device: &str,
    context: &Context,
) -> Result<(ProfileFolder, Option<FolderLock>), Failure> {
    let mut is_said = false;
    let mut look = || -> Result<(), Error> {
        if !is_said {
            context.printer.note(format_args!("another run is calibrating {device}: waiting for it"));
            is_said = true;
        }
        context.interrupt.check().map_err(|_| DeviceError::Interrupted.into())
    };
    Ok(ProfileFolder::alone(path, &mut look)?)
}

/// Sets a folder aside with which a run cannot go on. What is wrong with it may be a single byte or the rights to a file,
/// and what it holds was measured: nothing of it is removed. Gives whether that was so.
pub(crate) fn keep_unreadable(path: &Path, context: &Context) -> Result<bool, Failure> {
    let Some(why) = unreadable(path) else { return Ok(false) };
    let aside = set_aside(path).map_err(|error| {
        Failure::input(format!("{why}; {} could not be set aside: {error}", path.display())).hinted(
            "nothing was changed: make it readable or move it elsewhere, or set SPARSIGHT_CACHE to another folder",
        )
    })?;
    context.printer.note(format_args!("{why}: set aside, with all that is in it, as {}", aside.display()));
    Ok(true)
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

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
