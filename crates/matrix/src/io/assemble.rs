//! Triplets to [`Csr`](crate::Csr), in parallel and without a second copy of the triplets.
//!
//! ```text
//! block of the file -> triplets -> sorted by bucket (a run of rows), while still in cache     a thread each
//! bucket b of every block, in the order of the file -> counting sort into the rows of b       a thread each
//! rows -> sorted, duplicates merged                                                            a thread each
//! ```
//! Buckets write disjoint parts of the three arrays, so no two threads meet, and the order of the file is kept
//! within each row: the result does not depend on threads, and a file sorted by column gives sorted rows.
//!
//! Memory: an entry of the finished matrix is held once as a triplet and once finished, for `f64` 16 + 12 bytes,
//! 2.3 times the matrix. Triplets go before rows are sorted.

use super::memory::{Budget, Refused, make_room, zeroed};
use super::options::{Source, pattern_value};
use super::rows::{self, Merge};
use super::{ReadError, Symmetry};
use crate::{Csr, Scalar};
use bytemuck::Zeroable;
use rayon::prelude::*;
use std::ops::Range;
use std::path::Path;

/// Payload of an entry beside its place: a value, or nothing in a pattern.
pub(crate) trait Payload: Copy + Default + Send + Sync + Zeroable {
    fn negated(self) -> Self;
}

impl Payload for () {
    fn negated(self) -> Self {}
}

impl<T: Scalar> Payload for T {
    fn negated(self) -> Self {
        Self::from_f64(-self.to_f64())
    }
}

/// An entry, row and column counted from 0.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Entry<V> {
    pub(crate) row: u32,
    pub(crate) col: u32,
    pub(crate) value: V,
}

// SAFETY: numbers, of which all bits may be zero.
unsafe impl<V: Payload> Zeroable for Entry<V> {}

/// Runs of rows, each small enough that its counters stay in cache, few enough that writing to all of them at
/// once does not thrash the TLB.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Buckets {
    nrows: usize,
    shift: u32,
}

/// Chosen: a second-level TLB holds 1024 to 2048 pages; half of the smallest leaves room for the rest.
const MOST_BUCKETS: usize = 512;

impl Buckets {
    /// `nrows` must fit in 32 bits.
    pub(crate) fn new(nrows: usize) -> Self {
        let mut shift = 0;
        while nrows.div_ceil(1 << shift) > MOST_BUCKETS {
            shift += 1;
        }
        Self { nrows, shift }
    }

    fn count(self) -> usize {
        self.nrows.div_ceil(1 << self.shift)
    }

    fn of(self, row: u32) -> usize {
        (row >> self.shift) as usize
    }

    fn rows(self, bucket: usize) -> Range<usize> {
        bucket << self.shift..((bucket + 1) << self.shift).min(self.nrows)
    }
}

/// The entries of one block of a file, sorted by bucket, in the order of the file within each.
pub(crate) struct Chunk<V> {
    entries: Vec<Entry<V>>,
    /// Bucket `b` owns `entries[starts[b] .. starts[b + 1]]`.
    starts: Vec<u32>,
}

impl<V: Payload> Chunk<V> {
    /// Sorts `entries`, with the mirror images that `symmetry` adds. Every row, and with a mirror every column, must be below the number
    /// of rows; at most 2^31 entries.
    ///
    /// # Errors
    /// [`Refused`] if the system does not give the memory.
    pub(crate) fn new(entries: &[Entry<V>], buckets: Buckets, symmetry: Symmetry) -> Result<Self, Refused> {
        let is_mirrored = |e: &Entry<V>| symmetry != Symmetry::General && e.row != e.col;
        let count = buckets.count();
        let mut starts: Vec<u32> = zeroed(count + 1)?;
        let (mut sorted, mut last) = (symmetry == Symmetry::General, 0);
        for e in entries {
            let bucket = buckets.of(e.row);
            starts[bucket] += 1;
            sorted &= bucket >= last;
            last = bucket;
            if is_mirrored(e) {
                starts[buckets.of(e.col)] += 1;
            }
        }
        let mut total = 0;
        for start in &mut starts {
            total += std::mem::replace(start, total);
        }
        if sorted {
            let mut copy = Vec::new();
            make_room(&mut copy, entries.len())?;
            copy.extend_from_slice(entries);
            return Ok(Self { entries: copy, starts });
        }
        let mut cursors = starts.clone();
        let mut out: Vec<Entry<V>> = zeroed(total as usize)?;
        let mut put = |e: Entry<V>| {
            let cursor = &mut cursors[buckets.of(e.row)];
            out[*cursor as usize] = e;
            *cursor += 1;
        };
        for e in entries {
            put(*e);
            if is_mirrored(e) {
                let value = if symmetry == Symmetry::SkewSymmetric { e.value.negated() } else { e.value };
                put(Entry { row: e.col, col: e.row, value });
            }
        }
        Ok(Self { entries: out, starts })
    }

