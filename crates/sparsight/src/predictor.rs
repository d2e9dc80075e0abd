//! The models of a profile by name, as predictors.

use crate::{Error, Profile};
use sparsight_kernels::{Candidate, DeviceKind, Kernel};
use sparsight_matrix::{Dtype, Features};
use sparsight_model::{
    BoostingModel, BoostingPredictor, MIN_MATRICES, Model, PlacementRule, PredictError, Prediction,
    StripPredictor, Term,
};
use std::fmt;
use std::str::FromStr;

/// A model by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ModelName {
    /// The papers' strip model.
    Strip,
    /// The same with a second regime beyond the L2.
    StripCache,
    /// Regression trees learned from measured matrices.
    Boosting,
}

impl ModelName {
    /// All, in the order in which tables list them.
    pub const ALL: [Self; 3] = [Self::Strip, Self::StripCache, Self::Boosting];
}

impl ModelName {
    /// Whether it learned from real matrices, so that an error on one of these is no error on a new one.
    pub const fn is_learned(self) -> bool {
        matches!(self, Self::Boosting)
    }
}

impl fmt::Display for ModelName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Strip => "strip",
            Self::StripCache => "strip-cache",
            Self::Boosting => "boosting",
        })
    }
}

impl FromStr for ModelName {
    type Err = String;
    fn from_str(s: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|m| m.to_string() == s)
            .ok_or_else(|| format!("unknown model '{s}': strip, strip-cache or boosting"))
    }
}

/// One model of a profile.
#[derive(Debug, Clone, Copy)]
pub enum Predictor<'p> {
    /// `strip` or `strip-cache`.
    Strip(StripPredictor<'p>),
    /// `boosting`.
    Boosting(BoostingPredictor<'p>),
}

impl Profile {
    /// The model that predicts when none is named: `boosting` if the profile learned every kernel for this value type, else
    /// on a GPU `strip-cache` and on a CPU `strip` (the second regime was seen on a GPU, and a quick profile has too
    /// few benchmarks beyond a CPU's caches to hold its lines).
    pub fn best_model(&self, dtype: Dtype) -> ModelName {
        let complete = |model: &BoostingModel| {
            model.knows(dtype)
                && Kernel::ALL.iter().all(|kernel| model.kernels().iter().any(|k| k.kernel() == *kernel))
        };
        let learned = self.models.boosting.as_ref().is_some_and(complete);
        match (learned, self.device.facts.kind) {
            (true, _) => ModelName::Boosting,
            (false, DeviceKind::Cuda) => ModelName::StripCache,
            (false, DeviceKind::Cpu) => ModelName::Strip,
        }
    }
}

impl<'p> Predictor<'p> {
    pub(crate) fn new(
        profile: &'p Profile,
        model: ModelName,
        placement: PlacementRule,
    ) -> Result<Self, Error> {
        let (models, facts) = (&profile.models, &profile.device.facts);
        let strip = |model, calibration: &'p Option<_>| {
            Self::Strip(StripPredictor { model, facts, placement, calibration: calibration.as_ref() })
        };
        match model {
            ModelName::Strip => Ok(strip(&models.strip, &models.strip_calibration)),
            ModelName::StripCache => Ok(strip(&models.strip_cache, &models.strip_cache_calibration)),
            ModelName::Boosting => {
                let found = models.boosting.as_ref();
                let missing = || Error::Lacking {
                    profile: profile.name.clone(),
                    missing: format!(
                        "{model} model, which takes a corpus of at least {MIN_MATRICES} matrices"
                    ),
                };
                found.map(|model| Self::Boosting(BoostingPredictor { model, facts })).ok_or_else(missing)
            }
        }
    }

    fn model(&self) -> &dyn Model {
        match self {
            Self::Strip(predictor) => predictor,
            Self::Boosting(predictor) => predictor,
        }
    }
}

impl Model for Predictor<'_> {
    fn name(&self) -> &'static str {
        self.model().name()
    }

    fn predict(&self, candidate: &Candidate, features: &Features) -> Result<Prediction, PredictError> {
        self.model().predict(candidate, features)
    }

    fn predict_each(
        &self,
        candidates: &[Candidate],
        features: &Features,
    ) -> Vec<Result<Prediction, PredictError>> {
        self.model().predict_each(candidates, features)
    }

    fn explain(&self, candidate: &Candidate, features: &Features) -> Result<Vec<Term>, PredictError> {
        self.model().explain(candidate, features)
    }
}
