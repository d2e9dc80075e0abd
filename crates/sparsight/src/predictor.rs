//! The models of a profile by name, as predictors.

use crate::profile::CalibratedStrip;
use crate::{BestPredictor, Error, Missing, Profile};
use serde::{Serialize, Serializer};
use sparsight_kernels::Candidate;
use sparsight_matrix::Features;
use sparsight_model::{
    BoostingPredictor, LearnedModel, LearnedPredictor, Learner, LinearPredictor, Model, NeighboursPredictor,
    PlacementRule, PredictError, Prediction, RowLengthRule, StripModel, StripPredictor, Term, Variant,
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
    /// The papers' strip model, fitted to benchmark matrices with uniform row lengths.
    StripUniform,
    /// The same with normal row lengths.
    StripNormal,
    /// Regression trees learned from measured matrices.
    Boosting,
    /// Power laws in a matrix' features, learned from measured matrices.
    Linear,
    /// The most similar of the measured matrices.
    Neighbours,
    /// For each kernel the learned model that cross-validation found best; a strip model where nothing was learned.
    Best,
}

impl ModelName {
    /// All, in the order in which tables list them.
    pub const ALL: [Self; 8] = [
        Self::Strip,
        Self::StripCache,
        Self::StripUniform,
        Self::StripNormal,
        Self::Boosting,
        Self::Linear,
        Self::Neighbours,
        Self::Best,
    ];
}

impl ModelName {
    /// Whether it learned from real matrices, so that an error on one of these is no error on a new one.
    pub const fn is_learned(self) -> bool {
        match self {
            Self::Strip | Self::StripCache | Self::StripUniform | Self::StripNormal => false,
            Self::Boosting | Self::Linear | Self::Neighbours | Self::Best => true,
        }
    }
}

impl From<Variant> for ModelName {
    fn from(variant: Variant) -> Self {
        match variant {
            Variant::Strip => Self::Strip,
            Variant::StripCache => Self::StripCache,
            Variant::StripUniform => Self::StripUniform,
            Variant::StripNormal => Self::StripNormal,
        }
    }
}

impl fmt::Display for ModelName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Strip => Variant::Strip.name(),
            Self::StripCache => Variant::StripCache.name(),
            Self::StripUniform => Variant::StripUniform.name(),
            Self::StripNormal => Variant::StripNormal.name(),
            Self::Boosting => "boosting",
            Self::Linear => "linear",
            Self::Neighbours => "neighbours",
            Self::Best => "best",
        })
    }
}

impl Serialize for ModelName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl FromStr for ModelName {
    type Err = String;
    fn from_str(s: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|m| m.to_string() == s)
            .ok_or_else(|| format!("unknown model '{s}': {}", Self::ALL.map(|m| m.to_string()).join(", ")))
    }
}

/// One model of a profile.
#[derive(Debug, Clone, Copy)]
pub enum Predictor<'p> {
    /// `strip`, `strip-cache`, `strip-uniform` or `strip-normal`.
    Strip(StripPredictor<'p>),
    /// `boosting`.
    Boosting(BoostingPredictor<'p>),
    /// `linear`.
    Linear(LinearPredictor<'p>),
    /// `neighbours`.
    Neighbours(NeighboursPredictor<'p>),
    /// `best`.
    Best(BestPredictor<'p>),
}

impl Profile {
    /// The strip models that the profile holds, in the order in which tables list them.
    pub fn strip_models(&self) -> impl Iterator<Item = (ModelName, &StripModel)> {
        self.models.strips().map(|model| (model.variant().into(), model))
    }
}

impl<'p> Predictor<'p> {
    pub(crate) fn new(
        profile: &'p Profile,
        model: ModelName,
        placement: PlacementRule,
        row_length: RowLengthRule,
    ) -> Result<Self, Error> {
        let (models, facts) = (&profile.models, &profile.device.facts);
        let strip = |model, calibration: &'p Option<_>| {
            // Calibrated as asked for when nothing is said: with other rules it would be another model's residuals.
            let usual = placement == PlacementRule::Blend && row_length == RowLengthRule::Paper;
            let calibration = calibration.as_ref().filter(|_| usual);
            Self::Strip(StripPredictor { model, facts, placement, row_length, calibration })
        };
        match model {
            ModelName::Strip => Ok(strip(&models.strip, &models.strip_calibration)),
            ModelName::StripCache => Ok(strip(&models.strip_cache, &models.strip_cache_calibration)),
            ModelName::StripUniform => drawn(profile, Variant::StripUniform, models.strip_uniform.as_ref())
                .map(|found| strip(&found.model, &found.calibration)),
            ModelName::StripNormal => drawn(profile, Variant::StripNormal, models.strip_normal.as_ref())
                .map(|found| strip(&found.model, &found.calibration)),
            ModelName::Boosting => learned(profile, models.boosting.as_ref()).map(Self::Boosting),
            ModelName::Linear => learned(profile, models.linear.as_ref()).map(Self::Linear),
            ModelName::Neighbours => learned(profile, models.neighbours.as_ref()).map(Self::Neighbours),
            ModelName::Best => Ok(Self::Best(BestPredictor { profile, placement, row_length })),
        }
    }

    /// The prediction and the model that made it: the one asked for, unless that is `best`, which asks others.
    ///
    /// # Errors
    /// As [`Model::predict`].
    pub fn answer(
        &self,
        candidate: &Candidate,
        features: &Features,
    ) -> Result<(ModelName, Prediction), PredictError> {
        self.answer_each(std::slice::from_ref(candidate), features).swap_remove(0)
    }

    /// [`Predictor::answer`] for each of `candidates`, in order.
    ///
    /// # Panics
    /// Never: every model bears one of the names.
    pub fn answer_each(
        &self,
        candidates: &[Candidate],
        features: &Features,
    ) -> Vec<Result<(ModelName, Prediction), PredictError>> {
        if let Self::Best(best) = self {
            return best.answer_each(candidates, features);
        }
        let name = self.name().parse().expect("models bear the names of ModelName");
        let predicted = self.predict_each(candidates, features).into_iter();
        predicted.map(|prediction| Ok((name, prediction?))).collect()
    }

    /// [`Predictor::answer_each`] for all candidates of one value type that the device can hold.
    pub(crate) fn answer_possible(
        &self,
        possible: &[Candidate],
        features: &Features,
    ) -> Vec<Result<(ModelName, Prediction), PredictError>> {
        match self {
            Self::Best(best) => best.answer_possible(possible, features),
            _ => self.answer_each(possible, features),
        }
    }

    fn model(&self) -> &dyn Model {
        match self {
            Self::Strip(predictor) => predictor,
            Self::Boosting(predictor) => predictor,
            Self::Linear(predictor) => predictor,
            Self::Neighbours(predictor) => predictor,
            Self::Best(predictor) => predictor,
        }
    }
}

fn drawn<'p>(
    profile: &Profile,
    variant: Variant,
    found: Option<&'p CalibratedStrip>,
) -> Result<&'p CalibratedStrip, Error> {
    let missing = Missing::StripModel(variant);
    found.ok_or_else(|| Error::Lacking { profile: profile.name.clone(), missing })
}

fn learned<'p, L: Learner>(
    profile: &'p Profile,
    model: Option<&'p LearnedModel<L>>,
) -> Result<LearnedPredictor<'p, L>, Error> {
    let (facts, missing) = (&profile.device.facts, Missing::LearnedModel(L::NAME));
    model
        .map(|model| LearnedPredictor { model, facts })
        .ok_or_else(|| Error::Lacking { profile: profile.name.clone(), missing })
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
