//! Emptying the caches by streaming through more memory than they hold.

use super::facts;
use sparsight_matrix::Bytes;
use std::hint::black_box;

/// How many times the last-level caches are read: once would do with the oldest line replaced first, but
/// caches replace pseudo-randomly or keep what was used twice. Chosen.
const TIMES: u64 = 4;

/// Bytes that displace everything from every cache of this machine.
pub(super) fn displacing_bytes() -> Bytes {
    Bytes(TIMES * facts::all_last_level_caches().0)
}

/// Memory that is read for nothing.
#[derive(Debug)]
pub(super) struct EvictionBuffer {
    words: Vec<u64>,
}

impl EvictionBuffer {
    /// Takes and touches the memory. Written with something else than 0: untouched pages are all one page.
    pub(super) fn new() -> Self {
        Self { words: vec![1; (displacing_bytes().0 / 8) as usize] }
    }

    /// Reads all of it, each worker of the current pool an equal part, so that every core's own caches are
    /// displaced too.
    pub(super) fn stream(&self) {
        rayon::broadcast(|worker| {
            let part = self.words.len().div_ceil(worker.num_threads());
            let start = (worker.index() * part).min(self.words.len());
            let end = (start + part).min(self.words.len());
            black_box(self.words[start..end].iter().sum::<u64>());
        });
    }
}
