//! What a batch of products tells.

use sparsight_matrix::Seconds;

/// The time of a batch of products, and how fast the device's clock ran at its end.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Batch {
    /// Of all products together.
    pub time: Seconds,
    /// `None` where the device does not say.
    pub clock: Option<Clock>,
}

/// The clock of a GPU's multiprocessors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Clock {
    /// Millions of cycles a second.
    pub sm_mhz: u32,
    /// Whether it runs slower than it could, since the GPU is too hot or takes too much power.
    pub is_throttled: bool,
}

impl From<Seconds> for Batch {
    fn from(time: Seconds) -> Self {
        Self { time, clock: None }
    }
}
