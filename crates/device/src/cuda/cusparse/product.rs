//! One routine of the library on one matrix: described once, then queued as often as asked.
//!
//! ```text
//! CSR    row_ptr of 32 bits (64 beyond 2^31 - 1 non-zeros), col_idx, values       algorithms 1 and 2
//! COO    row_idx, col_idx, values
//! SELL   slices of 32 rows, column by column, as ours; padding has column -1      slice_ptr narrowed to 32 bits
//! ```
//! The arrays are those that our own kernels read. The library takes indices for signed: PAD, all bits one, is the -1 by
//! which it knows padding; and an index above 2^31 - 1 would be a negative one, so such matrices are refused.

use super::{Library, named};
use crate::DeviceError;
use crate::cuda::arrays::{CsrArrays, Matrix, Offsets};
use crate::cuda::context::{Context, named as named_driver};
use crate::cuda::memory::DeviceArray;
use crate::cuda::row_block::Vectors;
use cudarc::cusparse::sys;
use cudarc::driver::result;
use sparsight_kernels::{Kernel, Vendor};
use sparsight_matrix::{Dtype, Scalar, Seconds};
use std::ffi::c_void;
use std::sync::Arc;
use std::time::Instant;

/// Launches and copies that one product queues at most. Chosen, above the two or three that profilers show: too many
/// only makes the groups of a batch smaller.
pub(in crate::cuda) const ENTRIES: u32 = 4;

/// Largest index that the library can read where we store 32 bits.
const LARGEST: u64 = i32::MAX as u64;

const PLAIN: sys::cusparseOperation_t = sys::cusparseOperation_t::CUSPARSE_OPERATION_NON_TRANSPOSE;
const FROM_ZERO: sys::cusparseIndexBase_t = sys::cusparseIndexBase_t::CUSPARSE_INDEX_BASE_ZERO;
const NARROW: sys::cusparseIndexType_t = sys::cusparseIndexType_t::CUSPARSE_INDEX_32I;
const WIDE: sys::cusparseIndexType_t = sys::cusparseIndexType_t::CUSPARSE_INDEX_64I;

/// y = A x by a routine of the library, ready to be queued.
///
/// # Invariants
/// The arrays of A, x and y outlive it: it belongs to the operand that holds them.
#[derive(Debug)]
pub(in crate::cuda) struct Product<T> {
    context: Arc<Context>,
    /// Where y lies, and its bytes.
    y: (u64, usize),
    /// `None` without non-zeros: then y is 0, and the library is not asked.
    call: Option<Call<T>>,
    preprocess: Seconds,
}

impl<T: Scalar> Product<T> {
    /// Describes the operand to the library and lets it look at the matrix (`cusparseSpMV_preprocess`), and waits.
    ///
    /// # Errors
    /// [`DeviceError::CannotRun`] if indices are too large for the library, [`DeviceError::Infeasible`] if there is no
    /// memory for its buffer, or a failed call.
    ///
    /// # Panics
    /// If `routine` reads another format.
    pub(in crate::cuda) fn prepare(
        library: &Library,
        routine: Vendor,
        matrix: &Matrix<T>,
        x: &DeviceArray<T>,
        y: &DeviceArray<T>,
    ) -> Result<Self, DeviceError> {
        let context = &library.context;
        context.bind()?;
        let start = Instant::now();
        let (nrows, ncols) = (y.len() as u64, x.len() as u64);
        let described = Described::new(routine, matrix, (nrows, ncols))?;
        let call = match described {
            Some(matrix) => Some(Call::new(library, routine, matrix, x, y)?),
            None => None,
        };
        context.synchronize()?;
        let preprocess = Seconds(start.elapsed().as_secs_f64());
        Ok(Self { context: Arc::clone(context), y: (y.address(), y.bytes()), call, preprocess })
    }

    /// How long preparing took: describing, the library's buffer, and its look at the matrix.
    pub(in crate::cuda) fn preprocess(&self) -> Seconds {
        self.preprocess
    }

    /// Queues y = A x in the context's stream and does not wait, if `library`'s kernels for it were loaded: a first
    /// product loads them.
    pub(in crate::cuda) fn queue(&self, library: &Library) -> Result<(), DeviceError> {
        let (address, bytes) = self.y;
        match &self.call {
            Some(call) => call.queue(library),
            None if bytes == 0 => Ok(()),
            None => {
                // SAFETY: y is that long and alive; the stream is the context's.
                let set = unsafe { result::memset_d8_async(address, 0, bytes, self.context.stream()) };
                named_driver("cuMemsetD8Async", set)
            }
        }
    }

    /// Lets it work on other vectors of the same lengths, and with other factors.
    ///
    /// # Errors
    /// A failed call.
    pub(in crate::cuda) fn aim(&mut self, v: &Vectors) -> Result<(), DeviceError> {
        self.y.0 = v.y;
        if let Some(call) = &mut self.call {
            call.x.point_to(v.x)?;
            call.y.point_to(v.y)?;
            call.scalars = (T::from_f64(v.alpha), T::from_f64(v.beta));
        }
        Ok(())
    }
}

