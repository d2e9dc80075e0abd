//! Rows of CSR one by one, and a long row by all threads.
//!
//! ```text
//! halves    rows are cut where half of their rows and non-zeros lie on either side, until a task is small enough
//! a row     one sum, or from 64 entries on LANES sums, each over every so-many-th entry, added up as a tree, and the rest
//! ```

use super::CpuTask;
use rayon::prelude::*;
use sparsight_matrix::{Csr, Scalar};
use std::ops::Range;

/// Rows and non-zeros of a task for each row that a task of the other kernels has: about the work of rows of that length, so that the
/// block sizes of the catalogue span the same range of work in every kernel. Chosen.
pub(crate) const ITEMS_PER_ROW: usize = 16;

/// Tasks a worker that rows are cut into, where they are not small before. Chosen: a worker that is held up leaves an eighth of its work.
const TASKS_PER_WORKER: usize = 8;

/// Partial sums of a row where the kernel does not say how many. Measured on an EPYC: 2 are as fast as 4 on rows of hundreds of entries.
pub(crate) const LANES: usize = 2;

/// Entries from which on a row has several sums. Measured on an EPYC over 17 real matrices: with 16 or 32, rows of many lengths lose up to
/// a quarter of their speed to branches that are not foreseen, with 64 up to a tenth; long rows gain as much with either.
const SEVERAL_SUMS_FROM: usize = 64;

/// Entries of a long row that one task adds up. Chosen: some 10 us of work.
const ENTRIES_PER_TASK: usize = 16_384;

/// The entries of a matrix, each times its entry of x.
///
/// # Invariants
/// x has an entry for each column: [`Products::of`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct Products<'a, T> {
    a: &'a Csr<T>,
    x: &'a [T],
}

impl<'a, T: Scalar> Products<'a, T> {
    /// # Panics
    /// If `x` has not an entry for each column of `a`.
    pub(crate) fn of(a: &'a Csr<T>, x: &'a [T]) -> Self {
        assert_eq!(x.len(), a.ncols(), "x must have one entry a column");
        Self { a, x }
    }

    /// The sum over `entries`, by number, in `LANES` partial sums.
    ///
    /// # Panics
    /// If the matrix has not so many.
    pub(crate) fn sum<const LANES: usize>(&self, entries: Range<usize>) -> T {
        assert!(entries.end <= self.a.nnz(), "entries of the matrix");
        // SAFETY: it was looked at that the matrix has these entries; x has one for each of its columns.
        unsafe { sum::<T, LANES>(self.a.col_idx(), self.a.values(), self.x, entries) }
    }

    /// The numbers of the entries of a row.
    #[inline]
    pub(crate) fn entries(&self, row: usize) -> Range<usize> {
        self.a.row_ptr()[row] as usize..self.a.row_ptr()[row + 1] as usize
    }

    /// The sum over the entries of a long row by several workers; pieces of it are added up in their order.
    pub(crate) fn long_sum(&self, entries: Range<usize>, workers: usize) -> T {
        let piece = |at: usize| {
            let first = entries.start + at * ENTRIES_PER_TASK;
            self.sum::<LANES>(first..(first + ENTRIES_PER_TASK).min(entries.end))
        };
        let pieces = 0..entries.len().div_ceil(ENTRIES_PER_TASK);
        let add = |sum: T, piece: T| {
            let mut sum = sum;
            sum += piece;
            sum
        };
        if workers > 1 {
            let sums: Vec<T> = pieces.into_par_iter().map(piece).collect();
            sums.into_iter().fold(T::default(), add)
        } else {
            pieces.map(piece).fold(T::default(), add)
        }
    }

    /// Sets `y` to the products of the rows from `first` on.
    fn rows<const LANES: usize>(&self, first: usize, y: &mut [T]) {
        let (cols, values, x) = (self.a.col_idx(), self.a.values(), self.x);
        let offsets = &self.a.row_ptr()[first..=first + y.len()];
        let mut start = offsets[0] as usize;
        for (y, &end) in y.iter_mut().zip(&offsets[1..]) {
            let end = end as usize;
            // SAFETY: offsets of a `Csr` ascend to the number of its entries; x has one for each of its columns.
            *y = unsafe { sum::<T, LANES>(cols, values, x, start..end) };
            start = end;
        }
    }

    /// Splits the rows among several workers, tasks of about `enough` rows and non-zeros.
    fn halves<const LANES: usize>(&self, enough: usize, first: usize, y: &mut [T]) {
        let offsets = &self.a.row_ptr()[first..=first + y.len()];
        let items = |rows: usize| rows + (offsets[rows] - offsets[0]) as usize;
        let all = items(y.len());
        if all <= enough || y.len() < 2 {
            return self.rows::<LANES>(first, y);
        }
        let middle = halfway(y.len(), |rows| items(rows) < all / 2);
        let (before, behind) = y.split_at_mut(middle);
        rayon::join(
            || self.halves::<LANES>(enough, first, before),
            || self.halves::<LANES>(enough, first + middle, behind),
        );
    }
}

