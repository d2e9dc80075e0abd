//! Measured rates of a GPU: what a launch costs, copies within the device, uploads.

use super::batch::BatchTimer;
use super::driver::Driver;
use super::{BatchRequest, DeviceArray, Memory};
use crate::DeviceError;
use crate::timing::{Caches, StoppingRule, measure, try_took};
use sparsight_kernels::DeviceFacts;
use sparsight_matrix::Seconds;
use std::sync::Arc;

/// Bytes that the copy within the device moves, unless that is more than an eighth of its free memory: far more
/// than any L2 cache holds.
const COPY_BYTES: u64 = 1 << 30;

/// Bytes of the upload that is timed: large enough that what a transfer costs once does not count.
const UPLOAD_BYTES: usize = 128 << 20;

/// Uploads that are timed; the median counts.
const UPLOADS: usize = 5;

/// `facts` with the rates, measured now: launch cost, copies within the device, uploads.
pub(crate) fn with_rates<D: Driver>(
    facts: &DeviceFacts,
    driver: &Arc<D>,
    timer: &BatchTimer<D>,
) -> Result<DeviceFacts, DeviceError> {
    Ok(DeviceFacts {
        copy_bytes_per_s: copy_rate(driver, timer)?,
        launch_s: launch_cost(timer, &StoppingRule::CAREFUL)?,
        upload_bytes_per_s: Some(upload_rate(driver)?),
        ..facts.clone()
    })
}

/// Time of one launch of an empty kernel among many, by the very estimator that times products.
pub(crate) fn launch_cost<D: Driver>(
    timer: &BatchTimer<D>,
    rule: &StoppingRule,
) -> Result<Seconds, DeviceError> {
    let batch = |count| timer.time(BatchRequest::alone(count, Caches::Warm), &mut || timer.queue_empty());
    Ok(measure(batch, rule)?.time)
}

/// Bytes read plus bytes written a second by a copy within the device.
fn copy_rate<D: Driver>(driver: &Arc<D>, timer: &BatchTimer<D>) -> Result<f64, DeviceError> {
    let free = driver.free_bytes()?;
    let bytes = (COPY_BYTES.min(free / 8) / 4 * 4) as usize;
    if bytes == 0 {
        return Ok(0.0);
    }
    let memory: Arc<dyn Memory> = Arc::clone(driver) as _;
    let from = DeviceArray::<u32>::zeroed(&memory, bytes / 4)?;
    let to = DeviceArray::<u32>::zeroed(&memory, bytes / 4)?;
    let mut copy = || {
        // SAFETY: both arrays are that long and outlive the batch, which waits for its copies.
        unsafe { driver.queue_copy(to.address(), from.address(), bytes as u64) }
    };
    let batch = |count| timer.time(BatchRequest::alone(count, Caches::Warm), &mut copy);
    let time = measure(batch, &StoppingRule::CAREFUL)?.time;
    Ok(if time.0 > 0.0 { 2.0 * bytes as f64 / time.0 } else { 0.0 })
}

/// Bytes a second from ordinary, pageable host memory, which is where matrices come from, the way that large arrays go:
/// through pinned buffers.
fn upload_rate<D: Driver>(driver: &Arc<D>) -> Result<f64, DeviceError> {
    let data = vec![1_u32; UPLOAD_BYTES / 4];
    let memory: Arc<dyn Memory> = Arc::clone(driver) as _;
    let mut array = DeviceArray::of(&memory, &data)?;
    let mut times = Vec::with_capacity(UPLOADS);
    for _ in 0..UPLOADS {
        let ((), time) = try_took(|| array.write(&data))?;
        times.push(time.0);
    }
    times.sort_unstable_by(f64::total_cmp);
    Ok(UPLOAD_BYTES as f64 / times[UPLOADS / 2])
}