/// The arguments of `cusparseSpMV`.
#[derive(Debug)]
struct Call<T> {
    algorithm: sys::cusparseSpMVAlg_t,
    // Descriptors point to the arrays, of which the buffer is one: they go first.
    matrix: Described,
    x: Vector,
    y: Vector,
    buffer: DeviceArray<u8>,
    /// alpha and beta of y = alpha A x + beta y, in host memory, where the library looks for them.
    scalars: (T, T),
}

impl<T: Scalar> Call<T> {
    fn new(
        library: &Library,
        routine: Vendor,
        matrix: Described,
        x: &DeviceArray<T>,
        y: &DeviceArray<T>,
    ) -> Result<Self, DeviceError> {
        let algorithm = algorithm(routine);
        let (x, y) = (Vector::new(x)?, Vector::new(y)?);
        let scalars = (T::from_f64(1.0), T::from_f64(0.0));
        let (alpha, beta) = pointers(&scalars);
        let mut bytes = 0;
        // SAFETY: handle and descriptors are alive; alpha and beta are of the compute type; `bytes` is a live number.
        let asked = unsafe {
            sys::cusparseSpMV_bufferSize(
                library.raw,
                PLAIN,
                alpha,
                matrix.raw.cast_const(),
                x.raw.cast_const(),
                beta,
                y.raw,
                value_type(T::DTYPE),
                algorithm,
                &raw mut bytes,
            )
        };
        named("cusparseSpMV_bufferSize", asked)?;
        // Never no memory at all: null could be taken for a forgotten buffer.
        let buffer = DeviceArray::new(&library.context, bytes.max(1))?;
        let call = Self { algorithm, matrix, x, y, buffer, scalars };
        match call.with(library, sys::cusparseSpMV_preprocess) {
            // The step is optional: an algorithm that has none says so.
            sys::cusparseStatus_t::CUSPARSE_STATUS_NOT_SUPPORTED => {}
            status => named("cusparseSpMV_preprocess", status)?,
        }
        Ok(call)
    }

    fn queue(&self, library: &Library) -> Result<(), DeviceError> {
        named("cusparseSpMV", self.with(library, sys::cusparseSpMV))
    }

    fn with(&self, library: &Library, function: SpMv) -> sys::cusparseStatus_t {
        let (alpha, beta) = pointers(&self.scalars);
        // SAFETY: handle and descriptors are alive, and so are the arrays that they point to; alpha and beta are of the
        // compute type and are read before the call returns; the buffer is as large as the library asked for.
        unsafe {
            function(
                library.raw,
                PLAIN,
                alpha,
                self.matrix.raw.cast_const(),
                self.x.raw.cast_const(),
                beta,
                self.y.raw,
                value_type(T::DTYPE),
                self.algorithm,
                pointer(self.buffer.address()),
            )
        }
    }
}

/// `cusparseSpMV` and its preprocess step.
type SpMv = unsafe fn(
    sys::cusparseHandle_t,
    sys::cusparseOperation_t,
    *const c_void,
    sys::cusparseConstSpMatDescr_t,
    sys::cusparseConstDnVecDescr_t,
    *const c_void,
    sys::cusparseDnVecDescr_t,
    sys::cudaDataType,
    sys::cusparseSpMVAlg_t,
    *mut c_void,
) -> sys::cusparseStatus_t;

/// The library's description of a matrix.
#[derive(Debug)]
struct Described {
    raw: sys::cusparseSpMatDescr_t,
    /// Offsets made for the library alone.
    _offsets: Option<DeviceArray<u32>>,
}

