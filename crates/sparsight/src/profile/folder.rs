//! A profile on disk.

use super::{
    CALIBRATION_SCHEMA, CalibrationFile, DEVICE_SCHEMA, Models, Profile, ProfiledDevice, RESCALING_SCHEMA,
    RescalingFile,
};
use crate::Error;
use crate::files::{self, whole_file};
use crate::models::Source;
use crate::records::{self, BenchmarkRecord, CorpusRecord, CutRecord, Damaged, Journal, RepairedFile};
use flate2::bufread::MultiGzDecoder;
use serde::Serialize;
use serde::de::DeserializeOwned;
use sparsight_kernels::DeviceFacts;
use sparsight_matrix::io::{open_regular, read_document_text, read_regular_text};
use std::io::{BufReader, ErrorKind};
use std::path::{Path, PathBuf};
use std::{fs, io};

/// The journals of a profile.
const BENCHMARK: &str = "benchmark.jsonl";
const CORPUS: &str = "corpus.jsonl";
const CUTS: &str = "cuts.jsonl";

/// The files of one profile.
#[derive(Debug, Clone)]
pub struct ProfileFolder {
    path: PathBuf,
}

impl ProfileFolder {
    /// An existing folder.
    ///
    /// # Errors
    /// [`Error::NoFolder`] if there is none, [`Error::File`] if it cannot be read.
    pub fn open(path: &Path) -> Result<Self, Error> {
        match fs::read_dir(path) {
            Ok(_) => Ok(Self { path: path.to_owned() }),
            Err(source) if source.kind() == ErrorKind::NotFound => {
                let is_shipped = Profile::shipped_names().any(|name| path == Path::new(name));
                Err(Error::NoFolder { path: path.to_owned(), is_shipped })
            }
            Err(source) => Err(Error::File { path: path.to_owned(), source }),
        }
    }

    /// A folder, made if it is not there.
    ///
    /// # Errors
    /// [`Error::File`] if it cannot be made.
    pub fn create(path: &Path) -> Result<Self, Error> {
        fs::create_dir_all(path).map_err(|source| Error::File { path: path.to_owned(), source })?;
        Ok(Self { path: path.to_owned() })
    }

    /// Path of the folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Last component of the path.
    pub fn name(&self) -> String {
        let full = self.path.canonicalize().unwrap_or_else(|_| self.path.clone());
        full.file_name().map_or_else(|| full.display().to_string(), |n| n.to_string_lossy().into_owned())
    }

    /// The device.
    ///
    /// # Errors
    /// [`Error::File`] if it was never written, [`Error::Malformed`], [`Error::Schema`].
    pub fn device(&self) -> Result<ProfiledDevice, Error> {
        let path = self.path.join("device.json");
        parse_device(&path, &files::text_of(&path)?)
    }

    /// Returns whether the device was written.
    pub fn has_device(&self) -> bool {
        self.path.join("device.json").is_file()
    }

    /// The device of the folder, if it holds one.
    ///
    /// # Errors
    /// [`Error::OtherDevice`] if that is another one than `here`; as [`ProfileFolder::device`].
    pub fn known_device(&self, here: &DeviceFacts) -> Result<Option<ProfiledDevice>, Error> {
        if !self.has_device() {
            return Ok(None);
        }
        let known = self.device()?;
        if known.facts.is_same_device(here) {
            return Ok(Some(known));
        }
        let (path, holds, here) = (self.path().to_owned(), known.facts.described(), here.described());
        Err(Error::OtherDevice { path, holds, here })
    }

    /// Writes the device.
    ///
    /// # Errors
    /// [`Error::File`].
    ///
    /// # Panics
    /// If plain data does not serialise.
    pub fn write_device(&self, device: &ProfiledDevice) -> Result<(), Error> {
        let text = serde_json::to_string_pretty(device).expect("plain data serialises");
        self.write("device.json", &text)
    }

    /// The models, `None` if the profile was never fitted. Reads the index of `models/` and no model.
    ///
    /// # Errors
    /// [`Error::File`], [`Error::Malformed`], [`Error::Schema`].
    pub fn models(&self) -> Result<Option<Models>, Error> {
        let source = || Source::Folder(self.path.join("models"));
        self.read("models/index.json", |path, text| Models::stored(path, text, source()))
    }

    /// Writes the models, each into a file of its own.
    ///
    /// # Errors
    /// [`Error::File`]; errors of reading those that were not read yet.
    ///
    /// # Panics
    /// If plain data does not serialise.
    pub fn write_models(&self, models: &Models) -> Result<(), Error> {
        models.write(&self.path.join("models"))
    }

