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
use crate::cuda::context::{Context, named as named_driver};
use crate::gpu::{DeviceArray, DeviceMatrix, Memory, Stream, Vectors, VendorProduct};
use cudarc::cusparse::sys;
use cudarc::driver::result;
use sparsight_kernels::Vendor;
use sparsight_matrix::{Dtype, Scalar, Seconds};
use std::ffi::c_void;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// Launches and copies that one product queues at most. Chosen, above the two or three that profilers show: too many
/// only makes the groups of a batch smaller.
const ENTRIES: u32 = 4;

/// Largest index that the library can read where we store 32 bits.
const LARGEST: u64 = i32::MAX as u64;

const PLAIN: sys::cusparseOperation_t = sys::cusparseOperation_t::CUSPARSE_OPERATION_NON_TRANSPOSE;
const FROM_ZERO: sys::cusparseIndexBase_t = sys::cusparseIndexBase_t::CUSPARSE_INDEX_BASE_ZERO;
const NARROW: sys::cusparseIndexType_t = sys::cusparseIndexType_t::CUSPARSE_INDEX_32I;
const WIDE: sys::cusparseIndexType_t = sys::cusparseIndexType_t::CUSPARSE_INDEX_64I;

/// y = A x by a routine of the library, ready to be queued.
///
/// # Invariants
/// The arrays of A outlive it: it belongs to whoever holds them.
#[derive(Debug)]
pub(in crate::cuda) struct Product<T> {
    /// Bytes of y.
    y_bytes: usize,
    /// `None` without non-zeros: then y is 0, and the library is not asked.
    call: Option<Mutex<Call<T>>>,
    preprocess: Seconds,
    /// Dropped last: the descriptors are its.
    library: Arc<Library>,
}

impl<T: Scalar> Product<T> {
    /// Describes the operand to the library, lets it look at the matrix (`cusparseSpMV_preprocess`), runs it once, since its
    /// kernels are loaded when they first run, for which the driver waits for the stream, and waits.
    ///
    /// # Errors
    /// [`DeviceError::CannotRun`] if indices are too large for the library, [`DeviceError::Infeasible`] if there is no
    /// memory for its buffer, or a failed call.
    ///
    /// # Safety
    /// The arrays of `matrix` outlive the product; the vectors are as long as it is wide and high.
    ///
    /// # Panics
    /// If `routine` reads another format.
    pub(in crate::cuda) unsafe fn prepare(
        library: &Arc<Library>,
        routine: Vendor,
        matrix: &DeviceMatrix,
        vectors: &Vectors,
    ) -> Result<Self, DeviceError> {
        let context = &library.context;
        let _entered = context.enter()?;
        let start = Instant::now();
        let size = |name| matrix.number(name).expect("every matrix has rows and columns");
        let (nrows, ncols) = (size("nrows"), size("ncols"));
        let described = Described::new(routine, matrix, T::DTYPE, (nrows, ncols), context)?;
        let mut call = None;
        if let Some(matrix) = described {
            let (x, y) = (Vector::new::<T>(vectors.x, ncols)?, Vector::new::<T>(vectors.y, nrows)?);
            // The handle is in the context's own stream meanwhile, for which it is waited below.
            library.in_stream(None, || {
                call = Some(Mutex::new(Call::new(library, routine, matrix, x, y)?));
                Ok(())
            })?;
        }
        context.synchronize()?;
        let preprocess = Seconds(start.elapsed().as_secs_f64());
        let y_bytes = nrows as usize * size_of::<T>();
        let product = Self { library: Arc::clone(library), y_bytes, call, preprocess };
        // SAFETY: as the caller promises.
        unsafe { product.queue(vectors, None)? };
        context.synchronize()?;
        Ok(product)
    }
}

impl<T: Scalar> VendorProduct for Product<T> {
    fn preprocess(&self) -> Seconds {
        self.preprocess
    }

    fn entries(&self) -> u32 {
        ENTRIES
    }