impl Described {
    /// `None` without non-zeros.
    fn new<T: Scalar>(
        routine: Vendor,
        matrix: &Matrix<T>,
        (nrows, ncols): (u64, u64),
    ) -> Result<Option<Self>, DeviceError> {
        let limit = |what: &str, count: u64| {
            if count <= LARGEST {
                return Ok(());
            }
            let reason = format!("{count} {what} are more than its 32-bit indices can name");
            Err(DeviceError::CannotRun { kernel: Kernel::Vendor(routine).to_string(), reason })
        };
        limit("columns", ncols)?;
        let (rows, cols, values) = (nrows as i64, ncols as i64, value_type(T::DTYPE));
        let mut raw = std::ptr::null_mut();
        let mut offsets = None;
        let status = match (matrix, routine) {
            (Matrix::Csr(csr), Vendor::CsrAlg1 | Vendor::CsrAlg2) => {
                let CsrArrays { row_ptr, col_idx, values: entries } = csr;
                let nnz = entries.len() as u64;
                if nnz == 0 {
                    return Ok(None);
                }
                let width = match row_ptr {
                    Offsets::Narrow(_) => {
                        limit("non-zeros under offsets of 32 bits", nnz).map(|()| NARROW)?
                    }
                    Offsets::Wide(_) => WIDE,
                };
                // SAFETY: the arrays are on the device, as long as said and outlive the description.
                let status = unsafe {
                    sys::cusparseCreateCsr(
                        &raw mut raw,
                        rows,
                        cols,
                        nnz as i64,
                        pointer(row_ptr.address()),
                        pointer(col_idx.address()),
                        pointer(entries.address()),
                        width,
                        NARROW,
                        FROM_ZERO,
                        values,
                    )
                };
                ("cusparseCreateCsr", status)
            }
            (Matrix::Coo(coo), Vendor::Coo) => {
                let nnz = coo.values.len() as u64;
                if nnz == 0 {
                    return Ok(None);
                }
                limit("rows", nrows)?;
                // SAFETY: as above.
                let status = unsafe {
                    sys::cusparseCreateCoo(
                        &raw mut raw,
                        rows,
                        cols,
                        nnz as i64,
                        pointer(coo.row_idx.address()),
                        pointer(coo.col_idx.address()),
                        pointer(coo.values.address()),
                        NARROW,
                        FROM_ZERO,
                        values,
                    )
                };
                ("cusparseCreateCoo", status)
            }
            (Matrix::Sell(sell), Vendor::Sell) if sell.shape == Vendor::SLICES => {
                if sell.nnz == 0 {
                    return Ok(None);
                }
                let stored = sell.values.len() as u64;
                let (slice_ptr, width) = if stored <= LARGEST {
                    let narrow: Vec<u32> =
                        sell.slice_ptr.to_host()?.into_iter().map(|at| at as u32).collect();
                    let narrow = offsets.insert(DeviceArray::of(sell.slice_ptr.context(), &narrow)?);
                    (narrow.address(), NARROW)
                } else {
                    (sell.slice_ptr.address(), WIDE)
                };
                // SAFETY: as above; the narrowed offsets live in this description.
                let status = unsafe {
                    sys::cusparseCreateSlicedEll(
                        &raw mut raw,
                        rows,
                        cols,
                        sell.nnz as i64,
                        stored as i64,
                        i64::from(sell.shape.slice),
                        pointer(slice_ptr),
                        pointer(sell.col_idx.address()),
                        pointer(sell.values.address()),
                        width,
                        NARROW,
                        FROM_ZERO,
                        values,
                    )
                };
                ("cusparseCreateSlicedEll", status)
            }
            _ => unreachable!("{routine} on a matrix in {}", matrix.format()),
        };
        named(status.0, status.1)?;
        Ok(Some(Self { raw, _offsets: offsets }))
    }
}

impl Drop for Described {
    fn drop(&mut self) {
        // SAFETY: created in `new`, destroyed only here.
        let _ = unsafe { sys::cusparseDestroySpMat(self.raw.cast_const()) };
    }
}

/// The library's description of x or y.
#[derive(Debug)]
struct Vector {
    raw: sys::cusparseDnVecDescr_t,
}

impl Vector {
    fn new<T: Scalar>(array: &DeviceArray<T>) -> Result<Self, DeviceError> {
        let mut raw = std::ptr::null_mut();
        let (len, address) = (array.len() as i64, pointer(array.address()));
        // SAFETY: the array is on the device, that long and outlives the description.
        let status = unsafe { sys::cusparseCreateDnVec(&raw mut raw, len, address, value_type(T::DTYPE)) };
        named("cusparseCreateDnVec", status)?;
        Ok(Self { raw })
    }

    fn point_to(&self, address: u64) -> Result<(), DeviceError> {
        // SAFETY: the description is alive; whoever queues a product vouches for the address.
        let status = unsafe { sys::cusparseDnVecSetValues(self.raw, pointer(address)) };
        named("cusparseDnVecSetValues", status)
    }
}

impl Drop for Vector {
    fn drop(&mut self) {
        // SAFETY: created in `new`, destroyed only here.
        let _ = unsafe { sys::cusparseDestroyDnVec(self.raw.cast_const()) };
    }
}

const fn algorithm(routine: Vendor) -> sys::cusparseSpMVAlg_t {
    use sys::cusparseSpMVAlg_t as Algorithm;
    match routine {
        Vendor::CsrAlg1 => Algorithm::CUSPARSE_SPMV_CSR_ALG1,
        Vendor::CsrAlg2 => Algorithm::CUSPARSE_SPMV_CSR_ALG2,
        Vendor::Coo => Algorithm::CUSPARSE_SPMV_COO_ALG1,
        Vendor::Sell => Algorithm::CUSPARSE_SPMV_SELL_ALG1,
    }
}

const fn value_type(dtype: Dtype) -> sys::cudaDataType {
    match dtype {
        Dtype::F32 => sys::cudaDataType::CUDA_R_32F,
        Dtype::F64 => sys::cudaDataType::CUDA_R_64F,
    }
}

fn pointers<T>((alpha, beta): &(T, T)) -> (*const c_void, *const c_void) {
    (std::ptr::from_ref(alpha).cast(), std::ptr::from_ref(beta).cast())
}

/// An address on the device as the library takes it.
fn pointer(address: u64) -> *mut c_void {
    address as *mut c_void
}
