//! The index of a folder of shared profiles, `index.json`.

use super::HeldOutQuality;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use sparsight::Error;
use sparsight::profile::parse_document;
use sparsight_matrix::io::read_regular_text;
use std::fmt::Write;
use std::path::Path;

/// Schema of the index.
pub const INDEX_SCHEMA: &str = "sparsight/profiles-index/1";

/// The shared profiles of a folder.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProfilesIndex {
    /// [`INDEX_SCHEMA`].
    pub schema: String,
    /// Each file once, in the order of their names.
    pub profiles: Vec<IndexedProfile>,
}

/// A shared profile: what it is of, what it is worth, and how its file is told from another one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct IndexedProfile {
    /// Name, by which `--device` finds it once it is added.
    pub name: String,
    /// The device, as its driver calls it.
    pub chip: String,
    /// UTC date on which the profile was begun.
    pub date: String,
    /// Hash of the catalogue of CUDA kernels that was measured.
    pub kernels: String,
    /// Worth of its models on matrices that they have not seen, by value type.
    pub quality: Vec<HeldOutQuality>,
    /// Name of the file, beside the index.
    pub file: String,
    /// Size of the file.
    pub bytes: u64,
    /// SHA-256 of the file, in hexadecimal digits.
    pub sha256: String,
}

impl ProfilesIndex {
    /// Reads the index at `path`; `None` if there is none.
    ///
    /// # Errors
    /// [`Error::File`], [`Error::Malformed`], [`Error::Schema`].
    pub fn read(path: &Path) -> Result<Option<Self>, Error> {
        match read_regular_text(path) {
            Ok(text) => parse_document(path, &text, INDEX_SCHEMA).map(Some),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(Error::File { path: path.to_owned(), source }),
        }
    }

    /// The index with `profiles` in place of those of the same files.
    #[must_use]
    pub fn with(self, profiles: &[IndexedProfile]) -> Self {
        let mut all = self.profiles;
        all.retain(|known| profiles.iter().all(|new| new.file != known.file));
        all.extend_from_slice(profiles);
        all.sort_by(|a, b| a.file.cmp(&b.file));
        Self { profiles: all, ..self }
    }

    /// What the index says of a file of that name.
    pub fn of_file(&self, file: &str) -> Option<&IndexedProfile> {
        self.profiles.iter().find(|profile| profile.file == file)
    }
}

impl Default for ProfilesIndex {
    /// Of an empty folder.
    fn default() -> Self {
        Self { schema: INDEX_SCHEMA.to_owned(), profiles: Vec::new() }
    }
}

/// SHA-256 in hexadecimal digits.
pub(super) fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_in_the_index_once_and_the_checksum_is_that_of_others() {
        assert_eq!(sha256(b"abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        let of = |file: &str, date: &str| IndexedProfile {
            name: "a".to_owned(),
            chip: "A".to_owned(),
            date: date.to_owned(),
            kernels: String::new(),
            quality: Vec::new(),
            file: file.to_owned(),
            bytes: 3,
            sha256: sha256(b"abc"),
        };
        let index = ProfilesIndex::default().with(&[of("b.tar.gz", "1"), of("a.tar.gz", "1")]);
        let index = index.with(&[of("b.tar.gz", "2")]);
        let listed: Vec<(&str, &str)> =
            index.profiles.iter().map(|one| (one.file.as_str(), one.date.as_str())).collect();
        assert_eq!(listed, [("a.tar.gz", "1"), ("b.tar.gz", "2")]);
        assert_eq!(index.of_file("b.tar.gz"), Some(&of("b.tar.gz", "2")));
        assert_eq!(index.of_file("c.tar.gz"), None);
        let text = serde_json::to_string(&index).unwrap();
        assert_eq!(serde_json::from_str::<ProfilesIndex>(&text).unwrap(), index);
    }
}