    /// The records of a calibration; `None` if there are none.
    ///
    /// # Errors
    /// [`Error::File`], [`Error::Malformed`], [`Error::Schema`].
    pub fn calibration(&self) -> Result<Option<CalibrationFile>, Error> {
        self.document("calibration.json", CALIBRATION_SCHEMA)
    }

    /// Writes what was measured of a calibration.
    ///
    /// # Errors
    /// [`Error::File`].
    ///
    /// # Panics
    /// If plain data does not serialise.
    pub fn write_calibration(&self, calibration: &CalibrationFile) -> Result<(), Error> {
        self.write_document("calibration.json", calibration)
    }

    /// Rescaling of another device's predictions, `None` if this one has models of its own or nothing at all.
    ///
    /// # Errors
    /// [`Error::File`], [`Error::Malformed`], [`Error::Schema`].
    pub fn rescaling(&self) -> Result<Option<RescalingFile>, Error> {
        self.read("rescaling.json", |path, text| {
            let carried: RescalingFile = files::parse(path, text, RESCALING_SCHEMA)?;
            if carried.rescaling.is_plausible() {
                return Ok(carried);
            }
            let reason = "no measured times give such weights: run `sparsight calibrate` again".to_owned();
            Err(Error::Malformed { path: path.to_owned(), line: 1, reason })
        })
    }

    /// Writes whose predictions answer for this device.
    ///
    /// # Errors
    /// [`Error::File`].
    ///
    /// # Panics
    /// If plain data does not serialise.
    pub fn write_rescaling(&self, rescaling: &RescalingFile) -> Result<(), Error> {
        let text = serde_json::to_string_pretty(rescaling).expect("plain data serialises");
        self.write("rescaling.json", &text)
    }

    /// The benchmark matrices measured so far; appending goes on behind them.
    ///
    /// # Errors
    /// [`Error::File`], [`Error::Malformed`].
    pub fn benchmark(&self) -> Result<Journal<BenchmarkRecord>, Error> {
        Journal::open(&self.path.join(BENCHMARK))
    }

    /// The corpus measured so far; appending goes on behind it.
    ///
    /// # Errors
    /// [`Error::File`], [`Error::Malformed`].
    pub fn corpus(&self) -> Result<Journal<CorpusRecord>, Error> {
        Journal::open(&self.path.join(CORPUS))
    }

    /// Records of the corpus: several records of a matrix are united ([`CorpusRecord::merged`]), so that files of
    /// several runs or machines may be put one behind the other. Times of a record that says what a launch or a small product took are
    /// those of the machine of this profile ([`CorpusRecord::brought_to`]).
    ///
    /// # Errors
    /// [`Error::File`], [`Error::Malformed`], [`Error::Schema`].
    pub fn measured(&self) -> Result<Vec<CorpusRecord>, Error> {
        let records = self.corpus()?.into_records();
        if !self.has_device() {
            return Ok(CorpusRecord::merged(records));
        }
        let here = self.device()?.facts.launch_cost();
        Ok(CorpusRecord::merged(records.into_iter().map(|record| record.brought_to(&here)).collect()))
    }

    /// The cuts run so far; appending goes on behind them.
    ///
    /// # Errors
    /// [`Error::File`], [`Error::Malformed`].
    pub fn cuts(&self) -> Result<Journal<CutRecord>, Error> {
        Journal::open(&self.path.join(CUTS))
    }

    /// Takes out of its journals what cannot be read: each file in which something was damaged is kept under another name,
    /// and holds the good lines alone from then on. None where nothing was. Nothing is changed before all are read.
    ///
    /// # Errors
    /// [`Error::File`], [`Error::Busy`]; what was mended before stays mended, which a full disk alone can bring about.
    pub fn repair(&self) -> Result<Vec<RepairedFile>, Error> {
        let mut damaged = records::find_damaged::<BenchmarkRecord>(&self.path.join(BENCHMARK))?;
        damaged.extend(records::find_damaged::<CorpusRecord>(&self.path.join(CORPUS))?);
        damaged.extend(records::find_damaged::<CutRecord>(&self.path.join(CUTS))?);
        damaged.into_iter().map(Damaged::repair).collect()
    }

    /// Returns whether there is a journal in it.
    pub fn has_records(&self) -> bool {
        [BENCHMARK, CORPUS, CUTS].into_iter().any(|name| self.has_journal(name))
    }