    /// Entries, mirrored ones included.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    fn bucket(&self, bucket: usize) -> &[Entry<V>] {
        &self.entries[self.starts[bucket] as usize..self.starts[bucket + 1] as usize]
    }
}

/// Entries of one chunk of those that lie in memory already.
const ENTRIES_PER_CHUNK: usize = 1 << 16;

/// Chunks of `len` entries that `fill` makes, piece by piece on all threads; each becomes at most as many entries as it is long.
///
/// # Errors
/// [`Refused`] if the system does not give the memory.
fn chunks<V: Payload>(
    len: usize,
    buckets: Buckets,
    symmetry: Symmetry,
    fill: impl Fn(Range<usize>, &mut Vec<Entry<V>>) + Sync,
) -> Result<Vec<Chunk<V>>, Refused> {
    let chunk = |scratch: &mut Vec<Entry<V>>, piece: usize| {
        scratch.clear();
        let piece = piece * ENTRIES_PER_CHUNK..((piece + 1) * ENTRIES_PER_CHUNK).min(len);
        let most = piece.len();
        make_room(scratch, most)?;
        fill(piece, scratch);
        debug_assert!(scratch.len() <= most, "room was made for {most} entries, not {}", scratch.len());
        Chunk::new(scratch, buckets, symmetry)
    };
    (0..len.div_ceil(ENTRIES_PER_CHUNK)).into_par_iter().map_init(Vec::new, chunk).collect()
}

/// A source whose arrays lie in memory.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Arrays<'a> {
    pub(crate) source: Source<'a>,
    pub(crate) budget: Budget,
    /// Bytes of the arrays.
    pub(crate) held: u128,
    pub(crate) symmetry: Symmetry,
    /// Values are those of a pattern.
    pub(crate) places_only: bool,
}

impl Arrays<'_> {
    /// The matrix of `entries` entries, which `fill` makes of `len` places of the arrays as in [`chunks`], and the number of duplicates. What
    /// `fill` owns is dropped before rows are sorted.
    ///
    /// # Errors
    /// [`ReadError::Memory`] if entries and matrix do not fit; as [`assemble`].
    pub(crate) fn assemble<T: Scalar>(
        self,
        shape: (usize, usize),
        entries: u64,
        len: usize,
        fill: impl Fn(Range<usize>, &mut Vec<Entry<T>>) + Sync,
    ) -> Result<(Csr<T>, u64), ReadError> {
        let Self { source: Source { path, options, .. }, symmetry, places_only, .. } = self;
        let times = if symmetry == Symmetry::General { 1 } else { 2 };
        let triplets = times * u128::from(entries) * size_of::<Entry<T>>() as u128;
        let finished = finished_bytes::<T>(shape.0 as u64, times as u64 * entries);
        self.budget.check(path, self.held.max(finished) + triplets)?;
        let buckets = Buckets::new(shape.0);
        let chunks = chunks(len, buckets, symmetry, fill).map_err(|refused| refused.error(path))?;
        let merge = if places_only { Merge::Keep } else { Merge::Sum };
        let value = |e: &Entry<T>| {
            if places_only {
                T::from_f64(pattern_value(options.pattern, symmetry, e.row, e.col))
            } else {
                e.value
            }
        };
        assemble(shape, buckets, chunks, value, merge, path)
    }
}

