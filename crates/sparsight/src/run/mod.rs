//! Running of advice: a plan for a matrix, the matrix prepared as planned, and y.
//!
//! ```text
//! Advisor::plan, Plan::for_processor -> Plan
//!                                 which rows in which format, with which kernel; known before anything is converted
//!   Plan::prepare -> Prepared     converted, on a device, kernels loaded
//!     multiply, ...               as often as a solver likes
//!     with_epilogue -> EpilogueProduct   more done with the sum of each row, and dot products, in the same launch
//! Advice::prepare_resident        the first of a ranking that fits, of a matrix that lies on the GPU already
//! fastest -> Fastest              some candidates run, each telling what to run next; the fastest of them prepared
//! verify -> Verified              the same, with the vendor's and what the verdict compares with; times for the reader
//! ```

mod epilogue_product;
mod fastest;
mod measured;
mod plan;
mod prepared;
mod processor;
mod resident;
mod shared_product;
mod trial;
mod verify;

pub use epilogue_product::EpilogueProduct;
pub use fastest::{Fastest, TriedRun, fastest};
pub use measured::{MeasuredPartition, contest, run_partition};
pub use plan::Plan;
pub use prepared::Prepared;
pub use trial::Tries;
pub use verify::{Verified, verify};
