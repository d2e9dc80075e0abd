//! A profile: one device, measured and fitted.
//!
//! ```text
//! profiles/nvidia-h200/
//!   device.json       attributes, measured rates, provenance
//!   benchmark.jsonl   one benchmark matrix a line: the times of every block size
//!   corpus.jsonl      one real or generated matrix a line: features and the times of every candidate
//!   cuts.jsonl        one matrix cut into parts a line: predicted and measured times (may be absent)
//!   models/           what `fit` made of them: an index, and a file for each model
//!   transfer.json     what a transfer to or from the device needs
//!   calibration.json  the times of the matrices that every GPU is calibrated with (may be absent)
//!   rescaling.json    in place of models: whose predictions answer, and how they are carried over
//! ```
//! Beside a journal, `.jsonl`, may lie a packed one, `.jsonl.xz`. Predicting needs `device.json` and `models/` only; those of
//! shipped profiles are part of the program, or of the file beside it that `shipped` reads.
//!
//! ```text
//! folder, shipped, cache   a profile on disk, in the program, in the cache of the user
//! of_user                  profiles of the user, by name and by GPU
//! data_sheet               a GPU that was not measured, from numbers that the user gives
//! calibration, links       files of a calibration, and of links between GPUs
//! vendor                   names of other makers' GPUs
//! ```

mod cache;
mod calibration;
mod data_sheet;
mod folder;
mod links;
mod of_user;
mod shipped;
mod vendor;

pub use crate::files::{parse as parse_document, whole_file};
pub use crate::missing::Missing;
pub use crate::models::{
    CalibratedStrip, IndexedModel, KnownKernels, Learned, MODELS_SCHEMA, Models, ModelsIndex,
};
pub use cache::{FolderLock, cached_folder, calibration_folder};
pub use calibration::{CALIBRATION_SCHEMA, CalibrationFile, RESCALING_SCHEMA, RescalingFile};
pub use data_sheet::is_data_sheet;
pub use folder::ProfileFolder;
pub use links::{KnownLinks, LINKS_SCHEMA, LinksFile, MeasuredExchange};
pub use of_user::folders_of_user;
pub use vendor::other_vendor;

use crate::Error;
use crate::model_name::ModelName;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use sparsight_kernels::{Candidate, DeviceFacts, Execution, Format, LaunchCost, device_bytes};
use sparsight_matrix::{Bytes, Csr, Dtype, Features, Seconds};
use sparsight_model::{CutCost, MixedPrecision, Rescaling};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Everything that a prediction needs to know of a device.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Profile {
    /// Name it was loaded by; of a folder, the last part of its path.
    pub name: String,
    /// The folder it was loaded from, `None` of a shipped one and of a data sheet.
    pub folder: Option<PathBuf>,
    /// The device.
    pub device: ProfiledDevice,
    /// The fitted models. Each is read when it is first asked for.
    pub models: Models,
    /// Reference and rescaling, if the models are those of another device.
    pub rescaled: Option<Arc<Rescaled>>,
    /// Cost of a launch on the machine at hand, the profile's and what a product takes longer there, if it was measured:
    /// [`Profile::on_machine`].
    pub launch_here: Option<Seconds>,
}

/// Predictions of another device, carried over.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Rescaled {
    /// The profile that they are of.
    pub reference: Profile,
    /// Rescaling of the reference's times to this device.
    pub rescaling: Rescaling,
}

/// The device of a profile and how it was measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProfiledDevice {
    /// `sparsight/device/1`.
    pub schema: String,
    /// Grid of benchmark matrices that it was measured with; full in files that do not say.
    #[serde(default)]
    pub grid: GridName,
    /// Attributes and measured rates.
    pub facts: DeviceFacts,
    /// Cost of a conversion from CSR, on the device or on the host beside it.
    pub conversion: BTreeMap<Format, ConversionCost>,
    /// Non-zeros from which a GPU converts faster than the host beside it, upload included: see
    /// [`measure_conversion_threshold`](crate::calibrate::measure_conversion_threshold). `None` on a CPU, and where it was not measured:
    /// then a GPU converts everything. A device that was opened without the profile is told by
    /// [`Cuda::convert_on`](sparsight_device::cuda::Cuda::convert_on) with `ConvertOn::From`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub converts_from_nnz: Option<u64>,
    /// Origin of the numbers.
    pub provenance: Provenance,
}

