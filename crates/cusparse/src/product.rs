//! A call of `cusparseSpMV` or `cusparseSpMVOp`, and the product that it asks for if that is one that our kernels compute.

use crate::real::{Getters, SUCCESS, Status};
use libc::{c_int, c_void};
use sparsight::Dtype;
use sparsight::device::cuda::Cuda;
use sparsight::device::gpu::{CsrAddresses, Vectors};
use sparsight::matrix::MatrixSize;

/// `CUSPARSE_OPERATION_NON_TRANSPOSE`.
const PLAIN: c_int = 0;
/// `CUSPARSE_POINTER_MODE_HOST`.
const HOST_POINTERS: c_int = 0;
/// `CUSPARSE_FORMAT_CSR`.
const CSR: c_int = 1;
/// `CUSPARSE_INDEX_32I` and `CUSPARSE_INDEX_64I`.
const INDEX_32: c_int = 2;
const INDEX_64: c_int = 3;
/// `CUDA_R_32F` and `CUDA_R_64F`.
const SINGLE: c_int = 0;
const DOUBLE: c_int = 1;
/// `CUSPARSE_SPMV_ALG_DEFAULT` and `CUSPARSE_SPMV_CSR_ALG1`. `CUSPARSE_SPMV_CSR_ALG2` promises the same bits each time, which products by
/// cuSPARSE and by us in turn do not have.
const ALGORITHMS: [c_int; 2] = [0, 2];
/// In the place of an algorithm, for `cusparseSpMVOp`.
const PLANNED: c_int = -1;

/// The arguments of a call.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Call {
    pub(crate) handle: *mut c_void,
    pub(crate) operation: c_int,
    pub(crate) alpha: *const c_void,
    pub(crate) matrix: *const c_void,
    pub(crate) x: *const c_void,
    pub(crate) beta: *const c_void,
    pub(crate) y: *mut c_void,
    pub(crate) compute_type: c_int,
    pub(crate) algorithm: c_int,
    pub(crate) buffer: *mut c_void,
}

/// The arguments of `cusparseSpMVOp`, but its plan: z = alpha A x + beta y.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PlannedCall {
    pub(crate) handle: *mut c_void,
    pub(crate) alpha: *const c_void,
    pub(crate) beta: *const c_void,
    pub(crate) x: *const c_void,
    pub(crate) y: *const c_void,
    pub(crate) z: *mut c_void,
}

impl PlannedCall {
    fn of(call: &Call) -> Self {
        let Call { handle, alpha, beta, x, y, .. } = *call;
        Self { handle, alpha, beta, x, y: y.cast_const(), z: y }
    }
}

/// What products of one pattern have in common. What stands behind the addresses may change: then a choice is made for other rows, and
/// only time is lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    /// Number of the context, another one after a reset of the device.
    pub(crate) context: u64,
    pub(crate) row_ptr: u64,
    pub(crate) col_idx: u64,
    pub(crate) nrows: u64,
    pub(crate) ncols: u64,
    pub(crate) nnz: u64,
    pub(crate) offset_bytes: u64,
    pub(crate) is_double: bool,
    /// 0 or 1.
    pub(crate) base: u64,
    algorithm: c_int,
}

impl Key {
    pub(crate) fn size(&self) -> MatrixSize {
        MatrixSize { nrows: self.nrows, ncols: self.ncols, nnz: self.nnz }
    }

    pub(crate) fn dtype(&self) -> Dtype {
        if self.is_double { Dtype::F64 } else { Dtype::F32 }
    }
}

/// A in CSR.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Matrix {
    pub(crate) key: Key,
    values: u64,
}

impl Matrix {
    /// The matrix that a plan of `cusparseSpMVOp` is made for; `None` as for [`Product::of`].
    ///
    /// # Safety
    /// The arguments are those of a call of `cusparseSpMVOp_createDescr`.
    pub(crate) unsafe fn of_plan(
        operation: c_int,
        matrix: *const c_void,
        compute_type: c_int,
        getters: &Getters,
    ) -> Option<Self> {
        let is_known = operation == PLAIN && !matrix.is_null();
        // SAFETY: as the caller promises.
        is_known.then(|| unsafe { Self::of(matrix, compute_type, PLANNED, getters) }).flatten()
    }

