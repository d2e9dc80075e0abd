//! A matrix cut into blocks of neighbouring rows, each with a candidate of its own.

use sparsight_kernels::{Candidate, Execution, FUSED_PARTS, fits_one_launch};
use sparsight_matrix::{Csr, Dtype, Scalar};
use std::borrow::Cow;
use std::ops::Range;
use thiserror::Error;

/// Row blocks of a matrix with a candidate each, and how their launches are combined.
///
/// ```text
/// rows   0        1,000      1,400                4,000
/// parts  | csr-scalar | csr-vector/t32 | ell      |
/// ```
///
/// # Invariants
/// Checked by [`Partition::try_new`].
/// * The parts cover the rows from 0 on, in order and without gaps; a part may be empty.
/// * All candidates have one value type.
/// * Parts that share a launch are at most [`FUSED_PARTS`], have one block size and a kernel that can be
///   [fused](sparsight_kernels::Kernel::shares_a_launch).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Partition {
    parts: Vec<(Range<usize>, Candidate)>,
    execution: Execution,
}

/// The reason why parts are not a [`Partition`], or not one of this matrix.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PartitionError {
    /// No part at all.
    #[error("a partition has at least one part")]
    Empty,
    /// A gap, an overlap, or rows in the wrong order.
    #[error("part {part} has the rows {} to {}, where rows from {expected} on are left", rows.start, rows.end)]
    Rows {
        /// Part, counted from 0.
        part: usize,
        /// Rows of the block, half open.
        rows: Range<usize>,
        /// End of the parts before it.
        expected: usize,
    },
    /// A partition of another matrix.
    #[error("the parts have {parts} rows, the matrix has {nrows}")]
    OtherMatrix {
        /// Rows of all parts.
        parts: usize,
        /// Rows of the matrix.
        nrows: usize,
    },
    /// A value type that is not the others', or not the matrix'.
    #[error("{candidate} has another value type than {dtype}")]
    ValueType {
        /// The candidate.
        candidate: Candidate,
        /// The one asked for.
        dtype: Dtype,
    },
    /// More parts than a fused launch takes.
    #[error("{parts} parts do not fit in one launch, {FUSED_PARTS} do")]
    TooManyParts {
        /// Number of parts.
        parts: usize,
    },
    /// Tiles of csr-balanced of several sizes in one launch.
    #[error(
        "the kernels of these parts take more shared memory together than a thread block has; use fewer tile sizes"
    )]
    SharedMemory,
    /// More thread blocks than a grid has.
    #[error("{blocks} thread blocks do not fit in one launch")]
    TooManyBlocks {
        /// Number of blocks.
        blocks: u64,
    },
    /// Parts of a fused launch with different block sizes.
    #[error("{candidate} cannot share a launch with blocks of {block} threads")]
    BlockSizes {
        /// The candidate.
        candidate: Candidate,
        /// Block size of the first part.
        block: u32,
    },
    /// A kernel of several launches, or not of ours, in a fused launch.
    #[error("{candidate} cannot share a launch with other parts")]
    NotFusable {
        /// The candidate.
        candidate: Candidate,
    },
    /// A candidate that this device runs on whole matrices at most.
    #[error("{candidate} does not run on row blocks here")]
    NotHere {
        /// The candidate.
        candidate: Candidate,
    },
}

impl Partition {
    /// A partition of as many rows as the parts have.
    ///
    /// ```
    /// use sparsight_device::Partition;
    /// use sparsight_kernels::Execution;
    /// let parts = vec![(0..7, "csr-scalar/b128/f64".parse()?), (7..90, "ell/b128/f64".parse()?)];
    /// let partition = Partition::try_new(parts, Execution::Fused)?;
    /// assert_eq!(partition.nrows(), 90);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`PartitionError`] names the first broken invariant.
    pub fn try_new(
        parts: Vec<(Range<usize>, Candidate)>,
        execution: Execution,
    ) -> Result<Self, PartitionError> {
        let (_, first) = parts.first().ok_or(PartitionError::Empty)?;
        let (dtype, block) = (first.dtype, first.block);
        let mut expected = 0;
        for (part, (rows, candidate)) in parts.iter().enumerate() {
            if rows.start != expected || rows.end < expected {
                return Err(PartitionError::Rows { part, rows: rows.clone(), expected });
            }
            expected = rows.end;
            let candidate = *candidate;
            if candidate.dtype != dtype {
                return Err(PartitionError::ValueType { candidate, dtype });
            }
            if execution == Execution::Fused {
                if !candidate.kernel.shares_a_launch() {
                    return Err(PartitionError::NotFusable { candidate });
                }
                if candidate.block != block {
                    return Err(PartitionError::BlockSizes { candidate, block });
                }
            }
        }
        if execution == Execution::Fused && parts.len() > FUSED_PARTS {
            return Err(PartitionError::TooManyParts { parts: parts.len() });
        }
        let kernels = parts.iter().map(|(_, candidate)| candidate.kernel);
        if execution == Execution::Fused && !fits_one_launch(kernels, dtype) {
            return Err(PartitionError::SharedMemory);
        }
        Ok(Self { parts, execution })
    }

