//! Stopping rules of measurements.

use serde::{Deserialize, Serialize};
use sparsight_matrix::Seconds;

/// Stop when the spread is small enough or the time is gone.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StoppingRule {
    /// Relative interquartile range to reach.
    pub spread: f64,
    /// Samples before the spread is believed.
    pub min_samples: u32,
    /// Samples after which nothing more is learned.
    pub max_samples: u32,
    /// Device time to spend on one candidate, all batches together.
    pub budget: Seconds,
    /// Device time that the longer batch of a sample should take: far above the resolution of the clock.
    pub batch: Seconds,
    /// Most products in one batch.
    pub max_products: u32,
    /// A first product that takes longer than this is not run again: the caller knows of something so much faster
    /// that it does not matter how exactly this one is known. Infinite to always go on.
    pub hopeless: Seconds,
}

impl StoppingRule {
    /// Rule for one matrix that a person waits for: 1 % spread or 0.2 s.
    pub const CAREFUL: Self = Self {
        spread: 0.01,
        min_samples: 7,
        max_samples: 101,
        budget: Seconds(0.2),
        batch: Seconds(500e-6),
        max_products: 400,
        hopeless: Seconds(f64::INFINITY),
    };

    /// Rule for profiles and corpora with thousands of candidates: 2 % spread or 4 ms.
    pub const BRISK: Self = Self {
        spread: 0.02,
        min_samples: 5,
        max_samples: 15,
        budget: Seconds(4e-3),
        batch: Seconds(150e-6),
        max_products: 200,
        hopeless: Seconds(f64::INFINITY),
    };

    /// Rule for times on several GPUs, taken on the host's clock, of threads that have to find each other first: long batches, half a second
    /// at most. Chosen.
    pub const ACROSS_GPUS: Self =
        Self { budget: Seconds(0.5), batch: Seconds(20e-3), max_products: 20_000, ..Self::BRISK };
}

/// The reason why sampling ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Stopped {
    /// The spread was reached.
    Spread,
    /// The time or the samples were used up first.
    Budget,
    /// The first product took so long that it was not run again: one sample, without a known spread.
    Hopeless,
}