/// Measured cost of converting CSR into a format.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ConversionCost {
    /// Seconds a byte of the converted matrix.
    pub s_per_byte: f64,
    /// True if it was done on the device, to which the CSR is uploaded then.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub on_device: bool,
}

/// Date, program and driver of a measurement.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Provenance {
    /// UTC date on which the profile was begun.
    pub date: String,
    /// Version of this program.
    pub version: String,
    /// Commit that it was built from, `unknown` if it was not told.
    pub commit: String,
    /// Hash of all CUDA kernels of the catalogue.
    #[serde(default)]
    pub kernels: String,
    /// Source of the numbers if this program did not measure them, and the assumptions in them.
    pub source: Option<String>,
    /// Assumptions beside the numbers of a data sheet; empty for a measured device.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub assumptions: Vec<String>,
    /// Driver as it names itself.
    pub driver: String,
    /// Version of cuSPARSE, `12.6.3`; empty where none was found, on a CPU, and in older profiles.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub cusparse: String,
    /// Host processor threads available to conversions.
    pub host_threads: usize,
    /// Disturbances of the machine while it was measured, so that times may be off; absent if none was seen.
    pub noise: Option<String>,
}

impl Provenance {
    /// Provenance of a measurement made now on a device with `driver`, without cuSPARSE.
    pub fn now(driver: &str, host_threads: usize) -> Self {
        Self {
            date: sparsight_device::timing::today(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            commit: option_env!("SPARSIGHT_COMMIT").unwrap_or("unknown").to_owned(),
            kernels: sparsight_device::cuda::catalogue_hash(),
            driver: driver.to_owned(),
            host_threads,
            ..Self::default()
        }
    }

    /// Returns whether the kernels that were measured are those of this program.
    pub fn is_of_these_kernels(&self) -> bool {
        self.kernels == sparsight_device::cuda::catalogue_hash()
    }
}

impl ProfiledDevice {
    /// A device as it was opened now, without what conversions take. `cusparse`: the version of that library, empty without one.
    pub fn now(facts: DeviceFacts, grid: GridName, cusparse: String, host_threads: usize) -> Self {
        let provenance = Provenance { cusparse, ..Provenance::now(&facts.driver, host_threads) };
        Self {
            schema: DEVICE_SCHEMA.to_owned(),
            grid,
            facts,
            conversion: BTreeMap::new(),
            converts_from_nnz: None,
            provenance,
        }
    }
}

/// Schema of `device.json`.
pub const DEVICE_SCHEMA: &str = "sparsight/device/1";

impl Profile {
    /// The shipped profile that answers if no device is named and none of this machine is known.
    pub const DEFAULT: &str = "nvidia-h200";

    /// A profile that is part of the program.
    ///
    /// # Errors
    /// [`Error::NoProfile`] with the names of those that are. Without the feature `shipped-profiles` [`Error::NoProfilesFile`],
    /// [`Error::ProfilesFile`].
    pub fn shipped(name: &str) -> Result<Self, Error> {
        shipped::load(name)
    }

    /// Names of the profiles that are part of the program.
    pub fn shipped_names() -> impl Iterator<Item = &'static str> {
        shipped::names()
    }

    /// The profile of the GPU that its driver calls `name`, if one is part of the program; where the user has a profile of the
    /// same name ([`folder_of`]), that one. Of another GPU the first profile in [`folders_of_user`] that is of it.
    ///
    /// # Errors
    /// As [`Profile::find`], if there is one and it cannot be read.
    pub fn shipped_for_gpu(name: &str) -> Result<Option<Self>, Error> {
        match Self::shipped_name_for_gpu(name) {
            Some(shipped) => Self::find(shipped).map(Some),
            None => of_user::of_gpu(&folders_of_user(), name).map(|folder| Self::load(&folder)).transpose(),
        }
    }

