//! `fit`: what was fitted to a profile, and how well.

use serde::Serialize;
use sparsight::Error;
use sparsight::calibrate::Fitted;
use sparsight::models::Learned;
use sparsight_kernels::Execution;
use sparsight_matrix::Dtype;
use sparsight_model::{CrossValidation, CutCost, StripModel};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// `sparsight/fit/1`: the models of a profile in short.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FitAnswer {
    /// Folder of the profile.
    pub folder: PathBuf,
    /// Matrices whose errors calibrate the intervals.
    pub trained_on: usize,
    /// Times in the records that nothing takes, which were not learned from.
    pub implausible: usize,
    /// Strip models, one entry a model and value type.
    pub models: Vec<FittedModel>,
    /// Cross-validation of the models that learned from measured matrices; absent if nothing was learned.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub learned: Vec<LearnedErrors>,
    /// Cost of cutting, by model and execution; absent where it was not learned.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub cutting: BTreeMap<String, BTreeMap<Execution, CutCost>>,
}

impl FitAnswer {
    /// Answer from the models of the profile in `folder`.
    ///
    /// # Errors
    /// [`Error::File`], [`Error::Damaged`] or [`Error::Schema`] if a model that is read for it cannot be.
    pub fn of(folder: PathBuf, Fitted { models, implausible }: &Fitted) -> Result<Self, Error> {
        Ok(Self {
            folder,
            trained_on: models.index.trained_on.len(),
            implausible: *implausible,
            models: models
                .strips()?
                .into_iter()
                .flat_map(|(_, strip)| FittedModel::all(&strip.model))
                .collect(),
            learned: models.every_learned()?.into_iter().map(LearnedErrors::of).collect(),
            cutting: models.index.cutting.clone(),
        })
    }
}

/// A strip model in one value type.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FittedModel {
    /// Name of the model.
    pub model: &'static str,
    /// Value type.
    pub dtype: Dtype,
    /// Candidates that it knows, at any placement.
    pub candidates: usize,
    /// Benchmark matrices times block sizes that it was fitted to.
    pub observations: usize,
    /// Kernels that, at some placement and block size, have too few benchmark matrices.
    pub unfitted: Vec<String>,
}

impl FittedModel {
    /// Errors of the model in each value type that the profile holds.
    fn all(model: &StripModel) -> Vec<Self> {
        let entry = |dtype: Dtype| {
            let fitted: Vec<_> = model.fitted().iter().filter(|f| f.candidate.dtype == dtype).collect();
            let unfitted = model.unfitted().iter().filter(|u| u.candidate.dtype == dtype);
            let candidates: BTreeSet<_> = fitted.iter().map(|f| f.candidate).collect();
            let unfitted: BTreeSet<String> = unfitted.map(|u| u.candidate.kernel.to_string()).collect();
            Self {
                model: model.variant().name(),
                dtype,
                candidates: candidates.len(),
                observations: fitted.iter().map(|f| f.observations).sum(),
                unfitted: unfitted.into_iter().collect(),
            }
        };
        let mut entries: Vec<Self> = Dtype::ALL.into_iter().map(entry).collect();
        entries.retain(|e| e.candidates > 0 || !e.unfitted.is_empty());
        entries
    }
}

/// Cross-validation of one learned model.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LearnedErrors {
    /// Name of the model.
    pub model: &'static str,
    /// Matrices that it learned from.
    pub matrices: usize,
    /// Errors of its predictions of held-out matrices.
    pub held_out: CrossValidation,
    /// Mean of `|ln(predicted / measured)|` by kernel, by which `best` chooses.
    pub log_errors: BTreeMap<String, f64>,
}

impl LearnedErrors {
    fn of(model: &dyn Learned) -> Self {
        let errors = model.known().log_errors.into_iter();
        Self {
            model: model.name(),
            matrices: model.matrices(),
            held_out: *model.cross_validation(),
            log_errors: errors.map(|(kernel, error)| (kernel.to_string(), error)).collect(),
        }
    }
}
