//! Compiled kernels on disk, so that a kernel is compiled once a machine and not once a run.
//!
//! A file is named by a 128-bit hash of everything that the compiled image depends on and starts with a hash of
//! the image, so that a damaged file is not loaded. A cache that cannot be read or written is never an error: the
//! kernel is compiled again. An image is code: it is used only if no user but root and this one can have put it there
//! (`trusted`), and the folder is made for this user alone.

use crate::DeviceError;
use crate::trusted;
use sparsight_kernels::{KernelSource, every_candidate, source};
use sparsight_matrix::Dtype;
use std::env;
use std::ffi::OsString;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{Error, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf, absolute};

/// The folder in which compiled kernels are kept.
#[derive(Debug, Clone)]
pub struct KernelCache {
    folder: Option<PathBuf>,
}

impl KernelCache {
    /// `kernels` in `$SPARSIGHT_CACHE`, `$XDG_CACHE_HOME/sparsight` or `~/.cache/sparsight`, whichever is set first; keeps
    /// nothing if none is. A value that is empty counts as none, and so does a relative one of the last two, which were not
    /// set with this program in mind.
    pub fn from_environment() -> Self {
        let set = |name| env::var_os(name).filter(|value| !value.is_empty());
        let cache = cache_folder(set("SPARSIGHT_CACHE"), set("XDG_CACHE_HOME"), set("HOME"));
        // A folder of its own, so that its rights do not depend on who made the one that holds it.
        Self { folder: cache.map(|cache| cache.join("kernels")) }
    }

    /// Keeps compiled kernels in `folder`, whatever the current folder is later on.
    pub fn in_folder(folder: impl Into<PathBuf>) -> Self {
        let folder: PathBuf = folder.into();
        Self { folder: absolute(folder).ok() }
    }

    /// The image kept under `key`, if it is there and whole, and neither its file nor its folder belong to another user or
    /// writable by others.
    pub fn get(&self, key: u128) -> Option<Vec<u8>> {
        let file = trusted::private(&self.file(key)?).ok()?;
        let file = fs::read(file).ok()?;
        let (hash, image) = file.split_at_checked(16)?;
        (u128::from_le_bytes(hash.try_into().ok()?) == hash_parts([image])).then(|| image.to_vec())
    }

    /// Keeps `image` under `key`, if possible.
    pub fn put(&self, key: u128, image: &[u8]) {
        let (Some(folder), Some(file)) = (&self.folder, self.file(key)) else { return };
        let mut bytes = hash_parts([image]).to_le_bytes().to_vec();
        bytes.extend_from_slice(image);
        // Written beside its place and then renamed, so that another process never reads half of it.
        let unfinished = file.with_extension(format!("{}.part", std::process::id()));
        let written = DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)
            .and_then(|()| write_new(&unfinished, &bytes))
            .and_then(|()| fs::rename(&unfinished, &file));
        if written.is_err() {
            let _ = fs::remove_file(&unfinished);
        }
    }

    /// What `load` makes of the image of `source` for `target`, compiled unless it is kept here. An image that cannot be loaded is
    /// compiled again.
    ///
    /// # Errors
    /// That of `compile`, or of `load` for what was just compiled.
    pub(crate) fn loaded<M>(
        &self,
        source: &KernelSource,
        target: &str,
        load: impl Fn(&[u8]) -> Result<M, DeviceError>,
        compile: impl FnOnce() -> Result<Vec<u8>, DeviceError>,
    ) -> Result<M, DeviceError> {
        let key = key(source, target);
        if let Some(image) = self.get(key)
            && let Ok(module) = load(&image)
        {
            return Ok(module);
        }
        let image = compile()?;
        self.put(key, &image);
        load(&image)
    }

    fn file(&self, key: u128) -> Option<PathBuf> {
        Some(self.folder.as_ref()?.join(format!("{key:032x}.kernel")))
    }
}

/// Folder for caches, from the values of `SPARSIGHT_CACHE`, `XDG_CACHE_HOME` and `HOME`.
fn cache_folder(
    chosen: Option<OsString>,
    caches: Option<OsString>,
    home: Option<OsString>,
) -> Option<PathBuf> {
    let whole = |value: Option<OsString>| value.map(PathBuf::from).filter(|path| path.is_absolute());
    chosen
        .and_then(|folder| absolute(folder).ok())
        .or_else(|| whole(caches).map(|caches| caches.join("sparsight")))
        .or_else(|| whole(home).map(|home| home.join(".cache/sparsight")))
}

/// Writes a file of this user's own, which is not there yet but for what a run left that was killed.
fn write_new(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let _ = fs::remove_file(path);
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?.write_all(bytes)
}

/// Names the image of `source` for a `target`: the chip, and the compiler with its version.
pub fn key(source: &KernelSource, target: &str) -> u128 {
    let parts = [source.text.as_bytes(), target.as_bytes()];
    hash_parts(parts.into_iter().chain(source.definitions.iter().map(String::as_bytes)))
}

