//! A call of `cusparseSpMV`, and the product that it asks for if that is one that our kernels compute.

use crate::real::{Getters, SUCCESS, SpMv, Status};
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

impl Call {
    /// Gives the call to cuSPARSE.
    ///
    /// # Safety
    /// The arguments are those of a caller of `function`.
    pub(crate) unsafe fn pass(&self, function: SpMv) -> Status {
        // SAFETY: as the caller promises.
        unsafe {
            function(
                self.handle,
                self.operation,
                self.alpha,
                self.matrix,
                self.x,
                self.beta,
                self.y,
                self.compute_type,
                self.algorithm,
                self.buffer,
            )
        }
    }
}

/// What products of one pattern have in common. What stands behind the addresses may change: then a choice is made for other rows, and
/// only time is lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    /// Handle of the context.
    pub(crate) context: usize,
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
        let pointers = [call.handle.cast_const(), call.alpha, call.matrix, call.x, call.beta, call.y];
        if !is_known || pointers.iter().any(|pointer| pointer.is_null()) {
            return None;
        }
        let is_double = match call.compute_type {
            SINGLE => false,
            DOUBLE => true,
            _ => return None,
        };
        let ok = |status: Status| (status == SUCCESS).then_some(());
        // SAFETY: the pointers are to live numbers; cuSPARSE checks handles and descriptors as far as it does.
        unsafe {
            let (mut mode, mut format) = (HOST_POINTERS, CSR);
            ok((getters.pointer_mode)(call.handle, &raw mut mode))?;
            ok((getters.format)(call.matrix, &raw mut format))?;
            if (mode, format) != (HOST_POINTERS, CSR) {
                return None;
            }
            let (mut nrows, mut ncols, mut nnz) = (0, 0, 0);
            let [mut row_ptr, mut col_idx, mut values] = [std::ptr::null(); 3];
            let (mut row_type, mut col_type, mut base, mut value_type) = (0, 0, 0, 0);
            ok((getters.csr)(
                call.matrix,
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
            if col_type != INDEX_32 || value_type != call.compute_type {
                return None;
            }
            let vector = |descriptor: *const c_void, len: i64| {
                let (mut size, mut address, mut of) = (0, std::ptr::null(), 0);
                ok((getters.vector)(descriptor, &raw mut size, &raw mut address, &raw mut of))?;
                (size == len && of == call.compute_type && !address.is_null()).then_some(address as u64)
            };
            let (x, y) = (vector(call.x, ncols)?, vector(call.y.cast_const(), nrows)?);
            let factor = |at: *const c_void| {
                if is_double { *at.cast::<f64>() } else { f64::from(*at.cast::<f32>()) }
            };
            let (alpha, beta) = (factor(call.alpha), factor(call.beta));
            if alpha == 0.0 || nrows <= 0 || ncols <= 0 || nnz <= 0 || u32::try_from(nnz).is_err() {
                return None;
            }
            if [row_ptr, col_idx, values].iter().any(|address| address.is_null()) {
                return None;
            }
            let mut stream = std::ptr::null_mut();
            ok((getters.stream)(call.handle, &raw mut stream))?;
            let context = Cuda::current_context().ok().filter(|context| *context != 0)?;
            let [row_ptr, col_idx, values] = [row_ptr, col_idx, values].map(|address| address as u64);
            let value_bytes = if is_double { 8 } else { 4 };
            let (nrows, ncols, nnz) = (nrows as u64, ncols as u64, nnz as u64);
            let algorithm = call.algorithm;
            Some(Self {
                key: Key {
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
                },
                csr: CsrAddresses {
                    row_ptr,
                    col_idx: col_idx.wrapping_sub(4 * base),
                    values: values.wrapping_sub(value_bytes * base),
                },
                v: Vectors { x: x.wrapping_sub(value_bytes * base), y, alpha, beta },
                stream,
            })
        }
    }
}