    /// Returns whether there are benchmark matrices in it, without which nothing is fitted to it.
    pub(super) fn has_benchmark(&self) -> bool {
        self.has_device() && self.has_journal(BENCHMARK)
    }

    fn has_journal(&self, name: &str) -> bool {
        self.path.join(name).exists() || self.path.join(format!("{name}.xz")).exists()
    }

    /// A JSON document of the folder, plain or packed, of the schema `expected`; `None` if it is not there.
    ///
    /// # Errors
    /// [`Error::File`], [`Error::Malformed`], [`Error::Schema`].
    pub fn document<T: DeserializeOwned>(
        &self,
        name: &str,
        expected: &'static str,
    ) -> Result<Option<T>, Error> {
        self.read(name, |path, text| files::parse(path, text, expected))
    }

    /// Writes a JSON document into the folder, on one line.
    ///
    /// # Errors
    /// [`Error::File`].
    ///
    /// # Panics
    /// If plain data does not serialise.
    pub fn write_document<T: Serialize>(&self, name: &str, document: &T) -> Result<(), Error> {
        self.write(name, &serde_json::to_string(document).expect("plain data serialises"))
    }

    /// Parses a file; `None` if it is not there.
    fn read<T>(
        &self,
        name: &str,
        parse: impl Fn(&Path, &str) -> Result<T, Error>,
    ) -> Result<Option<T>, Error> {
        self.text(name)?.map(|(path, text)| parse(&path, &text)).transpose()
    }

    /// The text of a file and where it stood: under its name, or packed under that name with `.gz` behind; `None` if neither is there.
    ///
    /// # Errors
    /// [`Error::File`] if it cannot be read.
    pub fn text(&self, name: &str) -> Result<Option<(PathBuf, String)>, Error> {
        let unpacked = |file| read_document_text(MultiGzDecoder::new(BufReader::new(file)));
        let (plain, packed) = (self.path.join(name), self.path.join(format!("{name}.gz")));
        let plainly = read_regular_text(&plain).map(|text| (plain.clone(), text));
        let absent = |error: &io::Error| error.kind() == io::ErrorKind::NotFound;
        let (path, found) = match plainly {
            Err(error) if absent(&error) => {
                let found = open_regular(&packed).and_then(unpacked);
                (packed.clone(), found.map(|text| (packed, text)))
            }
            found => (plain, found),
        };
        match found {
            Ok(found) => Ok(Some(found)),
            Err(error) if absent(&error) => Ok(None),
            Err(source) => Err(Error::File { path, source }),
        }
    }

    fn write(&self, name: &str, text: &str) -> Result<(), Error> {
        whole_file::write(&self.path.join(name), format!("{text}\n").as_bytes())
    }
}

/// A device from the text of a `device.json`, whose facts a device can have.
pub(super) fn parse_device(path: &Path, text: &str) -> Result<ProfiledDevice, Error> {
    let device: ProfiledDevice = files::parse(path, text, DEVICE_SCHEMA)?;
    device.facts.check().map_err(|implausible| {
        let named = format!("\"{}\"", implausible.field);
        let line = text.lines().position(|line| line.contains(&named)).map_or(1, |at| at + 1);
        Error::Malformed { path: path.to_owned(), line, reason: implausible.to_string() }
    })?;
    Ok(device)
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use std::io::Write;

    #[test]
    fn a_file_may_be_packed_and_the_plain_one_comes_first() {
        let dir = tempfile::tempdir().unwrap();
        let folder = ProfileFolder::create(dir.path()).unwrap();
        assert_eq!(folder.text("transfer.json").unwrap(), None);

        let packed = dir.path().join("transfer.json.gz");
        let mut gzip = GzEncoder::new(Vec::new(), Compression::best());
        gzip.write_all(b"packed").unwrap();
        fs::write(&packed, gzip.finish().unwrap()).unwrap();
        assert_eq!(folder.text("transfer.json").unwrap(), Some((packed.clone(), "packed".to_owned())));

        let plain = dir.path().join("transfer.json");
        fs::write(&plain, "plain").unwrap();
        assert_eq!(folder.text("transfer.json").unwrap(), Some((plain.clone(), "plain".to_owned())));

        fs::remove_file(&plain).unwrap();
        fs::write(&packed, "no gzip").unwrap();
        let error = folder.text("transfer.json").unwrap_err().to_string();
        assert!(error.contains("transfer.json.gz"), "{error}");
    }
}
