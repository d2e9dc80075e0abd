//! The time of a matrix on a device that was hardly measured, from that on a device that is well known.

use crate::profile::TransferProfile;
use crate::records::{CorpusRecord, Outcome};
use crate::{Error, Missing, ModelName, Predictor, Profile};
use serde::{Serialize, Serializer};
use sparsight_kernels::{Candidate, DeviceKind};
use sparsight_matrix::{Features, Seconds};
use sparsight_model::transfer::{Role, Transfer, TransferError, Transferred};
use sparsight_model::{PlacementRule, RowLengthRule};
use std::fmt;

/// Where the time on the reference comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ReferenceOrigin {
    /// It was measured there.
    Measured,
    /// A model of the reference's profile predicts it.
    Predicted(ModelName),
}

impl fmt::Display for ReferenceOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Measured => f.pad("measured"),
            Self::Predicted(model) => model.fmt(f),
        }
    }
}

impl Serialize for ReferenceOrigin {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Transfers the times of one matrix.
#[derive(Debug, Clone, Copy)]
pub struct CrossArchitecture<'p> {
    /// The device that is well known.
    pub reference: &'p TransferProfile,
    /// Its models, if it has any.
    pub models: Option<&'p Profile>,
    /// What it measured of the very matrix, if it did.
    pub measured: Option<&'p CorpusRecord>,
    /// The device that was hardly measured.
    pub target: &'p TransferProfile,
}

impl CrossArchitecture<'_> {
    /// The time of one product of a matrix with `features` on the target.
    ///
    /// # Errors
    /// [`Error::Unmeasured`] if either profile lacks benchmark matrices, or the reference knows no time of this matrix;
    /// [`Error::Transfer`] if benchmark matrices that there are say nothing.
    pub fn time(
        &self,
        candidate: &Candidate,
        features: &Features,
    ) -> Result<(Transferred, ReferenceOrigin), Error> {
        let (reference, origin) = self.reference_time(candidate, features)?;
        let transfer = Transfer { reference: self.reference.side(), target: self.target.side() };
        let transferred = transfer.time(candidate, features, reference);
        Ok((transferred.map_err(|why| self.refused(why))?, origin))
    }

    /// `T_ref`: as measured, else as [`ModelName::Best`] predicts it.
    fn reference_time(
        &self,
        candidate: &Candidate,
        features: &Features,
    ) -> Result<(Seconds, ReferenceOrigin), Error> {
        let measured = self.measured.and_then(|record| {
            let found = record.results.iter().find(|measured| measured.id == *candidate)?;
            if let Outcome::Time { time_s, .. } = found.outcome { Some(time_s) } else { None }
        });
        if let Some(time) = measured {
            return Ok((time, ReferenceOrigin::Measured));
        }
        let Some(profile) = self.models else {
            if self.reference.device.provenance.source.is_some() {
                return Err(Error::Lacking {
                    profile: self.reference.name.clone(),
                    missing: Missing::OfElsewhere,
                });
            }
            return Err(Error::Unmeasured {
                profile: self.reference.name.clone(),
                missing: format!("time of this matrix with {candidate}, and no models that predict it"),
                command: format!(
                    "sparsight measure MATRIX --device {} -o {}",
                    device_flag(self.reference),
                    self.reference.name
                ),
            });
        };
        let best = Predictor::new(profile, ModelName::Best, PlacementRule::Blend, RowLengthRule::Paper)?;
        let (model, prediction) = best.answer(candidate, features)?;
        Ok((prediction.time, ReferenceOrigin::Predicted(model)))
    }

    fn refused(&self, why: TransferError) -> Error {
        match why {
            TransferError::Missing { role, missing } => {
                let profile = match role {
                    Role::Reference => self.reference,
                    Role::Target => self.target,
                };
                Error::Unmeasured {
                    profile: profile.name.clone(),
                    missing,
                    command: format!(
                        "sparsight profile --quick --device {} -o {}",
                        device_flag(profile),
                        profile.name
                    ),
                }
            }
            other => Error::Transfer(other),
        }
    }
}

/// How the device of a profile is called on a machine that has it.
fn device_flag(profile: &TransferProfile) -> &'static str {
    match profile.device.facts.kind {
        DeviceKind::Cpu => "cpu",
        DeviceKind::Cuda => "cuda:0",
    }
}
