//! The fitted models of a profile. An index says at once which there are; each is read when it is first asked for.
//!
//! ```text
//! models/index.json    which models, how well learned ones know which kernel, what every start needs     index.rs
//! models/NAME.gz       a model: text, and bytes for trees                                                model_file.rs
//! ```
//! Which models there can be, and what is done with each: `registry.rs`. Not read is not known to be whole: a damaged model
//! is an error for its users alone; unused damaged models are harmless.

mod index;
mod learned;
mod model_file;
pub(crate) mod registry;

pub use crate::model_name::ModelName;
pub use index::{IndexedModel, KnownKernels, MODELS_SCHEMA, ModelsIndex};
pub use learned::Learned;
pub use registry::{LearnedKind, add_models};

pub(crate) use model_file::Source;

use crate::Error;
use crate::files::{self, whole_file};
use serde::{Deserialize, Serialize};
use sparsight_model::{
    Calibration, Comparison, LearnedModel, Learner, Storable, StripModel, Surroundings, Variant,
};
use std::any::Any;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::sync::{Arc, OnceLock};

/// A strip model with its errors on real matrices.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CalibratedStrip {
    /// The fits.
    pub model: StripModel,
    /// Widens its intervals; `None` without real matrices.
    pub calibration: Option<Calibration>,
}

impl Storable for CalibratedStrip {
    const FORMAT: &'static str = "sparsight/strip/1";
}

/// Name of the comparison of candidates in the index, which is no model by itself.
const COMPARISON: &str = "comparison";

/// Name of the surroundings of the training matrices in the index, which are no model either.
pub const SURROUNDINGS: &str = "surroundings";

/// The fitted models of a profile. A clone has what the original has read, and the other way round.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Models {
    /// The index, known before any model is read.
    pub index: ModelsIndex,
    held: Arc<Held>,
    /// Set when all that is asked first was read, of the models in this index.
    first: Arc<OnceLock<()>>,
}

/// The models read so far, and the source of the rest.
#[derive(Debug)]
struct Held {
    source: Source,
    strips: BTreeMap<Variant, OnceLock<CalibratedStrip>>,
    learned: BTreeMap<ModelName, OnceLock<Box<dyn Learned>>>,
    comparison: OnceLock<Comparison>,
    surroundings: OnceLock<Surroundings>,
}

impl Held {
    fn new(source: Source) -> Self {
        let strips = Variant::ALL.map(|variant| (variant, OnceLock::new()));
        let learned = registry::learned().map(|kind| (kind.name, OnceLock::new()));
        let (strips, learned) = (BTreeMap::from(strips), learned.collect());
        let (comparison, surroundings) = (OnceLock::new(), OnceLock::new());
        Self { source, strips, learned, comparison, surroundings }
    }
}

/// Returns whether a signal came while something was waited for.
fn is_interrupted(waited: &io::Result<()>) -> bool {
    waited.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::Interrupted)
}

/// File name of a model.
fn file_of(name: &str) -> String {
    format!("{name}.gz")
}

impl Models {
    /// Models as they are made; `index` holds all that has no file. `surroundings` are of the matrices in
    /// [`ModelsIndex::trained_on`], in their order.
    pub(crate) fn made(
        mut index: ModelsIndex,
        strips: Vec<(Variant, CalibratedStrip)>,
        learned: Vec<(ModelName, Box<dyn Learned>)>,
        comparison: Option<Comparison>,
        surroundings: Option<Surroundings>,
    ) -> Self {
        let mut held = Held::new(Source::Memory);
        // The checksum comes with the file.
        let mut list = |name: &str, format: &str, known| {
            let indexed = IndexedModel { file: file_of(name), format: format.to_owned(), crc32: 0, known };
            index.models.insert(name.to_owned(), indexed);
        };
        for (variant, strip) in strips {
            list(variant.name(), CalibratedStrip::FORMAT, None);
            held.strips.insert(variant, OnceLock::from(strip));
        }
        for (model, learned) in learned {
            list(model.text(), learned.format(), Some(learned.known()));
            held.learned.insert(model, OnceLock::from(learned));
        }
        if let Some(comparison) = comparison {
            list(COMPARISON, Comparison::FORMAT, None);
            held.comparison = OnceLock::from(comparison);
        }
        if let Some(surroundings) = surroundings {
            list(SURROUNDINGS, Surroundings::FORMAT, None);
            held.surroundings = OnceLock::from(surroundings);
        }
        Self { index, held: Arc::new(held), first: Arc::default() }
    }

