//! Index of a profile's models, which is read before any of them: `models/index.json`.

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use sparsight_kernels::{Execution, Kernel};
use sparsight_matrix::Dtype;
use sparsight_model::{CutCost, MixedPrecision, PreparationModel};
use std::collections::{BTreeMap, BTreeSet};

/// Schema of `models/index.json`.
pub const MODELS_SCHEMA: &str = "sparsight/models/2";

/// Index of the models: their names, the parts that are small enough to be read at every start, and where the rest is.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ModelsIndex {
    /// `sparsight/models/2`.
    pub schema: String,
    /// Starts of the names that were asked to be learned from, such as `a/` or `gallery:`; empty: all of the corpus.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub train: Vec<String>,
    /// The models with a file of their own, by name: those of [`ModelName`](crate::model_name::ModelName), and `comparison`, by which
    /// `best` chooses.
    pub models: BTreeMap<String, IndexedModel>,
    /// Costs of conversion and upload, learned from the corpus; `None` if it holds fewer than a dozen of them.
    pub preparation: Option<PreparationModel>,
    /// Cost of cutting, learned from matrices that were cut and run: by the model that chose the cut, and by execution.
    /// Empty with fewer than 40 cuts.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub cutting: BTreeMap<String, BTreeMap<Execution, CutCost>>,
    /// Position of mixed precision between `f32` and `f64`; `None` without measurements.
    pub mixed: Option<MixedPrecision>,
    /// Names of the matrices that calibrations and learned models learned from. An error on one of them says nothing
    /// about a new matrix.
    #[serde(default)]
    pub trained_on: BTreeSet<String>,
    /// Names of the profiles of other devices whose times took part, carried over to this one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub carried_from: Vec<String>,
}

/// A model that has a file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct IndexedModel {
    /// Name of the file, beside the index.
    pub file: String,
    /// Name and version of the form that the model has in it.
    pub format: String,
    /// The checksum of what is in it, as gzip has it: a file of another fit is told from this one.
    pub crc32: u32,
    /// Kernels of a learned model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub known: Option<KnownKernels>,
}

/// Kernels and value types of a learned model, with their errors.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct KnownKernels {
    /// Value types of the matrices learned from.
    pub dtypes: Vec<Dtype>,
    /// The kernels, each with the mean of `|ln(predicted / measured)|` over held-out matrices, by which learned models are
    /// compared.
    pub log_errors: BTreeMap<Kernel, f64>,
}

impl KnownKernels {
    /// The error of a kernel in a value type; `None` if nothing was learned of it.
    pub fn error(&self, kernel: Kernel, dtype: Dtype) -> Option<f64> {
        self.log_errors.get(&kernel).copied().filter(|_| self.dtypes.contains(&dtype))
    }
}
