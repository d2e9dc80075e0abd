//! `cusparseSbsrmv` and `cusparseDbsrmv`: the library's older routine for BSR, which is the faster one for some sizes of blocks.
//! It has no preprocess step and asks for no buffer.

use super::{INDICES, Library, named};
use crate::DeviceError;
use crate::gpu::{DeviceMatrix, Memory, Vectors};
use crate::vendor::{Offsets, pointer};
use cudarc::cusparse::sys;
use sparsight_matrix::{Dtype, Scalar};
use std::ffi::c_int;
use std::sync::Arc;

/// y = alpha A x + beta y with A as `bcsr`.
///
/// # Invariants
/// The arrays of A outlive it.
#[derive(Debug)]
pub(in crate::cuda) struct Bsrmv {
    plain: sys::cusparseMatDescr_t,
    block_rows: c_int,
    block_cols: c_int,
    blocks: c_int,
    side: c_int,
    offsets: Offsets,
    col_idx: u64,
    values: u64,
}

// SAFETY: a handle that the library takes from any thread, one at a time.
unsafe impl Send for Bsrmv {}

impl Bsrmv {
    /// Describes the matrix.
    ///
    /// # Errors
    /// [`DeviceError::CannotRun`] for more blocks or values than 31 bits can number, or a failed call.
    ///
    /// # Panics
    /// If the matrix is in another format.
    pub(super) fn new(library: &Library, matrix: &DeviceMatrix) -> Result<Self, DeviceError> {
        let number = |name| matrix.number(name).expect("the format has the numbers that the library is told");
        let (stored, side) = (number("stored_blocks"), number("side"));
        INDICES.limit(matrix, "blocks", stored)?;
        // Nothing promises that it numbers values with more than 32 bits.
        INDICES.limit(matrix, "values", stored.saturating_mul(side * side))?;
        let memory: Arc<dyn Memory> = Arc::clone(&library.context) as _;
        let offsets = Offsets::narrowed(matrix, stored, &memory)?.expect("the limit is the same");
        let mut plain = std::ptr::null_mut();
        // SAFETY: `plain` is a live pointer. A new description is of a general matrix that counts from 0.
        named("cusparseCreateMatDescr", unsafe { sys::cusparseCreateMatDescr(&raw mut plain) })?;
        let count =
            |count: u64| c_int::try_from(count).expect("rows and columns were held against the limit");
        Ok(Self {
            plain,
            block_rows: count(number("nrows") / side),
            block_cols: count(number("ncols") / side),
            blocks: count(stored),
            side: count(side),
            offsets,
            col_idx: matrix.address("col_idx"),
            values: matrix.address("values"),
        })
    }

    /// Queues one product.
    pub(super) fn queue<T: Scalar>(&self, library: &Library, v: &Vectors) -> Result<(), DeviceError> {
        let columns = sys::cusparseDirection_t::CUSPARSE_DIRECTION_COLUMN;
        let offsets = pointer(self.offsets.address()).cast::<c_int>();
        let col_idx = pointer(self.col_idx).cast::<c_int>();
        macro_rules! multiply {
            ($routine:path, $value:ty) => {{
                let (alpha, beta) = (v.alpha as $value, v.beta as $value);
                // SAFETY: handle and description are alive, the arrays are on the device and as long as said; alpha and beta
                // are read before the call returns; the caller that queues a product vouches for the vectors.
                unsafe {
                    $routine(
                        library.raw,
                        columns,
                        super::PLAIN,
                        self.block_rows,
                        self.block_cols,
                        self.blocks,
                        &raw const alpha,
                        self.plain,
                        pointer(self.values).cast(),
                        offsets,
                        col_idx,
                        self.side,
                        pointer(v.x).cast(),
                        &raw const beta,
                        pointer(v.y).cast(),
                    )
                }
            }};
        }
        match T::DTYPE {
            Dtype::F32 => named("cusparseSbsrmv", multiply!(sys::cusparseSbsrmv, f32)),
            Dtype::F64 | Dtype::Mixed => named("cusparseDbsrmv", multiply!(sys::cusparseDbsrmv, f64)),
        }
    }
}

impl Drop for Bsrmv {
    fn drop(&mut self) {
        // SAFETY: created in `new`, destroyed only here.
        let _ = unsafe { sys::cusparseDestroyMatDescr(self.plain) };
    }
}
