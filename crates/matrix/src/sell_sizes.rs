//! Stored entries of SELL-C-sigma, from the row offsets alone and without sorting a row.
//!
//! In a sorted window the longest row of a slice is its first, so a slice is as wide as the length that stands at
//! its first place. A histogram of the window's lengths says which that is, and the histogram of a larger window is
//! the sum of those of the smaller ones in it: every row is counted once for all shapes that sort. The sum of them all
//! says how long the rows of the matrix are.

use crate::RowLengths;
use crate::row_lengths::{LengthCounts, common_length};
use rayon::prelude::*;
use std::fmt;
use std::str::FromStr;

/// C and sigma; sigma is 1 or a multiple of C, so that no slice lies in two windows. Its text is `c32/s1024`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SellShape {
    /// C: rows of a slice.
    pub slice: u32,
    /// Sigma: rows of a window that is sorted; 1 leaves the rows as they are.
    pub sigma: u32,
}

impl SellShape {
    /// The catalogue: a warp's worth of rows with windows from none to large, larger slices, and the shape of Lehnert
    /// et al. 2016.
    pub const ALL: [Self; 7] = [
        Self { slice: 32, sigma: 1 },
        Self { slice: 32, sigma: 256 },
        Self { slice: 32, sigma: 1024 },
        Self { slice: 32, sigma: 16384 },
        Self { slice: 64, sigma: 1024 },
        Self { slice: 256, sigma: 1024 },
        Self { slice: 512, sigma: 2048 },
    ];

    /// Returns whether the slices fit into the windows.
    pub(crate) const fn is_valid(self) -> bool {
        self.slice > 0 && (self.sigma == 1 || self.sigma > 0 && self.sigma.is_multiple_of(self.slice))
    }

    /// Returns whether rows change places.
    pub const fn is_sorted(self) -> bool {
        self.sigma > 1
    }
}

impl fmt::Display for SellShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("c{}/s{}", self.slice, self.sigma))
    }
}

impl FromStr for SellShape {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let numbers = || {
            let (slice, sigma) = text.strip_prefix('c')?.split_once("/s")?;
            Some(Self { slice: slice.parse().ok()?, sigma: sigma.parse().ok()? })
        };
        numbers()
            .filter(|shape| shape.is_valid())
            .ok_or_else(|| format!("'{text}' is no shape such as c32/s1024"))
    }
}

serde_as_text!(SellShape);

/// Lengths below this are counted, the others are kept in a list that is sorted. Chosen: as many counts as rows in
/// the smallest window of the catalogue, and beside the many entries of a longer row, sorting it costs nothing.
const COUNTED: u64 = 256;

/// Rows that one task looks at, at least. Chosen: some 10 us of work.
const ROWS_PER_TASK: usize = 16_384;

/// Looks at the windows of every shape of the catalogue. From the row offsets alone. O(nrows), in parallel, with some kilobytes of memory a
/// worker.
pub(crate) fn windows(row_ptr: &[u64]) -> Seen {
    sorted(row_ptr, &SellShape::ALL)
}

/// Stored entries of each of `shapes`, of which every window is a multiple of the next smaller one.
pub(crate) fn stored_entries(row_ptr: &[u64], shapes: &[SellShape]) -> Vec<u64> {
    let mut stored = sorted(row_ptr, shapes).stored;
    for (stored, shape) in stored.iter_mut().zip(shapes).filter(|(_, shape)| !shape.is_sorted()) {
        *stored = unsorted(row_ptr, shape.slice as usize);
    }
    stored
}

/// Sizes and lengths of some of the rows.
pub(crate) struct Seen {
    /// Stored entries of each shape.
    stored: Vec<u64>,
    /// Lengths of the rows of all windows; of no row if no shape sorts.
    lengths: LengthCounts,
}

impl Seen {
    /// Stored entries, padding included, of every shape of the catalogue. `steps`: the sum over all slices of 32 rows as they stand of how
    /// long the longest is.
    pub(crate) fn sizes(&self, steps: u64) -> Vec<(SellShape, u64)> {
        let size = |(shape, &stored): (SellShape, &u64)| {
            (shape, if shape.is_sorted() { stored } else { u64::from(shape.slice) * steps })
        };
        SellShape::ALL.into_iter().zip(&self.stored).map(size).collect()
    }

