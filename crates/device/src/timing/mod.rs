//! Timing: one believable number from batches of products, with estimator, spread and stopping rule.
//!
//! ```text
//! measure      batches of two lengths -> samples -> median, spread
//! stopping     when the samples are enough
//! host_clock   the clock of the host, for products on a CPU, conversions and uploads
//! ```
//! docs/measuring.md explains the choices.

mod host_clock;
mod measure;
mod stopping;

pub(crate) use host_clock::try_took;
pub use host_clock::{Stopwatch, today, took, wall_clock};
pub use measure::{Sampling, Timing, measure};
pub use stopping::{Stopped, StoppingRule};

use serde::{Deserialize, Serialize};
use sparsight_matrix::Seconds;

/// State of the caches when a product starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Caches {
    /// Caches as the last product left them, as in an iterative solver.
    #[default]
    Warm,
    /// Emptied before each product.
    Cold,
}

/// The time of a batch of products, and how fast the device's clock ran at its end.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Batch {
    /// Time of all products together.
    pub time: Seconds,
    /// `None` where the device does not say.
    pub clock: Option<Clock>,
}

/// The clock of a GPU's multiprocessors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Clock {
    /// Millions of cycles a second.
    pub sm_mhz: u32,
    /// Set if it is slowed down because the GPU is too hot or takes too much power.
    pub is_throttled: bool,
}

impl From<Seconds> for Batch {
    fn from(time: Seconds) -> Self {
        Self { time, clock: None }
    }
}
