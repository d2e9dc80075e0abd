//! The vendor's library, rocSPARSE: found when the program runs. Its generic product `rocsparse_spmv`, in three stages.
//!
//! ```text
//! CSR    row_ptr of 32 bits (64 beyond 2^31 - 1 non-zeros), col_idx, values       default, adaptive, stream and LRB
//! COO    row_idx, col_idx, values
//! ELL    column by column; padding has column -1                                  rows a multiple of 32, since ours are padded to that
//! BSR    bcsr: blocks column by column                                            slice_ptr narrowed to 32 bits
//! ```
//! As to cuSPARSE, indices are signed, and larger ones are refused (`vendor/`). Left out: the atomic COO and `rocsparse_v2_spmv`, which
//! not all versions have; `rocsparse_sbsrmv` and its like, which the generic product of BSR calls itself.
//!
//! **It has not run on a GPU of AMD yet**, as all of this backend: a stand-in shows that arguments are as the headers say.

mod api;
mod spmv;

use super::context::Context;
use crate::gpu::{DeviceMatrix, Vectors};
use crate::vendor::{Indices, VendorLibrary, timed};
use crate::{DeviceError, Stream};
use api::{OPENING, Rocsparse as Api, named};
use sparsight_kernels::{Kernel, Rocsparse, Vendor};
use sparsight_matrix::{Scalar, Seconds};
use spmv::{Described, SpMv};
use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::{Arc, Mutex};

const INDICES: Indices = Indices { library: "rocSPARSE" };

/// Oldest library that is used, of `ROCm` 6.0.
const OLDEST: (u32, u32) = (3, 0);
/// The first with the LRB algorithm, of `ROCm` 6.1.
const FIRST_LRB: (u32, u32) = (3, 1);

/// A handle of the library on one device.
///
/// # Invariants
/// `raw` was created on the device of `context`, which it outlives nowhere.
#[derive(Debug)]
pub(super) struct Library {
    context: Arc<Context>,
    api: &'static Api,
    raw: *mut c_void,
    version: (u32, u32),
    /// Held during calls of the library.
    alone: Mutex<()>,
}

// SAFETY: the library may be called from any thread whose current device is the handle's.
unsafe impl Send for Library {}
// SAFETY: not from two at once, for which `alone` sees.
unsafe impl Sync for Library {}

impl Library {
    /// Opens the library on the device of `context`.
    ///
    /// # Errors
    /// [`DeviceError::NoVendor`]; [`DeviceError::Driver`] for a library that is too old, or a failed call.
    pub(super) fn open(context: &Arc<Context>) -> Result<Self, DeviceError> {
        let api = api::rocsparse()?;
        let _entered = crate::gpu::Driver::enter(&**context)?;
        let mut raw = ptr::null_mut();
        // SAFETY: the pointer is to a live handle; the device is current.
        named("rocsparse_create_handle", unsafe { (api.rocsparse_create_handle)(&raw mut raw) })?;
        let (context, alone) = (Arc::clone(context), Mutex::new(()));
        let mut library = Self { context, api, raw, version: (0, 0), alone };
        let mut version: c_int = 0;
        // SAFETY: the handle was created above, and the pointer is to a live number.
        let asked = unsafe { (api.rocsparse_get_version)(raw, &raw mut version) };
        named("rocsparse_get_version", asked)?;
        // A hundred thousand for a version, a hundred for its second part.
        let number = version.unsigned_abs();
        library.version = (number / 100_000, number / 100 % 1000);
        if library.version < OLDEST {
            let (major, minor) = library.version;
            let reason = format!("it is rocSPARSE {major}.{minor}, 3.0 of ROCm 6.0 is the oldest that works");
            return Err(DeviceError::Driver { call: OPENING.to_owned(), reason });
        }
        Ok(library)
    }

    /// Refuses a routine that the library which is here does not have.
    ///
    /// # Errors
    /// [`DeviceError::CannotRun`] with the first version that has it.
    pub(super) fn require_routine(&self, kernel: Kernel) -> Result<(), DeviceError> {
        if kernel.vendor() != Some(Vendor::Rocsparse(Rocsparse::CsrLrb)) || self.version >= FIRST_LRB {
            return Ok(());
        }
        let (major, minor) = self.version;
        let reason = format!("rocSPARSE {major}.{minor} has no LRB algorithm; 3.1 of ROCm 6.1 has it");
        Err(DeviceError::CannotRun { kernel: kernel.to_string(), reason })
    }
}

impl Drop for Library {
    fn drop(&mut self) {
        if let Ok(_entered) = crate::gpu::Driver::enter(&*self.context) {
            // SAFETY: created in `open`, destroyed only here. Nothing can be done about a failure.
            let _ = unsafe { (self.api.rocsparse_destroy_handle)(self.raw) };
        }
    }
}

impl VendorLibrary for Library {
    type Driver = Context;
    type Call<T: Scalar> = SpMv<T>;
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
        named("rocsparse_set_stream", unsafe { (self.api.rocsparse_set_stream)(self.raw, stream) })
    }

    fn describe<T: Scalar>(
        &self,
        routine: Vendor,
        matrix: &DeviceMatrix,
        vectors: &Vectors,
    ) -> Result<(SpMv<T>, Seconds), DeviceError> {
        let Vendor::Rocsparse(routine) = routine else { unreachable!("it is cuSPARSE's") };
        let described = Described::new(self, routine, matrix, T::DTYPE)?;
        timed(&*self.context, || SpMv::new(self, routine, described, matrix, vectors))
    }

    unsafe fn queue<T: Scalar>(&self, call: &mut SpMv<T>, v: &Vectors) -> Result<(), DeviceError> {
        call.queue(self, v)
    }
}
