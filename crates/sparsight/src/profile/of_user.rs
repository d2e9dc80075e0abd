//! Profiles of the user: a folder for each, in folders that the user names or in one of the system's.

use super::ProfileFolder;
use std::path::{Path, PathBuf};
use std::{env, fs};

/// The folders in which profiles of the user lie, each in a folder of its name: those of `SPARSIGHT_PROFILES`, which lists them as
/// `PATH` does; where it is not set `$XDG_DATA_HOME/sparsight/profiles`, else `~/.local/share/sparsight/profiles`. `sparsight profiles
/// add` puts a shared profile into the first.
pub fn folders_of_user() -> Vec<PathBuf> {
    if let Some(folders) = env::var_os("SPARSIGHT_PROFILES") {
        return env::split_paths(&folders).filter(|folder| !folder.as_os_str().is_empty()).collect();
    }
    // The standard says to ignore one that is relative.
    let data = env::var_os("XDG_DATA_HOME").map(PathBuf::from).filter(|data| data.is_absolute());
    let data = data.or_else(|| env::home_dir().map(|home| home.join(".local/share")));
    data.map(|data| data.join("sparsight/profiles")).into_iter().collect()
}

/// The first profile of that name in [`folders_of_user`].
pub(super) fn named(name: &str) -> Option<PathBuf> {
    let mut profiles = folders_of_user().into_iter().map(|folder| folder.join(name));
    profiles.find(|profile| profile.join("device.json").is_file())
}

/// The first profile in `folders` that is of the GPU which its driver calls `name`; within a folder the first by its name. What cannot be
/// read is passed over.
pub(super) fn of_gpu(folders: &[PathBuf], name: &str) -> Option<PathBuf> {
    let is_of = |path: &Path| {
        let device = ProfileFolder::open(path).and_then(|folder| folder.device());
        device.is_ok_and(|device| device.facts.kind.is_gpu() && device.facts.name == name)
    };
    folders.iter().find_map(|folder| {
        let entries = fs::read_dir(folder).ok()?;
        let mut profiles: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
        profiles.sort();
        profiles.into_iter().find(|path| path.is_dir() && is_of(path))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Profile;

    #[test]
    fn a_gpu_finds_the_first_profile_of_its_name_and_passes_over_what_cannot_be_read() {
        let dir = tempfile::tempdir().unwrap();
        let folders = ["nowhere", "one", "two"].map(|name| dir.path().join(name));
        let mut device = Profile::shipped("nvidia-h200").unwrap().device;
        device.facts.name = "Some GPU".to_owned();
        for profile in ["one/b", "two/a"] {
            ProfileFolder::create(&dir.path().join(profile)).unwrap().write_device(&device).unwrap();
        }
        fs::create_dir_all(dir.path().join("one/a")).unwrap();
        fs::write(dir.path().join("one/a/device.json"), "{}").unwrap();
        assert_eq!(of_gpu(&folders, "Some GPU"), Some(dir.path().join("one/b")));
        assert_eq!(of_gpu(&folders[2..], "Some GPU"), Some(dir.path().join("two/a")));
        assert_eq!(of_gpu(&folders, "Some other GPU"), None);
    }
}
