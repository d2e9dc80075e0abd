//! GPUs: everything that is the same whichever interface they are driven through.
//!
//! ```text
//! GpuDevice   conversions, operands, products, benchmark matrices    knows formats, recipes and layouts by their names
//!     |
//!    Gpu      memory, modules from source, launches, timed batches   knows bytes, addresses and entry points
//!     |
//! cuda, hip   the drivers of NVIDIA and AMD                           (tests: the emulator)
//! ```
//! A matrix is named arrays and numbers ([`sparsight_matrix::Stored`]); a product is a recipe
//! ([`sparsight_kernels::Recipe`]). Nothing here asks which format or kernel it has before it.
//!
//! ```text
//! seam          what a maker's GPU must be able to do
//! convert       CSR to a format, on the host or by the steps of the format's layout
//! matrix        a matrix on the GPU, and the launches that multiply with it
//! operand       one format, to time its candidates; generate: benchmark matrices
//! product       row blocks in several formats, fused or one after another; kernels of a user's file
//! launch        launches that are made once; epilogue: what is done with the sums of rows in them, or behind them
//! in_place      products with a CSR of another owner, which stays where it is
//! values, resident, reordered   other values; a CSR that lies on the GPU; another order of rows and columns
//! share, distributed, link      the part of one GPU among several; all GPUs of a process; how they exchange x
//! batch, rates, driver          timed batches and measured rates, and what they take of a maker's driver
//! shared_words                  words that host and GPU share
//! plan_digest   digest by which ranks in several processes compare their plans
//! ```

mod array;
mod batch;
mod convert;
mod device;
mod distributed;
mod driver;
mod epilogue;
mod fence;
mod free_grid;
mod generate;
mod in_place;
mod launch;
mod link;
mod matrix;
mod operand;
mod plan_digest;
mod product;
mod rates;
mod reordered;
mod resident;
mod seam;
mod share;
mod shared_words;
mod values;

pub use array::DeviceArray;
pub(crate) use batch::{BatchTimer, available_bytes};
pub use device::{ConvertOn, GpuDevice};
pub use distributed::DistributedProduct;
pub(crate) use driver::{Driver, Stamp};
pub(crate) use fence::StreamFence;
pub use in_place::{CsrAddresses, InPlace};
pub use link::{Link, Message};
pub use matrix::DeviceMatrix;
pub use plan_digest::PlanDigest;
pub(crate) use rates::{launch_cost, with_rates};
pub(crate) use seam::MAX_ARGS;
pub use seam::{
    BatchRequest, Extent, Fence, Gpu, LaunchShape, Memory, Module, Parameters, Vectors, VendorProduct,
};
pub use share::{GpuShare, SharePlan};
pub(crate) use shared_words::SharedWords;
