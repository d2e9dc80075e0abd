//! A matrix without something that costs time in every product: predicted beside the matrix itself, it tells how much.
//!
//! | without | what is left |
//! |---|---|
//! | stored zeros | the entries that are not 0 |
//! | empty rows | the other rows, in their order |
//! | long rows | all rows; of the long ones the entries next to the diagonal |
//!
//! `None` where the system refuses the memory.

use crate::csr::offsets;
use crate::row_fill::fill_rows;
use crate::{Csr, Scalar};
use rayon::prelude::*;

/// The entries that are not 0.
pub fn without_zeros<T: Scalar>(a: &Csr<T>) -> Option<Csr<T>> {
    let is_kept = |value: &T| *value != T::default();
    let length = |row: usize| a.row(row).1.iter().filter(|value| is_kept(value)).count();
    made(a.nrows(), a.ncols(), length, |row, cols, values| {
        let (old_cols, old_values) = a.row(row);
        let kept = old_cols.iter().zip(old_values).filter(|(_, value)| is_kept(value));
        for ((col, to), (&old, &value)) in cols.iter_mut().zip(values).zip(kept) {
            (*col, *to) = (old, value);
        }
    })
}

/// The rows that have an entry.
pub fn without_empty_rows<T: Scalar>(a: &Csr<T>) -> Option<Csr<T>> {
    let kept: Vec<usize> = (0..a.nrows()).filter(|&row| !a.row(row).0.is_empty()).collect();
    let length = |row: usize| a.row(kept[row]).0.len();
    made(kept.len(), a.ncols(), length, |row, cols, values| {
        let (old_cols, old_values) = a.row(kept[row]);
        cols.copy_from_slice(old_cols);
        values.copy_from_slice(old_values);
    })
}

/// All rows; of those with more than `longest` entries the `length` ones next to the diagonal.
pub fn without_long_rows<T: Scalar>(a: &Csr<T>, longest: usize, length: usize) -> Option<Csr<T>> {
    let kept = |row: usize| {
        let cols = a.row(row).0;
        if cols.len() <= longest {
            return 0..cols.len();
        }
        let length = length.min(cols.len());
        let diagonal = cols.partition_point(|&col| (col as usize) < row);
        let first = diagonal.saturating_sub(length / 2).min(cols.len() - length);
        first..first + length
    };
    made(
        a.nrows(),
        a.ncols(),
        |row| kept(row).len(),
        |row, cols, values| {
            let (old_cols, old_values) = a.row(row);
            cols.copy_from_slice(&old_cols[kept(row)]);
            values.copy_from_slice(&old_values[kept(row)]);
        },
    )
}

fn made<T: Scalar>(
    nrows: usize,
    ncols: usize,
    length: impl Fn(usize) -> usize + Sync,
    make_row: impl Fn(usize, &mut [u32], &mut [T]) + Sync,
) -> Option<Csr<T>> {
    let lengths = (0..nrows).into_par_iter().map(|row| length(row) as u64);
    let row_ptr = offsets(lengths.collect::<Vec<_>>());
    let (col_idx, values) = fill_rows(&row_ptr, |row, (): &mut (), cols: &mut [u32], values: &mut [T]| {
        make_row(row, cols, values);
    })
    .ok()?;
    let made = Csr::try_new(nrows, ncols, row_ptr, col_idx, values);
    Some(made.expect("rows keep the order of their columns"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_variant_removes_only_its_property() {
        let a = Csr::try_new(
            4,
            6,
            vec![0, 2, 2, 8, 9],
            vec![0, 3, 0, 1, 2, 3, 4, 5, 1],
            vec![1.0, 0.0, 2.0, 3.0, 0.0, 4.0, 5.0, 6.0, -0.0],
        )
        .unwrap();
        let dense = without_zeros(&a).unwrap();
        assert_eq!((dense.nrows(), dense.nnz()), (4, 6));
        assert_eq!(dense.row(2), (&[0, 1, 3, 4, 5][..], &[2.0, 3.0, 4.0, 5.0, 6.0][..]));
        let full = without_empty_rows(&a).unwrap();
        assert_eq!((full.nrows(), full.ncols(), full.nnz()), (3, 6, 9));
        assert_eq!(full.row(1), a.row(2));
        let short = without_long_rows(&a, 5, 2).unwrap();
        assert_eq!((short.nrows(), short.row(0), short.row(3)), (4, a.row(0), a.row(3)));
        assert_eq!(short.row(2), (&[1, 2][..], &[3.0, 0.0][..]));
        assert_eq!(without_long_rows(&a, 6, 2).unwrap(), a, "no row is longer");
    }
}
