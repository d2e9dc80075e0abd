//! A profile: one device, measured and fitted.
//!
//! ```text
//! profiles/nvidia-h200/
//!   device.json       attributes, measured rates, provenance
//!   benchmark.jsonl   one benchmark matrix a line: the times of every block size
//!   corpus.jsonl      one real or generated matrix a line: features and the times of every candidate
//!   cuts.jsonl        one matrix cut into parts a line: predicted and measured times (may be absent)
//!   models.json       what `fit` made of them
//!   transfer.json     what a transfer to or from the device needs
//! ```
//! Predicting needs `device.json` and `models.json` only; those of shipped profiles are part of the program.

mod folder;
mod grid_name;
mod shipped;
mod transfer_profile;

pub use folder::ProfileFolder;
pub use grid_name::GridName;
pub use transfer_profile::{TRANSFER_SCHEMA, TransferFile, TransferProfile};

use crate::{Error, Missing, ModelName};
use serde::{Deserialize, Serialize};
use sparsight_kernels::{Candidate, DeviceFacts, Execution, Format};
use sparsight_matrix::{Bytes, Csr, Features, Seconds};
use sparsight_model::{
    BoostingModel, Calibration, Comparison, CutCost, LinearModel, NeighboursModel, PreparationModel,
    StripModel,
};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Everything that a prediction needs to know of a device.
#[derive(Debug, Clone, PartialEq)]
pub struct Profile {
    /// Name or folder it was loaded by.
    pub name: String,
    /// The device.
    pub device: ProfiledDevice,
    /// What was fitted.
    pub models: Models,
}

/// The device of a profile and how it was measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProfiledDevice {
    /// `sparsight/device/1`.
    pub schema: String,
    /// Which benchmark matrices it was measured with; full in files that do not say.
    #[serde(default)]
    pub grid: GridName,
    /// Attributes and measured rates.
    pub facts: DeviceFacts,
    /// Cost of a conversion from CSR, on the device or on the host beside it.
    pub conversion: BTreeMap<Format, ConversionCost>,
    /// Where the numbers come from.
    pub provenance: Provenance,
}

/// Measured cost of converting CSR into a format.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ConversionCost {
    /// Seconds a byte of the converted matrix.
    pub s_per_byte: f64,
    /// Whether it was done on the device, to which the CSR is uploaded then.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub on_device: bool,
}

/// When, from what and by what a profile was measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
    /// Where the numbers come from if this program did not measure them, and what is assumed in them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Driver as it names itself.
    pub driver: String,
    /// Version of cuSPARSE, `12.6.3`; empty where none was found, on a CPU, and in older profiles.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub cusparse: String,
    /// Host processor threads available to conversions.
    pub host_threads: usize,
}

impl Provenance {
    /// Of a measurement made now on a device with `driver`, without cuSPARSE.
    pub fn now(driver: &str, host_threads: usize) -> Self {
        Self {
            date: sparsight_device::today(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            commit: option_env!("SPARSIGHT_COMMIT").unwrap_or("unknown").to_owned(),
            kernels: sparsight_device::cuda::catalogue_hash(),
            source: None,
            driver: driver.to_owned(),
            cusparse: String::new(),
            host_threads,
        }
    }
}

/// The fitted models of a profile.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Models {
    /// `sparsight/models/1`.
    pub schema: String,
    /// The papers' strip model.
    pub strip: StripModel,
    /// The same with a second regime beyond the L2.
    pub strip_cache: StripModel,
    /// Errors of `strip` on real matrices, if the profile holds any: widens its intervals.
    pub strip_calibration: Option<Calibration>,
    /// The same for `strip-cache`.
    pub strip_cache_calibration: Option<Calibration>,
    /// The papers' strip model, fitted to benchmark matrices with uniform row lengths; `None` if the profile holds too
    /// few of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strip_uniform: Option<CalibratedStrip>,
    /// The same with normal row lengths.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strip_normal: Option<CalibratedStrip>,
    /// Trees learned from the corpus; `None` if the profile holds too few matrices to learn from
    /// ([`MIN_MATRICES`](sparsight_model::MIN_MATRICES)).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boosting: Option<BoostingModel>,
    /// Power laws learned from the corpus, likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub linear: Option<LinearModel>,
    /// The matrices of the corpus with their times, likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub neighbours: Option<NeighboursModel>,
    /// How the candidates of a matrix compare, learned from the corpus, likewise: what `best` chooses by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comparison: Option<Comparison>,
    /// What conversion and upload take, learned from the corpus; `None` if it holds fewer than a dozen of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preparation: Option<PreparationModel>,
    /// What cutting costs, learned from matrices that were cut and run: by the model that chose the cut, and how the parts
    /// are run. Nothing where fewer than 40 were.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub cutting: BTreeMap<String, BTreeMap<Execution, CutCost>>,
    /// Starts of the names that were asked to be learned from, such as `a/` or `gallery:`; empty: all of the corpus.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub train: Vec<String>,
    /// Names of the matrices that calibrations and learned models learned from. An error on one of them says nothing
    /// about a new matrix.
    #[serde(default)]
    pub trained_on: BTreeSet<String>,
}