    /// All `nrows` rows with one candidate.
    pub fn whole(nrows: usize, candidate: Candidate) -> Self {
        Self { parts: vec![(0..nrows, candidate)], execution: Execution::Sequential }
    }

    /// Rows and candidate of each part, in the order of the rows.
    pub fn parts(&self) -> &[(Range<usize>, Candidate)] {
        &self.parts
    }

    /// The execution of the parts.
    pub fn execution(&self) -> Execution {
        self.execution
    }

    /// Rows of all parts.
    pub fn nrows(&self) -> usize {
        self.parts.last().map_or(0, |(rows, _)| rows.end)
    }

    /// The value type of its products.
    pub fn dtype(&self) -> Dtype {
        self.parts[0].1.dtype
    }

    /// Checks that it fits a matrix with so many rows and vectors of `T`.
    pub(crate) fn check<T: Scalar>(&self, nrows: usize) -> Result<(), PartitionError> {
        if self.nrows() != nrows {
            return Err(PartitionError::OtherMatrix { parts: self.nrows(), nrows });
        }
        match self.parts.first() {
            Some(&(_, candidate)) if candidate.dtype.of_vectors() != T::DTYPE => {
                Err(PartitionError::ValueType { candidate, dtype: T::DTYPE })
            }
            _ => Ok(()),
        }
    }
}

/// The range of entries of some rows.
pub(crate) fn entries_of<T: Scalar>(a: &Csr<T>, rows: &Range<usize>) -> Range<u64> {
    a.row_ptr()[rows.start]..a.row_ptr()[rows.end]
}

/// Some rows of `a`, copied only if they are not all.
pub(crate) fn rows_of<'a, T: Scalar>(a: &'a Csr<T>, rows: &Range<usize>) -> Cow<'a, Csr<T>> {
    if *rows == (0..a.nrows()) { Cow::Borrowed(a) } else { Cow::Owned(a.rows(rows.clone())) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(parts: &[(Range<usize>, &str)], execution: Execution) -> String {
        let parts = parts.iter().map(|(rows, id)| (rows.clone(), id.parse().unwrap())).collect();
        Partition::try_new(parts, execution).unwrap_err().to_string()
    }

    #[test]
    fn parts_with_gaps_overlaps_or_two_value_types_are_refused() {
        let sequential = Execution::Sequential;
        let (ell, jad) = ("ell/b128/f64", "jad/b256/f64");
        assert_eq!(refused(&[], sequential), "a partition has at least one part");
        let gap = refused(&[(0..5, ell), (6..9, jad)], sequential);
        assert_eq!(gap, "part 1 has the rows 6 to 9, where rows from 5 on are left");
        assert!(refused(&[(0..5, ell), (4..9, jad)], sequential).contains("from 5 on"));
        assert!(refused(&[(1..5, ell)], sequential).contains("from 0 on"));
        #[expect(clippy::reversed_empty_ranges, reason = "that is what is refused")]
        let backwards = [(0..5, ell), (5..3, jad)];
        assert!(refused(&backwards, sequential).contains("part 1"));
        let mixed = refused(&[(0..5, ell), (5..9, "jad/b128/f32")], sequential);
        assert_eq!(mixed, "jad/b128/f32 has another value type than f64");
    }

    #[test]
    fn a_shared_launch_has_one_block_size_and_kernels_of_one_launch() {
        let fused = Execution::Fused;
        let sizes = refused(&[(0..5, "ell/b128/f64"), (5..9, "jad/b256/f64")], fused);
        assert_eq!(sizes, "jad/b256/f64 cannot share a launch with blocks of 128 threads");
        for id in ["coo/b128/f64", "hyb/b128/f64", "cusparse-csr/a1/f64"] {
            assert_eq!(refused(&[(0..5, id)], fused), format!("{id} cannot share a launch with other parts"));
        }
        let many: Vec<_> = (0..17).map(|row| (row..row + 1, "ell/b128/f64")).collect();
        assert_eq!(refused(&many, fused), "17 parts do not fit in one launch, 16 do");
    }

    #[test]
    fn a_partition_of_another_matrix_is_noticed() {
        let whole = |nrows, id: &str| Partition::whole(nrows, id.parse().unwrap()).check::<f64>(2);
        assert_eq!(whole(2, "ell/b128/f64"), Ok(()));
        assert_eq!(whole(3, "ell/b128/f64"), Err(PartitionError::OtherMatrix { parts: 3, nrows: 2 }));
        assert!(matches!(whole(2, "ell/b128/f32"), Err(PartitionError::ValueType { .. })));
    }
}
