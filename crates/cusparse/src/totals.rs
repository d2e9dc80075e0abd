//! What the report says of a pattern.

use crate::product::Key;
use sparsight::kernels::Candidate;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// Counts and times of the products of a pattern.
#[derive(Debug)]
pub(crate) struct Totals {
    pub(crate) key: Key,
    products: AtomicU64,
    ours: AtomicU64,
    record: Mutex<Record>,
}

/// What was measured and predicted, times in seconds.
#[derive(Debug, Clone, Default)]
pub(crate) struct Record {
    /// Time of cuSPARSE, of the fastest kernel in place, and whether that is used.
    pub(crate) timed: Option<(f64, Candidate, f64, bool)>,
    /// Predicted times: of the best candidate of all formats, and then of those that leave CSR where it is.
    pub(crate) predicted: Vec<(Candidate, f64)>,
    /// Products that were verified, and the largest difference in units of what rounding explains; above 1 is wrong.
    pub(crate) verified: u64,
    pub(crate) worst: f64,
}

impl Totals {
    pub(crate) fn new(key: Key) -> Self {
        Self { key, products: AtomicU64::new(0), ours: AtomicU64::new(0), record: Mutex::default() }
    }

    pub(crate) fn count(&self) {
        self.products.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn count_ours(&self) {
        self.ours.fetch_add(1, Ordering::Relaxed);
    }

    /// Products, and those of them that our kernels computed.
    pub(crate) fn products(&self) -> (u64, u64) {
        (self.products.load(Ordering::Relaxed), self.ours.load(Ordering::Relaxed))
    }

    pub(crate) fn recorded(&self) -> Record {
        self.record.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn record(&self, change: impl FnOnce(&mut Record)) {
        change(&mut self.record.lock().unwrap_or_else(PoisonError::into_inner));
    }
}
