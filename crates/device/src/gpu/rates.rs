//! Measured rates of a GPU: what a launch and a small product cost, copies within the device, uploads.

use super::batch::BatchTimer;
use super::driver::Driver;
use super::{BatchRequest, DeviceArray, Memory};
use crate::DeviceError;
use crate::timing::{Caches, StoppingRule, measure, try_took};
use sparsight_kernels::{DeviceFacts, LaunchCost};
use std::sync::Arc;

/// Bytes that the copy within the device moves, unless that is more than an eighth of its free memory: far more
/// than any L2 cache holds.
const COPY_BYTES: u64 = 1 << 30;

/// Bytes of the upload that is timed: large enough that what a transfer costs once does not count.
const UPLOAD_BYTES: usize = 128 << 20;

/// Uploads that are timed; the median counts.
const UPLOADS: usize = 5;

/// Rows, and non-zeros, of the small matrix. Chosen: a warp.
const SMALL_ROWS: u64 = 32;

/// Places in memory at which the small matrix lies, each of which is multiplied in turn, and 32-bit words from one to the next: where
/// arrays lie changes what a product of few rows takes by some hundredths of a microsecond, from process to process.
const PLACES: usize = 16;
const PLACE_WORDS: usize = 1 << 16;

/// 32-bit words from one array of the small matrix to the next.
const ARRAY_WORDS: usize = 1 << 10;

/// `facts` with the rates, measured now: launch and small product, copies within the device, uploads.
pub(crate) fn with_rates<D: Driver>(
    facts: &DeviceFacts,
    driver: &Arc<D>,
    timer: &BatchTimer<D>,
) -> Result<DeviceFacts, DeviceError> {
    let LaunchCost { launch_s, small_product_s } = launch_cost(driver, timer, &StoppingRule::CAREFUL)?;
    Ok(DeviceFacts {
        copy_bytes_per_s: copy_rate(driver, timer)?,
        launch_s,
        small_product_s,
        upload_bytes_per_s: Some(upload_rate(driver)?),
        ..facts.clone()
    })
}

/// Time of one launch of an empty kernel and of one small product among many, by the very estimator that times products.
pub(crate) fn launch_cost<D: Driver>(
    driver: &Arc<D>,
    timer: &BatchTimer<D>,
    rule: &StoppingRule,
) -> Result<LaunchCost, DeviceError> {
    let took = |queue: &mut dyn FnMut() -> Result<(), DeviceError>| {
        let batch = |count| timer.time(BatchRequest::alone(count, Caches::Warm), queue);
        measure(batch, rule).map(|timing| timing.time)
    };
    let launch_s = took(&mut || timer.queue_empty())?;
    let memory: Arc<dyn Memory> = Arc::clone(driver) as _;
    let small = DeviceArray::of(&memory, &small_matrices())?;
    let mut turn = 0;
    let mut product = || {
        let place = small.address() + 4 * (turn % PLACES * PLACE_WORDS) as u64;
        turn += 1;
        let array = |number: usize| place + 4 * (number * ARRAY_WORDS) as u64;
        let args = [SMALL_ROWS, array(0), array(1), array(2), array(3), array(4)];
        // SAFETY: `small_matrices` laid them out so; they outlive the batch, which waits for its products.
        unsafe { timer.queue_small_product(&args) }
    };
    let small_product_s = Some(took(&mut product)?);
    Ok(LaunchCost { launch_s, small_product_s })
}

/// Unit matrices with their x and room for y, one at each of the places: offsets, columns, values, x, y.
fn small_matrices() -> Vec<u32> {
    let rows = SMALL_ROWS as u32;
    let ones = vec![1.0_f32.to_bits(); rows as usize];
    let arrays: [Vec<u32>; 4] = [(0..=rows).collect(), (0..rows).collect(), ones.clone(), ones];
    let mut words = vec![0; PLACES * PLACE_WORDS];
    for place in words.chunks_exact_mut(PLACE_WORDS) {
        for (array, data) in place.chunks_exact_mut(ARRAY_WORDS).zip(&arrays) {
            array[..data.len()].copy_from_slice(data);
        }
    }
    words
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_matrix_lies_at_each_place() {
        let words = small_matrices();
        for place in 0..PLACES {
            let array = |number: usize| &words[place * PLACE_WORDS + number * ARRAY_WORDS..][..ARRAY_WORDS];
            let [offsets, columns, values, x, y] = [0, 1, 2, 3, 4].map(array);
            for row in 0..SMALL_ROWS as usize {
                assert_eq!(
                    (offsets[row], offsets[row + 1], columns[row]),
                    (row as u32, row as u32 + 1, row as u32)
                );
                assert_eq!([values[row], x[row]], [1.0_f32.to_bits(); 2]);
            }
            assert!(y.iter().all(|word| *word == 0));
        }
    }
}
