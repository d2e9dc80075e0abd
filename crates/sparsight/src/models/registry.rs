//! The models that learn, as a table: how each is fitted and read without knowing which it is.

use super::{Learned, model_file};
use crate::{Error, ModelName};
use sparsight_kernels::DeviceFacts;
use sparsight_model::{Boosting, LearnedModel, Learner, LearningSample, Linear, Neighbours, PredictError};
use std::path::Path;

/// In the order in which tables list them.
static LEARNED: [LearnedKind; 3] = [
    LearnedKind::of::<Boosting>(ModelName::Boosting),
    LearnedKind::of::<Linear>(ModelName::Linear),
    LearnedKind::of::<Neighbours>(ModelName::Neighbours),
];

type Fit = fn(&DeviceFacts, &[LearningSample<'_>]) -> Result<Box<dyn Learned>, PredictError>;
type Read = fn(&Path, &[u8]) -> Result<Box<dyn Learned>, Error>;

/// A model that learns.
#[derive(Debug)]
pub(crate) struct LearnedKind {
    /// Its name.
    pub(crate) name: ModelName,
    /// Name and version of its stored form.
    pub(crate) format: &'static str,
    /// Learns it.
    pub(crate) fit: Fit,
    /// Reads it from the bytes of the file with that path.
    pub(crate) read: Read,
}

impl LearnedKind {
    const fn of<L: Learner + 'static>(name: ModelName) -> Self {
        Self { name, format: L::FORMAT, fit: fit::<L>, read: read::<L> }
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

/// The models that learn from real matrices.
pub(crate) fn learned() -> impl Iterator<Item = &'static LearnedKind> {
    LEARNED.iter()
}
