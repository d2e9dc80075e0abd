//! Errors of one model over a group of kernels: the papers' tables.

use super::{Rules, Sample, Scope};
use serde::{Serialize, Serializer};
use sparsight::models::ModelName;
use sparsight_kernels::{Format, Kernel};
use sparsight_matrix::Dtype;
use sparsight_matrix::derived::instance;
use sparsight_model::accuracy::{Accuracy, coverage};
use sparsight_model::{PlacementRule, RowLengthRule};
use std::collections::BTreeSet;

/// Error of one model on one `G`: a [`Kernel`](sparsight_kernels::Kernel), as Guo, Wang and Chen 2014 count, or all kernels
/// of a [`Format`](sparsight_kernels::Format), as Lehnert et al. 2016 do, or `()` for all.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(bound(serialize = "G: Group"))]
pub struct AccuracyRow<G> {
    /// Kernel with its knobs, or format, or all.
    #[serde(flatten, serialize_with = "Group::named")]
    pub of: G,
    /// Model.
    pub model: ModelName,
    /// Rule that picked the benchmark matrices for the columns.
    pub placement: PlacementRule,
    /// Statistic that stands for the row lengths.
    pub row_length: RowLengthRule,
    /// Value type.
    pub dtype: Dtype,
    /// Matrices counted.
    pub scope: Scope,
    /// Accuracy of `|predicted - measured| / measured`, over matrices, block sizes and the kernels of the group.
    #[serde(flatten)]
    pub error: Accuracy,
    /// Share of the measurements that lie within their 90 % interval, of matrices that took no part in its
    /// calibration; `None` without any.
    pub covered: Option<f64>,
}

impl<G: Copy> AccuracyRow<G> {
    /// Rows, one for each scope that counts anything. `known` are the matrices that calibrations learned from.
    pub(super) fn rows(
        (dtype, of): (Dtype, G),
        (model, rules): (ModelName, Rules),
        samples: &[&Sample<'_>],
        known: &BTreeSet<&str>,
    ) -> impl Iterator<Item = Self> {
        Scope::ALL.into_iter().filter_map(move |scope| {
            let counted = || samples.iter().filter(|s| s.counts(scope));
            let error = Accuracy::of(counted().map(|s| (s.prediction.time, s.measured)))?;
            let unseen = counted().filter(|s| !known.contains(instance(&s.of.record.matrix)));
            let covered = coverage(unseen.map(|s| (&s.prediction, s.measured)));
            let Rules { placement, row_length } = rules;
            Some(Self { of, model, placement, row_length, dtype, scope, error, covered })
        })
    }
}

/// A group of kernels whose errors make a row.
pub trait Group {
    /// Key and value in answers, `"kernel": "csr-vector/t8"` or `"format": "csr"`; `None` for all kernels.
    fn key(&self) -> Option<(&'static str, String)>;

    /// Serialises the key and its value.
    ///
    /// # Errors
    /// Errors of the serialiser.
    fn named<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.key())
    }
}

impl Group for Kernel {
    fn key(&self) -> Option<(&'static str, String)> {
        Some(("kernel", self.to_string()))
    }
}

impl Group for Format {
    fn key(&self) -> Option<(&'static str, String)> {
        Some(("format", self.to_string()))
    }
}

impl Group for () {
    fn key(&self) -> Option<(&'static str, String)> {
        None
    }
}
