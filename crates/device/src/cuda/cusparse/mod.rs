//! The vendor's library, cuSPARSE: found when the program runs, called through cudarc's `sys` layer.
//!
//! Its generic interface (`cusparseSpMV` and what belongs to it), and of the older one what is faster for some matrices
//! (`bsrmv`), of newer versions `cusparseSpMVOp`. What it has in common with other makers' libraries: `vendor/`.
//!
//! ```text
//! CSR    row_ptr of 32 bits (64 beyond 2^31 - 1 non-zeros), col_idx, values       algorithms 1 and 2, and those of SpMVOp
//! COO    row_idx, col_idx, values
//! SELL   slices of 32 rows, column by column, as ours; padding has column -1      slice_ptr narrowed to 32 bits
//! BSR    bcsr: blocks column by column        the generic routine and bsrmv        slice_ptr narrowed to 32 bits
//! ```
//! The arrays of all but BSR are those that our own kernels read. The library takes indices for signed: PAD, all bits one, is the -1 by
//! which it knows padding; and an index above 2^31 - 1 would be a negative one, so such matrices are refused.

mod bsrmv;
mod described;
mod spmv;
mod spmv_op;

use super::context::Context;
use super::library::require_cusparse;
use crate::gpu::{DeviceMatrix, Vectors};
use crate::vendor::{Indices, VendorLibrary, timed};
use crate::{DeviceError, Stream};
use bsrmv::Bsrmv;
use cudarc::cusparse::sys;
use described::Described;
use sparsight_kernels::{Kernel, Vendor};
use sparsight_matrix::{Dtype, Scalar, Seconds};
use spmv::SpMv;
use spmv_op::SpMvOp;
use std::ffi::{CStr, c_int};
use std::sync::{Arc, Mutex};

const INDICES: Indices = Indices { library: "cuSPARSE" };

const PLAIN: sys::cusparseOperation_t = sys::cusparseOperation_t::CUSPARSE_OPERATION_NON_TRANSPOSE;

/// Refuses a routine that the library which is here does not have.
///
/// # Errors
/// [`DeviceError::CannotRun`] with the first version that has it, or for a routine of another library; [`DeviceError::NoVendor`].
pub(super) fn require_routine(kernel: Kernel) -> Result<(), DeviceError> {
    if let Some(Vendor::Rocsparse(_)) = kernel.vendor() {
        let reason = "rocSPARSE is AMD's, and this is a GPU of NVIDIA".to_owned();
        return Err(DeviceError::CannotRun { kernel: kernel.to_string(), reason });
    }
    let version = cusparse_version()?;
    let (what, since, cuda) = match kernel.vendor() {
        Some(Vendor::Bsr) => ("does not multiply with BSR in its generic interface", (12, 6, 0), "13.0"),
        Some(Vendor::OpAlg1 | Vendor::OpAlg2) => {
            ("has no SpMVOp with a choice of algorithm", (12, 8, 1), "13.3")
        }
        _ => return Ok(()),
    };
    if version >= since {
        return Ok(());
    }
    let ((major, minor, patch), (from_major, from_minor, from_patch)) = (version, since);
    let reason = format!(
        "cuSPARSE {major}.{minor}.{patch} {what}; {from_major}.{from_minor}.{from_patch} of CUDA {cuda} has it"
    );
    Err(DeviceError::CannotRun { kernel: kernel.to_string(), reason })
}

/// A handle of the library on one device.
///
/// # Invariants
/// `raw` was created in `context`, which it outlives nowhere, and queues in the stream of `context`.
#[derive(Debug)]
pub(super) struct Library {
    context: Arc<Context>,
    raw: sys::cusparseHandle_t,
    /// Held during calls of the library.
    alone: Mutex<()>,
}

// SAFETY: the library may be called from any thread whose current context is the handle's.
unsafe impl Send for Library {}
// SAFETY: not from two at once, for which `alone` sees.
unsafe impl Sync for Library {}

impl Library {
    /// Opens the library on the device of `context`.
    ///
    /// # Errors
    /// [`DeviceError::NoVendor`], or a failed call.
    pub(super) fn open(context: &Arc<Context>) -> Result<Self, DeviceError> {
        require_cusparse()?;
        let _entered = context.enter()?;
        let mut raw = std::ptr::null_mut();
        // SAFETY: `raw` is a live pointer; the library is there and the context is current.
        named("cusparseCreate", unsafe { sys::cusparseCreate(&raw mut raw) })?;
        let library = Self { context: Arc::clone(context), raw, alone: Mutex::new(()) };
        // SAFETY: the handle was created above; the stream lives as long as the context.
        named("cusparseSetStream", unsafe { sys::cusparseSetStream(raw, context.stream.cast()) })?;
        Ok(library)
    }
}

