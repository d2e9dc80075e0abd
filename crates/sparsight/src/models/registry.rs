//! The models that learn, as a table: how each is fitted and read without knowing which it is.

use super::{Learned, model_file};
use crate::Error;
use crate::model_name::ModelName;
use sparsight_kernels::DeviceFacts;
use sparsight_model::{Boosting, Judged, LearnedModel, Learner, LearningSample, PredictError};
use std::path::Path;
use std::str::FromStr;
use std::sync::OnceLock;

/// The models of this library, in the order in which tables list them.
static OWN: [LearnedKind; 1] = [LearnedKind::of::<Boosting>(ModelName::Boosting)];

/// Models of other crates.
static ADDED: OnceLock<Vec<LearnedKind>> = OnceLock::new();

/// A model, and the times of held-out matrices by which it was judged.
type Fitted<'a> = (Box<dyn Learned>, Vec<Judged<'a>>);
type Fit = for<'a> fn(&DeviceFacts, &[LearningSample<'a>]) -> Result<Fitted<'a>, PredictError>;
type Read = fn(&Path, &[u8]) -> Result<Box<dyn Learned>, Error>;

/// A model that learns.
#[derive(Debug)]
pub struct LearnedKind {
    /// Name of the model.
    pub(crate) name: ModelName,
    /// Name and version of its stored form.
    pub(crate) format: &'static str,
    /// Learns it.
    pub(crate) fit: Fit,
    /// Reads it from the bytes of the file with that path.
    pub(crate) read: Read,
}

impl LearnedKind {
    /// The model that `L` learns, under this name.
    pub const fn of<L: Learner + 'static>(name: ModelName) -> Self {
        Self { name, format: L::FORMAT, fit: fit::<L>, read: read::<L> }
    }
}

fn fit<'a, L: Learner + 'static>(
    facts: &DeviceFacts,
    samples: &[LearningSample<'a>],
) -> Result<Fitted<'a>, PredictError> {
    let (model, judged) = LearnedModel::<L>::fit_judged(facts, samples)?;
    Ok((Box::new(model), judged))
}

fn read<L: Learner + 'static>(path: &Path, packed: &[u8]) -> Result<Box<dyn Learned>, Error> {
    Ok(Box::new(model_file::unpack::<LearnedModel<L>>(path, packed)?))
}

/// Adds models that learn to those of this library, for the whole process: they are fitted, stored, read and asked like its own.
/// To be called before a profile is opened; what a profile that was opened earlier holds of them is not read. A second call adds
/// nothing.
pub fn add_models(models: impl FnOnce() -> Vec<LearnedKind>) {
    ADDED.get_or_init(models);
}

/// The models that learn from real matrices.
pub(crate) fn learned() -> impl Iterator<Item = &'static LearnedKind> {
    own().chain(ADDED.get().into_iter().flatten())
}

/// Models of this library alone.
pub(crate) fn own() -> impl Iterator<Item = &'static LearnedKind> {
    OWN.iter()
}

impl ModelName {
    /// All, in the order in which tables list them.
    pub fn all() -> Vec<Self> {
        let strips = [Self::Strip, Self::StripCache, Self::StripUniform, Self::StripNormal];
        strips.into_iter().chain(learned().map(|kind| kind.name)).chain([Self::Best]).collect()
    }
}

impl FromStr for ModelName {
    type Err = String;
    fn from_str(s: &str) -> Result<Self, String> {
        let all = Self::all();
        let found = all.iter().copied().find(|model| model.text() == s);
        found.ok_or_else(|| {
            let names: Vec<&str> = all.iter().map(|model| model.text()).collect();
            format!("unknown model '{s}': {}", names.join(", "))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sparsight_model::Variant;

    #[test]
    fn every_model_has_one_name_that_reads_back() {
        let all = ModelName::all();
        for model in &all {
            assert_eq!(model.to_string().parse(), Ok(*model));
        }
        assert!(all.is_sorted(), "in the order of the variants");
        for variant in Variant::ALL {
            let model = ModelName::from(variant);
            assert_eq!(model.to_string(), variant.name());
            assert!(!model.is_learned() && all.contains(&model));
        }
        assert!(learned().all(|kind| kind.name.is_learned()) && ModelName::Best.is_learned());
    }

    #[test]
    fn an_unknown_model_is_refused_with_those_that_there_are() {
        let error = "oracle".parse::<ModelName>().unwrap_err();
        assert!(error.contains("'oracle'") && error.contains("strip-cache, strip-uniform"), "{error}");
    }
}
