//! `cusparseSpMVOp`: the library's product with a plan, z = alpha A x + beta y, here with z = y and no epilogue of the user's.
//!
//! An experimental interface, whose form changed between versions: the functions are looked up by name, and have these types since 12.8.1.

use super::described::Described;
use super::spmv::{Vector, pointers};
use super::{Library, PLAIN, named, value_type};
use crate::DeviceError;
use crate::error::VendorName;
use crate::gpu::{DeviceArray, DeviceMatrix, Memory, Vectors};
use crate::vendor::pointer;
use cudarc::cusparse::sys::{
    self, cudaDataType, cusparseConstDnVecDescr_t, cusparseConstSpMatDescr_t, cusparseDnVecDescr_t,
    cusparseHandle_t, cusparseOperation_t, cusparseStatus_t,
};
use sparsight_kernels::Vendor;
use sparsight_matrix::Scalar;
use std::ffi::{c_int, c_void};
use std::sync::Arc;

/// `cusparseSpMVOp_bufferSize` and `cusparseSpMVOp_createDescr` end with different arguments.
type BufferSize = unsafe extern "C" fn(
    cusparseHandle_t,
    cusparseOperation_t,
    cusparseConstSpMatDescr_t,
    cusparseConstDnVecDescr_t,
    cusparseDnVecDescr_t,
    cusparseDnVecDescr_t,
    cudaDataType,
    c_int,
    *mut usize,
) -> cusparseStatus_t;
type CreateDescr = unsafe extern "C" fn(
    cusparseHandle_t,
    *mut *mut c_void,
    cusparseOperation_t,
    cusparseConstSpMatDescr_t,
    cusparseConstDnVecDescr_t,
    cusparseDnVecDescr_t,
    cusparseDnVecDescr_t,
    cudaDataType,
    c_int,
    *mut c_void,
) -> cusparseStatus_t;
type CreatePlan = unsafe extern "C" fn(
    cusparseHandle_t,
    *mut c_void,
    *mut *mut c_void,
    *const c_void,
    usize,
) -> cusparseStatus_t;
type Multiply = unsafe extern "C" fn(
    cusparseHandle_t,
    *mut c_void,
    *const c_void,
    *const c_void,
    cusparseConstDnVecDescr_t,
    cusparseConstDnVecDescr_t,
    cusparseDnVecDescr_t,
) -> cusparseStatus_t;
type Destroy = unsafe extern "C" fn(*mut c_void) -> cusparseStatus_t;

/// The arguments of `cusparseSpMVOp`.
#[derive(Debug)]
pub(in crate::cuda) struct SpMvOp<T> {
    multiply: Multiply,
    // In the order in which they are destroyed: a plan refers to its description, and that to matrix, vectors and buffer.
    plan: Handle,
    _description: Handle,
    _matrix: Described,
    x: Vector,
    y: Vector,
    _buffer: DeviceArray<u8>,
    /// alpha and beta, in host memory.
    scalars: (T, T),
}

/// A description or a plan.
#[derive(Debug)]
struct Handle {
    raw: *mut c_void,
    destroy: Destroy,
}

// SAFETY: a handle that the library takes from any thread, one at a time.
unsafe impl Send for Handle {}

impl Drop for Handle {
    fn drop(&mut self) {
        // SAFETY: created by the library, destroyed only here. Nothing can be done about a failure.
        let _ = unsafe { (self.destroy)(self.raw) };
    }
}

impl<T: Scalar> SpMvOp<T> {
    /// Describes the vectors and lets the library plan the product.
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
        let algorithm = if routine == Vendor::OpAlg1 { 1 } else { 2 };
        let (of_x, of_y, value_type) = (x.raw.cast_const(), y.raw, value_type(T::DTYPE));
        let of_matrix = described.raw.cast_const();
        // SAFETY: these are the types since 12.8.1, which was asked for before.
        let (buffer_size, create_descr, create_plan, multiply, destroy_descr, destroy_plan) = unsafe {
            (
                function::<BufferSize>("cusparseSpMVOp_bufferSize")?,
                function::<CreateDescr>("cusparseSpMVOp_createDescr")?,
                function::<CreatePlan>("cusparseSpMVOp_createPlan")?,
                function::<Multiply>("cusparseSpMVOp")?,
                function::<Destroy>("cusparseSpMVOp_destroyDescr")?,
                function::<Destroy>("cusparseSpMVOp_destroyPlan")?,
            )
        };
        let mut bytes = 0;
        // SAFETY: handle and descriptors are alive; `bytes` is a live number.
        let asked = unsafe {
            buffer_size(
                library.raw,
                PLAIN,
                of_matrix,
                of_x,
                of_y,
                of_y,
                value_type,
                algorithm,
                &raw mut bytes,
            )
        };
        named("cusparseSpMVOp_bufferSize", asked)?;
        let memory: Arc<dyn Memory> = Arc::clone(&library.context) as _;
        let buffer = DeviceArray::<u8>::new(&memory, bytes.max(1))?;
        let at = pointer(buffer.address());
        let mut raw = std::ptr::null_mut();
        // SAFETY: as above; the buffer is as large as the library asked for and outlives the description.
        let status = unsafe {
            create_descr(
                library.raw,
                &raw mut raw,
                PLAIN,
                of_matrix,
                of_x,
                of_y,
                of_y,
                value_type,
                algorithm,
                at,
            )
        };
        named("cusparseSpMVOp_createDescr", status)?;
        let description = Handle { raw, destroy: destroy_descr };
        let mut raw = std::ptr::null_mut();
        // SAFETY: as above; no code is the library's own epilogue.
        let status = unsafe { create_plan(library.raw, description.raw, &raw mut raw, std::ptr::null(), 0) };
        named("cusparseSpMVOp_createPlan", status)?;
        let plan = Handle { raw, destroy: destroy_plan };
        let scalars = (T::from_f64(1.0), T::from_f64(0.0));
        Ok(Self {
            multiply,
            plan,
            _description: description,
            _matrix: described,
            x,
            y,
            _buffer: buffer,
            scalars,
        })
    }

    /// Queues one product.
    pub(super) fn queue(&mut self, library: &Library, v: &Vectors) -> Result<(), DeviceError> {
        self.x.point_to(v.x)?;
        self.y.point_to(v.y)?;
        self.scalars = (T::from_f64(v.alpha), T::from_f64(v.beta));
        let (alpha, beta) = pointers(&self.scalars);
        let (x, y) = (self.x.raw.cast_const(), self.y.raw);
        // SAFETY: handle, plan and descriptors are alive, and so are the arrays that they point to; alpha and beta are of the compute
        // type and are read before the call returns.
        let status =
            unsafe { (self.multiply)(library.raw, self.plan.raw, alpha, beta, x, y.cast_const(), y) };
        named("cusparseSpMVOp", status)
    }
}

/// A function of the library by its name.
///
/// # Errors
/// [`DeviceError::NoVendor`] if the library has none of that name.
///
/// # Safety
/// `F` is a pointer to a function, of the type that it has there.
unsafe fn function<F: Copy>(name: &str) -> Result<F, DeviceError> {
    // SAFETY: as the caller promises; the library is never closed.
    let found = unsafe { sys::culib().get::<F>(name.as_bytes()) };
    found.map(|function| *function).map_err(|_| DeviceError::NoVendor {
        searched: format!("libcusparse, which lacks {name}"),
        library: VendorName::Cusparse,
    })
}
