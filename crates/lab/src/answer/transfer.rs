//! `transfer`: times on a device that was hardly measured.

use crate::transfer::{CarriedTime, CrossArchitecture, ReferenceOrigin, TransferBy};
use serde::Serialize;
use sparsight::answer::{Answer, DeviceSummary, MatrixSummary, NamedCandidate};
use sparsight_kernels::Candidate;
use sparsight_matrix::Seconds;
use sparsight_model::Floor;

/// `sparsight/transfer/2`: the times of one matrix, carried over from another device.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TransferAnswer {
    /// The matrix.
    pub matrix: MatrixSummary,
    /// The device that is well known.
    pub reference: DeviceSummary,
    /// The device that is asked about.
    pub target: DeviceSummary,
    /// `rescaling` or `guo-wang-2013`.
    pub model: String,
    /// Number of matrices measured on both devices that gave the weights of `rescaling`; 0 if the facts of both alone did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calibrated_with: Option<usize>,
    /// Best first, then those that are not possible.
    pub candidates: Vec<TransferredCandidate>,
}

impl Answer for TransferAnswer {
    const SCHEMA: &'static str = "sparsight/transfer/2";
}

impl TransferAnswer {
    /// Answer for a matrix that was carried over by `by`.
    pub fn of(
        matrix: MatrixSummary,
        across: &CrossArchitecture<'_>,
        by: &TransferBy,
        candidates: Vec<TransferredCandidate>,
    ) -> Self {
        let calibrated_with = match by {
            TransferBy::Rescaling(rescaling) => Some(rescaling.matrices),
            TransferBy::GuoWang2013 => None,
        };
        Self {
            matrix,
            reference: across.reference.into(),
            target: across.target.into(),
            model: by.to_string(),
            calibrated_with,
            candidates,
        }
    }
}

/// A candidate with its time on the target, or why there is none.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TransferredCandidate {
    /// The candidate.
    #[serde(flatten)]
    pub candidate: NamedCandidate,
    /// Time, or the reason why there is none.
    #[serde(flatten)]
    pub outcome: TransferOutcome,
}

/// A transferred time, or why there is none.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum TransferOutcome {
    /// Time as carried over.
    Time {
        /// Time on the target, seconds a product.
        predicted_s: Seconds,
        /// Lower end of the 90 % interval; absent from `guo-wang-2013`, for which none was calibrated.
        #[serde(skip_serializing_if = "Option::is_none")]
        low_s: Option<Seconds>,
        /// Upper end.
        #[serde(skip_serializing_if = "Option::is_none")]
        high_s: Option<Seconds>,
        /// `T_ref`, seconds a product.
        reference_s: Seconds,
        /// Origin of `T_ref`: `measured`, or the model that predicts it.
        reference_origin: ReferenceOrigin,
        /// Lower bound to which the time was raised, if it was: `launch`, `copies` or `smaller`.
        #[serde(skip_serializing_if = "Option::is_none")]
        floor: Option<&'static str>,
        /// The equation of `guo-wang-2013`.
        #[serde(flatten)]
        equation: Option<TransferEquation>,
    },
    /// Refused: not possible, or not known.
    Refused {
        /// Why, in words.
        infeasible: String,
    },
}

/// `T_tar = T_init_tar + P (T_ref - T_init_ref)`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct TransferEquation {
    /// P: how many times as long the target takes for what is not initialization.
    pub relative_performance: f64,
    /// `T_init_ref`, seconds.
    pub init_reference_s: Seconds,
    /// `T_init_tar`, seconds.
    pub init_target_s: Seconds,
}

impl TransferredCandidate {
    /// Answer with a time.
    pub fn of(candidate: Candidate, carried: &CarriedTime) -> Self {
        let [low_s, high_s] = carried.interval.map_or([None; 2], |ends| ends.map(Some));
        let outcome = TransferOutcome::Time {
            predicted_s: carried.time,
            low_s,
            high_s,
            reference_s: carried.reference,
            reference_origin: carried.origin,
            floor: carried.floor.map(Floor::name),
            equation: carried.relative.map(|relative| TransferEquation {
                relative_performance: relative.performance(),
                init_reference_s: relative.init_reference(),
                init_target_s: relative.init_target(),
            }),
        };
        Self { candidate: candidate.into(), outcome }
    }

    /// Answer without a time.
    pub fn refused(candidate: Candidate, why: impl Into<String>) -> Self {
        let outcome = TransferOutcome::Refused { infeasible: why.into() };
        Self { candidate: candidate.into(), outcome }
    }
}

/// `sparsight/transfer-many/2`: the times of several matrices, carried over from another device.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TransferManyAnswer {
    /// Matrices in the order of the request, without those that could not be read.
    pub matrices: Vec<TransferAnswer>,
}

impl Answer for TransferManyAnswer {
    const SCHEMA: &'static str = "sparsight/transfer-many/2";
}
