//! Facts about a device, read from it or measured on it; never typed in.

use serde::{Deserialize, Serialize};
use sparsight_matrix::{Bytes, Seconds};
use std::fmt;

/// Kind of device, as profiles record it. What differs between kinds is asked by the methods, so that a new kind is an entry in these.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DeviceKind {
    /// Worker threads of this machine.
    Cpu,
    /// A GPU driven through CUDA.
    Cuda,
    /// A GPU driven through HIP.
    Hip,
}

impl DeviceKind {
    /// A GPU: it has memory of its own, into which a matrix is uploaded, and a launch has a cost.
    pub const fn is_gpu(self) -> bool {
        !matches!(self, Self::Cpu)
    }

    /// cuSPARSE runs on it.
    pub const fn has_cusparse(self) -> bool {
        matches!(self, Self::Cuda)
    }

    /// Kernels read values in `f32` beside vectors in `f64` on it ([`Dtype::Mixed`](sparsight_matrix::Dtype::Mixed)).
    pub const fn has_mixed_precision(self) -> bool {
        self.is_gpu()
    }

    /// Other programs on the host disturb its times.
    pub const fn is_disturbed_by_load(self) -> bool {
        !self.is_gpu()
    }

    /// Name of the first device of this kind on a machine, as `--device` takes it.
    pub const fn first_device(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Cuda => "cuda:0",
            Self::Hip => "hip:0",
        }
    }
}

/// Facts that strips, models and tables need. Attributes are read from the driver or the operating system,
/// rates and costs are measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DeviceFacts {
    /// The device's own name: `NVIDIA H200`.
    pub name: String,
    /// CPU, CUDA or HIP.
    pub kind: DeviceKind,
    /// Streaming multiprocessors; on a CPU, worker threads.
    pub multiprocessors: u32,
    /// Resident warps a multiprocessor, of the GPU's own size: 32 threads, or waves of 64; on a CPU, 1.
    pub warps_per_multiprocessor: u32,
    /// Resident threads a multiprocessor; on a CPU, 1.
    pub threads_per_multiprocessor: u32,
    /// Largest thread block: the threshold on p of the strip models. `None` on a CPU, which has none.
    pub max_threads_per_block: Option<u32>,
    /// Last cache that all multiprocessors share.
    pub l2_bytes: Bytes,
    /// Device memory.
    pub memory_bytes: Bytes,
    /// Compute capability, `9.0` as (9, 0), and what HIP has in its place; `None` on a CPU.
    pub compute_capability: Option<(u32, u32)>,
    /// Driver or kernel version, as it names itself.
    pub driver: String,
    /// Measured: bytes read plus bytes written by a large copy within the device, a second. 0 until measured.
    pub copy_bytes_per_s: f64,
    /// Measured: time of one launch of an empty kernel among many. 0 until measured.
    pub launch_s: Seconds,
    /// Measured: time of a product with a matrix of 32 rows for each multiprocessor and a non-zero a row, one among many. `None` until
    /// measured, and on a CPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub small_product_s: Option<Seconds>,
    /// Measured: bytes a second from host memory to the device; `None` on a CPU, where nothing is moved.
    pub upload_bytes_per_s: Option<f64>,
}

impl DeviceFacts {
    /// A CUDA device of which nothing is known but these: thread blocks of up to 1,024 threads, sizes of 0, nothing measured.
    pub fn of_gpu(name: &str, multiprocessors: u32, threads_per_multiprocessor: u32) -> Self {
        Self {
            name: name.to_owned(),
            kind: DeviceKind::Cuda,
            multiprocessors,
            warps_per_multiprocessor: threads_per_multiprocessor / 32,
            threads_per_multiprocessor,
            max_threads_per_block: Some(1024),
            l2_bytes: Bytes(0),
            memory_bytes: Bytes(0),
            compute_capability: None,
            driver: String::new(),
            copy_bytes_per_s: 0.0,
            launch_s: Seconds(0.0),
            small_product_s: None,
            upload_bytes_per_s: None,
        }
    }
}

/// What every product costs on a machine, however small its matrix is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LaunchCost {
    /// As [`DeviceFacts::launch_s`].
    pub launch_s: Seconds,
    /// As [`DeviceFacts::small_product_s`].
    pub small_product_s: Option<Seconds>,
}

impl LaunchCost {
    /// How much longer a product takes here than `there`, on another machine with the same device: the mean of the differences of launches
    /// and of small products, either of which alone is farther off (`docs/models.md`, "The machine at hand"); one of them where
    /// the other was not measured on both. `None` if neither was.
    pub fn above(&self, there: &Self) -> Option<f64> {
        let is_measured = |time: Seconds| time.0.is_finite() && time.0 > 0.0;
        let difference = |here: Seconds, there: Seconds| {
            (is_measured(here) && is_measured(there)).then_some(here.0 - there.0)
        };
        let launch = difference(self.launch_s, there.launch_s);
        let small =
            self.small_product_s.zip(there.small_product_s).and_then(|(here, there)| difference(here, there));
        match (launch, small) {
            (Some(launch), Some(small)) => Some(f64::midpoint(launch, small)),
            (one, other) => one.or(other),
        }
    }
}

/// A fact that no device has.
#[derive(Debug, Clone, PartialEq)]
pub struct ImplausibleFact {
    /// Name of the field in profiles.
    pub field: &'static str,
    /// Value of the field.
    pub value: f64,
    /// The least and the most that it may be.
    pub within: (f64, f64),
}

