//! `gallery`: the generators.

use super::Answer;
use serde::Serialize;
use sparsight_matrix::gallery::{Generator, Parameter};

/// `sparsight/gallery/1`: generators and what can be set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct GalleryAnswer {
    /// All, or the one that was named.
    pub generators: Vec<GalleryGenerator>,
}

impl Answer for GalleryAnswer {
    const SCHEMA: &'static str = "sparsight/gallery/1";
}

/// A kind of matrix that the gallery makes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct GalleryGenerator {
    /// The name written in recipes.
    pub name: &'static str,
    /// Shape of the matrix and origin of such matrices.
    pub summary: &'static str,
    /// Parameters, in the order of the full recipe.
    pub parameters: Vec<GalleryParameter>,
}

/// Something that can be set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct GalleryParameter {
    /// The key written in recipes.
    pub name: &'static str,
    /// Value if it is not written, as text.
    pub default: String,
    /// Accepted values, as text.
    pub accepts: String,
    /// Meaning.
    pub meaning: &'static str,
}

impl From<&Generator> for GalleryGenerator {
    fn from(generator: &Generator) -> Self {
        let parameters = generator.parameters.iter().map(GalleryParameter::from);
        Self { name: generator.name, summary: generator.summary, parameters: parameters.collect() }
    }
}

impl From<&Parameter> for GalleryParameter {
    fn from(parameter: &Parameter) -> Self {
        Self {
            name: parameter.name,
            default: parameter.default.to_string(),
            accepts: parameter.accepts.to_string(),
            meaning: parameter.meaning,
        }
    }
}
