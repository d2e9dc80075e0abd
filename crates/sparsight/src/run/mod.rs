//! Running of advice: a plan for a matrix, the matrix prepared as planned, and y.
//!
//! ```text
//! Advisor::plan, Plan::for_processor -> Plan
//!                                 which rows in which format, with which kernel; known before anything is converted
//!   Plan::prepare -> Prepared     converted, on a device, kernels loaded
//!     multiply, ...               as often as a solver likes
//! Advice::prepare_resident        the first of a ranking that fits, of a matrix that lies on the GPU already
//! fastest -> Fastest              some candidates run, each telling what to run next; the fastest of them prepared
//! verify -> Verified              the same, with the vendor's and what the verdict compares with; times for the reader
//! ```

mod fastest;
mod measured;
mod plan;
mod prepared;
mod processor;
mod resident;
mod trial;
mod verify;

pub use fastest::{Fastest, TriedRun, fastest};
pub use measured::{MeasuredPartition, contest, run_partition};
pub use plan::Plan;
pub use prepared::Prepared;
pub use trial::Tries;
pub use verify::{Verified, verify};
