//! A routine of a maker's library on one matrix: described once, then queued as often as asked.

use super::VendorLibrary;
use crate::gpu::{DeviceMatrix, Driver, Vectors, VendorProduct};
use crate::{DeviceError, Stream};
use sparsight_kernels::Vendor;
use sparsight_matrix::{Dtype, Scalar, Seconds};
use std::sync::{Arc, Mutex, PoisonError};

/// Launches and copies that one product queues at most. Chosen, above the two or three that profilers show: too many
/// only makes the groups of a batch smaller.
const ENTRIES: u32 = 4;

/// y = A x by a routine of the library, ready to be queued.
///
/// # Invariants
/// The arrays of A outlive it: it belongs to their owner.
#[derive(Debug)]
pub(crate) struct Product<L: VendorLibrary, T: Scalar> {
    /// Bytes of y.
    y_bytes: u64,
    /// `None` without non-zeros: then y is 0, and the library is not asked.
    call: Option<Mutex<L::Call<T>>>,
    preprocess: Seconds,
    /// Dropped last: the descriptors are its.
    library: Arc<L>,
}

impl<L: VendorLibrary, T: Scalar> Drop for Product<L, T> {
    fn drop(&mut self) {
        let call = self.call.take();
        match self.library.driver().enter() {
            Ok(_entered) => drop(call),
            // The device was reset, and what the library keeps there with it.
            Err(_) => std::mem::forget(call),
        }
    }
}

impl<L: VendorLibrary, T: Scalar> Product<L, T> {
    /// Describes the operand to the library, lets it look at the matrix, runs it once, since its kernels are loaded when they first
    /// run, for which the driver waits for the stream, and waits.
    ///
    /// # Errors
    /// [`DeviceError::CannotRun`] if indices are too large for the library, [`DeviceError::Infeasible`] if there is no
    /// memory for its buffer, or a failed call.
    ///
    /// # Safety
    /// The arrays of `matrix` outlive the product; the vectors are as long as it is wide and high.
    ///
    /// # Panics
    /// If `routine` reads another format, or is one of another library.
    unsafe fn prepare(
        library: &Arc<L>,
        routine: Vendor,
        matrix: &DeviceMatrix,
        vectors: &Vectors,
    ) -> Result<Self, DeviceError> {
        let driver = library.driver();
        let _entered = driver.enter()?;
        let size = |name| matrix.number(name).expect("every matrix has rows, columns and non-zeros");
        L::INDICES.limit(matrix, "columns", size("ncols"))?;
        L::INDICES.limit(matrix, "rows", size("nrows"))?;
        let (mut call, mut preprocess) = (None, Seconds(0.0));
        if size("nnz") > 0 {
            // The handle is in the device's own stream meanwhile, for which it is waited below.
            library.in_stream(driver.stream(), || {
                let (described, took) = library.describe(routine, matrix, vectors)?;
                (call, preprocess) = (Some(Mutex::new(described)), took);
                Ok(())
            })?;
        }
        driver.synchronize()?;
        let y_bytes = size("nrows") * T::DTYPE.bytes();
        let product = Self { library: Arc::clone(library), y_bytes, call, preprocess };
        // SAFETY: as the caller promises.
        unsafe { product.queue(vectors, None)? };
        driver.synchronize()?;
        Ok(product)
    }
}

/// A product with the values of `matrix`, as [`Product::prepare`] makes it.
///
/// # Errors
/// As there.
///
/// # Safety
/// As there.
pub(crate) unsafe fn prepared<L: VendorLibrary>(
    library: &Arc<L>,
    routine: Vendor,
    matrix: &DeviceMatrix,
    vectors: &Vectors,
) -> Result<Box<dyn VendorProduct>, DeviceError> {
    // SAFETY: as the caller promises.
    unsafe {
        Ok(match matrix.dtype {
            Dtype::F32 => Box::new(Product::<L, f32>::prepare(library, routine, matrix, vectors)?),
            Dtype::F64 | Dtype::Mixed => {
                Box::new(Product::<L, f64>::prepare(library, routine, matrix, vectors)?)
            }
        })
    }
}

impl<L: VendorLibrary, T: Scalar> VendorProduct for Product<L, T> {
    fn preprocess(&self) -> Seconds {
        self.preprocess
    }

    fn entries(&self) -> u32 {
        ENTRIES
    }

    unsafe fn queue(&self, v: &Vectors, stream: Option<Stream<'_>>) -> Result<(), DeviceError> {
        let library = &self.library;
        let stream = stream.unwrap_or_else(|| library.driver().stream());
        library.in_stream(stream, || match &self.call {
            // SAFETY: as the caller promises; the arrays of A outlive the product.
            Some(call) => unsafe {
                library.queue(&mut *call.lock().unwrap_or_else(PoisonError::into_inner), v)
            },
            None if self.y_bytes == 0 => Ok(()),
            // SAFETY: y is that long and alive.
            None => unsafe { library.driver().queue_zero(v.y, self.y_bytes, stream) },
        })
    }
}
