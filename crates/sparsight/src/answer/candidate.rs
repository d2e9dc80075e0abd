//! A candidate, its id taken apart.

use serde::Serialize;
use sparsight_kernels::{Candidate, Format};
use sparsight_matrix::Dtype;

/// A candidate and the parts of its id, so that nobody has to take it apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct NamedCandidate {
    /// `csr-vector/t8/b256/f64`.
    pub id: Candidate,
    /// What it reads, with its shape: `sell/c32/s1024`.
    pub format: Format,
    /// The kernel without its knobs: `csr-vector`.
    pub kernel: &'static str,
    /// Threads that work on one row; absent where threads are given to non-zeros, or not all rows get as many.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threads_per_row: Option<u32>,
    /// Threads a block on a GPU, rows (COO: sixteenths of the non-zeros) a task on a CPU; 0 where the vendor's library
    /// decides.
    pub block: u32,
    /// Value type.
    pub dtype: Dtype,
    /// A routine of the vendor's library; absent for kernels of ours.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub vendor: bool,
}

impl From<Candidate> for NamedCandidate {
    fn from(id: Candidate) -> Self {
        let Candidate { kernel, block, dtype } = id;
        let (format, threads_per_row) = (kernel.format(), kernel.threads_per_row());
        Self { id, format, kernel: kernel.name(), threads_per_row, block, dtype, vendor: kernel.is_vendors() }
    }
}
