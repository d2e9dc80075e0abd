//! What a caller may choose about reading: values for patterns, progress, memory.

use crate::Bytes;
use std::fmt;

/// How a file is read. `ReadOptions::default()` is what most callers want.
#[derive(Clone, Copy, Default)]
pub struct ReadOptions<'a> {
    /// Values for a file that stores only places.
    pub pattern: PatternValues,
    /// Takes every file for one that stores only places: its values are skipped, so that complex ones and those that are not
    /// finite do not matter. Of a dense array, places of zeros do not count, as ever.
    pub places_only: bool,
    /// Called after each block of the file, by whichever thread finished it; `done` never decreases from
    /// one call to the next, and calls never overlap.
    pub progress: Option<&'a (dyn Fn(Progress) + Sync)>,
    /// Called once with what a Matrix Market file declares, rows, columns and entries, before room for as many rows is made.
    pub declared: Option<&'a (dyn Fn([u64; 3]) + Sync)>,
    /// The most memory that reading may take. `None`: [`available_memory`](crate::available_memory), no limit where the
    /// system does not say.
    pub memory: Option<Bytes>,
}

impl fmt::Debug for ReadOptions<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReadOptions")
            .field("pattern", &self.pattern)
            .field("places_only", &self.places_only)
            .field("progress", &self.progress.map(|_| "Fn"))
            .field("declared", &self.declared.map(|_| "Fn"))
            .field("memory", &self.memory)
            .finish()
    }
}

/// Values for a pattern, a matrix whose file stores places only.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PatternValues {
    /// Every value is 1, as the Matrix Market format says.
    #[default]
    Ones,
    /// Made-up values, for benchmarks that want other products than sums: in [-1, 1) without 0, each a hash of this seed, its row and
    /// its column, the same for every order of the file and every number of threads, exact in `f32`.
    Seeded(u64),
}

/// How far a read has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Bytes of the file consumed, compressed if the file is.
    pub done: Bytes,
    /// Bytes of the file.
    pub total: Bytes,
}
