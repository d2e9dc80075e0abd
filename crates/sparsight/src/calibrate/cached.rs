//! The calibration of a device of this machine in the user's cache: found there, or measured once.
//!
//! ```text
//! found and readable                    -> answers
//! another process measures              -> wait, then as above
//! cannot be read                        -> renamed to FOLDER.set-aside-1, -2, ...; measured
//! of a processor, from a busy machine   -> renamed to FOLDER.busy; measured
//! ```
//! A cached calibration that cannot be read may be wrong in a single byte, and what it holds was measured: nothing of it is removed. Models
//! are not looked at for that, since they are fitted again.

use super::processor::set_noisy_calibration_apart;
use super::{CalibratedDevice, CalibrationTarget, Event, Watcher, may_calibrate};
use crate::profile::ProfileFolder;
use crate::{Error, Profile};
use sparsight_matrix::Dtype;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// Profile of a device of this machine from its calibration in the user's cache, which is measured now if there is none. The calibration
/// of a processor knows `dtypes`. Of several processes or threads that ask at once one measures and the others wait. `extend`: what a
/// calibration from before this call lacks is measured, whatever `SPARSIGHT_CALIBRATE` says; else it answers as it is.
///
/// A calibration of a processor from a busy machine answers this call alone, and is made again by the next.
///
/// # Errors
/// [`Error::Uncalibrated`] if there is none and `SPARSIGHT_CALIBRATE=0` forbids to measure; [`Error::NoCache`] if there is no folder for
/// it; [`Error::NotSetAside`] if it cannot be read and not be renamed; as [`CalibratedDevice::calibrate`].
pub fn calibrated_profile(
    target: CalibrationTarget,
    dtypes: &[Dtype],
    seed: u64,
    extend: bool,
    watcher: &mut Watcher<'_>,
) -> Result<Profile, Error> {
    let (name, path) = target.cached()?;
    let path = path.ok_or(Error::NoCache)?;
    calibrated_in(&path, &name, target, dtypes, (seed, extend), watcher)
}

fn calibrated_in(
    path: &Path,
    name: &str,
    target: CalibrationTarget,
    dtypes: &[Dtype],
    (seed, extend): (u64, bool),
    watcher: &mut Watcher<'_>,
) -> Result<Profile, Error> {
    let is_processor = target == CalibrationTarget::Processor;
    let find = || {
        if is_processor { Profile::of_quiet_calibration(path, dtypes) } else { Profile::load(path).ok() }
    };
    let before = find();
    let extend = match before {
        Some(found) if !extend => return Ok(found),
        None if !extend && !may_calibrate() => return Err(Error::Uncalibrated { device: name.to_owned() }),
        before => before.is_some(),
    };
    // Before a GPU is opened, which measures its rates.
    let (folder, _alone) = loop {
        // A file in the place of the folder cannot be locked.
        if !path.is_dir() {
            set_unreadable_aside(path, watcher)?;
        }
        let alone = ProfileFolder::alone(path, &mut || watcher(Event::Waiting))?;
        if let Some(found) = find().filter(|_| !extend) {
            return Ok(found);
        }
        // The lock of a folder that was renamed just now is not that of the new one.
        if set_unreadable_aside(path, watcher)? {
            continue;
        }
        if !is_processor || !set_noisy_calibration_apart(path)? {
            break alone;
        }
        watcher(Event::BusyMachine)?;
    };
    watcher(Event::Begins { device: name, folder: path })?;
    let mut device = CalibratedDevice::open(target)?;
    watcher(Event::Opened(device.facts()))?;
    device.calibrate(&folder, dtypes, None, seed, watcher)?;
    Profile::load(path)
}

/// Renames a folder that a calibration cannot continue. Returns true if it did.
fn set_unreadable_aside(path: &Path, watcher: &mut Watcher<'_>) -> Result<bool, Error> {
    let Some(why) = unreadable(path) else { return Ok(false) };
    match set_aside(path) {
        Ok(aside) => watcher(Event::SetAside { why: &why, aside: &aside }).map(|()| true),
        Err(source) => Err(Error::NotSetAside { path: path.to_owned(), why: Box::new(why), source }),
    }
}

/// Why a calibration cannot continue what `path` holds; `None` if it can, or if there is nothing.
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