/// A call of the library with what it is given.
#[derive(Debug)]
pub(super) enum Call<T> {
    SpMv(SpMv<T>),
    Bsrmv(Bsrmv),
    SpMvOp(SpMvOp<T>),
}

impl VendorLibrary for Library {
    type Driver = Context;
    type Call<T: Scalar> = Call<T>;
    const INDICES: Indices = INDICES;

    fn driver(&self) -> &Arc<Context> {
        &self.context
    }

    fn alone(&self) -> &Mutex<()> {
        &self.alone
    }

    fn set_stream(&self, stream: Stream<'_>) -> Result<(), DeviceError> {
        let stream = stream.as_raw();
        // SAFETY: the handle is alive, and so is the stream while something is queued in it.
        named("cusparseSetStream", unsafe { sys::cusparseSetStream(self.raw, stream.cast()) })
    }

    fn describe<T: Scalar>(
        &self,
        routine: Vendor,
        matrix: &DeviceMatrix,
        vectors: &Vectors,
    ) -> Result<(Call<T>, Seconds), DeviceError> {
        if routine == Vendor::Bsrmv {
            return Ok((Call::Bsrmv(Bsrmv::new(self, matrix)?), Seconds(0.0)));
        }
        let described = Described::new(routine, matrix, T::DTYPE, &self.context)?;
        timed(&*self.context, || {
            Ok(match routine {
                Vendor::OpAlg1 | Vendor::OpAlg2 => {
                    Call::SpMvOp(SpMvOp::new(self, routine, described, matrix, vectors)?)
                }
                _ => Call::SpMv(SpMv::new(self, routine, described, matrix, vectors)?),
            })
        })
    }

    unsafe fn queue<T: Scalar>(&self, call: &mut Call<T>, v: &Vectors) -> Result<(), DeviceError> {
        match call {
            Call::SpMv(call) => call.queue(self, v),
            Call::Bsrmv(call) => call.queue::<T>(self, v),
            Call::SpMvOp(call) => call.queue(self, v),
        }
    }
}

impl Drop for Library {
    fn drop(&mut self) {
        if let Ok(_entered) = self.context.enter() {
            // SAFETY: created in `open`, destroyed only here. Nothing can be done about a failure.
            let _ = unsafe { sys::cusparseDestroy(self.raw) };
        }
    }
}

/// Version of the library, (12, 6, 3). Needs no GPU.
///
/// # Errors
/// [`DeviceError::NoVendor`], [`DeviceError::LoaderPath`].
pub fn cusparse_version() -> Result<(u32, u32, u32), DeviceError> {
    use sys::libraryPropertyType_t as Part;
    require_cusparse()?;
    let part = |part| {
        let mut value: c_int = 0;
        // SAFETY: `value` is a live integer.
        named("cusparseGetProperty", unsafe { sys::cusparseGetProperty(part, &raw mut value) })?;
        Ok::<_, DeviceError>(value.max(0) as u32)
    };
    Ok((part(Part::MAJOR_VERSION)?, part(Part::MINOR_VERSION)?, part(Part::PATCH_LEVEL)?))
}

/// Gives a failed call its name and the library's words.
fn named(call: &str, status: sys::cusparseStatus_t) -> Result<(), DeviceError> {
    if status == sys::cusparseStatus_t::CUSPARSE_STATUS_SUCCESS {
        return Ok(());
    }
    // SAFETY: the library gives a text that lives as long as it does, or null.
    let words = unsafe {
        let text = sys::cusparseGetErrorString(status);
        (!text.is_null()).then(|| CStr::from_ptr(text).to_string_lossy().into_owned())
    };
    let reason = words.map_or_else(|| format!("{status:?}"), |words| format!("{status:?}: {words}"));
    Err(DeviceError::Driver { call: call.to_owned(), reason })
}

const fn value_type(dtype: Dtype) -> sys::cudaDataType {
    match dtype {
        Dtype::F32 => sys::cudaDataType::CUDA_R_32F,
        Dtype::F64 | Dtype::Mixed => sys::cudaDataType::CUDA_R_64F,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cusparse_reports_version_and_status_texts_or_is_absent() {
        match cusparse_version() {
            Ok(version) => {
                assert!(version >= (12, 3, 0), "{version:?}");
                let error =
                    named("a call", sys::cusparseStatus_t::CUSPARSE_STATUS_NOT_SUPPORTED).unwrap_err();
                assert!(
                    error.to_string().starts_with("a call failed: CUSPARSE_STATUS_NOT_SUPPORTED: "),
                    "{error}"
                );
            }
            Err(error @ (DeviceError::NoVendor { .. } | DeviceError::LoaderPath { .. })) => {
                println!("skipped: {error}");
            }
            Err(error) => panic!("{error}"),
        }
    }
}
