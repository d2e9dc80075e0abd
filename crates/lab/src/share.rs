//! A profile as one file that can be given away: what was measured and fitted, without the names of matrices.
//!
//! ```text
//! NAME.tar.gz   NAME/device.json, benchmark.jsonl, corpus.jsonl, cuts.jsonl, models/, transfer.json, calibration.json
//! ```
//! A matrix of the corpus is called `matrix/17` in it, in the order in which they were measured, the same in every file; generated
//! ones keep their names, which are recipes, and so do the steps by which one was derived. What features say of a matrix stays:
//! it is what models learn from.

use flate2::Compression;
use flate2::write::GzEncoder;
use sparsight::Error;
use sparsight::models::SURROUNDINGS;
use sparsight::profile::ProfileFolder;
use sparsight::records::lines_of;
use sparsight_matrix::derived::origin;
use sparsight_matrix::gallery;
use sparsight_matrix::io::read_regular;
use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use tar::{Builder, Header};

/// Numbers in place of names.
#[derive(Default)]
struct Numbers(HashMap<String, usize>);

impl Numbers {
    fn of(&mut self, name: &str) -> String {
        let base = origin(name);
        if base.starts_with(gallery::PREFIX) {
            return name.to_owned();
        }
        let next = self.0.len() + 1;
        let number = *self.0.entry(base.to_owned()).or_insert(next);
        format!("matrix/{number}{}", &name[base.len()..])
    }
}

/// The bytes of a `.tar.gz` of this profile for other people, in a folder called `name`: its matrices have numbers in place of
/// names, but for generated ones. Unpacked it is a profile like any other, that can be fitted again.
///
/// # Errors
/// Of reading the folder: [`Error::File`], [`Error::Malformed`], [`Error::Schema`].
///
/// # Panics
/// If plain data does not serialise.
pub fn shared(folder: &ProfileFolder, name: &str) -> Result<Vec<u8>, Error> {
    let mut numbers = Numbers::default();
    let mut corpus = folder.corpus()?.into_records();
    for record in &mut corpus {
        record.matrix = numbers.of(&record.matrix);
    }
    let mut cuts = folder.cuts()?.into_records();
    for record in &mut cuts {
        record.matrix = numbers.of(&record.matrix);
    }
    let benchmark = folder.benchmark()?.into_records();
    let mut files: Vec<(PathBuf, Vec<u8>)> = vec![
        ("device.json".into(), bytes(folder, Path::new("device.json"))?.unwrap_or_default()),
        ("benchmark.jsonl".into(), lines_of(&benchmark)),
        ("corpus.jsonl".into(), lines_of(&corpus)),
        ("cuts.jsonl".into(), lines_of(&cuts)),
    ];
    files.retain(|(_, bytes)| !bytes.is_empty());
    for whole in ["transfer.json", "calibration.json"] {
        files.extend(folder.text(whole)?.map(|(_, text)| (whole.into(), text.into_bytes())));
    }
    if let Some(models) = folder.models()? {
        let mut index = models.index.clone();
        // It speaks of the matrices in the order of their names, which is another one now; `fit` makes it again.
        index.models.remove(SURROUNDINGS);
        for indexed in index.models.values() {
            let file = Path::new("models").join(&indexed.file);
            files.extend(bytes(folder, &file)?.map(|bytes| (file, bytes)));
        }
        // Starts of names, of which there are none any more.
        index.train.clear();
        index.trained_on = index.trained_on.iter().map(|name| numbers.of(name)).collect();
        let text = serde_json::to_string(&index).expect("plain data serialises") + "\n";
        files.push((Path::new("models").join("index.json"), text.into_bytes()));
    }
    Ok(packed(name, &files).expect("memory can be written to"))
}

fn bytes(folder: &ProfileFolder, name: &Path) -> Result<Option<Vec<u8>>, Error> {
    let path = folder.path().join(name);
    match read_regular(&path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(Error::File { path, source }),
    }
}

fn packed(folder: &str, files: &[(PathBuf, Vec<u8>)]) -> io::Result<Vec<u8>> {
    let mut archive = Builder::new(GzEncoder::new(Vec::new(), Compression::default()));
    for (name, bytes) in files {
        let mut header = Header::new_ustar();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        archive.append_data(&mut header, Path::new(folder).join(name), &bytes[..])?;
    }
    archive.into_inner()?.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_becomes_a_number_and_what_it_was_derived_by_stays() {
        let mut numbers = Numbers::default();
        let names = [
            "secret/wing",
            "gallery:arrow,n=9,width=2,seed=7",
            "secret/body",
            "secret/wing+layers=4",
            "secret/wing",
            "secret/a+b",
        ];
        let shown = names.map(|name| numbers.of(name));
        assert_eq!(
            shown,
            ["matrix/1", names[1], "matrix/2", "matrix/1+layers=4", "matrix/1", "matrix/3"]
                .map(str::to_owned)
        );
    }
}