    unsafe fn queue(&self, v: &Vectors, stream: Option<Stream<'_>>) -> Result<(), DeviceError> {
        let library = &self.library;
        let stream = stream.map(|stream| stream.as_raw().cast());
        library.in_stream(stream, || match &self.call {
            Some(call) => {
                let mut call = call.lock().unwrap_or_else(PoisonError::into_inner);
                call.x.point_to(v.x)?;
                call.y.point_to(v.y)?;
                call.scalars = (T::from_f64(v.alpha), T::from_f64(v.beta));
                call.queue(library)
            }
            None if self.y_bytes == 0 => Ok(()),
            None => {
                let stream = stream.unwrap_or(library.context.stream());
                // SAFETY: y is that long and alive.
                let set = unsafe { result::memset_d8_async(v.y, 0, self.y_bytes, stream) };
                named_driver("cuMemsetD8Async", set)
            }
        })
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
        x: Vector,
        y: Vector,
    ) -> Result<Self, DeviceError> {
        let algorithm = algorithm(routine);
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
        let memory: Arc<dyn Memory> = Arc::clone(&library.context) as _;
        let buffer = DeviceArray::<u8>::new(&memory, bytes.max(1))?;
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
    fn new(
        routine: Vendor,
        matrix: &DeviceMatrix,
        dtype: Dtype,
        (nrows, ncols): (u64, u64),
        context: &Arc<Context>,
    ) -> Result<Option<Self>, DeviceError> {
        let limit = |what: &str, count: u64| {
            if count <= LARGEST {
                return Ok(());
            }
            let reason = format!("{count} {what} are more than its 32-bit indices can name");
            Err(DeviceError::CannotRun { kernel: format!("cuSPARSE on {}", matrix.format()), reason })
        };
        let number = |name| matrix.number(name).expect("the format has the numbers that the library is told");
        let nnz = number("nnz");
        limit("columns", ncols)?;
        limit("rows", nrows)?;
        if nnz == 0 {
            return Ok(None);
        }
        let (rows, cols, entries) = (nrows as i64, ncols as i64, nnz as i64);
        let (of, values) = (|name| pointer(matrix.address(name)), value_type(dtype));
        let mut raw = std::ptr::null_mut();
        let mut offsets = None;
        let status = match routine {
            Vendor::CsrAlg1 | Vendor::CsrAlg2 => {
                let width = if matrix.offset_bytes() == 4 {
                    limit("non-zeros under offsets of 32 bits", nnz).map(|()| NARROW)?
                } else {
                    WIDE
                };
                // SAFETY: the arrays are on the device, as long as said and outlive the description.
                let status = unsafe {
                    sys::cusparseCreateCsr(
                        &raw mut raw,
                        rows,
                        cols,
                        entries,
                        of("row_ptr"),
                        of("col_idx"),
                        of("values"),
                        width,
                        NARROW,
                        FROM_ZERO,
                        values,
                    )
                };
                ("cusparseCreateCsr", status)
            }
            Vendor::Coo => {
                limit("rows", nrows)?;
                // SAFETY: as above.
                let status = unsafe {
                    sys::cusparseCreateCoo(
                        &raw mut raw,
                        rows,
                        cols,
                        entries,
                        of("row_idx"),
                        of("col_idx"),
                        of("values"),
                        NARROW,
                        FROM_ZERO,
                        values,
                    )
                };
                ("cusparseCreateCoo", status)
            }
            Vendor::Sell => {
                let stored = number("stored");
                let (slice_ptr, width) = if stored <= LARGEST {
                    let memory: Arc<dyn Memory> = Arc::clone(context) as _;
                    let wide: Vec<u64> = matrix.words("slice_ptr")?;
                    let narrow: Vec<u32> = wide.into_iter().map(|at| at as u32).collect();
                    let narrow = offsets.insert(DeviceArray::of(&memory, &narrow)?);
                    (pointer(narrow.address()), NARROW)
                } else {
                    (of("slice_ptr"), WIDE)
                };
                // SAFETY: as above; the narrowed offsets live in this description.
                let status = unsafe {
                    sys::cusparseCreateSlicedEll(
                        &raw mut raw,
                        rows,
                        cols,
                        entries,
                        stored as i64,
                        number("slice") as i64,
                        slice_ptr,
                        of("col_idx"),
                        of("values"),
                        width,
                        NARROW,
                        FROM_ZERO,
                        values,
                    )
                };
                ("cusparseCreateSlicedEll", status)
            }
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

// SAFETY: handles that the library takes from any thread, one at a time.
unsafe impl Send for Described {}
// SAFETY: as above.
unsafe impl Send for Vector {}

/// The library's description of x or y.
#[derive(Debug)]
struct Vector {
    raw: sys::cusparseDnVecDescr_t,
}

impl Vector {
    fn new<T: Scalar>(address: u64, len: u64) -> Result<Self, DeviceError> {
        let mut raw = std::ptr::null_mut();
        let (len, address) = (len as i64, pointer(address));
        // SAFETY: whoever queues a product vouches for the address.
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
