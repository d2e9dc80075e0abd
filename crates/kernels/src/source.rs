//! The CUDA C++ source of each kernel and the definitions that specialise it.

use crate::{Candidate, Kernel};
use sparsight_matrix::Dtype;

/// What NVRTC compiles: one translation unit, its definitions, and the names of its entry points.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelSource {
    /// Complete CUDA C++ text; `#line` directives give positions in the files under `cuda/`.
    pub text: String,
    /// Definitions as `NAME=VALUE`, given to the compiler as `-D`.
    pub definitions: Vec<String>,
    /// `extern "C"` kernels in it.
    pub entry_points: &'static [&'static str],
}

/// Source of `candidate`; `offset_bytes` (4 or 8) is the width of CSR's row offsets.
pub fn source(candidate: &Candidate, offset_bytes: u64) -> KernelSource {
    let _ = (candidate, offset_bytes, Kernel::CsrScalar, Dtype::F32);
    todo!("written with the CUDA sources")
}
