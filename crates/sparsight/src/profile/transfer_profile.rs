//! The part of a profile that a transfer needs: the device, and for the model of Guo and Wang 2013 its parameters.

use super::{ProfileFolder, ProfiledDevice, data_sheet, folder_of, shipped};
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
    /// What its benchmark matrices gave, if it has any.
    pub parameters: Option<TransferParameters>,
}

impl TransferProfile {
    /// A shipped profile by name, a data sheet, else a folder by path, as [`Profile::find`](super::Profile::find).
    ///
    /// # Errors
    /// Errors of reading the folder or the data sheet; [`Error::NoProfile`].
    pub fn find(name_or_folder: &str) -> Result<Self, Error> {
        if data_sheet::is_data_sheet(name_or_folder) {
            let profile = data_sheet::load(Path::new(name_or_folder))?;
            return Ok(Self { name: profile.name, device: profile.device, parameters: None });
        }
        match folder_of(name_or_folder) {
            Some(folder) => Self::load(&folder),
            None => shipped::load_transfer(name_or_folder),
        }
    }

    /// From a folder.
    ///
    /// # Errors
    /// Errors of reading the folder.
    pub fn load(folder: &Path) -> Result<Self, Error> {
        let name = folder.display().to_string();
        let folder = ProfileFolder::open(folder)?;
        let device = folder.device()?;
        let parameters = folder.transfer()?.map(|file| file.parameters);
        Ok(Self { name, device, parameters })
    }

    /// As a side of a [`Transfer`](sparsight_model::transfer::Transfer).
    ///
    /// # Errors
    /// [`Error::Lacking`] without parameters.
    pub fn side(&self) -> Result<TransferSide<'_>, Error> {
        let parameters = self.parameters.as_ref().ok_or_else(|| self.lacking(Missing::TransferParameters))?;
        Ok(TransferSide { facts: &self.device.facts, parameters })
    }

    /// Whether the rates are known that every time is carried over with.
    ///
    /// # Errors
    /// [`Error::Lacking`] if one is not.
    pub(crate) fn has_rates(&self) -> Result<(), Error> {
        let facts = &self.device.facts;
        let known = facts.copy_bytes_per_s > 0.0 && facts.launch_s.0 > 0.0;
        known.then_some(()).ok_or_else(|| self.lacking(Missing::Rates))
    }

    fn lacking(&self, missing: Missing) -> Error {
        Error::Lacking { profile: self.name.clone(), missing }
    }
}
