//! `transfer`: times on a device that was hardly measured.

use crate::transfer::{CarriedTime, CrossArchitecture, TransferBy};
use serde::Serialize;
use sparsight::answer::{DeviceSummary, MatrixSummary, NamedCandidate};
use sparsight_kernels::Candidate;

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
    Time(CarriedTime),
    /// Refused: not possible, or not known.
    Refused {
        /// Why, in words.
        infeasible: String,
    },
}

impl TransferredCandidate {
    /// Answer with a time.
    pub fn of(candidate: Candidate, carried: CarriedTime) -> Self {
        Self { candidate: candidate.into(), outcome: TransferOutcome::Time(carried) }
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