/// A strip model with its errors on real matrices.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CalibratedStrip {
    /// The fits.
    pub model: StripModel,
    /// Widens its intervals; `None` without real matrices.
    pub calibration: Option<Calibration>,
}

impl Models {
    /// The strip models that there are, in the order in which tables list them.
    pub fn strips(&self) -> impl Iterator<Item = &StripModel> {
        let drawn = [&self.strip_uniform, &self.strip_normal].into_iter().flatten();
        [&self.strip, &self.strip_cache].into_iter().chain(drawn.map(|strip| &strip.model))
    }
}

/// Schema of `device.json`.
pub const DEVICE_SCHEMA: &str = "sparsight/device/1";
/// Schema of `models.json`.
pub const MODELS_SCHEMA: &str = "sparsight/models/1";

impl Profile {
    /// A profile that is part of the program.
    ///
    /// # Errors
    /// [`Error::NoProfile`] with the names of those that are.
    pub fn shipped(name: &str) -> Result<Self, Error> {
        shipped::load(name)
    }

    /// Names of the profiles that are part of the program.
    pub fn shipped_names() -> impl Iterator<Item = &'static str> {
        shipped::names()
    }

    /// A fitted profile from its folder.
    ///
    /// # Errors
    /// [`Error::File`], [`Error::Malformed`] or [`Error::Schema`]; [`Error::Lacking`] if it was never fitted.
    pub fn load(folder: &Path) -> Result<Self, Error> {
        let folder = ProfileFolder::open(folder)?;
        let Some(models) = folder.models()? else {
            let quick = folder.has_device() && folder.device()?.grid == GridName::Quick;
            let missing = if quick { Missing::ModelsOfQuick } else { Missing::Models };
            return Err(Error::Lacking { profile: folder.path().display().to_string(), missing });
        };
        Ok(Self { name: folder.name(), device: folder.device()?, models })
    }

    /// A shipped profile by name, else a folder by path; what has a separator is always a path.
    ///
    /// # Errors
    /// As [`Profile::shipped`] and [`Profile::load`].
    pub fn find(name_or_folder: &str) -> Result<Self, Error> {
        if !is_folder(name_or_folder) {
            return Self::shipped(name_or_folder);
        }
        Self::load(Path::new(name_or_folder))
    }

    /// What a matrix takes that is cut into parts by the predictions of `model`, and takes about `time` uncut: as learned from
    /// cuts that were run, if these reach so far, else the sums of the paper.
    pub fn cut_cost(&self, model: ModelName, execution: Execution, time: Seconds) -> CutCost {
        let learned = self.models.cutting.get(&model.to_string()).and_then(|costs| costs.get(&execution));
        let learned = learned.filter(|cost| cost.reaches(time)).copied();
        learned.unwrap_or_else(|| CutCost::sums(execution, self.device.facts.launch_s))
    }

    /// Seconds until `candidate` can run on a matrix that takes `held` bytes in its format: conversion, upload and,
    /// for a routine of the vendor's, its look at the matrix. As [`PreparationModel`] learned it from the corpus, else
    /// from the rates of one conversion and of uploads, which leaves out what every matrix pays. `None` if the profile
    /// measured neither.
    pub fn preparation(&self, candidate: &Candidate, features: &Features, held: Bytes) -> Option<Seconds> {
        let csr = Csr::<f32>::device_bytes(features.nrows, features.nnz, candidate.dtype);
        if let Some(learned) =
            self.models.preparation.as_ref().and_then(|m| m.time(candidate, features.nnz, csr, held))
        {
            return Some(learned);
        }
        let cost = self.device.conversion.get(&candidate.format())?;
        let uploaded = if cost.on_device { csr } else { held };
        let upload = self.device.facts.upload_bytes_per_s.map_or(0.0, |rate| uploaded.0 as f64 / rate);
        Some(Seconds(cost.s_per_byte * held.0 as f64 + upload))
    }
}

/// Whether text that names a profile means a folder: what has a separator is always a path, and a shipped name is one.
pub fn is_folder(name_or_folder: &str) -> bool {
    let is_path = name_or_folder.contains(['/', std::path::MAIN_SEPARATOR]);
    let is_shipped = shipped::names().any(|n| n == name_or_folder) && !is_path;
    !is_shipped && Path::new(name_or_folder).is_dir()
}
