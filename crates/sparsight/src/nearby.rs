//! Which of the matrices that a profile learned from are like a matrix, and how far it is from all of them.

use crate::{Error, Profile};
use sparsight_matrix::Features;

/// The nearest matrices that were learned from: see [`Surroundings`](sparsight_model::Surroundings).
#[derive(Debug, Clone, PartialEq)]
pub struct Nearby {
    /// Name and distance, the nearest first; never empty.
    pub nearest: Vec<(String, f64)>,
    /// Of the matrices that were learned from the share that has another one nearer by than the nearest is here.
    pub farther_than: f64,
}

impl Profile {
    /// The `count` nearest matrices that the profile learned from, of a calibrated GPU those of the profile whose predictions are
    /// carried over. `None` if it learned from none, was fitted before this was kept, or `features` do not hold
    /// [`Locality`](sparsight_matrix::Locality).
    ///
    /// ```
    /// use sparsight::{Profile, matrix::{Features, gallery::Recipe}};
    /// let features = Features::of(&"stencil2d,n=300".parse::<Recipe>()?.generate::<f64>()?);
    /// let nearby = Profile::shipped("nvidia-h200")?.nearby(&features, 3)?.unwrap();
    /// assert!(nearby.nearest[0].0.starts_with("gallery:stencil2d"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::File`], [`Error::Damaged`] or [`Error::Schema`] if what is kept cannot be read.
    pub fn nearby(&self, features: &Features, count: usize) -> Result<Option<Nearby>, Error> {
        let models = self.rescaled.as_ref().map_or(&self.models, |rescaled| &rescaled.reference.models);
        let Some(surroundings) = models.surroundings()? else { return Ok(None) };
        let names: Vec<&String> = models.index.trained_on.iter().collect();
        let nearest = surroundings.nearest(features, count).into_iter();
        let nearest: Vec<(String, f64)> =
            nearest.map(|near| (names[near.matrix].clone(), near.distance)).collect();
        let farther_than = |(_, distance): &(String, f64)| surroundings.farther_than(*distance);
        Ok(nearest.first().map(farther_than).map(|farther_than| Nearby { nearest, farther_than }))
    }
}
