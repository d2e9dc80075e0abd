//! `gallery`: the generators.

use serde::Serialize;
use sparsight_matrix::gallery::Generator;

/// `sparsight/gallery/1`: generators and what can be set.
#[derive(Debug, Clone, Serialize)]
pub struct GalleryAnswer {
    /// All, or the one that was named.
    pub generators: Vec<&'static Generator>,
}
