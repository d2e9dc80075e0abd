//! The object of `transfer --json`.

use super::{Answer, Answers};
use crate::json::{CandidateJson, DeviceJson, MatrixJson};
use serde::Serialize;
use sparsight::CrossArchitecture;
use sparsight::kernels::Candidate;
use sparsight::matrix::{Features, Seconds};
use sparsight::model::transfer::Transferred;

/// `sparsight/transfer/1`.
#[derive(Debug, Serialize)]
pub(super) struct TransferJson {
    matrix: MatrixJson,
    reference: DeviceJson,
    target: DeviceJson,
    /// Best first, then those that are not possible.
    candidates: Vec<TransferredJson>,
}

#[derive(Debug, Serialize)]
struct TransferredJson {
    #[serde(flatten)]
    candidate: CandidateJson,
    #[serde(flatten)]
    answer: AnswerJson,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
enum AnswerJson {
    Time {
        predicted_s: Seconds,
        reference_s: Seconds,
        /// `measured`, or the model that predicts it.
        reference_origin: String,
        relative_performance: f64,
        init_reference_s: Seconds,
        init_target_s: Seconds,
        at_launch_cost: bool,
    },
    Refused {
        infeasible: String,
    },
}

impl TransferJson {
    /// With the best `top` candidates and all that are not possible.
    pub(super) fn new(
        title: String,
        features: &Features,
        across: &CrossArchitecture<'_>,
        answers: &Answers,
        top: usize,
    ) -> Self {
        let transferred = answers.transferred.iter().take(top).map(TransferredJson::from);
        let refused = answers.refused.iter().map(TransferredJson::from);
        Self {
            matrix: MatrixJson::new(title, features),
            reference: DeviceJson::of(&across.reference.name, &across.reference.device),
            target: DeviceJson::of(&across.target.name, &across.target.device),
            candidates: transferred.chain(refused).collect(),
        }
    }
}

impl From<&Answer> for TransferredJson {
    fn from(answer: &Answer) -> Self {
        let Transferred { relative, reference, time, at_launch_cost } = answer.transferred;
        let time = AnswerJson::Time {
            predicted_s: time,
            reference_s: reference,
            reference_origin: answer.origin.to_string(),
            relative_performance: relative.performance(),
            init_reference_s: relative.init_reference(),
            init_target_s: relative.init_target(),
            at_launch_cost,
        };
        Self { candidate: answer.candidate.into(), answer: time }
    }
}

impl From<&(Candidate, String)> for TransferredJson {
    fn from((candidate, why): &(Candidate, String)) -> Self {
        Self { candidate: (*candidate).into(), answer: AnswerJson::Refused { infeasible: why.clone() } }
    }
}
