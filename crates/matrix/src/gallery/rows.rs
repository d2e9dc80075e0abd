//! Putting a CSR together from rows that are made in parallel.

use super::random::Rng;
use crate::csr::pieces;
use crate::{Csr, Scalar};
use rayon::prelude::*;

/// Makes the row of that number, with random numbers of its own.
pub(super) type RowMaker = Box<dyn Fn(u64, &mut Rng, &mut Row) + Send + Sync>;

/// The entries of a row while it is made. They may come in any order; of several in a column the first stays.
#[derive(Debug, Default)]
pub(super) struct Row {
    entries: Vec<(u32, f64)>,
}

impl Row {
    /// Adds an entry.
    pub(super) fn push(&mut self, col: u64, value: f64) {
        self.entries.push((col as u32, value));
    }

    /// Adds an entry with a random value in each of these columns.
    pub(super) fn fill<C: Into<u64>>(&mut self, cols: impl IntoIterator<Item = C>, rng: &mut Rng) {
        for col in cols {
            self.push(col.into(), rng.value());
        }
    }

    /// Columns strictly increasing.
    fn sort(&mut self) {
        if !self.entries.is_sorted_by(|a, b| a.0 < b.0) {
            self.entries.sort_by_key(|entry| entry.0);
            self.entries.dedup_by_key(|entry| entry.0);
        }
    }
}

/// Rows that one task makes: some microseconds of work at a few entries a row, and still many tasks where few
/// rows hold everything. Chosen.
const ROWS_PER_PIECE: usize = 64;

/// A run of rows.
struct Piece<T> {
    ends: Vec<u64>,
    cols: Vec<u32>,
    values: Vec<T>,
}

/// The matrix of all rows, the random numbers of which follow from `seed`.
///
/// # Panics
/// If a row has a column beyond `ncols`.
pub(super) fn build<T: Scalar>(nrows: usize, ncols: usize, seed: u64, make_row: &RowMaker) -> Csr<T> {
    let made: Vec<Piece<T>> = (0..nrows.div_ceil(ROWS_PER_PIECE))
        .into_par_iter()
        .map(|i| piece(i, nrows, seed, make_row))
        .collect();

    let lengths = || made.iter().map(|piece| piece.cols.len());
    let nnz = lengths().sum();
    let mut row_ptr = Vec::with_capacity(nrows + 1);
    row_ptr.push(0);
    let mut start = 0;
    for piece in &made {
        row_ptr.extend(piece.ends.iter().map(|end| start + end));
        start += piece.cols.len() as u64;
    }
    let mut col_idx = vec![0; nnz];
    let mut values = vec![T::default(); nnz];
    let places = pieces(&mut col_idx, lengths()).zip(pieces(&mut values, lengths()));
    made.iter().zip(places).collect::<Vec<_>>().into_par_iter().for_each(|(piece, (cols, values))| {
        cols.copy_from_slice(&piece.cols);
        values.copy_from_slice(&piece.values);
    });
    Csr::try_new(nrows, ncols, row_ptr, col_idx, values)
        .expect("rows are sorted and a generator stays within its columns")
}

fn piece<T: Scalar>(i: usize, nrows: usize, seed: u64, make_row: &RowMaker) -> Piece<T> {
    let mut piece = Piece { ends: Vec::with_capacity(ROWS_PER_PIECE), cols: Vec::new(), values: Vec::new() };
    let mut row = Row::default();
    for number in i * ROWS_PER_PIECE..((i + 1) * ROWS_PER_PIECE).min(nrows) {
        row.entries.clear();
        make_row(number as u64, &mut Rng::new(seed, number as u64), &mut row);
        row.sort();
        piece.cols.extend(row.entries.iter().map(|entry| entry.0));
        piece.values.extend(row.entries.iter().map(|entry| T::from_f64(entry.1)));
        piece.ends.push(piece.cols.len() as u64);
    }
    piece
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_sorted_and_of_several_entries_in_a_column_the_first_stays() {
        let make: RowMaker = Box::new(|number, _, row| {
            if number % 2 == 0 {
                row.push(3, 1.0);
                row.push(number % 3, 2.0);
                row.push(3, 4.0);
            }
        });
        let a = build::<f64>(1001, 4, 1, &make);
        assert_eq!((a.nrows(), a.nnz()), (1001, 501 * 2));
        assert_eq!(a.row(500), (&[2, 3][..], &[2.0, 1.0][..]));
        assert_eq!(a.row(501).0, []);
    }
}