    /// # Safety
    /// The descriptor is one that a caller of cuSPARSE gives.
    unsafe fn of(
        matrix: *const c_void,
        compute_type: c_int,
        algorithm: c_int,
        getters: &Getters,
    ) -> Option<Self> {
        let is_double = match compute_type {
            SINGLE => false,
            DOUBLE => true,
            _ => return None,
        };
        // SAFETY: the pointers are to live numbers; cuSPARSE checks descriptors as far as it does.
        unsafe {
            let mut format = CSR;
            ok((getters.format)(matrix, &raw mut format))?;
            if format != CSR {
                return None;
            }
            let (mut nrows, mut ncols, mut nnz) = (0, 0, 0);
            let [mut row_ptr, mut col_idx, mut values] = [std::ptr::null(); 3];
            let (mut row_type, mut col_type, mut base, mut value_type) = (0, 0, 0, 0);
            ok((getters.csr)(
                matrix,
                &raw mut nrows,
                &raw mut ncols,
                &raw mut nnz,
                &raw mut row_ptr,
                &raw mut col_idx,
                &raw mut values,
                &raw mut row_type,
                &raw mut col_type,
                &raw mut base,
                &raw mut value_type,
            ))?;
            let offset_bytes = match row_type {
                INDEX_32 => 4,
                INDEX_64 => 8,
                _ => return None,
            };
            let base = u64::try_from(base).ok().filter(|base| *base <= 1)?;
            if col_type != INDEX_32 || value_type != compute_type {
                return None;
            }
            if nrows <= 0 || ncols <= 0 || nnz <= 0 || u32::try_from(nnz).is_err() {
                return None;
            }
            if [row_ptr, col_idx, values].iter().any(|address| address.is_null()) {
                return None;
            }
            let context = Cuda::current_context()?;
            let [row_ptr, col_idx, values] = [row_ptr, col_idx, values].map(|address| address as u64);
            let (nrows, ncols, nnz) = (nrows as u64, ncols as u64, nnz as u64);
            let key = Key {
                context,
                row_ptr,
                col_idx,
                nrows,
                ncols,
                nnz,
                offset_bytes,
                is_double,
                base,
                algorithm,
            };
            Some(Self { key, values })
        }
    }
}

/// y = alpha A x + beta y with A in CSR, as our kernels compute it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Product {
    pub(crate) key: Key,
    /// Shifted so that indices of either base find their entries.
    pub(crate) csr: CsrAddresses,
    /// x is shifted, too.
    pub(crate) v: Vectors,
    pub(crate) stream: *mut c_void,
}

impl Product {
    /// The product that a call asks for. `None` if it is another operation, format or type, if an argument is not as it should be, and
    /// if there is nothing to do: cuSPARSE knows the answer to all of these.
    ///
    /// # Safety
    /// The arguments are those of a call of `cusparseSpMV`.
    pub(crate) unsafe fn of(call: &Call, getters: &Getters) -> Option<Self> {
        let is_known = call.operation == PLAIN && ALGORITHMS.contains(&call.algorithm);
        if !is_known || call.matrix.is_null() {
            return None;
        }
        // SAFETY: as the caller promises.
        unsafe {
            let matrix = Matrix::of(call.matrix, call.compute_type, call.algorithm, getters)?;
            Self::with(&matrix, &PlannedCall::of(call), getters)
        }
    }

    /// The product with a matrix that is known; `None` as for [`Product::of`], and if z is not y but y is added.
    ///
    /// # Safety
    /// The arguments are those of a call of `cusparseSpMVOp` or `cusparseSpMV`.
    pub(crate) unsafe fn with(matrix: &Matrix, call: &PlannedCall, getters: &Getters) -> Option<Self> {
        let pointers = [call.handle.cast_const(), call.alpha, call.x, call.beta, call.y, call.z.cast_const()];
        if pointers.iter().any(|pointer| pointer.is_null()) {
            return None;
        }
        let key = matrix.key;
        let value_type = if key.is_double { DOUBLE } else { SINGLE };
        // SAFETY: the pointers are to live numbers; cuSPARSE checks handles and descriptors as far as it does.
        unsafe {
            let mut mode = HOST_POINTERS;
            ok((getters.pointer_mode)(call.handle, &raw mut mode))?;
            if mode != HOST_POINTERS {
                return None;
            }
            let vector = |descriptor: *const c_void, len: u64| {
                let (mut size, mut address, mut of) = (0, std::ptr::null(), 0);
                ok((getters.vector)(descriptor, &raw mut size, &raw mut address, &raw mut of))?;
                let is_right = u64::try_from(size) == Ok(len) && of == value_type && !address.is_null();
                is_right.then_some(address as u64)
            };
            let (x, y) = (vector(call.x, key.ncols)?, vector(call.z.cast_const(), key.nrows)?);
            let factor = |at: *const c_void| {
                if key.is_double { *at.cast::<f64>() } else { f64::from(*at.cast::<f32>()) }
            };
            let (alpha, beta) = (factor(call.alpha), factor(call.beta));
            let is_added_from_elsewhere =
                || call.y != call.z.cast_const() && beta != 0.0 && vector(call.y, key.nrows) != Some(y);
            if alpha == 0.0 || is_added_from_elsewhere() {
                return None;
            }
            let mut stream = std::ptr::null_mut();
            ok((getters.stream)(call.handle, &raw mut stream))?;
            let shift = key.base * if key.is_double { 8 } else { 4 };
            Some(Self {
                key,
                csr: CsrAddresses {
                    row_ptr: key.row_ptr,
                    col_idx: key.col_idx.wrapping_sub(4 * key.base),
                    values: matrix.values.wrapping_sub(shift),
                },
                v: Vectors { x: x.wrapping_sub(shift), y, alpha, beta },
                stream,
            })
        }
    }
}

fn ok(status: Status) -> Option<()> {
    (status == SUCCESS).then_some(())
}
