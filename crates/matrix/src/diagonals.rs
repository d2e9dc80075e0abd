//! Diagonals of a matrix that hold a non-zero: counted with the other features, listed for DIA.

use crate::moved_rows::{self, Copies, PART};
use crate::{Limits, Pattern};
use rayon::prelude::*;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The most diagonals that are counted and stored: with more of them, as long as the matrix has rows, padding would exceed
/// [`Limits::PADDING`].
pub(crate) fn most_diagonals(nrows: u64, nnz: u64) -> u64 {
    let stored = u128::from(nnz) * Limits::PADDING as u128;
    stored.checked_div(nrows.into()).map_or(0, |most| u64::try_from(most).unwrap_or(u64::MAX))
}

/// A set of diagonals that many threads may add to: a bit for each diagonal of the matrix. Once more than `most` were found
/// nothing is added, so that a matrix with scattered columns costs no more time than a few of its rows.
#[derive(Debug)]
pub(crate) struct DiagonalSet {
    /// Bit `j - i + nrows - 1`.
    words: Vec<AtomicU64>,
    found: AtomicU64,
    most: u64,
    nrows: usize,
}

/// Entries that are added before it is looked whether there are too many diagonals. Chosen: some 0.2 us of work.
const ENTRIES_AT_ONCE: usize = 256;

/// Rows that a thread looks at in one go.
const ROWS_PER_TASK: usize = 4096;

impl DiagonalSet {
    /// The empty set, for the diagonals of `a`.
    pub(crate) fn for_matrix(a: Pattern<'_>) -> Self {
        let bits = a.nrows + a.ncols;
        let words = (0..bits.div_ceil(64)).map(|_| AtomicU64::new(0)).collect();
        let most = most_diagonals(a.nrows as u64, a.col_idx.len() as u64);
        Self { words, found: AtomicU64::new(0), most, nrows: a.nrows }
    }

    /// The diagonals of `a`. O(nnz), in parallel.
    pub(crate) fn of(a: Pattern<'_>) -> Self {
        let set = Self::for_matrix(a);
        let tasks = (0..a.nrows).into_par_iter().step_by(ROWS_PER_TASK);
        tasks.for_each(|start| {
            let rows = start..(start + ROWS_PER_TASK).min(a.nrows);
            set.add(a, rows.clone(), &moved_rows::copies(a, rows));
        });
        set
    }

    /// Adds the diagonals of neighbouring rows of the matrix that it was made for, of which `copies` says what
    /// [`moved_rows::copies`] found.
    ///
    /// Most rows of a matrix with few diagonals are one of the rows above, moved as far to the right as they stand below: their
    /// diagonals are those of that row, which is counted where it stands.
    pub(crate) fn add(&self, a: Pattern<'_>, rows: Range<usize>, copies: &[Copies]) {
        for (start, copies) in rows.clone().step_by(PART).zip(copies) {
            for row in copies.unmoved(start..(start + PART).min(rows.end)) {
                // A row may be long.
                for cols in a.row(row).chunks(ENTRIES_AT_ONCE) {
                    if self.is_over() {
                        return;
                    }
                    let bit = |col: u32| self.nrows - 1 - row + col as usize;
                    match *cols {
                        [from, .., to] if (to - from) as usize == cols.len() - 1 => {
                            self.insert_range(bit(from)..bit(to) + 1);
                        }
                        _ => cols.iter().for_each(|&col| self.insert(bit(col), 1)),
                    }
                }
            }
        }
    }

    /// Adds the diagonals of bits `bit % 64` and on of one word, as many as `ones` has.
    fn insert(&self, bit: usize, ones: u64) {
        let (word, mask) = (&self.words[bit / 64], ones << (bit % 64));
        if word.load(Relaxed) & mask != mask {
            let new = mask & !word.fetch_or(mask, Relaxed);
            self.found.fetch_add(new.count_ones().into(), Relaxed);
        }
    }

    /// Adds neighbouring diagonals, a word at a time.
    fn insert_range(&self, bits: Range<usize>) {
        let mut bit = bits.start;
        while bit < bits.end {
            let end = ((bit / 64 + 1) * 64).min(bits.end);
            self.insert(bit, u64::MAX >> (64 - (end - bit)));
            bit = end;
        }
    }

    fn is_over(&self) -> bool {
        self.found.load(Relaxed) > self.most
    }

    /// Number of diagonals; `most + 1` stands for any larger number, so that the answer does not depend on the order of threads.
    pub(crate) fn count(&self) -> u64 {
        self.found.load(Relaxed).min(self.most.saturating_add(1))
    }

    /// `j - i` of each, ascending; all of them only where [`DiagonalSet::count`] is not above the most.
    pub(crate) fn offsets(&self) -> Vec<i64> {
        let bits = |word: usize| {
            let bits = self.words[word].load(Relaxed);
            (0..64).filter(move |bit| bits >> bit & 1 == 1).map(move |bit| word * 64 + bit)
        };
        (0..self.words.len()).flat_map(bits).map(|bit| bit as i64 - (self.nrows as i64 - 1)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Csr;
    use crate::gallery::Recipe;

    fn matrix(recipe: &str) -> Csr<f32> {
        recipe.parse::<Recipe>().unwrap().generate().unwrap()
    }

    #[test]
    fn the_diagonals_of_a_stencil_are_counted_and_listed() {
        let set = DiagonalSet::of((&matrix("stencil2d,n=70")).into());
        assert_eq!((set.count(), set.offsets()), (5, vec![-70, -1, 0, 1, 70]));
    }

    #[test]
    fn the_outermost_diagonals_of_a_rectangle_are_counted() {
        let a = Csr::try_new(2, 3, vec![0, 1, 2], vec![2, 0], vec![1.0_f32; 2]).unwrap();
        assert_eq!(DiagonalSet::of((&a).into()).offsets(), [-1, 2]);
        let empty = Csr::<f32>::try_new(0, 5, vec![0], vec![], vec![]).unwrap();
        assert_eq!((DiagonalSet::of((&empty).into()).count(), most_diagonals(0, 0)), (0, 0));
    }

    #[test]
    fn repeated_rows_and_full_rows_give_the_same_diagonals() {
        for recipe in
            ["fem,n=9,unknowns=3", "dense,rows=70,cols=70", "banded,n=2000", "stencil3d,n=11,points=27"]
        {
            let a = matrix(recipe);
            let row = |row: usize| a.row(row).0.iter().map(move |&col| i64::from(col) - row as i64);
            let by_hand: std::collections::BTreeSet<i64> = (0..a.nrows()).flat_map(row).collect();
            assert!(by_hand.into_iter().eq(DiagonalSet::of((&a).into()).offsets()), "{recipe}");
        }
    }

    #[test]
    fn scattered_columns_are_counted_up_to_one_more_than_are_worth_storing() {
        let a = matrix("random,rows=20000");
        let most = most_diagonals(20_000, a.nnz() as u64);
        assert_eq!(DiagonalSet::of((&a).into()).count(), most + 1);
    }
}
