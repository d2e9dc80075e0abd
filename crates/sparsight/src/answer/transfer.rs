//! `transfer`: times on a device that was hardly measured.

use super::{Answer, DeviceSummary, MatrixSummary, NamedCandidate};
use crate::ReferenceOrigin;
use serde::Serialize;
use sparsight_kernels::Candidate;
use sparsight_matrix::Seconds;
use sparsight_model::transfer::Transferred;

/// `sparsight/transfer/1`: the times of one matrix, carried over from another device.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TransferAnswer {
    /// The matrix.
    pub matrix: MatrixSummary,
    /// The device that is well known.
    pub reference: DeviceSummary,
    /// The device that is asked about.
    pub target: DeviceSummary,
    /// Best first, then those that are not possible.
    pub candidates: Vec<TransferredCandidate>,
}

impl Answer for TransferAnswer {
    const SCHEMA: &'static str = "sparsight/transfer/1";
}

/// A candidate with its time on the target, or why there is none.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TransferredCandidate {
    /// Which.
    #[serde(flatten)]
    pub candidate: NamedCandidate,
    /// Its time.
    #[serde(flatten)]
    pub outcome: TransferOutcome,
}

/// A transferred time, or why there is none.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum TransferOutcome {
    /// `T_tar = T_init_tar + P (T_ref - T_init_ref)`.
    Time {
        /// `T_tar`, seconds a product; it has no interval, since none was calibrated.
        predicted_s: Seconds,
        /// `T_ref`, seconds a product.
        reference_s: Seconds,
        /// Where `T_ref` comes from: `measured`, or the model that predicts it.
        reference_origin: ReferenceOrigin,
        /// P: how many times as long the target takes for what is not initialization.
        relative_performance: f64,
        /// `T_init_ref`, seconds.
        init_reference_s: Seconds,
        /// `T_init_tar`, seconds.
        init_target_s: Seconds,
        /// Whether the equation gave less than a launch, which is answered then.
        at_launch_cost: bool,
    },
    /// Not possible, or not known.
    Refused {
        /// Why, in words.
        infeasible: String,
    },
}

impl TransferredCandidate {
    /// With a time; `origin` is that of the time on the reference.
    pub fn of(candidate: Candidate, transferred: &Transferred, origin: ReferenceOrigin) -> Self {
        let Transferred { relative, reference, time, at_launch_cost } = *transferred;
        let outcome = TransferOutcome::Time {
            predicted_s: time,
            reference_s: reference,
            reference_origin: origin,
            relative_performance: relative.performance(),
            init_reference_s: relative.init_reference(),
            init_target_s: relative.init_target(),
            at_launch_cost,
        };
        Self { candidate: candidate.into(), outcome }
    }

    /// Without one.
    pub fn refused(candidate: Candidate, why: impl Into<String>) -> Self {
        let outcome = TransferOutcome::Refused { infeasible: why.into() };
        Self { candidate: candidate.into(), outcome }
    }
}
