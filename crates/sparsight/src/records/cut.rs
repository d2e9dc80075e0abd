//! A matrix cut into parts, on one device.

use super::{recorded, significant};
use serde::{Deserialize, Serialize};
use sparsight_kernels::{Candidate, Execution};
use sparsight_matrix::{Csr, Dtype, Seconds};
use sparsight_model::{MeasuredCut, Piece};

/// Predicted and measured time of a cut, and those of the best single candidate, timed in turn with it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CutRecord {
    /// Folder and file, or gallery recipe.
    pub matrix: String,
    /// Value type.
    pub dtype: Dtype,
    /// Model that predicted the times of the parts and so chose the cut.
    pub model: String,
    /// Execution of the parts.
    pub execution: Execution,
    /// The whole matrix in the best single candidate.
    pub single: CutPart,
    /// Row blocks, from the first row on.
    pub parts: Vec<CutPart>,
    /// Measured time of one product of all parts.
    pub time_s: Seconds,
    /// Interquartile range over the median; absent in earlier files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spread: Option<f64>,
}

/// Neighbouring rows with a candidate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CutPart {
    /// Rows in it.
    pub nrows: u64,
    /// Non-zeros in it.
    pub nnz: u64,
    /// Candidate that was run.
    pub id: Candidate,
    /// Predicted time of these rows by themselves.
    pub predicted_s: Seconds,
    /// Measured time of these rows by themselves; absent if it was not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_s: Option<Seconds>,
}

impl CutRecord {
    /// Rounds the times as they are recorded.
    #[must_use]
    pub fn recorded(mut self) -> Self {
        self.time_s = recorded(self.time_s);
        self.spread = self.spread.map(|spread| significant(spread, 2));
        for part in self.parts.iter_mut().chain([&mut self.single]) {
            part.predicted_s = recorded(part.predicted_s);
            part.time_s = part.time_s.map(recorded);
        }
        self
    }

    /// The sample for the cost of cutting.
    pub fn measured(&self) -> MeasuredCut {
        let piece = |part: &CutPart| Piece {
            time: part.predicted_s,
            bytes: Csr::<f32>::device_bytes(part.nrows, part.nnz, self.dtype),
        };
        MeasuredCut { parts: self.parts.iter().map(piece).collect(), time: self.time_s }
    }
}
