//! The kernel families, one file each, beside their CUDA sources. To add a kernel, add its file here and name it in
//! [`FAMILIES`]. A file states a [`Family`]: knobs, block sizes, launches, product on a CPU, counts for models.
//!
//! The routines of cuSPARSE and rocSPARSE are families as well (`cusparse.rs`, `rocsparse.rs`). CUDA sources that several families join:
//! `store.cu` writes y, `stream.cu` loads what is read once, `overlap.cu` lets the second launch of a product begin early, `team.cu` sums over the threads
//! of a row, `segment.cu` sums a row that several thread blocks share, `clear.cu` scales y before kernels that add to it.

mod bro_ell;
mod bsr;
mod coo;
mod csr_balanced;
mod csr_binned;
mod csr_scalar;
mod csr_segmented;
mod csr_vector;
mod cusparse;
mod dia;
mod ell;
mod hyb;
mod jad;
mod rocsparse;
mod sell;

use crate::{Family, Knobs};
use sparsight_matrix::Dtype;

/// The text of a CUDA source beside the calling file.
macro_rules! cuda {
    ($file:literal) => {
        concat!("#line 1 \"", $file, "\"\n", include_str!($file))
    };
}

use cuda;

/// All families, in the order in which tables list their kernels.
pub(crate) static FAMILIES: [&Family; 22] = [
    &csr_scalar::FAMILY,
    &csr_vector::FAMILY,
    &csr_balanced::FAMILY,
    &csr_binned::FAMILY,
    &csr_segmented::FAMILY,
    &coo::FAMILY,
    &ell::FAMILY,
    &hyb::FAMILY,
    &jad::FAMILY,
    &sell::FAMILY,
    &bro_ell::FAMILY,
    &dia::FAMILY,
    &bsr::FAMILY,
    &cusparse::CSR,
    &cusparse::COO,
    &cusparse::SELL,
    &cusparse::BSR,
    &cusparse::SPMVOP,
    &rocsparse::CSR,
    &rocsparse::COO,
    &rocsparse::ELL,
    &rocsparse::BSR,
];

/// Kernel of plain CSR for a processor that was not calibrated.
pub(crate) const ON_AN_UNKNOWN_CPU: (&Family, Knobs) = csr_vector::ON_AN_UNKNOWN_CPU;

// What several kernels have in common.
pub(crate) const CUDA_STORE: &str = cuda!("store.cu");
const CUDA_STREAM: &str = cuda!("stream.cu");
const CUDA_OVERLAP: &str = cuda!("overlap.cu");
const CUDA_TEAM: &str = cuda!("team.cu");
const CUDA_SEGMENT: &str = cuda!("segment.cu");
const CUDA_CLEAR: &str = cuda!("clear.cu");

/// Shared memory of what adds up long rows: a sum per warp, of at most 32, and a flag.
fn segment_bytes(dtype: Dtype) -> u64 {
    32 * dtype.vector_bytes() + 8
}