    /// Profile that answers for that GPU without measuring: that of [`Profile::shipped_for_gpu`], or a calibration made
    /// before ([`calibration_folder`]) with `driver`, which is called only if there may be one. A calibration that cannot be read is
    /// none.
    ///
    /// # Errors
    /// As [`Profile::shipped_for_gpu`].
    pub fn known_for_gpu(name: &str, driver: impl FnOnce() -> Option<String>) -> Result<Option<Self>, Error> {
        let calibrated = || Self::load(&calibration_folder("cuda", name, &driver()?)?).ok();
        Ok(Self::shipped_for_gpu(name)?.or_else(calibrated))
    }

    /// The name of the profile of that GPU. Reads the facts of the devices alone.
    pub fn shipped_name_for_gpu(name: &str) -> Option<&'static str> {
        Self::shipped_names().find(|profile| {
            let facts = shipped::load_device(profile).map(|device| device.facts);
            facts.is_ok_and(|facts| facts.kind.is_gpu() && facts.name == name)
        })
    }

    /// A fitted profile from its folder. What is wrong with a model is said when it is asked for.
    ///
    /// # Errors
    /// [`Error::File`], [`Error::Malformed`] or [`Error::Schema`]; [`Error::Lacking`] if it was never fitted.
    pub fn load(folder: &Path) -> Result<Self, Error> {
        let folder = ProfileFolder::open(folder)?;
        if let Some(own) = Self::of_own_models(&folder)? {
            return Ok(own);
        }
        if let Some(carried) = folder.rescaling()? {
            let reference = Self::with_models(&carried.reference)?;
            let carried = reference.carried_to(folder.device()?, &folder.name(), carried.rescaling);
            return Ok(Self { folder: Some(folder.path().to_owned()), ..carried });
        }
        let device = if folder.has_device() { Some(folder.device()?) } else { None };
        let missing = match device {
            Some(device) if device.provenance.source.is_some() => Missing::OfElsewhere,
            _ if folder.has_benchmark() => Missing::Fit,
            // Of a calibration that did not end. To a processor nothing is carried over from a GPU.
            Some(device) if device.grid == GridName::Quick && device.facts.kind.is_gpu() => {
                Missing::ModelsOfQuick
            }
            _ => Missing::Models,
        };
        Err(Error::Lacking { profile: folder.path().display().to_string(), missing })
    }

    /// Profile of a folder that was fitted, `None` of any other.
    fn of_own_models(folder: &ProfileFolder) -> Result<Option<Self>, Error> {
        let Some(models) = folder.models()? else { return Ok(None) };
        let path = folder.path().to_owned();
        Ok(Some(Self::of(folder.name(), Some(path), folder.device()?, models)))
    }

    /// A profile with models of its own.
    fn of(name: String, folder: Option<PathBuf>, device: ProfiledDevice, models: Models) -> Self {
        Self { name, folder, device, models, rescaled: None, launch_here: None }
    }

    /// The shipped profile or the folder of that name, with models of its own: another profile's predictions are carried over
    /// once, and never round in a circle.
    fn with_models(name_or_folder: &str) -> Result<Self, Error> {
        let Some(path) = folder_of(name_or_folder) else { return Self::shipped(name_or_folder) };
        let folder = ProfileFolder::open(&path)?;
        let lacking = || {
            let missing = if folder.has_benchmark() { Missing::Fit } else { Missing::Models };
            Error::Lacking { profile: folder.path().display().to_string(), missing }
        };
        Self::of_own_models(&folder)?.ok_or_else(lacking)
    }

    /// What names it on a command line: its folder as it was given, else its name.
    pub fn place(&self) -> String {
        self.folder.as_ref().map_or_else(|| self.name.clone(), |folder| folder.display().to_string())
    }

    /// A profile by name, of the user ([`folder_of`]) or shipped, a data sheet by a path that ends in `.toml`, else a folder by
    /// path; what has a separator is always a path.
    ///
    /// # Errors
    /// As [`Profile::shipped`] and [`Profile::load`].
    pub fn find(name_or_folder: &str) -> Result<Self, Error> {
        if data_sheet::is_data_sheet(name_or_folder) {
            return data_sheet::load(Path::new(name_or_folder));
        }
        match folder_of(name_or_folder) {
            Some(folder) => Self::load(&folder),
            None => Self::shipped(name_or_folder),
        }
    }

    /// The links between several of the device, if the profile knows of any; what was calibrated asks its folder alone, and a data
    /// sheet knows of none.
    ///
    /// # Errors
    /// [`Error::File`], [`Error::Malformed`], [`Error::Schema`].
    pub fn links(&self) -> Result<Option<KnownLinks>, Error> {
        match &self.folder {
            Some(folder) => ProfileFolder::open(folder)?.links(),
            None if shipped::names().any(|name| name == self.name) => {
                shipped::load_links(&self.name).map(Some)
            }
            None => Ok(None),
        }
    }

    /// The profile for a machine on which products of the same device cost `here`: what that is more than in the profile is added to
    /// every predicted time. Machines with the same GPU, and processes on one machine, differ in it by a tenth of a microsecond, which
    /// is 3 % of a short product. Changes nothing on a processor, and where either was not measured. A launch counts as half of the
    /// profile's at least.
    #[must_use]
    pub fn on_machine(self, here: &LaunchCost) -> Self {
        let facts = &self.device.facts;
        let launch = facts.launch_s.0;
        let above = here.above(&facts.launch_cost()).filter(|_| facts.kind.is_gpu() && launch > 0.0);
        Self { launch_here: above.map(|above| Seconds((launch + above).max(0.5 * launch))), ..self }
    }

    /// A launch on the machine at hand where it is known, else in the profile.
    pub(crate) fn launch_s(&self) -> Seconds {
        self.launch_here.unwrap_or(self.device.facts.launch_s)
    }

    /// Facts of the device, with [that launch](Self::launch_s).
    pub(crate) fn facts_here(&self) -> DeviceFacts {
        DeviceFacts { launch_s: self.launch_s(), ..self.device.facts.clone() }
    }

    /// Cost of cutting by the predictions of `model` a matrix that takes about `time` uncut: as learned from
    /// cuts that were run, if these reach so far, else the sums of the paper.
    pub fn cut_cost(&self, model: ModelName, execution: Execution, time: Seconds) -> CutCost {
        let learned = self.models.index.cutting.get(model.text()).and_then(|costs| costs.get(&execution));
        let learned = learned.filter(|cost| cost.reaches(time)).copied();
        learned.unwrap_or_else(|| CutCost::sums(execution, self.device.facts.launch_s))
    }

    /// Position of mixed precision between `f32` and `f64`: as measured, for a calibrated GPU on its reference; else by bytes.
    pub(crate) fn mixed_precision(&self) -> MixedPrecision {
        let models = self.rescaled.as_ref().map_or(&self.models, |rescaled| &rescaled.reference.models);
        models.index.mixed.clone().unwrap_or_default()
    }

    /// Seconds until `candidate` can run on a matrix that takes `held` bytes in its format: conversion, upload and,
    /// for a routine of the vendor's, its look at the matrix. As
    /// [`PreparationModel`](sparsight_model::PreparationModel) learned it from the corpus, else from the rates of one
    /// conversion and of uploads, which leaves out what every matrix pays. `None` if the profile measured neither. In mixed
    /// precision what it is in `f64`: what rounding takes and what uploading fewer bytes saves are about the same.
    pub fn preparation(&self, candidate: &Candidate, features: &Features, held: Bytes) -> Option<Seconds> {
        if candidate.dtype == Dtype::Mixed {
            let double = Candidate { dtype: Dtype::F64, ..*candidate };
            return self.preparation(&double, features, device_bytes(&double, features));
        }
        let csr = Csr::<f32>::device_bytes(features.nrows, features.nnz, candidate.dtype);
        let learned = self.models.index.preparation.as_ref();
        let on_device = features.nnz >= self.device.converts_from_nnz.unwrap_or(0);
        if let Some(learned) = learned.and_then(|m| m.time(candidate, on_device, csr, held)) {
            return Some(learned);
        }
        let cost = self.device.conversion.get(&candidate.format())?;
        let uploaded = if cost.on_device { csr } else { held };
        let upload = self.device.facts.upload_bytes_per_s.map_or(0.0, |rate| uploaded.0 as f64 / rate);
        Some(Seconds(cost.s_per_byte * held.0 as f64 + upload))
    }
}

