//! One believable number from batches of products: estimator, spread, stopping rule.

mod batch;
mod measure;
mod stopping;
mod wall_clock;

pub use batch::{Batch, Clock};
pub use measure::{Sampling, Timing, measure};
pub use stopping::{Stopped, StoppingRule};
pub use wall_clock::{Stopwatch, took, wall_clock};

use serde::{Deserialize, Serialize};

/// In what state the caches are when a product starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Caches {
    /// As the last product left them, as in an iterative solver.
    #[default]
    Warm,
    /// Emptied before each product.
    Cold,
}
