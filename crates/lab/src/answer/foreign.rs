//! `foreign`: times of other people's, carried over and judged.

use crate::foreign::ForeignEvaluation;
use serde::Serialize;
use std::path::PathBuf;

/// `sparsight/foreign/1`: how far times of a table are carried from GPU to GPU.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ForeignAnswer {
    /// The table.
    pub table: PathBuf,
    /// Times left out, since they are far below a launch.
    pub implausible: usize,
    /// GPUs that are compared with each other.
    pub groups: Vec<Vec<String>>,
    /// Draws of each number of matrices.
    pub draws: usize,
    /// Their seed.
    pub seed: u64,
    /// Errors, choices and coverage.
    #[serde(flatten)]
    pub evaluation: ForeignEvaluation,
}
