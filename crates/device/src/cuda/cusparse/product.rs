//! A routine of the library on one matrix: described once, then queued as often as asked.
//!
//! ```text
//! CSR    row_ptr of 32 bits (64 beyond 2^31 - 1 non-zeros), col_idx, values       algorithms 1 and 2, and those of SpMVOp
//! COO    row_idx, col_idx, values
//! SELL   slices of 32 rows, column by column, as ours; padding has column -1      slice_ptr narrowed to 32 bits
//! BSR    bcsr: blocks column by column        the generic routine and bsrmv        slice_ptr narrowed to 32 bits
//! ```
//! The arrays of all but BSR are those that our own kernels read. The library takes indices for signed: PAD, all bits one, is the -1 by
//! which it knows padding; and an index above 2^31 - 1 would be a negative one, so such matrices are refused.

use super::bsrmv::Bsrmv;
use super::described::Described;
use super::spmv::SpMv;
use super::spmv_op::SpMvOp;
use super::{Library, limit};
use crate::cuda::context::named as named_driver;
use crate::gpu::{DeviceMatrix, Vectors, VendorProduct};
use crate::{DeviceError, Stream};
use cudarc::driver::result;
use sparsight_kernels::Vendor;
use sparsight_matrix::{Scalar, Seconds};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// Launches and copies that one product queues at most. Chosen, above the two or three that profilers show: too many
/// only makes the groups of a batch smaller.
const ENTRIES: u32 = 4;

/// y = A x by a routine of the library, ready to be queued.
///
/// # Invariants
/// The arrays of A outlive it: it belongs to their owner.
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

/// A call of the library with what it is given.
#[derive(Debug)]
enum Call<T> {
    SpMv(SpMv<T>),
    Bsrmv(Bsrmv),
    SpMvOp(SpMvOp<T>),
}

impl<T: Scalar> Product<T> {
    /// Describes the operand to the library, lets it look at the matrix (`cusparseSpMV_preprocess`, or the plan of
    /// `cusparseSpMVOp`), runs it once, since its
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
        let size = |name| matrix.number(name).expect("every matrix has rows, columns and non-zeros");
        let (nrows, ncols) = (size("nrows"), size("ncols"));
        limit(matrix, "columns", ncols)?;
        limit(matrix, "rows", nrows)?;
        let (mut call, mut preprocess) = (None, Seconds(0.0));
        if size("nnz") > 0 {
            // The handle is in the context's own stream meanwhile, for which it is waited below.
            library.in_stream(None, || {
                let described = if routine == Vendor::Bsrmv {
                    Call::Bsrmv(Bsrmv::new(library, matrix)?)
                } else {
                    let described = Described::new(routine, matrix, T::DTYPE, (nrows, ncols), context)?;
                    // What we narrow for it is not the library's time.
                    context.synchronize()?;
                    let (start, size) = (Instant::now(), (nrows, ncols));
                    let call = if matches!(routine, Vendor::OpAlg1 | Vendor::OpAlg2) {
                        Call::SpMvOp(SpMvOp::new(library, routine, described, size, vectors)?)
                    } else {
                        Call::SpMv(SpMv::new(library, routine, described, size, vectors)?)
                    };
                    context.synchronize()?;
                    preprocess = Seconds(start.elapsed().as_secs_f64());
                    call
                };
                call = Some(Mutex::new(described));
                Ok(())
            })?;
        }
        context.synchronize()?;
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
            Some(call) => match &mut *call.lock().unwrap_or_else(PoisonError::into_inner) {
                Call::SpMv(call) => call.queue(library, v),
                Call::Bsrmv(call) => call.queue::<T>(library, v),
                Call::SpMvOp(call) => call.queue(library, v),
            },
            None if self.y_bytes == 0 => Ok(()),
            None => {
                let stream = stream.unwrap_or(library.context.stream);
                // SAFETY: y is that long and alive.
                let set = unsafe { result::memset_d8_async(v.y, 0, self.y_bytes, stream) };
                named_driver("cuMemsetD8Async", set)
            }
        })
    }
}
