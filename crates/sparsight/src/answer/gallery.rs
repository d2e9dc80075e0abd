//! `gallery`: the generators.

use super::Answer;
use serde::Serialize;
use sparsight_matrix::gallery::Generator;

/// `sparsight/gallery/1`: generators and what can be set.
#[derive(Debug, Clone, Serialize)]
pub struct GalleryAnswer {
    /// All, or the one that was named.
    pub generators: Vec<&'static Generator>,
}

impl Answer for GalleryAnswer {
    const SCHEMA: &'static str = "sparsight/gallery/1";
}
