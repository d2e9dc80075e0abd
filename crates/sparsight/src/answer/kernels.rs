//! `kernels`: the catalogue, as far as a device has it.

use super::DeviceSummary;
use serde::Serialize;
use serde_with::skip_serializing_none;
use sparsight_kernels::{BLOCKS, DeviceFacts, Elsewhere, Format, Kernel, strip};

/// `sparsight/kernels/1`: the catalogue and the strip of each kernel on a device.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct KernelsAnswer {
    /// The device.
    pub device: DeviceSummary,
    /// Block sizes, threads; the vendor's routines have none.
    pub blocks: Vec<u32>,
    /// Kernels with their knobs.
    pub kernels: Vec<CatalogueKernel>,
}

/// Lists the part of the catalogue that the device with these facts has.
impl From<&DeviceFacts> for KernelsAnswer {
    fn from(facts: &DeviceFacts) -> Self {
        let here = Kernel::all().filter(|kernel| kernel.runs_on(facts.kind));
        Self {
            device: facts.into(),
            blocks: BLOCKS.to_vec(),
            kernels: here.map(|kernel| CatalogueKernel::of(kernel, facts)).collect(),
        }
    }
}

/// A kernel of the catalogue.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CatalogueKernel {
    /// Kernel with its knobs: `csr-vector/t8`.
    pub id: String,
    /// Format that it reads, with its shape.
    pub format: Format,
    /// Mapping of threads to rows, in a few words.
    pub summary: &'static str,
    /// Kernel without its knobs: `csr-vector`.
    pub kernel: &'static str,
    /// Threads that work on one row; absent where threads are given to non-zeros, or not all rows get as many.
    pub threads_per_row: Option<u32>,
    /// Work of the device at one moment, in the unit below; absent for routines of the vendor's library, which cuts the work
    /// in its own way.
    pub strip: Option<u64>,
    /// `rows`, `non-zeros` or `rows and non-zeros`.
    pub strip_unit: Option<&'static str>,
    /// A routine of the vendor's library; absent for kernels of ours.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub vendor: bool,
    /// True if the kernel is not ranked, and run only where it is named: it is worth it nowhere. Absent for others.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub retired: bool,
    /// Names in other libraries, else of its format.
    pub elsewhere: Vec<Elsewhere>,
}

impl CatalogueKernel {
    fn of(kernel: Kernel, facts: &DeviceFacts) -> Self {
        let strip = (!kernel.is_vendors()).then(|| strip(kernel, facts));
        Self {
            id: kernel.to_string(),
            format: kernel.format(),
            summary: kernel.family().summary,
            kernel: kernel.name(),
            threads_per_row: kernel.threads_per_row(),
            strip: strip.map(|strip| strip.size),
            strip_unit: strip.map(|strip| strip.unit.name()),
            vendor: kernel.is_vendors(),
            retired: !kernel.is_ranked_on(facts.kind),
            elsewhere: kernel.elsewhere(),
        }
    }
}
