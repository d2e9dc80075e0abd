//! The models by name: the one table that flags, output, files, fits and predictors go by.
//!
//! A model that learns is added in three places: a file of its own in `sparsight-model`, a variant of [`ModelName`] with
//! a line of the table here, and a section of `docs/models.md`.

use super::model_file;
use crate::{Error, Learned};
use serde::{Serialize, Serializer};
use sparsight_kernels::DeviceFacts;
use sparsight_model::{
    Boosting, LearnedModel, Learner, LearningSample, Linear, Neighbours, PredictError, Variant,
};
use std::fmt;
use std::path::Path;
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

/// In the order in which tables list them.
const TABLE: [ModelEntry; 8] = [
    ModelEntry::strip(ModelName::Strip, Variant::Strip),
    ModelEntry::strip(ModelName::StripCache, Variant::StripCache),
    ModelEntry::strip(ModelName::StripUniform, Variant::StripUniform),
    ModelEntry::strip(ModelName::StripNormal, Variant::StripNormal),
    ModelEntry::learned::<Boosting>(ModelName::Boosting),
    ModelEntry::learned::<Linear>(ModelName::Linear),
    ModelEntry::learned::<Neighbours>(ModelName::Neighbours),
    ModelEntry { name: ModelName::Best, text: "best", kind: ModelKind::Best },
];

/// Every model once.
pub(crate) static MODELS: [ModelEntry; TABLE.len()] = TABLE;

/// A line of the table.
#[derive(Debug)]
pub(crate) struct ModelEntry {
    /// Which model.
    pub(crate) name: ModelName,
    /// Its name in flags, output and files.
    pub(crate) text: &'static str,
    /// What it is.
    pub(crate) kind: ModelKind,
}

/// What a model is.
#[derive(Debug)]
pub(crate) enum ModelKind {
    /// Fitted to benchmark matrices.
    Strip(Variant),
    /// Learned from real ones.
    Learned(LearnedKind),
    /// Asks the others.
    Best,
}

type Fit = fn(&DeviceFacts, &[LearningSample<'_>]) -> Result<Box<dyn Learned>, PredictError>;
type Read = fn(&Path, &[u8]) -> Result<Box<dyn Learned>, Error>;

/// What is done with a learned model without knowing which it is.
#[derive(Debug)]
pub(crate) struct LearnedKind {
    /// Name and version of its stored form.
    pub(crate) format: &'static str,
    /// Learns it.
    pub(crate) fit: Fit,
    /// Reads it from the bytes of the file with that path.
    pub(crate) read: Read,
}

impl ModelEntry {
    const fn strip(name: ModelName, variant: Variant) -> Self {
        Self { name, text: variant.name(), kind: ModelKind::Strip(variant) }
    }

    const fn learned<L: Learner + 'static>(name: ModelName) -> Self {
        let kind = LearnedKind { format: L::FORMAT, fit: fit::<L>, read: read::<L> };
        Self { name, text: L::NAME, kind: ModelKind::Learned(kind) }
    }
}

fn fit<L: Learner + 'static>(
    facts: &DeviceFacts,
    samples: &[LearningSample<'_>],
) -> Result<Box<dyn Learned>, PredictError> {
    Ok(Box::new(LearnedModel::<L>::fit(facts, samples)?))
}

fn read<L: Learner + 'static>(path: &Path, packed: &[u8]) -> Result<Box<dyn Learned>, Error> {
    Ok(Box::new(model_file::unpack::<LearnedModel<L>>(path, packed)?))
}

/// Those that learn from real matrices.
pub(crate) fn learned() -> impl Iterator<Item = (ModelName, &'static LearnedKind)> {
    MODELS.iter().filter_map(|entry| match &entry.kind {
        ModelKind::Learned(kind) => Some((entry.name, kind)),
        ModelKind::Strip(_) | ModelKind::Best => None,
    })
}

impl ModelName {
    /// All, in the order in which tables list them.
    pub const ALL: [Self; TABLE.len()] = {
        let mut all = [Self::Best; TABLE.len()];
        let mut at = 0;
        while at < all.len() {
            all[at] = TABLE[at].name;
            at += 1;
        }
        all
    };

    /// Its line of the table.
    ///
    /// # Panics
    /// Never: every name has one.
    pub(crate) fn entry(self) -> &'static ModelEntry {
        MODELS.iter().find(|entry| entry.name == self).expect("every name has a line in the table")
    }

    /// As in flags, output and files.
    pub(crate) fn text(self) -> &'static str {
        self.entry().text
    }

    /// Whether it learned from real matrices, so that an error on one of these is no error on a new one.
    pub fn is_learned(self) -> bool {
        !matches!(self.entry().kind, ModelKind::Strip(_))
    }
}

impl From<Variant> for ModelName {
    fn from(variant: Variant) -> Self {
        let is_it = |entry: &&ModelEntry| matches!(entry.kind, ModelKind::Strip(own) if own == variant);
        MODELS.iter().find(is_it).expect("every strip model has a line in the table").name
    }
}

impl fmt::Display for ModelName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.text())
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
        let found = MODELS.iter().find(|entry| entry.text == s).map(|entry| entry.name);
        found.ok_or_else(|| format!("unknown model '{s}': {}", Self::ALL.map(|m| m.to_string()).join(", ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_model_has_one_name_that_reads_back_and_one_line() {
        for model in ModelName::ALL {
            assert_eq!(model.to_string().parse(), Ok(model));
            assert_eq!(MODELS.iter().filter(|entry| entry.name == model).count(), 1, "{model}");
        }
        assert!(ModelName::ALL.is_sorted(), "the table is in the order of the names");
        for variant in Variant::ALL {
            let model = ModelName::from(variant);
            assert_eq!(model.to_string(), variant.name());
            assert!(!model.is_learned());
        }
        let learned: Vec<ModelName> = learned().map(|(model, _)| model).collect();
        assert_eq!(learned, [ModelName::Boosting, ModelName::Linear, ModelName::Neighbours]);
        assert!(ModelName::Best.is_learned() && learned.iter().all(|model| model.is_learned()));
    }

    #[test]
    fn an_unknown_model_is_refused_with_those_that_there_are() {
        let error = "oracle".parse::<ModelName>().unwrap_err();
        assert!(error.contains("'oracle'") && error.contains("strip-cache, strip-uniform"), "{error}");
    }
}
