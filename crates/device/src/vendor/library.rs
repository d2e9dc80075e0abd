//! A maker's sparse library on one device.

use super::Indices;
use crate::gpu::{DeviceMatrix, Driver, Vectors};
use crate::timing::try_took;
use crate::{DeviceError, Stream};
use sparsight_kernels::Vendor;
use sparsight_matrix::{Scalar, Seconds};
use std::fmt::Debug;
use std::sync::{Arc, Mutex, PoisonError};

/// A handle of the library on one device, bound to the stream in which everything runs, so that a product of the library's stands in
/// the queue as one of ours does.
pub(crate) trait VendorLibrary: Debug + Send + Sync + 'static {
    /// The driver through which the device is reached.
    type Driver: Driver;
    /// A routine on one matrix, with what it is given.
    type Call<T: Scalar>: Debug + Send;
    /// The library's indices.
    const INDICES: Indices;

    /// The device.
    fn driver(&self) -> &Arc<Self::Driver>;

    /// Held during calls of the library.
    fn alone(&self) -> &Mutex<()>;

    /// Lets the library queue in `stream`. The device is entered.
    ///
    /// # Errors
    /// A failed call.
    fn set_stream(&self, stream: Stream<'_>) -> Result<(), DeviceError>;

    /// Describes a matrix with non-zeros and the vectors, and lets the library look at them. What the library's own part took.
    ///
    /// # Errors
    /// [`DeviceError::CannotRun`] for a matrix that the library does not take, [`DeviceError::Infeasible`] if there is no memory for
    /// its buffer, or a failed call.
    fn describe<T: Scalar>(
        &self,
        routine: Vendor,
        matrix: &DeviceMatrix,
        vectors: &Vectors,
    ) -> Result<(Self::Call<T>, Seconds), DeviceError>;

    /// Queues one product.
    ///
    /// # Errors
    /// A failed call.
    ///
    /// # Safety
    /// The arrays of the matrix are alive; the vectors are on the device and as long as it is wide and high.
    unsafe fn queue<T: Scalar>(&self, call: &mut Self::Call<T>, vectors: &Vectors)
    -> Result<(), DeviceError>;

    /// Queues what `queue` queues in `stream`; one thread at a time.
    ///
    /// # Errors
    /// The error of `queue`, or a failed call.
    fn in_stream(
        &self,
        stream: Stream<'_>,
        queue: impl FnOnce() -> Result<(), DeviceError>,
    ) -> Result<(), DeviceError> {
        let _entered = self.driver().enter()?;
        let _alone = self.alone().lock().unwrap_or_else(PoisonError::into_inner);
        // Said each time: what the call before has set is of no meaning then, whichever way it ended.
        self.set_stream(stream)?;
        queue()
    }
}

/// What `make` makes, and what that took on the device.
///
/// # Errors
/// The error of `make`, or a failed call.
pub(crate) fn timed<C>(
    driver: &impl Driver,
    make: impl FnOnce() -> Result<C, DeviceError>,
) -> Result<(C, Seconds), DeviceError> {
    // What was queued for it before is not the library's time.
    driver.synchronize()?;
    try_took(|| {
        let made = make()?;
        driver.synchronize()?;
        Ok(made)
    })
}

/// The library in `place`, opened when it is first asked for.
///
/// # Errors
/// The error of `open`.
pub(crate) fn library_of<L>(
    place: &Mutex<Option<Arc<L>>>,
    open: impl FnOnce() -> Result<L, DeviceError>,
) -> Result<Arc<L>, DeviceError> {
    let mut library = place.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(library) = &*library {
        return Ok(Arc::clone(library));
    }
    Ok(Arc::clone(library.insert(Arc::new(open()?))))
}
