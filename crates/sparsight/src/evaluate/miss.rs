//! Matrices on which a model is far off.

use super::Sample;
use crate::ModelName;
use sparsight_kernels::Kernel;
use sparsight_matrix::{Dtype, Seconds};
use sparsight_model::accuracy::relative_error;
use std::collections::BTreeMap;

/// A matrix on which a model is far off.
#[derive(Debug, Clone, PartialEq)]
pub struct Miss {
    /// Model.
    pub model: ModelName,
    /// Kernel with its knobs.
    pub kernel: Kernel,
    /// Value type.
    pub dtype: Dtype,
    /// Matrix.
    pub matrix: String,
    /// Predicted time, of the block size that is worst.
    pub predicted: Seconds,
    /// Measured time of it.
    pub measured: Seconds,
}

impl Miss {
    /// `|predicted - measured| / measured`.
    pub fn error(&self) -> f64 {
        relative_error(self.predicted, self.measured)
    }
}

/// The `worst` matrices with the largest errors, each with its worst block size.
pub(super) fn worst_of(
    model: ModelName,
    (dtype, kernel): (Dtype, Kernel),
    samples: &[Sample<'_>],
    worst: usize,
) -> Vec<Miss> {
    let mut by_matrix: BTreeMap<&str, &Sample<'_>> = BTreeMap::new();
    for s in samples {
        let entry = by_matrix.entry(&s.of.record.matrix).or_insert(s);
        if s.error() > entry.error() {
            *entry = s;
        }
    }
    let mut samples: Vec<&Sample<'_>> = by_matrix.into_values().collect();
    samples.sort_by(|a, b| b.error().total_cmp(&a.error()));
    samples.truncate(worst);
    let miss = |s: &Sample<'_>| Miss {
        model,
        kernel,
        dtype,
        matrix: s.of.record.matrix.clone(),
        predicted: s.prediction.time,
        measured: s.measured,
    };
    samples.into_iter().map(miss).collect()
}
