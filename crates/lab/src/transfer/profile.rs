//! The part of a profile that a transfer needs: the device, and for the model of Guo and Wang 2013 its parameters.

use crate::papers::guo_wang_2013::{TransferParameters, TransferSide};
use flate2::bufread::GzDecoder;
use serde::{Deserialize, Serialize};
use sparsight::Error;
use sparsight::answer::DeviceSummary;
use sparsight::calibrate::Fitted;
use sparsight::profile::{
    Missing, Profile, ProfileFolder, ProfiledDevice, folder_of, is_data_sheet, parse_document,
};
use sparsight::records::BenchmarkRecord;
use sparsight_model::Observation;
use std::io::Read;
use std::path::Path;

/// Schema of `transfer.json`.
pub const TRANSFER_SCHEMA: &str = "sparsight/transfer-parameters/1";

/// Name of the file with the parameters, in a profile's folder.
pub const TRANSFER_FILE: &str = "transfer.json";

/// The files of the shipped profiles. `profiles` in this crate is a link to the folder of that name at the root; the files have to
/// be named in `include` of the crate's Cargo.toml.
const SHIPPED: [(&str, &[u8]); 2] = [
    ("nvidia-h200", include_bytes!("../../profiles/nvidia-h200/transfer.json.gz")),
    ("nvidia-h100", include_bytes!("../../profiles/nvidia-h100/transfer.json.gz")),
];

/// A `transfer.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TransferFile {
    /// `sparsight/transfer-parameters/1`.
    pub schema: String,
    /// Parameters from the benchmark matrices.
    #[serde(flatten)]
    pub parameters: TransferParameters,
}

impl From<TransferParameters> for TransferFile {
    fn from(parameters: TransferParameters) -> Self {
        Self { schema: TRANSFER_SCHEMA.to_owned(), parameters }
    }
}

/// A device of a transfer.
#[derive(Debug, Clone, PartialEq)]
pub struct TransferProfile {
    /// Name or folder it was loaded by.
    pub name: String,
    /// The device.
    pub device: ProfiledDevice,
    /// Parameters from its benchmark matrices, if it has any.
    pub parameters: Option<TransferParameters>,
}

impl TransferProfile {
    /// A shipped profile by name, a data sheet, else a folder by path, as [`Profile::find`].
    ///
    /// # Errors
    /// Errors of reading the folder or the data sheet; [`Error::NoProfile`].
    pub fn find(name_or_folder: &str) -> Result<Self, Error> {
        if let Some(folder) = folder_of(name_or_folder).filter(|_| !is_data_sheet(name_or_folder)) {
            return Self::load(&folder);
        }
        let Profile { name, device, .. } = Profile::find(name_or_folder)?;
        let parameters = shipped_parameters(name_or_folder)?;
        Ok(Self { name, device, parameters })
    }

    /// Loads from a folder; parameters that are not stored are fitted to the benchmark matrices.
    ///
    /// # Errors
    /// Errors of reading the folder.
    pub fn load(folder: &Path) -> Result<Self, Error> {
        let name = folder.display().to_string();
        let folder = ProfileFolder::open(folder)?;
        let device = folder.device()?;
        let stored: Option<TransferFile> = folder.document(TRANSFER_FILE, TRANSFER_SCHEMA)?;
        let parameters = match stored {
            Some(file) => Some(file.parameters),
            // A profile that the library calibrated holds the benchmark matrices alone.
            None => Some(fit_transfer(&folder)?).filter(|fitted| !fitted.candidates().is_empty()),
        };
        Ok(Self { name, device, parameters })
    }

    /// The device as a side of a [`Transfer`](crate::papers::guo_wang_2013::Transfer).
    ///
    /// # Errors
    /// [`Error::Lacking`] without parameters.
    pub fn side(&self) -> Result<TransferSide<'_>, Error> {
        let parameters = self.parameters.as_ref().ok_or_else(|| self.lacking(Missing::TransferParameters))?;
        Ok(TransferSide { facts: &self.device.facts, parameters })
    }

    /// Returns whether the rates are known that every time is carried over with.
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

/// Writes what was fitted into the folder that it was fitted to ([`sparsight::calibrate::write_fitted`]), and the parameters of the transfer
/// of 2013 if the folder holds benchmark matrices for them.
///
/// # Errors
/// [`Error::File`], and errors of reading the folder.
pub fn write_fitted(folder: &ProfileFolder, fitted: &Fitted) -> Result<(), Error> {
    sparsight::calibrate::write_fitted(folder, fitted)?;
    let parameters = fit_transfer(folder)?;
    if parameters.candidates().is_empty() {
        return Ok(());
    }
    folder.write_document(TRANSFER_FILE, &TransferFile::from(parameters))
}

/// The parameters of a transfer to or from the device of a profile, from its benchmark matrices; none of candidates for which
/// the handful was not measured. Writes nothing.
///
/// # Errors
/// Errors of reading the folder.
pub fn fit_transfer(folder: &ProfileFolder) -> Result<TransferParameters, Error> {
    let benchmark = folder.benchmark()?.into_records();
    let observations: Vec<Observation> = benchmark.iter().flat_map(BenchmarkRecord::observations).collect();
    Ok(TransferParameters::fit(&folder.device()?.facts, &observations))
}

/// The parameters of a shipped profile; `None` of a data sheet.
fn shipped_parameters(name: &str) -> Result<Option<TransferParameters>, Error> {
    let Some((_, packed)) = SHIPPED.iter().find(|(shipped, _)| *shipped == name) else { return Ok(None) };
    let path = Path::new("profiles").join(name).join(TRANSFER_FILE);
    let mut text = String::new();
    let unpacked = GzDecoder::new(*packed).read_to_string(&mut text);
    unpacked.map_err(|source| Error::File { path: path.clone(), source })?;
    let file: TransferFile = parse_document(&path, &text, TRANSFER_SCHEMA)?;
    Ok(Some(file.parameters))
}

impl From<&TransferProfile> for DeviceSummary {
    fn from(profile: &TransferProfile) -> Self {
        Self::profiled(&profile.name, &profile.device)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shipped_profile_has_parameters_and_no_newer_ones_beside_them() {
        for name in Profile::shipped_names() {
            assert!(shipped_parameters(name).unwrap().is_some(), "{name}");
            let plain = Path::new(env!("CARGO_MANIFEST_DIR")).join("profiles").join(name).join(TRANSFER_FILE);
            assert!(!plain.exists(), "{}: pack it with `gzip -9n`", plain.display());
        }
    }
}
