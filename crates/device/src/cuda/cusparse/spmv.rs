//! `cusparseSpMV`, the library's generic product, with its preprocess step and its buffer.

use super::described::Described;
use super::{Library, PLAIN, named, value_type};
use crate::DeviceError;
use crate::gpu::{DeviceArray, DeviceMatrix, Memory, Vectors};
use crate::vendor::pointer;
use cudarc::cusparse::sys;
use sparsight_kernels::Vendor;
use sparsight_matrix::Scalar;
use std::ffi::c_void;
use std::sync::Arc;

/// The arguments of `cusparseSpMV`.
#[derive(Debug)]
pub(in crate::cuda) struct SpMv<T> {
    algorithm: sys::cusparseSpMVAlg_t,
    // Descriptors point to the arrays, of which the buffer is one: they go first.
    matrix: Described,
    x: Vector,
    y: Vector,
    buffer: DeviceArray<u8>,
    /// alpha and beta of y = alpha A x + beta y, in host memory, where the library looks for them.
    scalars: (T, T),
}

impl<T: Scalar> SpMv<T> {
    /// Describes the vectors and lets the library look at the matrix.
    ///
    /// # Errors
    /// [`DeviceError::Infeasible`] if there is no memory for its buffer, or a failed call.
    pub(super) fn new(
        library: &Library,
        routine: Vendor,
        described: Described,
        matrix: &DeviceMatrix,
        v: &Vectors,
    ) -> Result<Self, DeviceError> {
        let len = |name| matrix.number(name).expect("every matrix has rows and columns");
        let (x, y) = (Vector::new::<T>(v.x, len("ncols"))?, Vector::new::<T>(v.y, len("nrows"))?);
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
                described.raw.cast_const(),
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
        let call = Self { algorithm, matrix: described, x, y, buffer, scalars };
        match call.with(library, sys::cusparseSpMV_preprocess) {
            // The step is optional: an algorithm that has none says so.
            sys::cusparseStatus_t::CUSPARSE_STATUS_NOT_SUPPORTED => {}
            status => named("cusparseSpMV_preprocess", status)?,
        }
        Ok(call)
    }

    /// Queues one product.
    pub(super) fn queue(&mut self, library: &Library, v: &Vectors) -> Result<(), DeviceError> {
        self.x.point_to(v.x)?;
        self.y.point_to(v.y)?;
        self.scalars = (T::from_f64(v.alpha), T::from_f64(v.beta));
        named("cusparseSpMV", self.with(library, sys::cusparseSpMV))
    }

    fn with(&self, library: &Library, function: Routine) -> sys::cusparseStatus_t {
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
type Routine = unsafe fn(
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

// SAFETY: as of a matrix.
unsafe impl Send for Vector {}

/// The library's description of x or y.
#[derive(Debug)]
pub(super) struct Vector {
    pub(super) raw: sys::cusparseDnVecDescr_t,
}

impl Vector {
    pub(super) fn new<T: Scalar>(address: u64, len: u64) -> Result<Self, DeviceError> {
        let mut raw = std::ptr::null_mut();
        let (len, address) = (len as i64, pointer(address));
        // SAFETY: the caller that queues a product vouches for the address.
        let status = unsafe { sys::cusparseCreateDnVec(&raw mut raw, len, address, value_type(T::DTYPE)) };
        named("cusparseCreateDnVec", status)?;
        Ok(Self { raw })
    }

    pub(super) fn point_to(&self, address: u64) -> Result<(), DeviceError> {
        // SAFETY: the description is alive; the caller that queues a product vouches for the address.
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

fn algorithm(routine: Vendor) -> sys::cusparseSpMVAlg_t {
    use sys::cusparseSpMVAlg_t as Algorithm;
    match routine {
        Vendor::CsrAlg1 => Algorithm::CUSPARSE_SPMV_CSR_ALG1,
        Vendor::CsrAlg2 => Algorithm::CUSPARSE_SPMV_CSR_ALG2,
        Vendor::Coo => Algorithm::CUSPARSE_SPMV_COO_ALG1,
        Vendor::Sell => Algorithm::CUSPARSE_SPMV_SELL_ALG1,
        Vendor::Bsr => Algorithm::CUSPARSE_SPMV_BSR_ALG1,
        Vendor::Bsrmv | Vendor::OpAlg1 | Vendor::OpAlg2 | Vendor::Rocsparse(_) => {
            unreachable!("they have functions of their own")
        }
    }
}

pub(super) fn pointers<T>((alpha, beta): &(T, T)) -> (*const c_void, *const c_void) {
    (std::ptr::from_ref(alpha).cast(), std::ptr::from_ref(beta).cast())
}
