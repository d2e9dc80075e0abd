//! The models by name.

use serde::{Serialize, Serializer};
use sparsight_model::{Boosting, Learner, Linear, Neighbours, Variant};
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

    /// Its text in flags, output and files.
    pub(crate) const fn text(self) -> &'static str {
        if let Some(variant) = self.variant() {
            return variant.name();
        }
        match self {
            Self::Boosting => Boosting::NAME,
            Self::Linear => Linear::NAME,
            Self::Neighbours => Neighbours::NAME,
            _ => "best",
        }
    }

    /// Tells whether it learned from real matrices, so that an error on one of these is no error on a new one.
    pub const fn is_learned(self) -> bool {
        self.variant().is_none()
    }

    /// The variant of the strip model that it is; `None` for a model that learned from real matrices.
    pub(crate) const fn variant(self) -> Option<Variant> {
        match self {
            Self::Strip => Some(Variant::Strip),
            Self::StripCache => Some(Variant::StripCache),
            Self::StripUniform => Some(Variant::StripUniform),
            Self::StripNormal => Some(Variant::StripNormal),
            _ => None,
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
        let found = Self::ALL.into_iter().find(|model| model.text() == s);
        found.ok_or_else(|| format!("unknown model '{s}': {}", Self::ALL.map(|m| m.to_string()).join(", ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_model_has_one_name_that_reads_back() {
        for model in ModelName::ALL {
            assert_eq!(model.to_string().parse(), Ok(model));
        }
        assert!(ModelName::ALL.is_sorted(), "in the order of the variants");
        for variant in Variant::ALL {
            let model = ModelName::from(variant);
            assert_eq!(model.to_string(), variant.name());
            assert!(!model.is_learned());
        }
    }

    #[test]
    fn an_unknown_model_is_refused_with_those_that_there_are() {
        let error = "oracle".parse::<ModelName>().unwrap_err();
        assert!(error.contains("'oracle'") && error.contains("strip-cache, strip-uniform"), "{error}");
    }
}
