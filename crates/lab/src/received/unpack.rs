//! The files of an archive that holds one profile: no others, none elsewhere, and not without bound.

use super::RefusedProfile;
use flate2::read::GzDecoder;
use sparsight::profile::whole_file;
use std::collections::BTreeSet;
use std::fs;
use std::io::Read;
use std::path::{Component, Path};
use tar::{Archive, EntryType};

/// Bytes that an archive may unpack to: more than a profile of thousands of matrices. Chosen.
const MOST_BYTES: u64 = 256_000_000;

/// Letters of a file's name in `models/`.
fn is_plain(name: &str) -> bool {
    !name.starts_with('.')
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_.".contains(c))
}

/// Returns whether a profile has a file of that name.
fn is_of_a_profile(below: &[&str]) -> bool {
    match below {
        [name] => {
            let journal = name.strip_suffix(".xz").unwrap_or(name);
            let document = name.strip_suffix(".gz").unwrap_or(name);
            ["benchmark.jsonl", "corpus.jsonl", "cuts.jsonl"].contains(&journal)
                || ["device.json", "transfer.json", "calibration.json", "links.json"].contains(&document)
        }
        ["models", name] => is_plain(name),
        _ => false,
    }
}

/// Writes the files of the one profile in `archive` into `into`, which is made, and gives the name of its folder there.
pub(super) fn unpack(archive: &[u8], into: &Path) -> Result<String, RefusedProfile> {
    let broken = |reason: String| RefusedProfile::Archive { reason };
    let told = |error: std::io::Error| broken(error.to_string());
    // One byte more than may be there tells that there is more.
    let mut tar = Archive::new(GzDecoder::new(archive).take(MOST_BYTES + 1));
    let (mut name, mut seen, mut bytes) = (None, BTreeSet::new(), 0);
    for entry in tar.entries().map_err(told)? {
        let mut entry = entry.map_err(told)?;
        let path = entry.path().map_err(told)?.into_owned();
        let shown = path.display().to_string();
        let parts: Option<Vec<&str>> = path
            .components()
            .map(|part| match part {
                Component::Normal(part) => part.to_str(),
                _ => None,
            })
            .collect();
        let parts = parts.ok_or_else(|| broken(format!("'{shown}' leads out of it")))?;
        if entry.header().entry_type() == EntryType::Directory {
            continue;
        }
        let Some((folder, below)) = parts.split_first() else { continue };
        if entry.header().entry_type() != EntryType::Regular || !is_of_a_profile(below) {
            return Err(broken(format!("'{shown}' is no file of a profile")));
        }
        if !is_plain(folder) || name.get_or_insert_with(|| (*folder).to_owned()) != folder {
            return Err(broken(format!(
                "'{shown}' is not in the one folder of a profile, whose name is of a to z, 0 to 9, '-', '_' and '.'"
            )));
        }
        if !seen.insert(shown.clone()) {
            return Err(broken(format!("'{shown}' is in it twice")));
        }
        bytes += entry.size();
        if bytes > MOST_BYTES {
            return Err(broken(format!("it unpacks to more than {MOST_BYTES} bytes")));
        }
        let mut content = Vec::new();
        entry.read_to_end(&mut content).map_err(told)?;
        let file = below.iter().fold(into.to_owned(), |path, part| path.join(part));
        let parent = file.parent().expect("a file of a folder");
        fs::create_dir_all(parent)
            .map_err(|source| sparsight::Error::File { path: parent.to_owned(), source })?;
        whole_file::write(&file, &content)?;
    }
    name.ok_or_else(|| broken("no profile is in it".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use tar::{Builder, Header};

    /// Name, type and content of an entry.
    type Entry<'a> = (&'a str, EntryType, &'a [u8]);

    fn archive(entries: &[Entry<'_>]) -> Vec<u8> {
        let mut tar = Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
        for (name, kind, content) in entries {
            let mut header = Header::new_ustar();
            header.set_size(content.len() as u64);
            header.set_entry_type(*kind);
            // Written as it is: the crate refuses to write some of these names.
            header.as_ustar_mut().unwrap().name[..name.len()].copy_from_slice(name.as_bytes());
            header.set_cksum();
            tar.append(&header, *content).unwrap();
        }
        tar.into_inner().unwrap().finish().unwrap()
    }

    #[test]
    fn only_the_files_of_one_profile_are_written_and_only_below_its_folder() {
        let dir = tempfile::tempdir().unwrap();
        let into = dir.path().join("new");
        let file = EntryType::Regular;
        let right = archive(&[
            ("gpu/", EntryType::Directory, b""),
            ("gpu/device.json", file, b"{}"),
            ("gpu/models/index.json", file, b"[]"),
        ]);
        assert_eq!(unpack(&right, &into).unwrap(), "gpu");
        assert_eq!(fs::read(into.join("models/index.json")).unwrap(), b"[]");
        let twice = [("gpu/device.json", file, &b"{}"[..]), ("gpu/device.json", file, b"{}")];
        let wrong: [(&[Entry<'_>], &str); 8] = [
            (&[], "no profile"),
            (&[("gpu/../../evil", file, b"x")], "leads out"),
            (&[("/etc/evil", file, b"x")], "leads out"),
            (&[("gpu/run.sh", file, b"x")], "no file of a profile"),
            (&[("gpu/models/a/b.gz", file, b"x")], "no file of a profile"),
            (&[("gpu/device.json", EntryType::Symlink, b"")], "no file of a profile"),
            (&[("gpu/device.json", file, b"{}"), ("other/corpus.jsonl", file, b"")], "one folder"),
            (&twice, "twice"),
        ];
        for (entries, expected) in wrong {
            let other = tempfile::tempdir().unwrap();
            let error = unpack(&archive(entries), &other.path().join("new")).unwrap_err().to_string();
            assert!(error.contains(expected), "{expected}: {error}");
            assert!(!dir.path().join("evil").exists() && !Path::new("/etc/evil").exists());
        }
        assert!(unpack(b"no archive", &into).is_err() && unpack(&right[..right.len() / 2], &into).is_err());
    }
}
