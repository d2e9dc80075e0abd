//! The last step of every reader: rows in which each entry sits in its row, but in any order and perhaps twice,
//! become rows that strictly increase.
//!
//! Rows are independent, so runs of rows are done in parallel. A row already in order costs one comparison an
//! entry. Merging keeps the order of the file among entries of one place, so the sum does not depend on threads.

use super::ReadError;
use super::memory::{Refused, make_room};
use crate::Scalar;
use rayon::prelude::*;
use std::path::Path;

/// Treatment of entries that share a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Merge {
    /// Adds the values up.
    Sum,
    /// The first is kept: a pattern is a set of places.
    Keep,
}

/// Entries that one task works on: enough to hide its start, few enough to balance.
const ENTRIES_PER_PIECE: usize = 1 << 16;

/// A row that became shorter.
struct Shortened {
    row: usize,
    len: u64,
    /// The first column whose entries add up to no finite number.
    infinite: Option<u32>,
}

/// A place, counted from 0, whose entries add up to no finite number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct InfiniteSum {
    pub(crate) row: u32,
    pub(crate) col: u32,
}

/// Reasons why rows could not be merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unmerged {
    Refused(Refused),
    Infinite(InfiniteSum),
}

impl Unmerged {
    /// Converts into an error of reading `path`.
    pub(crate) fn error(self, path: &Path) -> ReadError {
        match self {
            Self::Refused(refused) => refused.error(path),
            Self::Infinite(place) => ReadError::infinite_sum(path, place),
        }
    }
}

/// Sorts and merges every row. `row_ptr`: `nrows + 1` offsets that never decrease, from 0 to the length of
/// `col_idx` and `values`; all three are cut to what is left. Gives the number of entries merged away.
///
/// # Errors
/// [`Unmerged::Refused`] if the system does not give the memory to sort a row in; [`Unmerged::Infinite`] with the first place
/// whose finite values add up to one that is not.
pub(crate) fn sort_and_merge<T: Scalar>(
    row_ptr: &mut [u64],
    col_idx: &mut Vec<u32>,
    values: &mut Vec<T>,
    merge: Merge,
) -> Result<u64, Unmerged> {
    let mut pieces = Vec::new();
    {
        let (mut cols, mut vals) = (col_idx.as_mut_slice(), values.as_mut_slice());
        let (nrows, mut first) = (row_ptr.len() - 1, 0);
        while first < nrows {
            let goal = row_ptr[first] + ENTRIES_PER_PIECE as u64;
            let last = (row_ptr.partition_point(|&p| p < goal)).clamp(first + 1, nrows);
            let n = (row_ptr[last] - row_ptr[first]) as usize;
            let (piece_cols, rest_cols) = cols.split_at_mut(n);
            let (piece_vals, rest_vals) = vals.split_at_mut(n);
            pieces.push((first..last, piece_cols, piece_vals));
            (cols, vals, first) = (rest_cols, rest_vals, last);
        }
    }
    let ptr = &*row_ptr;
    let shortened: Result<Vec<Vec<Shortened>>, Refused> = pieces
        .into_par_iter()
        .map(|(rows, cols, vals)| {
            let (base, mut scratch, mut shortened) = (ptr[rows.start], Vec::new(), Vec::new());
            for row in rows {
                let range = (ptr[row] - base) as usize..(ptr[row + 1] - base) as usize;
                let (cols, vals) = (&mut cols[range.clone()], &mut vals[range]);
                if cols.windows(2).all(|c| c[0] < c[1]) {
                    continue;
                }
                let len = sort_row(cols, vals, &mut scratch, merge)?;
                if len < cols.len() {
                    let infinite = vals[..len].iter().position(|value| !value.to_f64().is_finite());
                    let infinite = infinite.map(|at| cols[at]);
                    make_room(&mut shortened, 1)?;
                    shortened.push(Shortened { row, len: len as u64, infinite });
                }
            }
            Ok(shortened)
        })
        .collect();
    let mut shortened = shortened.map_err(Unmerged::Refused)?;
    let mut all = Vec::new();
    make_room(&mut all, shortened.iter().map(Vec::len).sum()).map_err(Unmerged::Refused)?;
    for piece in &mut shortened {
        all.append(piece);
    }
    let shortened: Vec<Shortened> = all;
    let infinite = shortened.iter().find_map(|s| Some(InfiniteSum { row: s.row as u32, col: s.infinite? }));
    match infinite {
        Some(place) => Err(Unmerged::Infinite(place)),
        None => Ok(close_gaps(row_ptr, col_idx, values, &shortened)),
    }
}