/// The entries `piece` of compressed columns: column `j` owns `rows[col_ptr[j]..col_ptr[j + 1]]`. Pieces cut columns, which may be of any
/// length.
pub(crate) fn column_entries<V: Payload>(
    col_ptr: &[u64],
    rows: &[u32],
    values: &[V],
    piece: Range<usize>,
    out: &mut Vec<Entry<V>>,
) {
    let mut col = col_ptr.partition_point(|&p| p <= piece.start as u64).saturating_sub(1);
    for k in piece {
        while col_ptr[col + 1] <= k as u64 {
            col += 1;
        }
        out.push(Entry { row: rows[k], col: col as u32, value: values[k] });
    }
}

/// Bytes of the finished arrays for `entries` triplets.
pub(crate) fn finished_bytes<T: Scalar>(nrows: u64, entries: u64) -> u128 {
    8 * (u128::from(nrows) + 1) + u128::from(entries) * u128::from(4 + T::DTYPE.bytes())
}

/// The matrix of all `chunks`, which are in the order of the file, and the number of duplicates.
///
/// # Errors
/// [`ReadError::OutOfMemory`] if the system does not give the memory; as [`Csr::try_new`], of which indices in range leave only
/// too many columns.
pub(crate) fn assemble<T: Scalar, V: Payload>(
    (nrows, ncols): (usize, usize),
    buckets: Buckets,
    chunks: Vec<Chunk<V>>,
    value: impl Fn(&Entry<V>) -> T + Sync,
    merge: Merge,
    path: &Path,
) -> Result<(Csr<T>, u64), ReadError> {
    let total = chunks.iter().map(Chunk::len).sum();
    let refused = |refused: Refused| refused.error(path);
    let mut row_ptr: Vec<u64> = zeroed(nrows + 1).map_err(refused)?;
    let mut col_idx: Vec<u32> = zeroed(total).map_err(refused)?;
    let mut values: Vec<T> = zeroed(total).map_err(refused)?;
    let mut tasks = Vec::with_capacity(buckets.count());
    {
        let (mut ends, mut cols, mut vals) = (&mut row_ptr[1..], &mut col_idx[..], &mut values[..]);
        let mut base = 0_u64;
        for bucket in 0..buckets.count() {
            let n: usize = chunks.iter().map(|chunk| chunk.bucket(bucket).len()).sum();
            let (task_ends, rest_ends) = ends.split_at_mut(buckets.rows(bucket).len());
            let (task_cols, rest_cols) = cols.split_at_mut(n);
            let (task_vals, rest_vals) = vals.split_at_mut(n);
            tasks.push((bucket, base, task_ends, task_cols, task_vals));
            (ends, cols, vals, base) = (rest_ends, rest_cols, rest_vals, base + n as u64);
        }
    }
    tasks.into_par_iter().for_each(|(bucket, base, ends, cols, vals)| {
        let first_row = buckets.rows(bucket).start;
        let entries = || chunks.iter().flat_map(|chunk| chunk.bucket(bucket));
        for e in entries() {
            ends[e.row as usize - first_row] += 1;
        }
        let mut start = 0;
        for end in &mut *ends {
            start += std::mem::replace(end, start);
        }
        // `ends` now holds where each row starts; writing a row moves it to where the row ends.
        for e in entries() {
            let at = &mut ends[e.row as usize - first_row];
            (cols[*at as usize], vals[*at as usize]) = (e.col, value(e));
            *at += 1;
        }
        for end in ends {
            *end += base;
        }
    });
    drop(chunks);
    let merged = rows::sort_and_merge(&mut row_ptr, &mut col_idx, &mut values, merge);
    let duplicates = merged.map_err(|unmerged| unmerged.error(path))?;
    let matrix = Csr::try_new(nrows, ncols, row_ptr, col_idx, values).map_err(ReadError::structure(path))?;
    Ok((matrix, duplicates))
}
