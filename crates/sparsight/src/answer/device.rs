//! A device in short.

use crate::Profile;
use crate::profile::{ProfiledDevice, Provenance};
use serde::Serialize;
use sparsight_kernels::{DeviceFacts, DeviceKind};
use sparsight_matrix::Seconds;

/// A device in short, with the profile that speaks of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DeviceSummary {
    /// The device's own name: `NVIDIA H200`.
    pub name: String,
    /// `cpu` or `cuda`.
    pub kind: DeviceKind,
    /// Streaming multiprocessors; on a CPU, worker threads.
    pub multiprocessors: u32,
    /// Measured: bytes read plus bytes written by a large copy within the device, a second. 0 if not measured.
    pub copy_bytes_per_s: f64,
    /// Measured: time of one launch of an empty kernel among many, seconds. 0 if not measured.
    pub launch_s: Seconds,
    /// Name or folder of the profile; absent where none was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// UTC date on which the profile was begun; absent where none was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile_date: Option<String>,
    /// Name or folder of the profile whose predictions are carried to this device; absent if it has models of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rescaled_from: Option<String>,
    /// What was not quiet while the profile was measured, so that it may be off; absent if nothing was seen, or no profile asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub noise: Option<String>,
    /// What is assumed of it beside what its data sheet says; absent for a device that was measured.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub assumptions: Vec<String>,
}

impl DeviceSummary {
    /// With the profile of that name or folder.
    pub fn profiled(profile: &str, device: &ProfiledDevice) -> Self {
        let Provenance { date, noise, assumptions, .. } = device.provenance.clone();
        let profile = Some(profile.to_owned());
        Self { profile, profile_date: Some(date), noise, assumptions, ..Self::from(&device.facts) }
    }
}

/// Without a profile.
impl From<&DeviceFacts> for DeviceSummary {
    fn from(facts: &DeviceFacts) -> Self {
        let DeviceFacts { name, kind, multiprocessors, copy_bytes_per_s, launch_s, .. } = facts.clone();
        Self {
            name,
            kind,
            multiprocessors,
            copy_bytes_per_s,
            launch_s,
            profile: None,
            profile_date: None,
            rescaled_from: None,
            noise: None,
            assumptions: Vec::new(),
        }
    }
}

impl From<&Profile> for DeviceSummary {
    fn from(profile: &Profile) -> Self {
        let rescaled_from = profile.rescaled.as_ref().map(|rescaled| rescaled.reference.name.clone());
        Self { rescaled_from, ..Self::profiled(&profile.name, &profile.device) }
    }
}
