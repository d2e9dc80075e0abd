//! The models by name.

use sparsight_matrix::serialize_as_text;
use sparsight_model::{Boosting, Learner, Variant};
use std::fmt;

/// A model by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ModelName {
    /// The papers' strip model.
    Strip,
    /// The strip model with a second regime beyond the L2.
    StripCache,
    /// The papers' strip model, fitted to benchmark matrices with uniform row lengths.
    StripUniform,
    /// The strip model with normally distributed row lengths.
    StripNormal,
    /// Regression trees and a network learned from measured matrices.
    Boosting,
    /// A model that learns and that another crate added, by its name ([`add_models`](crate::models::add_models)).
    Added(&'static str),
    /// For each kernel the learned model with the best cross-validation; a strip model where nothing was learned.
    Best,
}

impl ModelName {
    /// Name in flags, output and files.
    pub(crate) const fn text(self) -> &'static str {
        if let Some(variant) = self.variant() {
            return variant.name();
        }
        match self {
            Self::Boosting => Boosting::NAME,
            Self::Added(name) => name,
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

serialize_as_text!(ModelName);
