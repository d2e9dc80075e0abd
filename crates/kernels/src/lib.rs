//! Catalogue of everything that can be run: candidates, their CUDA sources, strip sizes and bytes.
//!
//! There are no CUDA calls here. The models count bytes and strips from the very catalogue that the devices
//! launch, so that the two cannot drift apart.
//!
//! ```text
//! families/, family                       a file a kernel family, and what such a file states
//! kernel, candidate, selection            a kernel with its knobs, with block size and value type, and as people type it
//! recipe, source                          the launches of a kernel as data, and its CUDA source; helpers and conversions: ../cuda/
//! fused, execution                        parts of a matrix in several formats, in one launch or one after another
//! cpu                                     what products on a CPU have in common
//! own                                     kernels of a user's file
//! epilogue                                what is done with the sum of a row where it would be stored, and dot products
//! traffic, strip                          bytes and operations of a product; the strip of the papers
//! benchmark_matrix, benchmark_rows,       the matrices that instrument a device
//!   row_length_distribution
//! device_facts                            what is known of a device, and what differs between kinds of devices
//! ```

mod benchmark_matrix;
mod benchmark_rows;
mod candidate;
mod cpu;
mod device_facts;
mod epilogue;
mod execution;
mod families;
mod family;
mod fused;
mod kernel;
mod own;
mod recipe;
mod row_length_distribution;
mod selection;
mod source;
mod strip;
mod traffic;

pub use benchmark_matrix::{BenchmarkMatrix, Placement};
pub use benchmark_rows::BenchmarkRows;
pub use candidate::{
    Candidate, ParseCandidateError, catalogue, catalogue_on, every_candidate, every_candidate_on,
};
pub use cpu::{CpuProduct, CpuProducts, CpuScratch, CpuTask};
pub use device_facts::{DeviceFacts, DeviceKind, ImplausibleFact, LaunchCost};
pub use epilogue::{
    Chunk, DotOf, Epilogue, EpilogueError, Lines, MOST_DOTS, MOST_OUTPUTS, MOST_ROWS, MOST_SCALARS,
    MOST_VECTORS, Output, THREADS_AT_ONCE, dots_pass_source, epilogue_pass_source, epilogue_source,
};
pub use execution::Execution;
pub use family::{BLOCKS, Elsewhere, Family, Rocsparse, Run, StripRule, Vendor, WarpWork};
pub use fused::{FUSED_ARGS, FUSED_PARTS, FusedParts, fits_one_launch, fused_source};
pub use kernel::{Kernel, ParseKernelError, strip};
pub use own::{OwnKernel, OwnKernelError};
pub use recipe::{Knobs, LaunchArg, LaunchStep, PlannedLaunch, Recipe, SHARED_ROOM, Teams};
pub use row_length_distribution::RowLengthDistribution;
pub use selection::{ParseSelectionError, Selection};
pub use source::{
    DOT_PIECES, HELPER_BLOCK, KernelSource, SMALL_BLOCK, benchmark_matrix_source, conversion_parameters,
    conversion_source, row_lengths_source, source, timing_source, vector_source,
};
pub use sparsight_matrix::{Format, ParseFormatError};
pub use strip::{Strip, StripUnit};
pub use traffic::{compulsory_bytes, device_bytes, feasible, stored_entries, useful_bytes};
