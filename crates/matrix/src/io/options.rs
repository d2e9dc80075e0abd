//! Options of a reader: values for patterns, progress, memory.

use super::Symmetry;
use crate::{Bytes, mix};
use std::fmt;
use std::path::Path;

/// Options of a reader; the default suits most callers.
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

/// A file or stream that is read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Source<'a> {
    /// Its name in errors.
    pub(super) path: &'a Path,
    pub(super) options: &'a ReadOptions<'a>,
    /// Archives around it.
    pub(super) depth: usize,
}

impl<'a> Source<'a> {
    /// A source in no archive.
    pub(super) fn new(path: &'a Path, options: &'a ReadOptions<'a>) -> Self {
        Self { path, options, depth: 0 }
    }

    /// The member of an archive.
    pub(super) fn within(self) -> Self {
        Self { depth: self.depth + 1, ..self }
    }
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

/// Progress of a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Bytes of the file consumed, compressed if the file is.
    pub done: Bytes,
    /// Bytes of the file.
    pub total: Bytes,
}

/// Value at `(row, col)`, both counted from 0. With a symmetry, the place across the diagonal gets the same
/// value (the negated one if skew-symmetric).
pub(crate) fn pattern_value(values: PatternValues, symmetry: Symmetry, row: u32, col: u32) -> f64 {
    let (low, high) = match symmetry {
        Symmetry::General => (row, col),
        _ => (row.max(col), row.min(col)),
    };
    let value = match values {
        PatternValues::Ones => 1.0,
        PatternValues::Seeded(seed) => seeded(seed, low, high),
    };
    if symmetry == Symmetry::SkewSymmetric && row < col { -value } else { value }
}

/// `k / 2^23` with k in `-2^23 .. 2^23` without 0, from 24 bits of `mix(seed, row, col)`: `f32` holds it exactly, so both value types read
/// the same matrix.
fn seeded(seed: u64, row: u32, col: u32) -> f64 {
    // The seed is mixed on its own, so that seeds 0 and 1 share no values at shifted places.
    let place = u64::from(row) << 32 | u64::from(col);
    let k = (mix(mix(seed) ^ place) >> 40) as i64 - (1 << 23);
    (if k == 0 { 1 } else { k }) as f64 / f64::from(1 << 23)
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "equal means the very same bits here")]
mod tests {
    use super::*;

    #[test]
    fn seeded_values_are_exact_in_f32_never_zero_and_spread_over_the_interval() {
        let mut sum = 0.0;
        for row in 0..300 {
            for col in 0..300 {
                let v = pattern_value(PatternValues::Seeded(7), Symmetry::General, row, col);
                assert!((-1.0..1.0).contains(&v) && v != 0.0);
                assert_eq!(f64::from(v as f32), v);
                sum += v;
            }
        }
        assert!(sum.abs() / 9e4 < 0.01, "the mean of 90 000 values in [-1, 1) is near 0");
    }

    #[test]
    fn symmetric_patterns_have_symmetric_values_and_skew_ones_change_sign() {
        let value = |s, r, c| pattern_value(PatternValues::Seeded(0), s, r, c);
        assert_eq!(value(Symmetry::Symmetric, 3, 9), value(Symmetry::Symmetric, 9, 3));
        assert_eq!(value(Symmetry::SkewSymmetric, 3, 9), -value(Symmetry::SkewSymmetric, 9, 3));
        assert_ne!(value(Symmetry::General, 3, 9), value(Symmetry::General, 9, 3));
    }
}
