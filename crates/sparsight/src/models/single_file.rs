//! `models.json` of profiles from before every model had a file of its own: read whole, no longer written.

use super::{CalibratedStrip, Learned, Made, ModelName, Models};
use crate::Error;
use crate::profile::document;
use serde::Deserialize;
use sparsight_kernels::Execution;
use sparsight_model::{
    BoostingModel, Calibration, Comparison, CutCost, LearnedModel, Learner, LinearModel, NeighboursModel,
    PreparationModel, StripModel, Variant,
};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Its schema.
const SCHEMA: &str = "sparsight/models/1";

/// What it holds; in older ones what is optional is absent.
#[derive(Deserialize)]
struct SingleFile {
    strip: StripModel,
    strip_cache: StripModel,
    strip_calibration: Option<Calibration>,
    strip_cache_calibration: Option<Calibration>,
    strip_uniform: Option<CalibratedStrip>,
    strip_normal: Option<CalibratedStrip>,
    boosting: Option<BoostingModel>,
    linear: Option<LinearModel>,
    neighbours: Option<NeighboursModel>,
    comparison: Option<Comparison>,
    preparation: Option<PreparationModel>,
    #[serde(default)]
    cutting: BTreeMap<String, BTreeMap<Execution, CutCost>>,
    #[serde(default)]
    train: Vec<String>,
    #[serde(default)]
    trained_on: BTreeSet<String>,
}

/// The models in the text of a `models.json`.
///
/// # Errors
/// [`Error::Malformed`], [`Error::Schema`].
pub(crate) fn parse(path: &Path, text: &str) -> Result<Models, Error> {
    let file: SingleFile = document::parse(path, text, SCHEMA)?;
    let strip = CalibratedStrip { model: file.strip, calibration: file.strip_calibration };
    let strip_cache = CalibratedStrip { model: file.strip_cache, calibration: file.strip_cache_calibration };
    let mut strips = vec![(Variant::Strip, strip), (Variant::StripCache, strip_cache)];
    strips.extend(file.strip_uniform.map(|strip| (Variant::StripUniform, strip)));
    strips.extend(file.strip_normal.map(|strip| (Variant::StripNormal, strip)));
    let learned = [
        named(ModelName::Boosting, file.boosting),
        named(ModelName::Linear, file.linear),
        named(ModelName::Neighbours, file.neighbours),
    ];
    Ok(Models::from(Made {
        strips,
        learned: learned.into_iter().flatten().collect(),
        comparison: file.comparison,
        preparation: file.preparation,
        cutting: file.cutting,
        train: file.train,
        trained_on: file.trained_on,
    }))
}

fn named<L: Learner + 'static>(
    name: ModelName,
    model: Option<LearnedModel<L>>,
) -> Option<(ModelName, Box<dyn Learned>)> {
    let model: Box<dyn Learned> = Box::new(model?);
    Some((name, model))
}
