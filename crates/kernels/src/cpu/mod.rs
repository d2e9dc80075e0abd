//! Kernels on a CPU: what they have in common. What a kernel does there stands in the file of its family.
//!
//! A task is what one worker does without asking for more; workers that run out steal. What is added to what, and in which
//! order, follows from the candidate alone, so y does not depend on the number of threads.
//!
//! Deliberately absent: pinning of threads, placement of pages on NUMA nodes and hand-written vector code. The kernels
//! are those of the catalogue in plain loops. Those of CSR read without bounds checks, in one place ([`rows::Products`]).

pub(crate) mod rows;

use crate::Knobs;
use rayon::prelude::*;
use sparsight_matrix::{Dtype, Scalar, Stored};
use std::any::Any;

/// y = A x of a kernel on a CPU.
pub type CpuProduct<T> = fn(&mut CpuTask<'_, T>);

/// Product in both value types.
#[derive(Debug, Clone, Copy)]
pub struct CpuProducts {
    /// Product in `f32`.
    pub f32: CpuProduct<f32>,
    /// Product in `f64`.
    pub f64: CpuProduct<f64>,
}

impl CpuProducts {
    /// Product of a value type.
    pub(crate) fn of<T: Scalar>(&self) -> CpuProduct<T> {
        let found: &dyn Any = match T::DTYPE {
            Dtype::F32 => &self.f32,
            Dtype::F64 | Dtype::Mixed => &self.f64,
        };
        *found.downcast_ref::<CpuProduct<T>>().expect("the value type has that name")
    }
}

/// Inputs and output of a product on a CPU.
#[derive(Debug)]
pub struct CpuTask<'a, T: Scalar> {
    /// A in the kernel's format.
    pub matrix: &'a dyn Stored<T>,
    /// Knobs of the kernel.
    pub knobs: Knobs,
    /// Rows of a task (of COO sixteenths of the non-zeros).
    pub block: usize,
    /// Threads of the current pool that may work on it; with 1 the calling thread does all, and no pool is asked.
    pub workers: usize,
    /// Input vector, an entry for each column.
    pub x: &'a [T],
    /// Output vector, an entry for each row.
    pub y: &'a mut [T],
    /// Scratch memory of this matrix.
    pub scratch: &'a mut CpuScratch<T>,
}

impl<'a, T: Scalar> CpuTask<'a, T> {
    /// A as the type that its format stands for.
    ///
    /// # Panics
    /// If it is in another format.
    pub(crate) fn matrix<M: 'static>(&self) -> &'a M {
        let matrix: &dyn Any = self.matrix;
        matrix.downcast_ref().expect("a kernel is given the format that it reads")
    }
}

/// Returns whether an entry is NaN: where padding is multiplied as if it were 0, it is if x was not finite there.
pub(crate) fn has_nan<T: Scalar>(y: &[T]) -> bool {
    y.iter().any(|y| y.partial_cmp(y).is_none())
}

/// Sum that a run of non-zeros leaves for a row that starts before it.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Carry<T> {
    pub(crate) row: usize,
    pub(crate) sum: T,
}

/// Memory that products of a matrix share, so that only the first one allocates.
#[derive(Debug)]
pub struct CpuScratch<T> {
    /// Sums that runs of COO leave for earlier rows.
    pub(crate) carries: Vec<Carry<T>>,
    /// y by places, where rows are sorted.
    pub(crate) sums: Vec<T>,
    /// Place of each row.
    pub(crate) places: Places,
}

impl<T: Scalar> CpuScratch<T> {
    /// Task for products of `matrix`. O(rows) where these are sorted.
    pub fn of(matrix: &dyn Stored<T>) -> Self {
        Self { carries: Vec::new(), sums: Vec::new(), places: Places::of(matrix.row_order()) }
    }

    /// Fills what y is gathered from with NaN, so that an entry that a kernel does not write is seen.
    pub fn poison(&mut self) {
        self.sums.fill(T::from_f64(f64::NAN));
    }
}

/// Gives `work` each `block` neighbouring entries of `y` (the last tile may be shorter) with the number of the first: in parallel with
/// several `workers`, in turn on the calling thread with one, which asks no pool.
pub(crate) fn in_tiles<T: Send>(
    workers: usize,
    block: usize,
    y: &mut [T],
    work: impl Fn(usize, &mut [T]) + Sync,
) {
    if workers > 1 {
        y.par_chunks_mut(block).enumerate().for_each(|(tile, y)| work(tile * block, y));
    } else {
        y.chunks_mut(block).enumerate().for_each(|(tile, y)| work(tile * block, y));
    }
}

/// The way back from the order in which a format sorts the rows to that of y.
///
/// ```text
/// permutation   1 3 0 2      row at each place, as the format holds it
/// place_of      2 0 3 1      place of each row, made once when the matrix is loaded
/// sums          a b c d      by places
/// y             c a d b      gathered by rows: each task writes neighbouring entries of y
/// ```
#[derive(Debug, PartialEq)]
pub(crate) struct Places {
    /// Empty where rows stand in their order.
    place_of: Vec<u32>,
}

impl Places {
    /// The inverse of `permutation`, which is empty or holds every row once. O(rows).
    pub(crate) fn of(permutation: &[u32]) -> Self {
        let mut place_of = vec![0; permutation.len()];
        for (place, &row) in (0..).zip(permutation) {
            place_of[row as usize] = place;
        }
        Self { place_of }
    }

    /// Sets y to what `tile(first, sums)` gives for the places from `first` on, `block` places or rows a task of one of `workers`.
    /// `sums` is scratch, kept between products.
    pub(crate) fn to_rows<T: Copy + Default + Send + Sync>(
        &self,
        (workers, block): (usize, usize),
        y: &mut [T],
        sums: &mut Vec<T>,
        tile: impl Fn(usize, &mut [T]) + Sync,
    ) {
        if self.place_of.is_empty() {
            return in_tiles(workers, block, y, tile);
        }
        sums.resize(y.len(), T::default());
        in_tiles(workers, block, sums, tile);
        in_tiles(workers, block, y, |first, y| {
            for (y, &place) in y.iter_mut().zip(&self.place_of[first..]) {
                *y = sums[place as usize];
            }
        });
    }
}
