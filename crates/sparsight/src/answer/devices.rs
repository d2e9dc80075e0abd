//! `devices`: what is here, and which profiles are part of the program.

use super::{Answer, DeviceSummary};
use serde::Serialize;
use sparsight_device::DeviceError;
use sparsight_kernels::DeviceFacts;

/// `sparsight/devices/1`: the devices of this machine and the shipped profiles.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DevicesAnswer {
    /// The processor, then CUDA devices.
    pub here: Vec<DeviceHere>,
    /// Why there is no CUDA device; absent if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub no_cuda: Option<NoCuda>,
    /// Version of the vendor's library, `12.6.3`; absent where it was not found, or there is no CUDA device to run it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cusparse: Option<String>,
    /// Profiles that are part of the program.
    pub profiles: Vec<DeviceSummary>,
}

impl Answer for DevicesAnswer {
    const SCHEMA: &'static str = "sparsight/devices/1";
}

/// A device of this machine.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DeviceHere {
    /// What `--device` calls it: `cpu`, `cuda:0`.
    pub id: String,
    /// Attributes and measured rates.
    #[serde(flatten)]
    pub facts: DeviceFacts,
    /// Name or folder of the profile that `--device` finds for it; null if there is none yet.
    pub profile: Option<String>,
    /// Of a GPU, the numbers of multiprocessors that a part of it can have; absent where it has no parts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<u32>,
}

/// Why no CUDA device can be used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NoCuda {
    /// In words.
    pub why: String,
    /// What to do about it; absent if nothing is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

impl From<&DeviceError> for NoCuda {
    fn from(error: &DeviceError) -> Self {
        Self { why: error.to_string(), hint: error.hint().map(ToOwned::to_owned) }
    }
}
