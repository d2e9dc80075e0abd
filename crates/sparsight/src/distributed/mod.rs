//! A matrix on several GPUs: predicted from its pattern, and run.
//!
//! ```text
//! Advisor::distribute -> DistributedPlan    who owns which rows, what each computes with which candidate, what is exchanged, how long
//!   DistributedPlan::prepare                the shares on GPUs of this process
//! measure_links -> LinksFile                what bringing entries of x from GPU to GPU takes here
//! ```

mod break_even;
mod links;
mod measured;
mod numbers;
mod plan;

pub use break_even::{break_even, largest_where};
pub use links::{KnownLinks, LINKS_SCHEMA, LinksFile, MeasuredExchange};
pub use measured::{measure_distributed, measure_links};
pub use numbers::{MOST_GPUS, NumbersOfGpus, numbers_of_gpus};
pub use plan::{Deal, Distributed, DistributedPlan, GpuLimit, PlannedRows, PlannedShare};
