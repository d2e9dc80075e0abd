//! Rows of CSR one by one, and a long row by all threads.

use rayon::prelude::*;
use sparsight_matrix::{Csr, Scalar};

/// Sets each entry of y to `product` of the row's columns and values.
pub(crate) fn by_rows<T: Scalar>(
    a: &Csr<T>,
    block: usize,
    y: &mut [T],
    product: impl Fn(&[u32], &[T]) -> T + Sync,
) {
    y.par_chunks_mut(block).enumerate().for_each(|(task, y)| {
        for (row, y) in (task * block..).zip(y) {
            let (cols, values) = a.row(row);
            *y = product(cols, values);
        }
    });
}

/// Partial sums of a row where the kernel does not say how many: enough for the compiler to vectorise.
pub(crate) const LANES: usize = 8;

/// Entries of a long row that one task adds up. Chosen: some 10 us of work.
const ENTRIES_PER_TASK: usize = 16_384;

/// The product of one row with x by all threads; pieces of it are added up in their order.
pub(crate) fn long_row<T: Scalar>(cols: &[u32], values: &[T], x: &[T]) -> T {
    let pieces = cols.par_chunks(ENTRIES_PER_TASK).zip(values.par_chunks(ENTRIES_PER_TASK));
    let sums: Vec<T> = pieces.map(|(cols, values)| strided::<T, LANES>(cols, values, x)).collect();
    let mut sum = T::default();
    for piece in sums {
        sum += piece;
    }
    sum
}

/// The product of one row with x: `LANES` sums, then a tree of additions as the threads of a warp do it.
pub(crate) fn strided<T: Scalar, const LANES: usize>(cols: &[u32], values: &[T], x: &[T]) -> T {
    let mut sums = [T::default(); LANES];
    let (full_cols, last_cols) = cols.as_chunks::<LANES>();
    let (full_values, last_values) = values.as_chunks::<LANES>();
    for (cols, values) in full_cols.iter().zip(full_values) {
        for lane in 0..LANES {
            sums[lane] += values[lane] * x[cols[lane] as usize];
        }
    }
    for ((sum, &col), &value) in sums.iter_mut().zip(last_cols).zip(last_values) {
        *sum += value * x[col as usize];
    }
    let mut half = LANES / 2;
    while half > 0 {
        for lane in 0..half {
            sums[lane] += sums[lane + half];
        }
        half /= 2;
    }
    sums[0]
}