/// The folder that text means which names a profile; `None` where it is the name of a shipped one, or of none. What has a
/// separator is always a path. A name is looked for in [`folders_of_user`], then among the shipped profiles, then here.
pub fn folder_of(name_or_folder: &str) -> Option<PathBuf> {
    let is_path = name_or_folder.contains(['/', std::path::MAIN_SEPARATOR]);
    let of_user = (!is_path && !name_or_folder.is_empty()).then(|| of_user::named(name_or_folder)).flatten();
    let is_shipped = || shipped::names().any(|n| n == name_or_folder) && !is_path;
    of_user.or_else(|| {
        let here = Path::new(name_or_folder);
        (!is_shipped() && here.is_dir()).then(|| here.to_owned())
    })
}

/// The nearest matrices that were learned from: see [`Surroundings`](sparsight_model::Surroundings).
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Nearby {
    /// Share of the training matrices that are closer to their nearest neighbour than this matrix is to its own.
    pub farther_than: f64,
    /// The nearest first; never empty.
    pub nearest: Vec<NearMatrix>,
}

/// A matrix that was learned from.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct NearMatrix {
    /// Name in the corpus.
    pub matrix: String,
    /// Distance in standard deviations of the training matrices, a quadratic mean over all quantities.
    pub distance: f64,
}

