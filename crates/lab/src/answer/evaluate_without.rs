//! `lab evaluate --without-each`: what each part of the catalogue brings.

use crate::evaluate::{Gain, WithoutRow};
use serde::Serialize;
use sparsight::answer::{Answer, DeviceSummary};
use sparsight_matrix::Dtype;

/// `sparsight/evaluate-without/1`: the fastest time without a part of the catalogue over that with it, by recorded times.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EvaluateWithoutAnswer {
    /// The device.
    pub device: DeviceSummary,
    /// Starts of the names of the matrices that were asked for; empty: all.
    pub test: Vec<String>,
    /// Effects, one for each part, value type and class that counts a matrix.
    pub without: Vec<WithoutPart>,
}

impl Answer for EvaluateWithoutAnswer {
    const SCHEMA: &'static str = "sparsight/evaluate-without/1";
}

/// Gain by one part on the matrices of one class.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WithoutPart {
    /// `family`, `teams`, `kernel` or `block`.
    pub kind: &'static str,
    /// Part that is left out: `csr-vector`, `several threads a row`, `csr-vector/t8` or `b256`.
    pub part: String,
    /// Value type.
    pub dtype: Dtype,
    /// Matrices counted, by the time of the fastest of all.
    pub class: &'static str,
    /// The counts.
    #[serde(flatten)]
    pub gain: Gain,
}

impl From<&WithoutRow> for WithoutPart {
    fn from(row: &WithoutRow) -> Self {
        let WithoutRow { part, dtype, class, gain } = *row;
        Self { kind: part.kind(), part: part.to_string(), dtype, class: class.name(), gain }
    }
}