/// The sum over entries of a matrix, each times its entry of x, in `LANES` partial sums.
///
/// # Safety
/// There are columns and values up to the end of `entries`, and x has an entry for each of these columns.
#[inline]
unsafe fn sum<T: Scalar, const LANES: usize>(
    cols: &[u32],
    values: &[T],
    x: &[T],
    entries: Range<usize>,
) -> T {
    // SAFETY: as the caller promises.
    let product =
        |at: usize| unsafe { *values.get_unchecked(at) * *x.get_unchecked(*cols.get_unchecked(at) as usize) };
    let (mut at, mut sum) = (entries.start, T::default());
    if LANES > 1 && entries.len() >= SEVERAL_SUMS_FROM {
        let mut sums = [T::default(); LANES];
        while at + LANES <= entries.end {
            for (lane, sum) in sums.iter_mut().enumerate() {
                *sum += product(at + lane);
            }
            at += LANES;
        }
        let mut half = LANES / 2;
        while half > 0 {
            for lane in 0..half {
                sums[lane] += sums[lane + half];
            }
            half /= 2;
        }
        sum = sums[0];
    }
    while at < entries.end {
        sum += product(at);
        at += 1;
        as_it_is();
    }
    sum
}

/// Keeps the compiler from unrolling the loop that it stands in. Measured on an EPYC: where lengths of rows are many, a loop of four
/// entries with one for the rest, as the compiler makes it, is at 0.67 of the speed of a plain one.
#[inline]
fn as_it_is() {
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    // SAFETY: there is no instruction in it.
    unsafe {
        std::arch::asm!("", options(nomem, nostack, preserves_flags));
    }
}

/// The first number of rows for which `is_less` no longer holds, at least 1 and fewer than `rows`.
fn halfway(rows: usize, is_less: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (1, rows - 1);
    while low < high {
        let middle = low.midpoint(high);
        if is_less(middle) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

/// y = A x with `LANES` partial sums a row.
pub(crate) fn by_rows<T: Scalar, const LANES: usize>(task: &mut CpuTask<'_, T>) {
    let a = task.matrix::<Csr<T>>();
    let products = Products::of(a, task.x);
    if task.workers > 1 {
        let share = (a.nrows() + a.nnz()).div_ceil(TASKS_PER_WORKER * task.workers);
        products.halves::<LANES>(share.max(ITEMS_PER_ROW * task.block), 0, task.y);
    } else {
        products.rows::<LANES>(0, task.y);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_cut_where_half_of_the_work_lies_on_either_side() {
        // Rows of 0, 0, 6, 1 and 1 entries: 13 items.
        let ends = [0, 0, 6, 7, 8];
        let items = |rows: usize| rows + if rows == 0 { 0 } else { ends[rows - 1] };
        assert_eq!(halfway(5, |rows| items(rows) < 6), 3);
        assert_eq!(halfway(2, |_| true), 1);
        assert_eq!(halfway(9, |_| false), 1);
        assert_eq!(halfway(9, |_| true), 8);
    }

    #[test]
    fn every_entry_is_added_once_whatever_the_lanes_and_the_cuts() {
        // Row i has i entries, of columns 0 to i - 1.
        let n = 150;
        let mut row_ptr = vec![0];
        (0..n).for_each(|row| row_ptr.push(row_ptr[row] + row as u64));
        let col_idx: Vec<u32> = (0..n as u32).flat_map(|row| 0..row).collect();
        let values: Vec<f64> = (0..col_idx.len()).map(|at| 1.0 + at as f64).collect();
        let a = Csr::try_new(n, n, row_ptr, col_idx, values).unwrap();
        let x: Vec<f64> = (0..n).map(|col| f64::from(col as u32 % 5)).collect();
        let expected = sparsight_matrix::reference(&a, &x).y;
        let products = Products::of(&a, &x);
        for enough in [1, 7, 100, 10_000] {
            let mut y = [vec![f64::NAN; n], vec![f64::NAN; n], vec![f64::NAN; n]];
            products.halves::<1>(enough, 0, &mut y[0]);
            products.halves::<4>(enough, 0, &mut y[1]);
            products.halves::<32>(enough, 0, &mut y[2]);
            assert_eq!(y, [expected.clone(), expected.clone(), expected.clone()]);
        }
        let all = expected.iter().sum::<f64>();
        assert_eq!([1, 3].map(|workers| products.long_sum(0..a.nnz(), workers)).to_vec(), vec![all; 2]);
    }

    #[test]
    #[should_panic(expected = "x must have one entry a column")]
    fn a_short_x_is_never_read() {
        let a = Csr::try_new(1, 3, vec![0, 1], vec![2], vec![1.0]).unwrap();
        _ = Products::of(&a, &[1.0, 2.0]);
    }
}
