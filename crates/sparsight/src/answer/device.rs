//! A device in short, and `devices`: what is on this machine.

use crate::Profile;
use crate::profile::{ProfiledDevice, Provenance};
use serde::Serialize;
use serde_with::skip_serializing_none;
use sparsight_device::DeviceError;
use sparsight_kernels::{DeviceFacts, DeviceKind, Kernel};
use sparsight_matrix::{Dtype, Seconds};

/// A device in short, with the profile that speaks of it.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DeviceSummary {
    /// The device's own name: `NVIDIA H200`.
    pub name: String,
    /// `cpu`, `cuda` or `hip`.
    pub kind: DeviceKind,
    /// Streaming multiprocessors; on a CPU, worker threads.
    pub multiprocessors: u32,
    /// Measured: bytes read plus bytes written by a large copy within the device, a second. 0 if not measured.
    pub copy_bytes_per_s: f64,
    /// Measured: time of one launch of an empty kernel among many, seconds, on the machine of the profile; with what products cost more on
    /// the machine at hand where that was measured. 0 if not measured.
    pub launch_s: Seconds,
    /// Launch of the machine that the profile was measured on; absent unless `launch_s` is of the machine at hand.
    pub profile_launch_s: Option<Seconds>,
    /// Name or folder of the profile; absent where none was asked.
    pub profile: Option<String>,
    /// UTC date on which the profile was begun; absent where none was asked.
    pub profile_date: Option<String>,
    /// Name or folder of the profile whose predictions are carried to this device; absent if it has models of its own.
    pub rescaled_from: Option<String>,
    /// Noise while the profile was measured, which may have disturbed it; absent if none was seen or no profile was used.
    pub noise: Option<String>,
    /// Assumptions beside the data sheet; absent for a device that was measured.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub assumptions: Vec<String>,
}

impl DeviceSummary {
    /// Summary with the profile of that name or folder.
    pub fn profiled(profile: &str, device: &ProfiledDevice) -> Self {
        let Provenance { date, noise, assumptions, .. } = device.provenance.clone();
        let profile = Some(profile.to_owned());
        Self { profile, profile_date: Some(date), noise, assumptions, ..Self::from(&device.facts) }
    }
}

/// Converts the facts of a device without a profile.
impl From<&DeviceFacts> for DeviceSummary {
    fn from(facts: &DeviceFacts) -> Self {
        let DeviceFacts { name, kind, multiprocessors, copy_bytes_per_s, launch_s, .. } = facts.clone();
        Self {
            name,
            kind,
            multiprocessors,
            copy_bytes_per_s,
            launch_s,
            profile_launch_s: None,
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
        let profiled = Self::profiled(&profile.name, &profile.device);
        let profile_launch_s = profile.launch_here.map(|_| profiled.launch_s);
        Self { launch_s: profile.launch_s(), profile_launch_s, rescaled_from, ..profiled }
    }
}

/// `sparsight/devices/1`: the devices of this machine and the shipped profiles.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DevicesAnswer {
    /// The processor, then CUDA devices, then those of HIP.
    pub here: Vec<DeviceHere>,
    /// Why there is no CUDA device; absent if there is one.
    pub no_cuda: Option<NoCuda>,
    /// Version of NVRTC, which compiles the kernels, `13.0`; absent where it was not found.
    pub nvrtc: Option<String>,
    /// Version of cuSPARSE, `12.6.3`; absent where it was not found.
    pub cusparse: Option<String>,
    /// Version of NCCL, `2.28.3`; absent where it was not found.
    pub nccl: Option<String>,
    /// Trials of the kernels on the GPUs here, as `--report` asks for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub trials: Vec<KernelTrial>,
    /// Profiles that are part of the program.
    pub profiles: Vec<DeviceSummary>,
}

/// Trial of a kernel on a GPU of this machine: its smallest and its largest block size on some matrices, each product compared with the
/// reference.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct KernelTrial {
    /// Value of `--device`: `hip:0`.
    pub id: String,
    /// Id of the kernel.
    pub kernel: Kernel,
    /// Value type.
    pub dtype: Dtype,
    /// Products that were right.
    pub right: usize,
    /// The first failure, or the first wrong entry, as text; absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

/// A device of this machine.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DeviceHere {
    /// Value of `--device`: `cpu`, `cuda:0`.
    pub id: String,
    /// Attributes and measured rates.
    #[serde(flatten)]
    pub facts: DeviceFacts,
    /// Name or folder of the profile that `--device` finds for it; null if there is none yet.
    pub profile: Option<String>,
    /// Numbers of multiprocessors that a part of a GPU can have; absent if it has no parts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<u32>,
}

/// Why no CUDA device can be used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NoCuda {
    /// Reason, as text.
    pub why: String,
    /// Advice; absent if nothing is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

impl From<&DeviceError> for NoCuda {
    fn from(error: &DeviceError) -> Self {
        Self { why: error.to_string(), hint: error.hint().map(ToOwned::to_owned) }
    }
}