    /// Models that the text of an `index.json` lists. Reads none of them.
    ///
    /// # Errors
    /// [`Error::Malformed`], [`Error::Schema`].
    pub(crate) fn stored(path: &Path, text: &str, source: Source) -> Result<Self, Error> {
        let index = files::parse(path, text, MODELS_SCHEMA)?;
        Ok(Self { index, held: Arc::new(Held::new(source)), first: Arc::default() })
    }

    /// Does without a learned model: it is not asked, and not written.
    pub fn leave_out(&mut self, model: ModelName) {
        self.index.models.remove(model.text());
        // Another one is asked first now.
        self.first = Arc::default();
    }

    /// A strip model; `None` if the profile holds too few benchmark matrices for it.
    ///
    /// # Errors
    /// [`Error::File`], [`Error::Damaged`] or [`Error::Schema`] if it is read now and cannot be.
    ///
    /// # Panics
    /// Never: every variant has a place.
    pub fn strip(&self, variant: Variant) -> Result<Option<&CalibratedStrip>, Error> {
        let place = &self.held.strips[&variant];
        self.opened(variant.name(), CalibratedStrip::FORMAT, place, model_file::unpack)
    }

    /// The strip models that there are, in the order in which tables list them. Reads all of them.
    ///
    /// # Errors
    /// As [`Models::strip`].
    pub fn strips(&self) -> Result<Vec<(Variant, &CalibratedStrip)>, Error> {
        let strip = |variant| self.strip(variant).map(|found| found.map(|strip| (variant, strip)));
        Variant::ALL.into_iter().map(strip).filter_map(Result::transpose).collect()
    }

    /// A learned model; `None` if the profile holds too few matrices to learn it from
    /// ([`MIN_MATRICES`](sparsight_model::MIN_MATRICES)), if it is not part of the program, or if the name is that of a model
    /// that does not learn.
    ///
    /// # Errors
    /// As [`Models::strip`].
    pub fn learned(&self, model: ModelName) -> Result<Option<&dyn Learned>, Error> {
        let Some(kind) = registry::learned().find(|kind| kind.name == model) else { return Ok(None) };
        let Some(place) = self.held.learned.get(&model) else { return Ok(None) };
        Ok(self.opened(model.text(), kind.format, place, kind.read)?.map(Box::as_ref))
    }

    /// The learned models that there are, in the order in which tables list them. Reads all of them.
    ///
    /// # Errors
    /// As [`Models::strip`].
    pub fn every_learned(&self) -> Result<Vec<&dyn Learned>, Error> {
        registry::learned().map(|kind| self.learned(kind.name)).filter_map(Result::transpose).collect()
    }

