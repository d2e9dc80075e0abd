//! The file that holds the models of the shipped profiles, `sparsight-profiles.tar`: compiled in (feature `shipped-profiles`), or read
//! from the disk when first needed, so that the program, the C library, the drop-in and the Python package of one installation share it.
//!
//! ```text
//! PREFIX/bin/sparsight                          looked for: beside the program or library that asks,
//! PREFIX/lib/libsparsight.so                    in ../share/sparsight and ../../share/sparsight of its folder;
//! PREFIX/share/sparsight/sparsight-profiles.tar or what SPARSIGHT_PROFILES_FILE names, and nothing else
//! ```
//! `build.rs` makes it and says what is in it. It fits the build that it was made with alone: its first entry has the version and a
//! checksum of all profiles, which the program knows. Each model has a checksum of its own, compared when the model is read.

use crate::Error;
use crate::bindings::own_folder;
use flate2::bufread::GzDecoder;
use sparsight_matrix::io::read_document_text;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::env;
use std::fs::File;
use std::io::{self, Cursor, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Name of the file.
const PROFILES_FILE: &str = "sparsight-profiles.tar";

/// Names the file, wherever it lies.
const PLACE: &str = "SPARSIGHT_PROFILES_FILE";

/// Schema, version and checksum that `build.rs` wrote into the file.
const VERSION: &str = env!("SPARSIGHT_PROFILES_VERSION");

#[cfg(feature = "shipped-profiles")]
const COMPILED_IN: Option<&[u8]> = Some(include_bytes!(concat!(env!("OUT_DIR"), "/sparsight-profiles.tar")));
#[cfg(not(feature = "shipped-profiles"))]
const COMPILED_IN: Option<&[u8]> = None;

/// The open file: which entries it has, and where each lies.
#[derive(Debug)]
pub(crate) struct ProfilesFile {
    place: Place,
    /// Offset and length by name.
    entries: BTreeMap<PathBuf, (u64, usize)>,
}

#[derive(Debug)]
enum Place {
    Program(&'static [u8]),
    /// Opened again for each entry: the process keeps no file open.
    Disk(PathBuf),
}

impl ProfilesFile {
    /// The file of this program or library, opened when it is first asked for.
    ///
    /// # Errors
    /// [`Error::NoProfilesFile`], [`Error::ProfilesFile`]. The next call looks again.
    pub(crate) fn of_this_program() -> Result<&'static Self, Error> {
        static OPENED: OnceLock<ProfilesFile> = OnceLock::new();
        if let Some(opened) = OPENED.get() {
            return Ok(opened);
        }
        let opened = match COMPILED_IN {
            Some(bytes) => Self::indexed(Place::Program(bytes), Cursor::new(bytes))
                .expect("what was packed when this was built"),
            None => Self::first_of(places())?,
        };
        Ok(OPENED.get_or_init(|| opened))
    }

    fn first_of(looked: Vec<PathBuf>) -> Result<Self, Error> {
        match looked.iter().find(|place| place.is_file()) {
            Some(found) => Self::open(found),
            None => Err(Error::NoProfilesFile { looked }),
        }
    }

    fn open(path: &Path) -> Result<Self, Error> {
        let opened = File::open(path).map_err(|error| error.to_string());
        let indexed = opened.and_then(|file| Self::indexed(Place::Disk(path.to_owned()), file));
        indexed.map_err(|reason| Error::ProfilesFile { path: path.to_owned(), reason })
    }

    /// Reads the heads of the entries; `Err` is what is wrong with the file.
    fn indexed(place: Place, mut bytes: impl Read + Seek) -> Result<Self, String> {
        let told = |error: io::Error| error.to_string();
        let length = bytes.seek(SeekFrom::End(0)).map_err(told)?;
        bytes.rewind().map_err(told)?;
        let mut tar = tar::Archive::new(bytes);
        let mut all = tar.entries_with_seek().map_err(told)?;
        let mut version = String::new();
        if let Some(Ok(first)) = all.next() {
            // A line; what is not one of ours may be longer, and no text.
            _ = first.take(200).read_to_string(&mut version);
        }
        let Some((found, expected_length)) = version.trim_end().rsplit_once(' ') else {
            return Err(format!("is no {PROFILES_FILE}, or cut off"));
        };
        if found != VERSION {
            return Err(format!("is {found:?} and not {VERSION:?}, which this was built with"));
        }
        if expected_length.parse() != Ok(length) {
            return Err(format!("is cut off: {length} bytes and not {expected_length}"));
        }
        let mut entries = BTreeMap::new();
        for entry in all {
            let entry = entry.map_err(told)?;
            let name = entry.path().map_err(told)?.into_owned();
            entries.insert(name, (entry.raw_file_position(), entry.size() as usize));
        }
        Ok(Self { place, entries })
    }

    /// Returns whether there is an entry of that name.
    pub(crate) fn has(&self, name: &Path) -> bool {
        self.entries.contains_key(name)
    }

    /// The bytes of an entry; `None` if there is none of that name.
    ///
    /// # Errors
    /// [`Error::ProfilesFile`].
    pub(crate) fn read(&self, name: &Path) -> Result<Option<Cow<'static, [u8]>>, Error> {
        let Some(&(offset, length)) = self.entries.get(name) else { return Ok(None) };
        let read = |path: &Path| {
            let mut file = File::open(path)?;
            file.seek(SeekFrom::Start(offset))?;
            let mut bytes = vec![0; length];
            file.read_exact(&mut bytes).map(|()| bytes)
        };
        match &self.place {
            Place::Program(all) => Ok(Some(Cow::Borrowed(&all[offset as usize..][..length]))),
            Place::Disk(path) => match read(path) {
                Ok(bytes) => Ok(Some(Cow::Owned(bytes))),
                Err(error) => Err(self.damaged(name, &error.to_string())),
            },
        }
    }

    /// The text that `build.rs` packed under that name, with `.gz` behind.
    ///
    /// # Errors
    /// [`Error::ProfilesFile`].
    pub(crate) fn text(&self, name: &Path) -> Result<String, Error> {
        let packed = PathBuf::from(format!("{}.gz", name.display()));
        let bytes = self.read(&packed)?.ok_or_else(|| self.damaged(&packed, "is not in it"))?;
        let text = read_document_text(GzDecoder::new(&bytes[..]));
        text.map_err(|error| self.damaged(&packed, &error.to_string()))
    }

    /// What is wrong with an entry.
    pub(crate) fn damaged(&self, name: &Path, reason: &str) -> Error {
        let path = match &self.place {
            Place::Program(_) => PathBuf::from(PROFILES_FILE),
            Place::Disk(path) => path.clone(),
        };
        Error::ProfilesFile { path, reason: format!("{}: {reason}", name.display()) }
    }
}

