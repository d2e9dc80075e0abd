//! Cache of the profiles that were measured because a device was named, for all programs of the user.
//!
//! ```text
//! $SPARSIGHT_CACHE, else $XDG_CACHE_HOME/sparsight if that is absolute, else ~/.cache/sparsight
//!   profiles/cpu-8-some-cpu-3-0ghz/                   8 worker threads
//!   profiles/cuda-some-gpu-580-1-cuda-13-0-464df506/  a GPU, its driver, the kernels
//! ```
//! One process at a time measures in the folder of a device: [`ProfileFolder::alone`].

use super::ProfileFolder;
use crate::Error;
use sparsight_device::cuda::catalogue_hash;
use std::fs::{self, File, Metadata, TryLockError};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{env, thread};

/// Time between two tries to lock a folder. Chosen: short beside a calibration and for people who press Ctrl-C.
const NAP: Duration = Duration::from_millis(100);

/// Folder of the profile of the device with a name of these words; `None` if the user has no folder for it.
pub fn cached_folder(words: &[&str]) -> Option<PathBuf> {
    Some(cache()?.join("profiles").join(slug(&words.join(" "))))
}

/// Folder of the calibration of the GPU with the driver's name `name`, for this driver and these kernels. `interface`: `cuda` or `hip`.
pub fn calibration_folder(interface: &str, name: &str, driver: &str) -> Option<PathBuf> {
    let kernels = catalogue_hash();
    let short = kernels.get(..8).unwrap_or(&kernels);
    cached_folder(&[interface, name, driver, short])
}

/// Lock of a folder, until it is dropped ([`ProfileFolder::alone`]).
#[derive(Debug)]
pub struct FolderLock(File);

impl Drop for FolderLock {
    /// A process that was forked meanwhile has the file open, too, and would keep the lock. Closing the file unlocks it if this fails.
    fn drop(&mut self) {
        _ = self.0.unlock();
    }
}

impl ProfileFolder {
    /// Opens like [`ProfileFolder::create`], locked against other processes and threads of this machine until the lock
    /// is dropped. Of two that would calibrate one GPU the second waits, and should then use the results of the first. While it waits, `look` is called ten times
    /// a second; its error ends the wait. There is no lock where folders cannot be locked.
    ///
    /// # Errors
    /// [`Error::File`] if it cannot be made; the error of `look`.
    pub fn alone(
        path: &Path,
        look: &mut dyn FnMut() -> Result<(), Error>,
    ) -> Result<(Self, Option<FolderLock>), Error> {
        loop {
            let folder = Self::create(path)?;
            let Ok(file) = File::open(path) else { return Ok((folder, None)) };
            loop {
                match file.try_lock() {
                    Ok(()) => break,
                    Err(TryLockError::WouldBlock) => look()?,
                    Err(TryLockError::Error(_)) => return Ok((folder, None)),
                }
                thread::sleep(NAP);
            }
            let is_there = is_at(&file, path);
            let lock = FolderLock(file);
            if is_there {
                return Ok((folder, Some(lock)));
            }
            look()?;
        }
    }
}

/// True if `opened` is the folder at `path` now: it may have been renamed meanwhile.
fn is_at(opened: &File, path: &Path) -> bool {
    let identity = |metadata: Metadata| (metadata.dev(), metadata.ino());
    opened.metadata().ok().map(identity) == fs::metadata(path).ok().map(identity)
}

fn cache() -> Option<PathBuf> {
    let variable = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    variable("SPARSIGHT_CACHE")
        // The standard says to ignore one that is relative.
        .or_else(|| {
            let cache = variable("XDG_CACHE_HOME").filter(|cache| cache.is_absolute());
            cache.map(|cache| cache.join("sparsight"))
        })
        .or_else(|| env::home_dir().map(|home| home.join(".cache").join("sparsight")))
}

/// Letters and digits in lower case, everything else as single dashes.
fn slug(text: &str) -> String {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_ascii_lowercase).collect::<Vec<_>>().join("-")
}

#[cfg(test)]
mod tests {
    use super::*;
    use sparsight_device::DeviceError;
    use std::sync::mpsc::{self, Receiver};
    use std::thread::JoinHandle;

    fn held(path: &Path) -> Option<FolderLock> {
        ProfileFolder::alone(path, &mut || Ok(())).unwrap().1
    }

    /// A second thread that locks the folder and reports when it begins to wait; it returns the content of the file `made`.
    fn second(path: &Path) -> (Receiver<()>, JoinHandle<Option<String>>) {
        let (path, (say, waits)) = (path.to_owned(), mpsc::channel());
        let second = thread::spawn(move || {
            let mut look = || -> Result<(), Error> {
                // The receiver may be gone.
                _ = say.send(());
                Ok(())
            };
            let (folder, _alone) = ProfileFolder::alone(&path, &mut look).unwrap();
            fs::read_to_string(folder.path().join("made")).ok()
        });
        (waits, second)
    }

    #[test]
    fn a_second_lock_waits_for_the_first_and_finds_its_results() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("profiles/cuda-some-gpu");
        let first = held(&path);
        assert!(first.is_some() && path.is_dir());
        let (waits, second) = second(&path);
        waits.recv().unwrap();
        fs::write(path.join("made"), "by the first").unwrap();
        drop(first);
        assert_eq!(second.join().unwrap().as_deref(), Some("by the first"));
        assert!(held(&path).is_some(), "it is unlocked");
    }

    #[test]
    fn a_lock_of_a_renamed_folder_is_taken_on_the_new_one() {
        let dir = tempfile::tempdir().unwrap();
        let (path, aside) = (dir.path().join("gpu"), dir.path().join("gpu.set-aside-1"));
        let first = held(&path);
        let (waits, second) = second(&path);
        waits.recv().unwrap();
        fs::write(path.join("made"), "what cannot be read").unwrap();
        fs::rename(&path, &aside).unwrap();
        drop(first);
        assert_eq!(second.join().unwrap(), None);
        assert!(path.is_dir());
    }

    #[test]
    fn a_forked_process_does_not_keep_the_lock() {
        let dir = tempfile::tempdir().unwrap();
        let first = held(dir.path()).unwrap();
        let _of_the_fork = first.0.try_clone().unwrap();
        drop(first);
        let stop = || Err(DeviceError::Interrupted.into());
        assert!(ProfileFolder::alone(dir.path(), &mut { stop }).is_ok());
    }

    #[test]
    fn waiting_for_a_lock_can_be_stopped() {
        let dir = tempfile::tempdir().unwrap();
        let _first = held(dir.path());
        let stopped = ProfileFolder::alone(dir.path(), &mut || Err(DeviceError::Interrupted.into()));
        assert!(matches!(stopped, Err(Error::Device(DeviceError::Interrupted))));
    }

    #[test]
    fn a_device_s_name_becomes_a_folder_s_name() {
        assert_eq!(slug("Some(R) CPU @ 3.0 GHz"), "some-r-cpu-3-0-ghz");
    }
}
