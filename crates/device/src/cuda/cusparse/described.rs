//! The library's description of a matrix.

use super::{INDICES, named, value_type};
use crate::DeviceError;
use crate::cuda::context::Context;
use crate::gpu::{DeviceMatrix, Memory};
use crate::vendor::{Offsets, pointer};
use cudarc::cusparse::sys;
use sparsight_kernels::Vendor;
use sparsight_matrix::Dtype;
use std::ffi::c_void;
use std::sync::Arc;

const FROM_ZERO: sys::cusparseIndexBase_t = sys::cusparseIndexBase_t::CUSPARSE_INDEX_BASE_ZERO;
const NARROW: sys::cusparseIndexType_t = sys::cusparseIndexType_t::CUSPARSE_INDEX_32I;
const WIDE: sys::cusparseIndexType_t = sys::cusparseIndexType_t::CUSPARSE_INDEX_64I;

/// The library's description of a matrix.
#[derive(Debug)]
pub(super) struct Described {
    pub(super) raw: sys::cusparseSpMatDescr_t,
    /// The library points to them.
    _offsets: Option<Offsets>,
}

impl Described {
    /// Describes a matrix with non-zeros to the generic routines.
    ///
    /// # Errors
    /// [`DeviceError::CannotRun`] if indices are too large for the library, or a failed call.
    ///
    /// # Panics
    /// If `routine` reads another format, or is not one of the generic interface.
    pub(super) fn new(
        routine: Vendor,
        matrix: &DeviceMatrix,
        dtype: Dtype,
        context: &Arc<Context>,
    ) -> Result<Self, DeviceError> {
        let number = |name| matrix.number(name).expect("the format has the numbers that the library is told");
        let nnz = number("nnz");
        let (rows, cols, entries) = (number("nrows") as i64, number("ncols") as i64, nnz as i64);
        let (of, dtype) = (|name| pointer(matrix.address(name)), value_type(dtype));
        let (col_idx, values) = (of("col_idx"), of("values"));
        let memory: Arc<dyn Memory> = Arc::clone(context) as _;
        let slices = |offsets: &mut _, stored| slice_ptr(offsets, matrix, stored, &memory);
        let mut raw = std::ptr::null_mut();
        let mut offsets = None;
        // Calls the library with what all formats end with, and gives the name of the function and its status.
        macro_rules! create {
            ($create:ident($($argument:expr),*) $($order:expr)?) => {{
                // SAFETY: the arrays are on the device, as long as said and outlive the description, in which narrowed offsets live.
                let status = unsafe {
                    sys::$create(&raw mut raw, $($argument,)* NARROW, FROM_ZERO, dtype $(, $order)?)
                };
                (stringify!($create), status)
            }};
        }
        let (call, status) = match routine {
            Vendor::CsrAlg1 | Vendor::CsrAlg2 | Vendor::OpAlg1 | Vendor::OpAlg2 => {
                let width = if matrix.offset_bytes() == 4 {
                    INDICES.limit(matrix, "non-zeros under offsets of 32 bits", nnz).map(|()| NARROW)?
                } else {
                    WIDE
                };
                create!(cusparseCreateCsr(rows, cols, entries, of("row_ptr"), col_idx, values, width))
            }
            Vendor::Coo => create!(cusparseCreateCoo(rows, cols, entries, of("row_idx"), col_idx, values)),
            Vendor::Sell => {
                let (stored, slice) = (number("stored"), number("slice") as i64);
                let (ptr, width) = slices(&mut offsets, stored)?;
                let stored = stored as i64;
                create!(cusparseCreateSlicedEll(
                    rows, cols, entries, stored, slice, ptr, col_idx, values, width
                ))
            }
            Vendor::Bsrmv | Vendor::Rocsparse(_) => unreachable!("it is not one of the generic interface"),
            Vendor::Bsr => {
                let (stored, side) = (number("stored_blocks"), number("side") as i64);
                let (ptr, width) = slices(&mut offsets, stored)?;
                let (rows, cols, stored) = (rows / side, cols / side, stored as i64);
                create!(cusparseCreateBsr(rows, cols, stored, side, side, ptr, col_idx, values, width)
                    sys::cusparseOrder_t::CUSPARSE_ORDER_COL)
            }
        };
        named(call, status)?;
        Ok(Self { raw, _offsets: offsets })
    }
}

/// `slice_ptr` as the library shall read it, with its width; where it is narrowed, `offsets` holds it.
fn slice_ptr(
    offsets: &mut Option<Offsets>,
    matrix: &DeviceMatrix,
    stored: u64,
    memory: &Arc<dyn Memory>,
) -> Result<(*mut c_void, sys::cusparseIndexType_t), DeviceError> {
    *offsets = Offsets::narrowed(matrix, stored, memory)?;
    Ok(match offsets {
        Some(narrow) => (pointer(narrow.address()), NARROW),
        None => (pointer(matrix.address("slice_ptr")), WIDE),
    })
}

impl Drop for Described {
    fn drop(&mut self) {
        // SAFETY: created in `new`, destroyed only here.
        let _ = unsafe { sys::cusparseDestroySpMat(self.raw.cast_const()) };
    }
}

// SAFETY: a handle that the library takes from any thread, one at a time.
unsafe impl Send for Described {}