    /// How long the rows are.
    pub(crate) fn lengths(&self) -> RowLengths {
        self.lengths.histogram()
    }

    fn nothing(shapes: &[SellShape]) -> Self {
        Self { stored: vec![0; shapes.len()], lengths: LengthCounts::default() }
    }

    /// Combines two parts of the rows.
    fn merge(mut self, other: Self) -> Self {
        self.stored.iter_mut().zip(other.stored).for_each(|(stored, more)| *stored += more);
        Self { stored: self.stored, lengths: self.lengths.merge(other.lengths) }
    }
}

/// Rows as they stand: the longest of each slice counts.
fn unsorted(row_ptr: &[u64], slice: usize) -> u64 {
    let slices = (0..(row_ptr.len() - 1).div_ceil(slice)).into_par_iter();
    let width = |s: usize| rows(row_ptr, s, slice).windows(2).map(|w| w[1] - w[0]).max().unwrap_or(0);
    slices.with_min_len(ROWS_PER_TASK.div_ceil(slice)).map(width).sum::<u64>() * slice as u64
}

/// Offsets of the rows `part * count ..`, `count` of them if there are as many.
fn rows(row_ptr: &[u64], part: usize, count: usize) -> &[u64] {
    let first = part * count;
    &row_ptr[first..=(first + count).min(row_ptr.len() - 1)]
}

/// The shapes that sort; 0 for the others.
fn sorted(row_ptr: &[u64], shapes: &[SellShape]) -> Seen {
    let mut sigmas: Vec<usize> = shapes.iter().filter(|s| s.is_sorted()).map(|s| s.sigma as usize).collect();
    sigmas.sort_unstable();
    sigmas.dedup();
    let Some(&largest) = sigmas.last() else { return Seen::nothing(shapes) };
    let top = sigmas.len() - 1;
    let counter = || Counter {
        shapes,
        levels: sigmas.iter().map(|&sigma| Level { sigma, lengths: Lengths::default() }).collect(),
        seen: Seen::nothing(shapes),
    };
    (0..(row_ptr.len() - 1).div_ceil(largest))
        .into_par_iter()
        .with_min_len(ROWS_PER_TASK.div_ceil(largest))
        .fold(counter, |mut counter, window| {
            counter.count(rows(row_ptr, window, largest), top);
            counter.levels[top].lengths.add_to(&mut counter.seen.lengths);
            counter
        })
        .map(|counter| counter.seen)
        .reduce(|| Seen::nothing(shapes), Seen::merge)
}

/// Part of the matrix for one worker.
struct Counter<'s> {
    shapes: &'s [SellShape],
    /// Increasing windows.
    levels: Vec<Level>,
    seen: Seen,
}

/// A window and the lengths of the one that is looked at.
struct Level {
    sigma: usize,
    lengths: Lengths,
}

impl Counter<'_> {
    /// Counts the rows of one window of `level`, and with it of every smaller window in it.
    fn count(&mut self, row_ptr: &[u64], level: usize) {
        self.levels[level].lengths.clear();
        if level == 0 {
            self.levels[0].lengths.add_all(row_ptr);
        } else {
            let part = self.levels[level - 1].sigma;
            for at in 0..(row_ptr.len() - 1).div_ceil(part) {
                self.count(rows(row_ptr, at, part), level - 1);
                let (smaller, larger) = self.levels.split_at_mut(level);
                larger[0].lengths.merge(&smaller[level - 1].lengths);
            }
        }
        let Level { sigma, lengths } = &mut self.levels[level];
        lengths.long.sort_by(|a, b| b.cmp(a));
        for (stored, shape) in self.seen.stored.iter_mut().zip(self.shapes) {
            if shape.sigma as usize == *sigma {
                *stored += lengths.stored(u64::from(shape.slice));
            }
        }
    }
}

/// Lengths of the rows of a window.
#[derive(Default)]
struct Lengths {
    /// Rows of each length below [`COUNTED`], as far as there are any.
    counts: Vec<u64>,
    /// The other lengths.
    long: Vec<u64>,
}

impl Lengths {
    fn clear(&mut self) {
        self.counts.clear();
        self.long.clear();
    }