/// Sorts one row and merges its duplicates to the front; gives the entries left.
fn sort_row<T: Scalar>(
    cols: &mut [u32],
    vals: &mut [T],
    scratch: &mut Vec<(u64, T)>,
    merge: Merge,
) -> Result<usize, Refused> {
    scratch.clear();
    make_room(scratch, cols.len())?;
    // Column above place, one number to compare: a sort that keeps the order of equal ones would need memory of its own.
    scratch
        .extend((0..).zip(&*cols).zip(&*vals).map(|((at, &col), &value)| (u64::from(col) << 32 | at, value)));
    scratch.sort_unstable_by_key(|&(key, _)| key);
    let mut len = 0;
    for &(key, value) in &*scratch {
        let col = (key >> 32) as u32;
        if len > 0 && cols[len - 1] == col {
            if merge == Merge::Sum {
                vals[len - 1] += value;
            }
        } else {
            (cols[len], vals[len]) = (col, value);
            len += 1;
        }
    }
    Ok(len)
}

/// Moves rows together where earlier rows became shorter. Gives the number of entries that went.
fn close_gaps<T: Scalar>(
    row_ptr: &mut [u64],
    col_idx: &mut Vec<u32>,
    values: &mut Vec<T>,
    shortened: &[Shortened],
) -> u64 {
    let Some(first) = shortened.first() else { return 0 };
    let mut shortened = shortened.iter().peekable();
    let (mut read, mut write) = (row_ptr[first.row], row_ptr[first.row]);
    for row in first.row..row_ptr.len() - 1 {
        let end = row_ptr[row + 1];
        let len = shortened.next_if(|s| s.row == row).map_or(end - read, |s| s.len);
        let range = read as usize..(read + len) as usize;
        col_idx.copy_within(range.clone(), write as usize);
        values.copy_within(range, write as usize);
        (read, write) = (end, write + len);
        row_ptr[row + 1] = write;
    }
    col_idx.truncate(write as usize);
    values.truncate(write as usize);
    read - write
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_sorted_merged_and_moved_together() {
        let mut row_ptr = vec![0, 3, 3, 6, 7];
        let mut cols = vec![2, 0, 2, 1, 1, 1, 5];
        let mut vals = vec![1.0, 2.0, 4.0, 1.0, 2.0, 3.0, 9.0];
        let merged = sort_and_merge(&mut row_ptr, &mut cols, &mut vals, Merge::Sum);
        assert_eq!(merged, Ok(3));
        assert_eq!((row_ptr, cols, vals), (vec![0, 2, 2, 3, 4], vec![0, 2, 1, 5], vec![2.0, 5.0, 6.0, 9.0]));
    }

    #[test]
    fn keeping_merges_places_and_not_values() {
        let (mut row_ptr, mut cols, mut vals) = (vec![0, 3], vec![4, 1, 4], vec![0.5_f32, 0.25, 0.5]);
        assert_eq!(sort_and_merge(&mut row_ptr, &mut cols, &mut vals, Merge::Keep), Ok(1));
        assert_eq!((row_ptr, cols, vals), (vec![0, 2], vec![1, 4], vec![0.25, 0.5]));
    }

    #[test]
    fn finite_values_whose_sum_is_not_are_refused_with_the_first_place() {
        let (mut row_ptr, mut cols) = (vec![0, 1, 5, 7], vec![9, 2, 1, 2, 1, 0, 0]);
        let mut vals = vec![1.0, 1e308, -1e308, 1e308, -1e308, f64::MAX, f64::MAX];
        let merged = sort_and_merge(&mut row_ptr, &mut cols, &mut vals, Merge::Sum);
        assert_eq!(merged, Err(Unmerged::Infinite(InfiniteSum { row: 1, col: 1 })));
    }
}
