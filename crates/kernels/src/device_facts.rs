//! What a device is, in numbers that were read from it or measured on it; never typed in.

use serde::{Deserialize, Serialize};
use sparsight_matrix::{Bytes, Seconds};

/// Kind of device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DeviceKind {
    /// Worker threads of this machine.
    Cpu,
    /// A GPU driven through CUDA.
    Cuda,
}

/// Facts that strips, models and tables need. Attributes are read from the driver or the operating system,
/// rates and costs are measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DeviceFacts {
    /// The device's own name: `NVIDIA H200`.
    pub name: String,
    /// CPU or CUDA.
    pub kind: DeviceKind,
    /// Streaming multiprocessors; on a CPU, worker threads.
    pub multiprocessors: u32,
    /// Resident warps a multiprocessor; on a CPU, 1.
    pub warps_per_multiprocessor: u32,
    /// Resident threads a multiprocessor; on a CPU, 1.
    pub threads_per_multiprocessor: u32,
    /// Largest thread block: the threshold on p of the strip models. `None` on a CPU, which has none.
    pub max_threads_per_block: Option<u32>,
    /// Last cache that all multiprocessors share.
    pub l2_bytes: Bytes,
    /// Device memory.
    pub memory_bytes: Bytes,
    /// Compute capability, `9.0` as (9, 0); `None` on a CPU.
    pub compute_capability: Option<(u32, u32)>,
    /// Driver or kernel version, as it names itself.
    pub driver: String,
    /// Measured: bytes read plus bytes written by a large copy within the device, a second. 0 until measured.
    pub copy_bytes_per_s: f64,
    /// Measured: time of one launch of an empty kernel among many. 0 until measured.
    pub launch_s: Seconds,
    /// Measured: bytes a second from host memory to the device; `None` on a CPU, where nothing is moved.
    pub upload_bytes_per_s: Option<f64>,
}