    /// The learned model of a method by its type; `None` as [`Models::learned`].
    ///
    /// # Errors
    /// As [`Models::strip`].
    pub fn of<L: Learner + 'static>(&self) -> Result<Option<&LearnedModel<L>>, Error> {
        let Ok(model) = L::NAME.parse::<ModelName>() else { return Ok(None) };
        let Some(learned) = self.learned(model)? else { return Ok(None) };
        let any: &dyn Any = learned;
        Ok(any.downcast_ref())
    }

    /// Comparison of the candidates of a matrix, learned from the corpus: `best` chooses by it. `None` if the profile
    /// holds too few matrices.
    ///
    /// # Errors
    /// As [`Models::strip`].
    pub fn comparison(&self) -> Result<Option<&Comparison>, Error> {
        self.opened(COMPARISON, Comparison::FORMAT, &self.held.comparison, model_file::unpack)
    }

    /// Places of the training matrices, in the order of [`ModelsIndex::trained_on`]. `None` if the
    /// profile was fitted before this was kept, or learned from fewer than two.
    ///
    /// # Errors
    /// As [`Models::strip`]; [`Error::Damaged`] also if it speaks of another number of matrices than the index.
    pub fn surroundings(&self) -> Result<Option<&Surroundings>, Error> {
        let known = self.index.trained_on.len();
        let read = |path: &Path, packed: &[u8]| {
            let read: Surroundings = model_file::unpack(path, packed)?;
            let matrices = read.matrices();
            if matrices == known {
                return Ok(read);
            }
            let reason = format!("has places of {matrices} matrices in place of {known}");
            Err(Error::Damaged { path: path.to_owned(), reason })
        };
        self.opened(SURROUNDINGS, Surroundings::FORMAT, &self.held.surroundings, read)
    }

    /// Reads what is asked first by `read`, unless that was done before.
    pub(crate) fn read_first(&self, read: impl FnOnce() -> Result<(), Error>) -> Result<(), Error> {
        if self.first.get().is_none() {
            read()?;
            self.first.get_or_init(|| ());
        }
        Ok(())
    }

    /// The kernels of a learned model, if it is here; reads nothing.
    pub fn known(&self, model: ModelName) -> Option<&KnownKernels> {
        let indexed = self.index.models.get(model.text())?;
        indexed.known.as_ref().filter(|_| self.held.source.has(&indexed.file))
    }

    /// Returns whether the profile holds a model and the program, which has the rest of the profile, does not.
    pub(crate) fn leaves_out(&self, model: ModelName) -> bool {
        let indexed = self.index.models.get(model.text());
        indexed.is_some_and(|indexed| !self.held.source.has(&indexed.file))
    }

    /// The model called `name`, read now if that was not done before; `None` if it is not here.
    fn opened<'m, M>(
        &'m self,
        name: &str,
        format: &'static str,
        place: &'m OnceLock<M>,
        read: impl FnOnce(&Path, &[u8]) -> Result<M, Error>,
    ) -> Result<Option<&'m M>, Error> {
        let Some(indexed) = self.index.models.get(name) else { return Ok(None) };
        if let Some(model) = place.get() {
            return Ok(Some(model));
        }
        let path = self.held.source.path(&indexed.file);
        if indexed.format != format {
            return Err(Error::Schema { path, found: indexed.format.clone(), expected: format });
        }
        let Some(packed) = self.held.source.read(&indexed.file)? else { return Ok(None) };
        if model_file::crc32(&packed) != Some(indexed.crc32) {
            let reason = "is cut off, or of another fit than the index.json beside it";
            return Err(self.held.source.damaged(&indexed.file, reason));
        }
        let model = read(&path, &packed)?;
        Ok(Some(place.get_or_init(|| model)))
    }

    /// Writes all of them into a folder: none is replaced before all are on the disk, the index last. Of two processes that
    /// write into one folder the second waits. Removes the files of models that there are no more.
    ///
    /// # Errors
    /// [`Error::File`]; as [`Models::strip`] for those that were not read yet.
    ///
    /// # Panics
    /// If plain data does not serialise.
    pub(crate) fn write(&self, folder: &Path) -> Result<(), Error> {
        let mut packed: BTreeMap<&str, Vec<u8>> = BTreeMap::new();
        for (variant, strip) in self.strips()? {
            packed.insert(variant.name(), model_file::pack(variant.name(), strip));
        }
        for learned in self.every_learned()? {
            packed.insert(learned.name(), learned.pack());
        }
        if let Some(comparison) = self.comparison()? {
            packed.insert(COMPARISON, model_file::pack(COMPARISON, comparison));
        }
        if let Some(surroundings) = self.surroundings()? {
            packed.insert(SURROUNDINGS, model_file::pack(SURROUNDINGS, surroundings));
        }
        fs::create_dir_all(folder).map_err(|source| Error::File { path: folder.to_owned(), source })?;
        let mut index = self.index.clone();
        index.models.retain(|name, _| packed.contains_key(name.as_str()));
        let names = ModelName::all().into_iter().map(ModelName::text).chain([COMPARISON, SURROUNDINGS]);
        let gone: Vec<_> = names.filter(|name| !packed.contains_key(name)).collect();
        let mut files = Vec::new();
        for (name, indexed) in &mut index.models {
            let bytes = packed.remove(name.as_str()).expect("those without were left out");
            indexed.file = file_of(name);
            indexed.crc32 = model_file::crc32(&bytes).expect("gzip ends with a checksum");
            files.push((folder.join(&indexed.file), bytes));
        }
        // The last one: what it speaks of is there.
        let text = serde_json::to_string(&index).expect("plain data serialises") + "\n";
        files.push((folder.join("index.json"), text.into_bytes()));
        // Held until the end; where folders cannot be locked, no other run is kept out.
        let alone = File::open(folder).ok();
        while alone.as_ref().is_some_and(|folder| is_interrupted(&folder.lock())) {}
        whole_file::write_all(&files)?;
        for gone in gone {
            whole_file::remove(&folder.join(file_of(gone)))?;
        }
        Ok(())
    }
}