impl Profile {
    /// The `count` nearest matrices that the profile learned from, of a calibrated GPU those of the profile whose predictions are
    /// carried over. `None` if it learned from none, was fitted before this was kept, or `features` do not hold
    /// [`Locality`](sparsight_matrix::Locality).
    ///
    /// ```
    /// use sparsight::{Profile, matrix::{Features, gallery::Recipe}};
    /// let features = Features::of(&"stencil2d,n=200".parse::<Recipe>()?.generate::<f64>()?);
    /// let nearby = Profile::shipped("nvidia-h200")?.nearby(&features, 3)?.unwrap();
    /// assert!(nearby.nearest[0].matrix.starts_with("gallery:stencil2d"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::File`], [`Error::Damaged`] or [`Error::Schema`] if what is kept cannot be read.
    pub fn nearby(&self, features: &Features, count: usize) -> Result<Option<Nearby>, Error> {
        let models = self.rescaled.as_ref().map_or(&self.models, |rescaled| &rescaled.reference.models);
        let Some(surroundings) = models.surroundings()? else { return Ok(None) };
        let names: Vec<&String> = models.index.trained_on.iter().collect();
        let nearest = surroundings.nearest(features, count);
        let Some(first) = nearest.first() else { return Ok(None) };
        let farther_than = surroundings.farther_than(first.distance);
        let named = nearest
            .iter()
            .map(|near| NearMatrix { matrix: names[near.matrix].clone(), distance: near.distance });
        Ok(Some(Nearby { farther_than, nearest: named.collect() }))
    }
}

/// The benchmark matrices of a profile: the largest grid that it was asked for. In the order of their size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum GridName {
    /// The handful that a transfer by the model of 2013 takes, which `profile --budget` measures first; or none, of a calibration.
    Quick,
    /// Few strips of rows of one length: what is measured of a CPU without a profile when it is asked about.
    Coarse,
    /// The papers'.
    #[default]
    Full,
}
