//! `measure`: what a run added to a corpus.

use serde::Serialize;
use std::path::PathBuf;

/// `sparsight/measure/1`: the matrices of one run, counted.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct MeasureAnswer {
    /// Folder of the profile.
    pub folder: PathBuf,
    /// Share of the matrices that was measured, `1/4`; absent if all were.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shard: Option<String>,
    /// Matrices left to other shards.
    pub elsewhere: usize,
    /// Matrices left for another run, since the budget was spent.
    pub left: usize,
    /// Matrices times value types, as are the next two.
    pub measured: usize,
    /// Known before.
    pub skipped: usize,
    /// Records whose features were recomputed.
    pub renewed: usize,
    /// Matrices whose features were to be recomputed and that the folder holds no record of.
    pub unknown: usize,
    /// Number of matrices with candidates that failed or were wrong.
    pub failing: usize,
    /// Matrices that were left out.
    pub unreadable: Vec<UnreadableMatrix>,
}

/// A matrix that was left out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct UnreadableMatrix {
    /// Name as it would be recorded: folder and stem, or recipe.
    pub matrix: String,
    /// Why, in words.
    pub why: String,
}
