//! Kernels on a CPU: what they have in common. What a kernel does there stands in the file of its family.
//!
//! A task is what one worker does without asking for more; workers that run out steal. What is added to what, and in which
//! order, follows from the candidate alone, so y does not depend on the number of threads.
//!
//! Deliberately absent: pinning of threads, placement of pages on NUMA nodes and hand-written vector code. The kernels
//! are those of the catalogue in plain loops. Those of CSR read without bounds checks, in one place ([`rows::Products`]).

mod places;
pub(crate) mod rows;
mod tiles;

use crate::Knobs;
use places::Places;
use sparsight_matrix::{Dtype, Scalar, Stored};
use std::any::Any;
pub(crate) use tiles::in_tiles;

/// y = A x of a kernel on a CPU.
pub type CpuProduct<T> = fn(&mut CpuTask<'_, T>);

/// The same in both value types.
#[derive(Debug, Clone, Copy)]
pub struct CpuProducts {
    /// In `f32`.
    pub f32: CpuProduct<f32>,
    /// In `f64`.
    pub f64: CpuProduct<f64>,
}

impl CpuProducts {
    /// That of a value type.
    pub(crate) fn of<T: Scalar>(&self) -> CpuProduct<T> {
        let found: &dyn Any = match T::DTYPE {
            Dtype::F32 => &self.f32,
            Dtype::F64 | Dtype::Mixed => &self.f64,
        };
        *found.downcast_ref::<CpuProduct<T>>().expect("the value type has that name")
    }
}

/// What a product on a CPU is computed from and to.
#[derive(Debug)]
pub struct CpuTask<'a, T: Scalar> {
    /// A in the kernel's format.
    pub matrix: &'a dyn Stored<T>,
    /// Of the kernel.
    pub knobs: Knobs,
    /// Rows of a task (of COO sixteenths of the non-zeros).
    pub block: usize,
    /// Threads of the current pool that may work on it; with 1 the calling thread does all, and no pool is asked.
    pub workers: usize,
    /// One entry a column.
    pub x: &'a [T],
    /// One entry a row.
    pub y: &'a mut [T],
    /// Of this matrix.
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

/// Whether an entry is NaN: where padding is multiplied as if it were 0, it is if x was not finite there.
pub(crate) fn has_nan<T: Scalar>(y: &[T]) -> bool {
    y.iter().any(|y| y.partial_cmp(y).is_none())
}

/// What a run of non-zeros leaves for a row that starts before it.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Carry<T> {
    pub(crate) row: usize,
    pub(crate) sum: T,
}

/// What products of a matrix keep between them, so that only the first one allocates.
#[derive(Debug)]
pub struct CpuScratch<T> {
    /// Of COO.
    pub(crate) carries: Vec<Carry<T>>,
    /// y by places, where rows are sorted.
    pub(crate) sums: Vec<T>,
    /// Where each row stands.
    pub(crate) places: Places,
}

impl<T: Scalar> CpuScratch<T> {
    /// For products of `matrix`. O(rows) where these are sorted.
    pub fn of(matrix: &dyn Stored<T>) -> Self {
        Self { carries: Vec::new(), sums: Vec::new(), places: Places::of(matrix.row_order()) }
    }

    /// Fills what y is gathered from with NaN, so that an entry that a kernel does not write is seen.
    pub fn poison(&mut self) {
        self.sums.fill(T::from_f64(f64::NAN));
    }
}
