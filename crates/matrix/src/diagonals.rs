//! Diagonals of a matrix that hold a non-zero: counted with the other features, listed for DIA.

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

/// Number of rows above a row that are compared with it. Chosen: with several unknowns in each point of a grid it
/// is as many rows above, and there are seldom more.
const FARTHEST_ABOVE: usize = 6;

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
        tasks.for_each(|start| set.add(a, start..(start + ROWS_PER_TASK).min(a.nrows)));
        set
    }

    /// Adds the diagonals of neighbouring rows of the matrix that it was made for.
    ///
    /// Most rows of a matrix with few diagonals are one of the rows above, moved as far to the right as they stand below: their
    /// diagonals are those of that row, which is counted where it stands. Rows of one length are compared all at once.
    pub(crate) fn add(&self, a: Pattern<'_>, rows: Range<usize>) {
        let ptr = a.row_ptr;
        let cols = |rows: Range<usize>| &a.col_idx[ptr[rows.start] as usize..ptr[rows.end] as usize];
        let length = |row: usize| ptr[row + 1] - ptr[row];
        let is_known = |rows: Range<usize>, step: usize| {
            rows.start >= step && is_moved(cols(rows.start - step..rows.end - step), cols(rows), step as u32)
        };
        let (mut start, mut step) = (rows.start, 1);
        while start < rows.end && !self.is_over() {
            let alike = (start + 1..rows.end).take_while(|&row| length(row) == length(start)).count() + 1;
            let stretch = start..start + alike;
            let above = start.saturating_sub(step)..start;
            start = stretch.end;
            if above.clone().all(|row| length(row) == length(stretch.start))
                && is_known(stretch.clone(), step)
            {
                continue;
            }
            for row in stretch {
                if is_known(row..row + 1, step) {
                    continue;
                }
                let mut others = (1..=FARTHEST_ABOVE).filter(|&other| other != step);
                if let Some(found) = others.find(|&other| is_known(row..row + 1, other)) {
                    step = found;
                    continue;
                }
                let first = self.nrows - 1 - row;
                match cols(row..row + 1) {
                    all @ [from, .., to] if (to - from) as usize == all.len() - 1 => {
                        self.insert_range(first + *from as usize..first + *to as usize + 1);
                    }
                    all => all.iter().for_each(|&col| self.insert(first + col as usize, 1)),
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

/// Returns whether `cols` are those of `above`, each plus `by`. The ends are looked at first; then a loop without an early end, which the
/// compiler turns into wide instructions.
fn is_moved(above: &[u32], cols: &[u32], by: u32) -> bool {
    let ends = |cols: &[u32]| cols.first().copied().zip(cols.last().copied());
    // The last one is the largest: if it does not overflow, none does.
    let moved_ends =
        ends(above).and_then(|(first, last)| Some((first.wrapping_add(by), last.checked_add(by)?)));
    above.len() == cols.len()
        && moved_ends == ends(cols)
        && above.iter().zip(cols).fold(true, |moved, (above, col)| moved & (above.wrapping_add(by) == *col))
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