/// Where the file may lie.
fn places() -> Vec<PathBuf> {
    if let Some(named) = env::var_os(PLACE).filter(|named| !named.is_empty()) {
        return vec![named.into()];
    }
    let own = own_folder();
    let below = ["", "../share/sparsight", "../../share/sparsight"];
    own.iter().flat_map(|folder| below.map(|below| folder.join(below).join(PROFILES_FILE))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    const MADE: &str = concat!(env!("OUT_DIR"), "/sparsight-profiles.tar");
    const MODEL: &str = "profiles/nvidia-h200/models/boosting.gz";

    fn refused(bytes: &[u8]) -> String {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(PROFILES_FILE);
        fs::write(&path, bytes).unwrap();
        let error = ProfilesFile::first_of(vec![path.clone()]).unwrap_err();
        assert!(matches!(error, Error::ProfilesFile { .. }), "{error:?}");
        assert!(error.hint().unwrap().contains(PLACE), "{error}");
        error.to_string().replace(&format!("{}: ", path.display()), "")
    }

    #[test]
    fn what_is_on_the_disk_is_what_is_in_the_repository() {
        let file = ProfilesFile::open(Path::new(MADE)).unwrap();
        let repository = Path::new(env!("CARGO_MANIFEST_DIR"));
        let model = file.read(Path::new(MODEL)).unwrap().unwrap();
        assert!(model[..] == fs::read(repository.join(MODEL)).unwrap()[..]);
        let index = Path::new("profiles/nvidia-h200/models/index.json");
        assert_eq!(file.text(index).unwrap(), fs::read_to_string(repository.join(index)).unwrap());
        let absent = Path::new("profiles/nvidia-h200/models/linear.gz");
        assert!(file.has(Path::new(MODEL)) && !file.has(absent) && file.read(absent).unwrap().is_none());
    }

    #[test]
    fn a_file_that_is_nowhere_is_an_error_that_lists_the_places() {
        let places = vec![PathBuf::from("/nowhere/a.tar"), PathBuf::from("/nowhere/b.tar")];
        let error = ProfilesFile::first_of(places).unwrap_err();
        assert_eq!(
            error.to_string(),
            "sparsight-profiles.tar was not found (looked for: /nowhere/a.tar, /nowhere/b.tar)"
        );
        assert!(error.hint().unwrap().contains("SPARSIGHT_PROFILES_FILE=FILE"));
    }

    #[test]
    fn a_file_that_is_cut_off_is_refused_wherever_it_ends() {
        let whole = fs::read(MADE).unwrap();
        for length in [0, 100, 512, 600, 1024, 5000, whole.len() / 2, whole.len() - 1024, whole.len() - 1] {
            let said = refused(&whole[..length]);
            assert!(said.contains("cut off"), "{length}: {said}");
        }
        assert!(
            refused(b"something else that is no tar archive, and not short").contains("is no sparsight-pro")
        );
    }

    #[test]
    fn a_file_of_another_build_is_refused() {
        let mut other = fs::read(MADE).unwrap();
        // The last digit of the checksum stands behind the head.
        other[512 + VERSION.len() - 1] ^= 1;
        let said = refused(&other);
        assert!(said.contains("which this was built with") && said.contains(VERSION), "{said}");
    }

    #[test]
    fn a_file_that_is_cut_off_after_it_was_opened_is_told_when_an_entry_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(PROFILES_FILE);
        fs::copy(MADE, &path).unwrap();
        let file = ProfilesFile::open(&path).unwrap();
        File::options().write(true).open(&path).unwrap().set_len(4096).unwrap();
        let said = file.read(Path::new(MODEL)).unwrap_err().to_string();
        assert!(said.contains(MODEL) && said.contains(PROFILES_FILE), "{said}");
    }
}
