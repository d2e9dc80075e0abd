//! The part of a profile that a transfer needs: the device and its transfer parameters. A quick profile holds nothing else.

use super::{ProfileFolder, ProfiledDevice, folder_of, shipped};
use crate::{Error, Missing};
use serde::{Deserialize, Serialize};
use sparsight_model::transfer::{TransferParameters, TransferSide};
use std::path::Path;

/// Schema of `transfer.json`.
pub const TRANSFER_SCHEMA: &str = "sparsight/transfer-parameters/1";

/// A `transfer.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TransferFile {
    /// `sparsight/transfer-parameters/1`.
    pub schema: String,
    /// What the benchmark matrices gave.
    #[serde(flatten)]
    pub parameters: TransferParameters,
}

impl From<TransferParameters> for TransferFile {
    fn from(parameters: TransferParameters) -> Self {
        Self { schema: TRANSFER_SCHEMA.to_owned(), parameters }
    }
}

/// One device of a transfer.
#[derive(Debug, Clone, PartialEq)]
pub struct TransferProfile {
    /// Name or folder it was loaded by.
    pub name: String,
    /// The device.
    pub device: ProfiledDevice,
    /// What its benchmark matrices gave.
    pub parameters: TransferParameters,
}

impl TransferProfile {
    /// A shipped profile by name, else a folder by path, as [`Profile::find`](super::Profile::find).
    ///
    /// # Errors
    /// [`Error::Lacking`] without transfer parameters; errors of reading the folder; [`Error::NoProfile`].
    pub fn find(name_or_folder: &str) -> Result<Self, Error> {
        match folder_of(name_or_folder) {
            Some(folder) => Self::load(&folder),
            None => shipped::load_transfer(name_or_folder),
        }
    }

    /// From a folder.
    ///
    /// # Errors
    /// [`Error::Lacking`] without transfer parameters; errors of reading the folder.
    pub fn load(folder: &Path) -> Result<Self, Error> {
        let name = folder.display().to_string();
        let folder = ProfileFolder::open(folder)?;
        let device = folder.device()?;
        let lacking = || Error::Lacking { profile: name.clone(), missing: Missing::TransferParameters };
        let parameters = folder.transfer()?.ok_or_else(lacking)?.parameters;
        Ok(Self { name, device, parameters })
    }

    /// As a side of a [`Transfer`](sparsight_model::transfer::Transfer).
    pub fn side(&self) -> TransferSide<'_> {
        TransferSide { facts: &self.device.facts, parameters: &self.parameters }
    }
}
