//! `lab profile --links`: what exchanges between the GPUs of a host take.

use serde::Serialize;
use sparsight::profile::{LinksFile, MeasuredExchange};
use sparsight_model::Links;
use std::path::{Path, PathBuf};

/// `sparsight/profile-links/1`: links that were measured.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ProfileLinksAnswer {
    /// Folder to which `links.json` was written.
    pub folder: PathBuf,
    /// The GPUs, as their driver calls them.
    pub gpus: Vec<String>,
    /// Version of NCCL.
    pub nccl: String,
    /// The fitted links.
    #[serde(flatten)]
    pub links: Links,
    /// Each exchange that was measured.
    pub measured: Vec<MeasuredExchange>,
}

impl ProfileLinksAnswer {
    /// Answer from the measurements written to `folder`.
    pub fn of(folder: &Path, file: &LinksFile) -> Self {
        let LinksFile { links, gpus, nccl, measured, .. } = file.clone();
        Self { folder: folder.to_owned(), gpus, nccl, links, measured }
    }
}
