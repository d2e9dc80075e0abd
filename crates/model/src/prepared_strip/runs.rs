//! Neighbouring matrices for which the same equations stand.

use sparsight_matrix::Bytes;
use std::ops::Range;

/// The variables of the equations of a kernel, except I and the columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Key {
    /// p, or the width of HYB's ELL part; 0 if the model has none.
    pub(super) row_length: u64,
    /// True if HYB has a COO part.
    pub(super) has_rest: bool,
    /// The next border that the working set does not pass; the largest number if there is none.
    pub(super) border: Bytes,
    /// True if the device can hold the matrix in this format.
    pub(super) is_possible: bool,
}

/// The keys of matrices one after another, equal neighbours together.
#[derive(Debug, Clone, Default)]
pub(super) struct Runs {
    /// Ends of the runs, with the first matrix behind each.
    ends: Vec<(Key, usize)>,
}

impl Runs {
    pub(super) fn clear(&mut self) {
        self.ends.clear();
    }

    #[inline]
    pub(super) fn push(&mut self, key: Key) {
        match self.ends.last_mut() {
            Some((last, end)) if *last == key => *end += 1,
            last => {
                let start = last.map_or(0, |last| last.1);
                self.ends.push((key, start + 1));
            }
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (Key, Range<usize>)> {
        let starts = std::iter::once(0).chain(self.ends.iter().map(|end| end.1));
        self.ends.iter().zip(starts).map(|(&(key, end), start)| (key, start..end))
    }
}
