//! The models of a profile by name, as predictors.
//!
//! `best.rs` chooses for each kernel the model that answers; `carried.rs` carries predictions over to another device, and to another
//! machine with the same one.

mod best;
mod carried;

pub use best::BestPredictor;
pub use carried::CarriedPredictor;

use crate::missing::Missing;
use crate::model_name::ModelName;
use crate::{Error, Profile};
use sparsight_kernels::Candidate;
use sparsight_matrix::Features;
use sparsight_model::{
    Model, PlacementRule, PredictError, Predicted, Prediction, RowLengthRule, StripModel, StripPredictor,
    Term, Variant,
};
use std::sync::Arc;

/// The answer about one candidate, with the model that gave it, never [`ModelName::Best`].
pub type Answered = Result<(ModelName, Prediction), PredictError>;

/// Answers without the names of the models.
fn predictions(answers: Vec<Answered>) -> Vec<Predicted> {
    answers.into_iter().map(|answer| answer.map(|(_, prediction)| prediction)).collect()
}

/// A model of a profile.
#[derive(Debug, Clone)]
pub enum Predictor<'p> {
    /// `strip`, `strip-cache`, `strip-uniform` or `strip-normal`.
    Strip(StripPredictor<'p>),
    /// A model that learned from real matrices, such as `boosting`.
    Learned(Arc<dyn Model + 'p>),
    /// `best`.
    Best(BestPredictor<'p>),
    /// Any of them for another device, or for a machine whose launches take another time.
    Carried(CarriedPredictor<'p>),
}

impl Profile {
    /// The strip models that the profile holds, in the order in which tables list them.
    ///
    /// # Errors
    /// [`Error::File`], [`Error::Damaged`] or [`Error::Schema`] if one cannot be read.
    pub fn strip_models(&self) -> Result<Vec<(ModelName, &StripModel)>, Error> {
        let strips = self.models.strips()?.into_iter();
        Ok(strips.map(|(variant, strip)| (variant.into(), &strip.model)).collect())
    }
}

impl<'p> Predictor<'p> {
    pub(crate) fn new(
        profile: &'p Profile,
        model: ModelName,
        placement: PlacementRule,
        row_length: RowLengthRule,
    ) -> Result<Self, Error> {
        let of_profile = Self::of_profile(profile, model, placement, row_length)?;
        let Some(launch) = profile.launch_here else { return Ok(of_profile) };
        Ok(Self::Carried(CarriedPredictor::to_machine(of_profile, launch, profile.device.facts.launch_s)))
    }

    /// Without the launch of the machine at hand.
    fn of_profile(
        profile: &'p Profile,
        model: ModelName,
        placement: PlacementRule,
        row_length: RowLengthRule,
    ) -> Result<Self, Error> {
        let facts = &profile.device.facts;
        if let Some(rescaled) = &profile.rescaled {
            let inner = Self::new(&rescaled.reference, model, placement, row_length)?;
            return Ok(Self::Carried(CarriedPredictor::to_device(inner, rescaled, facts)));
        }
        if model == ModelName::Best {
            return BestPredictor::new(profile, placement, row_length).map(Self::Best);
        }
        let Some(variant) = model.variant() else {
            let model = profile.models.learned(model)?.ok_or_else(|| nothing_learned(profile, model))?;
            return Ok(Self::Learned(model.on(facts)));
        };
        let strip = profile.models.strip(variant)?.ok_or_else(|| no_strip(profile, variant))?;
        // Calibrated with the default rules: with others these would be another model's residuals.
        let usual = placement == PlacementRule::Blend && row_length == RowLengthRule::Paper;
        let calibration = strip.calibration.as_ref().filter(|_| usual);
        Ok(Self::Strip(StripPredictor { model: &strip.model, facts, placement, row_length, calibration }))
    }

    /// The prediction and the model that made it: the one asked for, unless that is `best`, which asks others.
    ///
    /// # Errors
    /// As [`Model::predict`].
    pub fn answer(&self, candidate: &Candidate, features: &Features) -> Answered {
        self.answer_each(std::slice::from_ref(candidate), features).swap_remove(0)
    }

    /// [`Predictor::answer`] for each of `candidates`, in order.
    ///
    /// # Panics
    /// Never: every model bears one of the names.
    pub fn answer_each(&self, candidates: &[Candidate], features: &Features) -> Vec<Answered> {
        match self {
            Self::Best(best) => return best.answer_each(candidates, features),
            Self::Carried(carried) => return carried.answer_each(candidates, features),
            Self::Strip(_) | Self::Learned(_) => {}
        }
        let name = self.name().parse().expect("models bear the names of ModelName");
        let predicted = self.predict_each(candidates, features).into_iter();
        predicted.map(|prediction| Ok((name, prediction?))).collect()
    }

    /// [`Predictor::answer_each`] for all candidates of one value type that the device can hold.
    pub(crate) fn answer_possible(&self, possible: &[Candidate], features: &Features) -> Vec<Answered> {
        match self {
            Self::Best(best) => best.answer_possible(possible, features),
            Self::Carried(carried) => carried.answer_possible(possible, features),
            _ => self.answer_each(possible, features),
        }
    }

    fn model(&self) -> &dyn Model {
        match self {
            Self::Strip(predictor) => predictor,
            Self::Learned(predictor) => predictor.as_ref(),
            Self::Best(predictor) => predictor,
            Self::Carried(predictor) => predictor,
        }
    }
}

/// Why there is no strip model.
fn no_strip(profile: &Profile, variant: Variant) -> Error {
    Error::Lacking { profile: profile.place(), missing: Missing::StripModel(variant) }
}

/// Why there is no learned model.
fn nothing_learned(profile: &Profile, model: ModelName) -> Error {
    if profile.models.leaves_out(model) {
        return Error::NotShipped { profile: profile.name.clone(), model: model.text() };
    }
    Error::Lacking { profile: profile.place(), missing: Missing::LearnedModel(model.text()) }
}

impl Model for Predictor<'_> {
    fn name(&self) -> &'static str {
        self.model().name()
    }

    fn predict(&self, candidate: &Candidate, features: &Features) -> Predicted {
        self.model().predict(candidate, features)
    }

    fn predict_each(&self, candidates: &[Candidate], features: &Features) -> Vec<Predicted> {
        self.model().predict_each(candidates, features)
    }

    fn explain(&self, candidate: &Candidate, features: &Features) -> Result<Vec<Term>, PredictError> {
        self.model().explain(candidate, features)
    }
}