    /// Counts the rows between `offsets`.
    fn add_all(&mut self, offsets: &[u64]) {
        match common_length(offsets) {
            Some(length) => self.add(length, offsets.len() as u64 - 1),
            None => offsets.windows(2).for_each(|ends| self.add(ends[1] - ends[0], 1)),
        }
    }

    fn add(&mut self, length: u64, rows: u64) {
        if length >= COUNTED {
            self.long.extend((0..rows).map(|_| length));
            return;
        }
        let at = length as usize;
        if at >= self.counts.len() {
            self.counts.resize(at + 1, 0);
        }
        self.counts[at] += rows;
    }

    fn merge(&mut self, other: &Self) {
        self.long.extend_from_slice(&other.long);
        if self.counts.len() < other.counts.len() {
            self.counts.resize(other.counts.len(), 0);
        }
        self.counts.iter_mut().zip(&other.counts).for_each(|(count, other)| *count += other);
    }

    fn add_to(&self, all: &mut LengthCounts) {
        (0..).zip(&self.counts).for_each(|(length, &rows)| all.add(length, rows));
        self.long.iter().for_each(|&length| all.add(length, 1));
    }

    /// Entries that slices of `slice` rows store, the last one full, once `long` is sorted by decreasing length.
    fn stored(&self, slice: u64) -> u64 {
        let long = self.long.iter().step_by(slice as usize).sum::<u64>();
        // Rows that the slice that was begun last still has room for.
        let mut room = (self.long.len() as u64).next_multiple_of(slice) - self.long.len() as u64;
        let mut counted = 0;
        for (length, &rows) in self.counts.iter().enumerate().rev() {
            if rows > room {
                let begun = (rows - room).div_ceil(slice);
                counted += length as u64 * begun;
                room += begun * slice;
            }
            room -= rows;
        }
        (long + counted) * slice
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_of_the_catalogue_are_those_of_its_shapes() {
        let row_ptr = crate::csr::offsets((0..3000).map(|row| row * 7919 % 40));
        let longest = |rows: &[u64]| rows.windows(2).map(|ends| ends[1] - ends[0]).max().unwrap();
        let steps = (0..3000).step_by(32).map(|row| longest(&row_ptr[row..=(row + 32).min(3000)])).sum();
        let (_, sizes): (Vec<_>, Vec<_>) = windows(&row_ptr).sizes(steps).into_iter().unzip();
        assert_eq!(
            sizes,
            stored_entries(&row_ptr, &SellShape::ALL),
            "unsorted shapes have slices of 32 rows"
        );
        for (shape, stored) in SellShape::ALL.into_iter().zip(sizes).filter(|(shape, _)| shape.is_sorted()) {
            let mut lengths: Vec<u64> = row_ptr.windows(2).map(|ends| ends[1] - ends[0]).collect();
            let window = |window: &mut [u64]| {
                window.sort_unstable_by(|a, b| b.cmp(a));
                window.iter().step_by(shape.slice as usize).sum::<u64>()
            };
            let widths: u64 = lengths.chunks_mut(shape.sigma as usize).map(window).sum();
            assert_eq!(stored, u64::from(shape.slice) * widths, "{shape}");
        }
    }

    #[test]
    fn the_catalogue_is_made_of_shapes_whose_windows_nest() {
        assert!(SellShape::ALL.iter().any(|shape| shape.is_sorted()), "or no row length is counted");
        for shape in SellShape::ALL {
            assert!(shape.is_valid(), "{shape}");
            for other in SellShape::ALL {
                let (small, large) = (shape.sigma.min(other.sigma), shape.sigma.max(other.sigma));
                assert!(large.is_multiple_of(small), "{shape} and {other}");
            }
        }
    }

    #[test]
    fn sizes_of_a_few_rows_are_those_worked_by_hand() {
        // Lengths 1 3 1 2 300 in slices of 2, as they stand, sorted in fours, and sorted all: 3 2 1 1 300, 300 3 2 1 1.
        let row_ptr = [0, 1, 4, 5, 7, 307];
        let shape = |sigma| SellShape { slice: 2, sigma };
        let stored = stored_entries(&row_ptr, &[shape(4), shape(1), shape(8)]);
        assert_eq!(stored, [2 * (3 + 1 + 300), 2 * (3 + 2 + 300), 2 * (300 + 2 + 1)]);
        assert_eq!(stored_entries(&[0], &[shape(1), shape(2)]), [0, 0]);
    }
}
