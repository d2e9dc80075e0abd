//! Calibration of one GPU by another: a handful of matrices measured on each, and the rescaling that follows.

use super::{ProfileFolder, data_sheet, folder_of, shipped};
use crate::Error;
use crate::records::CorpusRecord;
use serde::{Deserialize, Serialize};
use sparsight_model::Rescaling;

/// Schema of `calibration.json`.
pub const CALIBRATION_SCHEMA: &str = "sparsight/calibration/1";
/// Schema of `rescaling.json`: 1 held weights of another equation; `calibrate` remakes it from calibration.json, without measuring.
pub const RESCALING_SCHEMA: &str = "sparsight/rescaling/2";

/// A `calibration.json`: the times of the matrices that every GPU is calibrated with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CalibrationFile {
    /// `sparsight/calibration/1`.
    pub schema: String,
    /// Records, one for each matrix and value type, as in a corpus.
    pub records: Vec<CorpusRecord>,
}

impl From<Vec<CorpusRecord>> for CalibrationFile {
    fn from(records: Vec<CorpusRecord>) -> Self {
        Self { schema: CALIBRATION_SCHEMA.to_owned(), records }
    }
}

/// A `rescaling.json`: whose predictions answer, and how they are carried over.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RescalingFile {
    /// `sparsight/rescaling/2`.
    pub schema: String,
    /// Name or folder of the profile whose models answer.
    pub reference: String,
    /// Rescaling of the reference's times to this device.
    #[serde(flatten)]
    pub rescaling: Rescaling,
}

impl RescalingFile {
    /// A calibration with the present schema.
    pub fn new(reference: &str, rescaling: Rescaling) -> Self {
        Self { schema: RESCALING_SCHEMA.to_owned(), reference: reference.to_owned(), rescaling }
    }
}

impl CalibrationFile {
    /// Finds the calibration of a shipped profile by name, else of a folder by path; `None` if it holds none, as a data sheet does.
    ///
    /// # Errors
    /// [`Error::NoProfile`]; errors of reading the file.
    pub fn find(name_or_folder: &str) -> Result<Option<Self>, Error> {
        match folder_of(name_or_folder) {
            _ if data_sheet::is_data_sheet(name_or_folder) => Ok(None),
            Some(folder) => ProfileFolder::open(&folder)?.calibration(),
            None => shipped::load_calibration(name_or_folder).map(Some),
        }
    }
}
