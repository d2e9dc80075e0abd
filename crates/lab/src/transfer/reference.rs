//! A device that is well known, with all that a transfer may take of it.

use super::{CrossArchitecture, TransferProfile};
use sparsight::calibrate::{calibrated, one_factor};
use sparsight::profile::{CalibrationFile, ProfileFolder, folder_of};
use sparsight::records::CorpusRecord;
use sparsight::{Error, Profile};
use sparsight_device::timing::Caches;
use sparsight_matrix::{Dtype, Features};
use sparsight_model::{Between, Rescaling};

/// The reference of a transfer.
#[derive(Debug, Clone)]
pub struct Reference {
    /// The device and, if it has any, its transfer parameters.
    pub profile: TransferProfile,
    /// Models; `None` if it was never fitted.
    pub models: Option<Profile>,
    /// Corpus; empty if it is named and is no folder.
    pub corpus: Vec<CorpusRecord>,
}

impl Reference {
    /// A shipped profile by name, else a folder by path, as [`Profile::find`].
    ///
    /// # Errors
    /// As [`TransferProfile::find`]; errors of reading models and corpus.
    pub fn find(name_or_folder: &str) -> Result<Self, Error> {
        let profile = TransferProfile::find(name_or_folder)?;
        let models = match Profile::find(name_or_folder) {
            Ok(profile) => Some(profile),
            // A profile that was never fitted may still have measured a matrix.
            Err(Error::Lacking { .. }) => None,
            Err(error) => return Err(error),
        };
        let corpus = match folder_of(name_or_folder) {
            Some(path) => ProfileFolder::open(&path)?.measured()?,
            None => Vec::new(),
        };
        Ok(Self { profile, models, corpus })
    }

    /// The record of the matrix called `name`. O(matrices).
    pub fn named(&self, name: &str, dtype: Dtype, caches: Caches) -> Option<&CorpusRecord> {
        self.corpus.iter().find(|r| (r.matrix.as_str(), r.dtype, r.caches) == (name, dtype, caches))
    }

    /// Returns whether times here are carried over to `target`: both are GPUs, or both are processors.
    ///
    /// # Errors
    /// [`Error::OtherKind`] if they are not.
    pub fn reaches(&self, target: &TransferProfile) -> Result<(), Error> {
        let [from, to] = [&self.profile.device.facts, &target.device.facts];
        if from.kind.is_gpu() == to.kind.is_gpu() {
            return Ok(());
        }
        Err(Error::OtherKind {
            from: from.described(),
            to: to.described(),
            profile: target.name.clone(),
            is_to_gpu: to.kind.is_gpu(),
        })
    }

    /// Rescaling of times here to `target`: from what both have measured of a calibration, else by their facts.
    ///
    /// # Errors
    /// [`Error::Lacking`] where a rate of either was not measured; errors of reading what was measured.
    pub fn rescaling(&self, target: &TransferProfile) -> Result<Rescaling, Error> {
        self.profile.has_rates()?;
        target.has_rates()?;
        let [here, there] = self.on_both(target)?;
        let [from, to] = [&self.profile.device.facts, &target.device.facts];
        let by_facts = || Rescaling::of_facts(Between { from, to });
        Ok(calibrated((from, &here), (to, &there)).unwrap_or_else(by_facts))
    }

    /// Factor of all times on `target` to those here, from what both have measured of a calibration, if they did.
    ///
    /// # Errors
    /// Errors of reading what was measured.
    pub fn one_factor(&self, target: &TransferProfile) -> Result<Option<f64>, Error> {
        let [here, there] = self.on_both(target)?;
        Ok(one_factor(&here, &there))
    }

    /// The records of a calibration, here and on `target`.
    fn on_both(&self, target: &TransferProfile) -> Result<[Vec<CorpusRecord>; 2], Error> {
        let records = |profile: &TransferProfile| {
            Ok::<_, Error>(CalibrationFile::find(&profile.name)?.map_or(Vec::new(), |file| file.records))
        };
        Ok([records(&self.profile)?, records(target)?])
    }

    /// The question to a transfer, with what was `measured` of the matrix here.
    pub const fn to<'p>(
        &'p self,
        target: &'p TransferProfile,
        measured: Option<&'p CorpusRecord>,
    ) -> CrossArchitecture<'p> {
        CrossArchitecture { reference: &self.profile, models: self.models.as_ref(), measured, target }
    }
}

/// Tells whether `features` are of as many rows, columns and non-zeros as those of a record: two matrices may share a name.
pub fn has_size_of(record: &CorpusRecord, features: &Features) -> bool {
    let size = |f: &Features| (f.nrows, f.ncols, f.nnz);
    size(&record.features) == size(features)
}
