//! `report`: an answer of `advise` as a page.

use super::Answer;
use serde::Serialize;
use std::path::PathBuf;

/// `sparsight/report/1`: what was written.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ReportAnswer {
    /// The page.
    pub file: PathBuf,
    /// What it shows, by the ids of its sections and from the top.
    pub panels: Vec<&'static str>,
}

impl Answer for ReportAnswer {
    const SCHEMA: &'static str = "sparsight/report/1";
}
