//! `repair`: what became of the journals of a profile.

use serde::Serialize;
use sparsight::records::RepairedFile;
use std::path::PathBuf;

/// `sparsight/repair/1`: the files in which something was damaged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RepairAnswer {
    /// Folder of the profile.
    pub folder: PathBuf,
    /// Each with what it kept and what it lost; none if nothing was damaged.
    pub repaired: Vec<RepairedFile>,
}
