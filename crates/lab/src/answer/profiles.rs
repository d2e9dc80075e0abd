//! `profiles`: shared profiles, examined.

use crate::received::{HeldOutQuality, IndexedProfile};
use serde::Serialize;
use std::path::PathBuf;

/// `sparsight/profiles-add/1`: a shared profile that is used from now on.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ProfilesAddAnswer {
    /// What it is of, and what was measured of it here.
    #[serde(flatten)]
    pub profile: IndexedProfile,
    /// The worth of its models that the index states.
    pub indexed_quality: Vec<HeldOutQuality>,
    /// False if its kernels are not those of this program: candidates of other sources are then predicted by times of theirs.
    pub same_kernels: bool,
    /// Folder of the profile.
    pub folder: PathBuf,
}

/// `sparsight/profiles-index/1`: the index that was written; the file has the field `profiles` alone.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ProfilesIndexAnswer {
    /// The file.
    pub file: PathBuf,
    /// All profiles of the index.
    pub profiles: Vec<IndexedProfile>,
}
