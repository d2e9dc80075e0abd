//! Errors of one way to carry times over, on a group of kernels: the figures of Guo and Wang 2013, section 5.4.

use super::{Carried, TransferMethod};
use crate::evaluate::{Group, Scope};
use serde::Serialize;
use sparsight_kernels::{DeviceFacts, Kernel};
use sparsight_matrix::{Dtype, Seconds};
use sparsight_model::accuracy::{Accuracy, geometric_mean};
use std::collections::BTreeMap;

/// Error of one method on one `G`: a [`Kernel`], or all kernels of a [`Format`](sparsight_kernels::Format).
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(bound(serialize = "G: Group"))]
pub struct TransferRow<G> {
    /// Kernel with its knobs, or format.
    #[serde(flatten, serialize_with = "Group::named")]
    pub of: G,
    /// Method that carried the times over.
    pub method: TransferMethod,
    /// Value type.
    pub dtype: Dtype,
    /// Matrices counted.
    pub scope: Scope,
    /// Accuracy of `|predicted - measured| / measured`, over matrices, block sizes and the kernels of the group.
    #[serde(flatten)]
    pub error: Accuracy,
    /// Geometric mean of predicted / measured: above 1 says too slow, below 1 too fast.
    #[serde(rename = "mean_ratio")]
    pub ratio: f64,
    /// Times for which the transfer's equation gave less than a launch, and that was answered.
    pub at_launch_cost: usize,
}

impl<G: Ord + Copy> TransferRow<G> {
    /// Rows, one for each group, method and scope that counts anything.
    pub(super) fn rows(
        samples: &[Carried<'_>],
        by: impl Fn(Kernel) -> G,
        facts: [&DeviceFacts; 2],
    ) -> Vec<Self> {
        let mut groups: BTreeMap<(Dtype, G), Vec<&Carried<'_>>> = BTreeMap::new();
        for s in samples {
            groups.entry((s.candidate.dtype, by(s.candidate.kernel))).or_default().push(s);
        }
        let mut rows = Vec::new();
        for (&(dtype, of), samples) in &groups {
            for scope in Scope::ALL {
                let counted = samples.iter().copied().filter(|s| scope.counts(s.of, s.like_benchmarks));
                let counted: Vec<&Carried<'_>> = counted.collect();
                let of_method = |method| Self::of((dtype, of), method, scope, &counted, facts);
                rows.extend(TransferMethod::ALL.into_iter().filter_map(of_method));
            }
        }
        rows
    }

    fn of(
        (dtype, of): (Dtype, G),
        method: TransferMethod,
        scope: Scope,
        samples: &[&Carried<'_>],
        [reference, target]: [&DeviceFacts; 2],
    ) -> Option<Self> {
        let time = |s: &&Carried<'_>| Some((method.time(s, reference, target)?, s.measured));
        let times: Vec<(Seconds, Seconds)> = samples.iter().filter_map(time).collect();
        let error = Accuracy::of(times.iter().copied())?;
        let ratio = geometric_mean(times.iter().map(|(predicted, measured)| predicted.0 / measured.0))?;
        let floored =
            |s: &&&Carried<'_>| method == TransferMethod::GuoWang2013 && s.transferred.at_launch_cost;
        let at_launch_cost = samples.iter().filter(floored).count();
        Some(Self { of, method, dtype, scope, error, ratio, at_launch_cost })
    }
}