impl fmt::Display for ImplausibleFact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (from, to) = self.within;
        write!(f, "{} is {:e}, which no device has: between {from:e} and {to:e}", self.field, self.value)
    }
}

impl std::error::Error for ImplausibleFact {}

impl DeviceFacts {
    /// What every product costs, as measured.
    pub fn launch_cost(&self) -> LaunchCost {
        LaunchCost { launch_s: self.launch_s, small_product_s: self.small_product_s }
    }

    /// Returns whether both speak of the same device, or of two that are alike.
    pub fn is_same_device(&self, other: &Self) -> bool {
        let told_by = |facts: &Self| (facts.kind, facts.name.clone(), facts.multiprocessors);
        told_by(self) == told_by(other)
    }

    /// Returns whether both are of one architecture, as far as facts tell: driven through one interface, with one major compute
    /// capability.
    pub fn is_of_one_architecture(&self, other: &Self) -> bool {
        let told_by = |facts: &Self| (facts.kind, facts.compute_capability.map(|(major, _)| major));
        told_by(self) == told_by(other)
    }

    /// Resident warps of 32 threads a multiprocessor, as features and models count them: a wave of 64 is two. On a CPU, 1.
    pub fn warps_of_32(&self) -> u32 {
        self.warps_per_multiprocessor.max(self.threads_per_multiprocessor / 32)
    }

    /// Description: `Some CPU, 8 threads`, `NVIDIA H200`, `NVIDIA H200, 40 of 132 multiprocessors`.
    pub fn described(&self) -> String {
        if self.kind.is_gpu() {
            self.name.clone()
        } else {
            format!("{}, {} threads", self.name, self.multiprocessors)
        }
    }

    /// Returns whether a device can be like this: the limits of every number, generously beyond what there is. 0 stands for a rate
    /// or cost that was not measured, and for a cache or memory that is not known.
    ///
    /// # Errors
    /// The first fact that is not finite or outside.
    pub fn check(&self) -> Result<(), ImplausibleFact> {
        const EXBIBYTE: f64 = (1_u64 << 60) as f64;
        let all = [
            ("multiprocessors", f64::from(self.multiprocessors), (1.0, 1e6)),
            ("warps_per_multiprocessor", f64::from(self.warps_per_multiprocessor), (1.0, 1e4)),
            ("threads_per_multiprocessor", f64::from(self.threads_per_multiprocessor), (1.0, 1e6)),
            ("max_threads_per_block", self.max_threads_per_block.map_or(1.0, f64::from), (1.0, 1e6)),
            ("l2_bytes", self.l2_bytes.0 as f64, (0.0, EXBIBYTE)),
            ("memory_bytes", self.memory_bytes.0 as f64, (0.0, EXBIBYTE)),
            ("copy_bytes_per_s", self.copy_bytes_per_s, (0.0, 1e18)),
            ("launch_s", self.launch_s.0, (0.0, 1.0)),
            ("small_product_s", self.small_product_s.map_or(0.0, |time| time.0), (0.0, 1.0)),
            ("upload_bytes_per_s", self.upload_bytes_per_s.unwrap_or(0.0), (0.0, 1e18)),
        ];
        let outside = |(_, value, (from, to)): &(&str, f64, (f64, f64))| !(*from..=*to).contains(value);
        match all.into_iter().find(outside) {
            Some((field, value, within)) => Err(ImplausibleFact { field, value, within }),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(kind: DeviceKind, warps: u32, threads: u32, major: u32) -> DeviceFacts {
        let compute_capability = Some((major, 0));
        DeviceFacts {
            kind,
            warps_per_multiprocessor: warps,
            compute_capability,
            ..DeviceFacts::of_gpu("made up", 100, threads)
        }
    }

    #[test]
    fn machines_are_compared_by_launches_and_small_products() {
        let cost = |launch: f64, small: Option<f64>| LaunchCost {
            launch_s: Seconds(launch),
            small_product_s: small.map(Seconds),
        };
        let there = cost(1.0, Some(2.0));
        assert_eq!(cost(1.5, Some(3.0)).above(&there), Some(0.75));
        assert_eq!(cost(0.0, Some(3.0)).above(&there), Some(1.0), "no launch was measured");
        for small in [None, Some(0.0), Some(f64::NAN)] {
            assert_eq!(cost(1.25, small).above(&there), Some(0.25));
            assert_eq!(there.above(&cost(1.25, small)), Some(-0.25));
            assert_eq!(cost(0.0, small).above(&there), None);
        }
    }

    #[test]
    fn a_wave_of_64_counts_as_two_warps_of_32() {
        assert_eq!(facts(DeviceKind::Cuda, 64, 2048, 9).warps_of_32(), 64);
        assert_eq!(facts(DeviceKind::Cuda, 48, 1536, 8).warps_of_32(), 48);
        assert_eq!(facts(DeviceKind::Hip, 32, 2048, 9).warps_of_32(), 64);
        assert_eq!(facts(DeviceKind::Cpu, 1, 1, 0).warps_of_32(), 1);
    }

    #[test]
    fn two_makers_have_no_architecture_in_common() {
        let hopper = facts(DeviceKind::Cuda, 64, 2048, 9);
        assert!(hopper.is_of_one_architecture(&facts(DeviceKind::Cuda, 32, 1024, 9)));
        assert!(!hopper.is_of_one_architecture(&facts(DeviceKind::Cuda, 64, 2048, 8)));
        assert!(!hopper.is_of_one_architecture(&facts(DeviceKind::Hip, 64, 2048, 9)));
    }
}