/// Renames `folder` to `folder.set-aside-1`, or the first such name that is free, and returns that. On an error it stays where it was.
fn set_aside(folder: &Path) -> io::Result<PathBuf> {
    let name = folder.file_name().ok_or(ErrorKind::InvalidInput)?;
    let mut number = 1_u32;
    loop {
        let mut other = name.to_owned();
        other.push(format!(".set-aside-{number}"));
        let aside = folder.with_file_name(other);
        let is_taken = || aside.symlink_metadata().is_ok();
        if !is_taken() {
            match fs::rename(folder, &aside) {
                Ok(()) => return Ok(aside),
                // Another process was faster. A folder is never renamed over anything but an empty folder.
                Err(_) if is_taken() => {}
                Err(error) => return Err(error),
            }
        }
        number += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calibrate::{CALIBRATION_BUDGET, CALIBRATION_MATRICES};
    use sparsight_device::DeviceError;
    use sparsight_device::cuda::Cuda;
    use sparsight_device::timing::took;
    use sparsight_matrix::Seconds;
    use std::{env, thread};

    /// The calibration of the first GPU in `path`, and how long it took if it was measured by this call.
    fn of_first_gpu(path: &Path) -> (Profile, Option<Seconds>) {
        let mut is_measured = false;
        let mut watcher = |event: Event<'_>| {
            is_measured |= matches!(event, Event::Begins { .. });
            Ok(())
        };
        let gpu = CalibrationTarget::Gpu(0);
        let (found, time) = took(|| calibrated_in(path, "a GPU", gpu, &[], (0, false), &mut watcher));
        (found.unwrap(), is_measured.then_some(time))
    }

    // Without a driver this says that it is skipped; `SPARSIGHT_REQUIRE_GPU=1` turns that into a failure.
    #[test]
    fn concurrent_calibration_measures_once() {
        if let Err(error @ (DeviceError::NoDriver | DeviceError::LoaderPath { .. })) = Cuda::name(0) {
            assert!(env::var_os("SPARSIGHT_REQUIRE_GPU").is_none(), "{error}");
            eprintln!("skipped: {error}");
            return;
        }
        let cache = tempfile::tempdir().unwrap();
        let path = cache.path().join("profiles/cuda-some-gpu");
        let both = thread::scope(|scope| {
            let one = || of_first_gpu(&path);
            [scope.spawn(one), scope.spawn(one)].map(|thread| thread.join().unwrap())
        });
        let [one, two] = both.each_ref().map(|(profile, _)| profile.rescaled.as_ref().unwrap().rescaling);
        assert_eq!(one, two);
        let measured: Vec<Seconds> = both.iter().filter_map(|(_, time)| *time).collect();
        let [time] = measured[..] else { panic!("it was measured {} times", measured.len()) };
        let matrices = one.matrices;
        eprintln!("{matrices} matrices in {time}");
        assert!((4..=CALIBRATION_MATRICES.len()).contains(&matrices));
        // The last one may take somewhat longer than was to be expected.
        assert!(matrices == 4 || time.0 < 1.25 * CALIBRATION_BUDGET.0, "{matrices} matrices took {time}");
    }

    #[test]
    fn an_unreadable_calibration_is_set_aside_whole_and_an_interrupted_one_continues() {
        let cache = tempfile::tempdir().unwrap();
        let path = cache.path().join("cpu-some");
        fs::create_dir(&path).unwrap();
        fs::write(path.join("corpus.jsonl"), "{\"matrix\":\"a/grid\"}\n").unwrap();
        let mut events = Vec::new();
        let mut stop_at_rates = |event: Event<'_>| match event {
            Event::Rates(_) => Err(DeviceError::Interrupted.into()),
            Event::SetAside { why, aside } => {
                events.push((why.to_string(), aside.to_owned()));
                Ok(())
            }
            _ => Ok(()),
        };
        for _ in 0..2 {
            let processor = CalibrationTarget::Processor;
            let stopped = calibrated_in(&path, "a CPU", processor, &[], (0, true), &mut stop_at_rates);
            assert!(matches!(stopped, Err(Error::Device(DeviceError::Interrupted))));
        }
        let [(why, aside)] = &events[..] else { panic!("{events:?}") };
        assert!(why.contains("corpus.jsonl:1: "), "{why}");
        assert_eq!(aside, &cache.path().join("cpu-some.set-aside-1"));
        assert!(fs::read_to_string(aside.join("corpus.jsonl")).unwrap().contains("a/grid"));
        assert!(path.is_dir());
    }

    #[test]
    fn a_folder_with_a_damaged_record_is_unreadable_and_an_absent_one_is_not() {
        let dir = tempfile::tempdir().unwrap();
        assert!(unreadable(&dir.path().join("absent")).is_none());
        assert!(unreadable(dir.path()).is_none(), "an empty folder is continued");
        for name in ["benchmark.jsonl", "corpus.jsonl", "cuts.jsonl"] {
            let file = dir.path().join(name);
            // As a killed run leaves it.
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

    #[test]
    fn a_folder_is_set_aside_whole_under_the_first_free_name() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("cpu-2");
        let mut asides = Vec::new();
        // Names of a file and of a link to nowhere are taken, too.
        fs::write(dir.path().join("cpu-2.set-aside-2"), "a file").unwrap();
        std::os::unix::fs::symlink("nowhere", dir.path().join("cpu-2.set-aside-3")).unwrap();
        for content in ["first", "second"] {
            fs::create_dir_all(folder.join("deep")).unwrap();
            fs::write(folder.join("deep/corpus.jsonl"), content).unwrap();
            asides.push((set_aside(&folder).unwrap(), content));
            assert!(!folder.exists());
        }
        assert_eq!(asides[0].0, dir.path().join("cpu-2.set-aside-1"));
        assert_eq!(asides[1].0, dir.path().join("cpu-2.set-aside-4"));
        for (aside, content) in asides {
            assert_eq!(fs::read_to_string(aside.join("deep/corpus.jsonl")).unwrap(), content);
        }
        assert_eq!(fs::read_to_string(dir.path().join("cpu-2.set-aside-2")).unwrap(), "a file");
    }

    #[test]
    fn a_folder_that_cannot_be_renamed_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let absent = dir.path().join("absent");
        assert_eq!(set_aside(&absent).unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
        assert_eq!(set_aside(Path::new("/")).unwrap_err().kind(), ErrorKind::InvalidInput);
    }
}
