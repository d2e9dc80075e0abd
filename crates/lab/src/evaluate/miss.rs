//! Matrices on which a model is far off.

use super::Sample;
use serde::Serialize;
use sparsight::models::ModelName;
use sparsight_kernels::Kernel;
use sparsight_matrix::{Dtype, Seconds};
use std::collections::BTreeMap;

/// A matrix on which a model is far off.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Miss {
    /// Matrix.
    pub matrix: String,
    /// Kernel with its knobs.
    pub kernel: Kernel,
    /// Model.
    pub model: ModelName,
    /// Value type.
    pub dtype: Dtype,
    /// Predicted time, of the block size that is worst.
    #[serde(rename = "predicted_s")]
    pub predicted: Seconds,
    /// Measured time of it.
    #[serde(rename = "measured_s")]
    pub measured: Seconds,
    /// `|predicted - measured| / measured`.
    pub error: f64,
}

/// The `worst` matrices with the largest errors, each with its worst block size.
pub(super) fn worst_of(
    model: ModelName,
    (dtype, kernel): (Dtype, Kernel),
    samples: &[Sample<'_>],
    worst: usize,
) -> Vec<Miss> {
    let miss = |s: &Sample<'_>| Miss {
        model,
        kernel,
        dtype,
        matrix: s.of.record.matrix.clone(),
        predicted: s.prediction.time,
        measured: s.measured,
        error: s.error(),
    };
    worst_matrices(samples, |s| s.of.at, Sample::error, worst).map(miss).collect()
}

/// The `worst` matrices by the largest error among their `samples`, worst first, each with that sample;
/// of equal ones the matrix that comes first in the corpus. `matrix` is its place there.
pub(super) fn worst_matrices<S>(
    samples: &[S],
    matrix: impl Fn(&S) -> usize,
    error: impl Fn(&S) -> f64,
    worst: usize,
) -> impl Iterator<Item = &S> {
    let mut by_matrix: BTreeMap<usize, &S> = BTreeMap::new();
    for s in samples {
        let entry = by_matrix.entry(matrix(s)).or_insert(s);
        if error(s) > error(entry) {
            *entry = s;
        }
    }
    let mut samples: Vec<&S> = by_matrix.into_values().collect();
    samples.sort_by(|a, b| error(b).total_cmp(&error(a)));
    samples.into_iter().take(worst)
}
