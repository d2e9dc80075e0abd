//! The time of a matrix on a device that was hardly measured, from that on a device that is well known.
//!
//! ```text
//! T_ref, measured or predicted -> rescaling | the equation of Guo and Wang 2013 -> floors -> time on the target
//! ```
//! `reference.rs` holds what is known of the device that the times come from, `profile.rs` what a transfer reads of a profile.

mod profile;
mod reference;

pub use profile::{
    TRANSFER_FILE, TRANSFER_SCHEMA, TransferFile, TransferProfile, fit_transfer, write_fitted,
};
pub use reference::{Reference, has_size_of};

use crate::papers::guo_wang_2013::{Relative, Role, Transfer, TransferError, Transferred};
use serde::Serialize;
use sparsight::models::ModelName;
use sparsight::profile::Missing;
use sparsight::records::{CorpusRecord, Outcome};
use sparsight::{Advisor, Error, Profile};
use sparsight_kernels::Candidate;
use sparsight_matrix::{Features, Seconds, serialize_as_text};
use sparsight_model::{Between, Floor, PlacementRule, Prediction, Rescaling, RowLengthRule};
use std::fmt;

/// Method of the transfer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum TransferBy {
    /// Part by part, as the facts of both devices say, weighted by what both have measured: [`Reference::rescaling`](Reference::rescaling).
    Rescaling(Rescaling),
    /// The equation of Guo and Wang 2013 with the benchmark matrices of both devices.
    GuoWang2013,
}

impl fmt::Display for TransferBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Rescaling(_) => "rescaling",
            Self::GuoWang2013 => "guo-wang-2013",
        })
    }
}

/// A time on the target, and where it comes from.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CarriedTime {
    /// Seconds a product on the target; no floor of [`Floor`] is above it.
    #[serde(rename = "predicted_s")]
    pub time: Seconds,
    /// Lower end of the 90 % interval; `None` from the model of 2013, for which none was calibrated.
    #[serde(rename = "low_s", skip_serializing_if = "Option::is_none")]
    pub low: Option<Seconds>,
    /// Upper end.
    #[serde(rename = "high_s", skip_serializing_if = "Option::is_none")]
    pub high: Option<Seconds>,
    /// The time on the reference.
    #[serde(rename = "reference_s")]
    pub reference: Seconds,
    /// Origin of the time on the reference: `measured`, or the model that predicts it.
    #[serde(rename = "reference_origin")]
    pub origin: ReferenceOrigin,
    /// The floor that the time was raised to, if it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub floor: Option<Floor>,
    /// P and both initialization times of the model of 2013.
    #[serde(flatten)]
    pub relative: Option<Relative>,
}

/// Origin of the time on the reference.
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

serialize_as_text!(ReferenceOrigin);

/// Transfers the times of one matrix.
#[derive(Debug, Clone, Copy)]
pub struct CrossArchitecture<'p> {
    /// The device that is well known.
    pub reference: &'p TransferProfile,
    /// Models of the reference, if it has any.
    pub models: Option<&'p Profile>,
    /// The reference's record of the same matrix, if it has one.
    pub measured: Option<&'p CorpusRecord>,
    /// The device that was hardly measured.
    pub target: &'p TransferProfile,
}

impl CrossArchitecture<'_> {
    /// The time of one product of a matrix with `features` on the target.
    ///
    /// # Errors
    /// [`Error::Unmeasured`] or [`Error::Predict`] if the reference knows no time of this matrix; by the model of 2013 as
    /// [`CrossArchitecture::time`].
    pub fn carry(
        &self,
        by: &TransferBy,
        candidate: &Candidate,
        features: &Features,
    ) -> Result<CarriedTime, Error> {
        let between = Between { from: &self.reference.device.facts, to: &self.target.device.facts };
        match by {
            TransferBy::Rescaling(rescaling) => {
                let (mut prediction, origin) = self.reference_time(candidate, features)?;
                let reference = prediction.time;
                let floor = rescaling.carry(&mut prediction, candidate, features, between);
                let Prediction { time, low, high, .. } = prediction;
                let (low, high) = (Some(low), Some(high));
                Ok(CarriedTime { time, low, high, reference, origin, floor, relative: None })
            }
            TransferBy::GuoWang2013 => {
                let (transferred, origin) = self.time(candidate, features)?;
                let Transferred { reference, relative, time, at_launch_cost } = transferred;
                let (time, raised) = between.floored(candidate, features, reference, time);
                let floor = raised.or(at_launch_cost.then_some(Floor::Launch));
                let (low, high, relative) = (None, None, Some(relative));
                Ok(CarriedTime { time, low, high, reference, origin, floor, relative })
            }
        }
    }

    /// The time by the equation of Guo and Wang 2013 alone, as `lab evaluate --from` judges it: never below a launch, and without
    /// the other floors.
    ///
    /// # Errors
    /// [`Error::Unmeasured`] if either profile lacks benchmark matrices, or the reference knows no time of this matrix;
    /// [`Error::Contradictory`] if the benchmark matrices of a device contradict each other.
    pub fn time(
        &self,
        candidate: &Candidate,
        features: &Features,
    ) -> Result<(Transferred, ReferenceOrigin), Error> {
        let transfer = Transfer { reference: self.reference.side()?, target: self.target.side()? };
        let (Prediction { time: reference, .. }, origin) = self.reference_time(candidate, features)?;
        let transferred = transfer.time(candidate, features, reference);
        Ok((transferred.map_err(|why| self.refused(why))?, origin))
    }

    /// `T_ref`: as measured, with no interval around it, else as [`ModelName::Best`] predicts it.
    fn reference_time(
        &self,
        candidate: &Candidate,
        features: &Features,
    ) -> Result<(Prediction, ReferenceOrigin), Error> {
        let measured = self.measured.and_then(|record| {
            let found = record.results.iter().find(|measured| measured.id == *candidate)?;
            if let Outcome::Time { time_s, .. } = found.outcome { Some(time_s) } else { None }
        });
        if let Some(time) = measured {
            let prediction = Prediction { time, low: time, high: time, extrapolates: Vec::new() };
            return Ok((prediction, ReferenceOrigin::Measured));
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
                    "sparsight lab measure MATRIX --device {} -o {}",
                    device_flag(self.reference),
                    self.reference.name
                ),
            });
        };
        let best =
            Advisor::new(profile).predictor(ModelName::Best, PlacementRule::Blend, RowLengthRule::Paper)?;
        let (model, prediction) = best.answer(candidate, features)?;
        Ok((prediction, ReferenceOrigin::Predicted(model)))
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
                        "sparsight lab profile --budget 1min --device {} -o {}",
                        device_flag(profile),
                        profile.name
                    ),
                }
            }
            other => Error::Contradictory { reason: other.to_string() },
        }
    }
}

/// Value of `--device` for the device of a profile on a machine that has it.
fn device_flag(profile: &TransferProfile) -> &'static str {
    profile.device.facts.kind.first_device()
}