/// Hash of all CUDA kernels of the catalogue, to be recorded beside what was measured with them: it changes
/// with any source and any definition.
pub fn catalogue_hash() -> String {
    let sources: Vec<KernelSource> = Dtype::ALL
        .into_iter()
        .flat_map(every_candidate)
        .filter_map(|candidate| source(&candidate, 4))
        .collect();
    let parts = sources
        .iter()
        .flat_map(|s| std::iter::once(s.text.as_bytes()).chain(s.definitions.iter().map(String::as_bytes)));
    format!("{:032x}", hash_parts(parts))
}

/// FNV-1a with 128 bits over the parts, each with its length behind it, so that no two lists of parts run together.
/// (Fowler, Noll and Vo; the constants are theirs.) The standard library's hash may change between versions.
fn hash_parts<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> u128 {
    const OFFSET: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;
    let mut hash = OFFSET;
    for part in parts {
        for byte in part.iter().copied().chain((part.len() as u64).to_le_bytes()) {
            hash = (hash ^ u128::from(byte)).wrapping_mul(PRIME);
        }
    }
    hash
}

#[cfg(test)]
mod tests {
    use super::*;
    use sparsight_kernels::timing_source;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn the_key_changes_with_source_definitions_and_target() {
        let source = timing_source();
        let original = key(&source, "sm_90 nvrtc 13.0");
        assert_eq!(original, key(&source.clone(), "sm_90 nvrtc 13.0"));

        let mut other_text = source.clone();
        other_text.text.push(' ');
        let mut other_definition = source.clone();
        other_definition.definitions[0].push('0');
        let mut one_more = source.clone();
        one_more.definitions.push("A=1".to_owned());
        let others = [
            key(&other_text, "sm_90 nvrtc 13.0"),
            key(&other_definition, "sm_90 nvrtc 13.0"),
            key(&one_more, "sm_90 nvrtc 13.0"),
            key(&source, "sm_80 nvrtc 13.0"),
            key(&source, "sm_90 nvrtc 12.9"),
        ];
        assert!(others.iter().all(|other| *other != original));
    }

    #[test]
    fn cached_images_come_back_and_damage_or_a_missing_folder_is_no_error() {
        let folder = env::temp_dir().join(format!("sparsight-kernel-cache-{}", std::process::id()));
        let cache = KernelCache::in_folder(folder.join("not/there/yet"));
        assert_eq!(cache.get(7), None);
        cache.put(7, b"image");
        cache.put(8, b"");
        assert_eq!(cache.get(7).as_deref(), Some(b"image".as_slice()));
        assert_eq!(cache.get(8).as_deref(), Some(b"".as_slice()));
        cache.put(7, b"another");
        assert_eq!(cache.get(7).as_deref(), Some(b"another".as_slice()));

        let file = cache.file(7).unwrap();
        let whole = fs::read(&file).unwrap();
        fs::write(&file, &whole[..whole.len() - 1]).unwrap();
        assert_eq!(cache.get(7), None, "a cut file");
        fs::write(&file, b"short").unwrap();
        assert_eq!(cache.get(7), None, "a file shorter than its hash");

        // A folder that cannot be made, since a file is in its place.
        let blocked = KernelCache::in_folder(file.join("below"));
        blocked.put(7, b"image");
        assert_eq!(blocked.get(7), None);
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn an_image_that_others_could_have_put_there_is_not_used() {
        let folder = env::temp_dir().join(format!("sparsight-kernel-rights-{}", std::process::id()));
        let cache = KernelCache::in_folder(folder.join("kernels"));
        cache.put(7, b"image");
        let (place, file) = (folder.join("kernels"), cache.file(7).unwrap());
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let set_mode = |path: &Path, mode| {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        };
        // Whatever the mask of this process takes away.
        assert_eq!((mode(&place) & 0o077, mode(&file) & 0o077), (0, 0));
        for (path, own, open) in [
            (&place, 0o700, 0o720),
            (&place, 0o700, 0o702),
            (&place, 0o700, 0o1777),
            (&folder, 0o700, 0o707),
            (&file, 0o600, 0o620),
            (&file, 0o600, 0o602),
        ] {
            set_mode(path, open);
            assert_eq!(cache.get(7), None, "{} {open:o}", path.display());
            set_mode(path, own);
            assert_eq!(cache.get(7).as_deref(), Some(b"image".as_slice()));
        }
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn the_cache_is_an_absolute_folder() {
        let value = |text: &str| Some(OsString::from(text));
        let here = env::current_dir().unwrap();
        let of = cache_folder;
        assert_eq!(of(value("/c"), value("/x"), value("/h")), Some("/c".into()));
        assert_eq!(of(value("c"), value("/x"), None), Some(here.join("c")), "chosen from here");
        assert_eq!(of(None, value("/x"), value("/h")), Some("/x/sparsight".into()));
        assert_eq!(of(None, value("x"), value("/h")), Some("/h/.cache/sparsight".into()));
        assert_eq!(of(value(""), value(""), value("")), None);
        assert_eq!(of(None, None, value("h")), None);
        assert_eq!(KernelCache::in_folder("c").folder, Some(here.join("c")));
        assert_eq!(KernelCache::in_folder("").folder, None);
    }

    #[test]
    fn the_empty_hash_is_the_published_one_and_parts_are_delimited() {
        assert_eq!(hash_parts([]), 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d);
        assert_ne!(hash_parts([b"ab".as_slice(), b"c"]), hash_parts([b"a".as_slice(), b"bc"]));
    }
}
