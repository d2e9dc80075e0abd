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

/// Places in memory at which the small matrix lies, each of which is multiplied in turn, and 32-bit words from one to the next, at least:
/// where arrays lie changes what a product of few rows takes by some hundredths of a microsecond, from process to process.
const PLACES: usize = 16;
const PLACE_WORDS: usize = 1 << 16;

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
    let (words, array_words) = small_matrices(timer.small_rows());
    let place_words = words.len() / PLACES;
    let small = DeviceArray::of(&memory, &words)?;
    let mut turn = 0;
    let mut product = || {
        let place = turn % PLACES * place_words;
        turn += 1;
        let arrays =
            [0, 1, 2, 3, 4].map(|number| small.address() + 4 * (place + number * array_words) as u64);
        // SAFETY: `small_matrices` laid them out so; they outlive the batch, which waits for its products.
        unsafe { timer.queue_small_product(&arrays) }
    };
    let small_product_s = Some(took(&mut product)?);
    Ok(LaunchCost { launch_s, small_product_s })
}

/// Unit matrices of `rows` rows with their x and room for y, one at each of the places: offsets, columns, values, x, y. And the words from
/// one of these arrays to the next.
fn small_matrices(rows: u32) -> (Vec<u32>, usize) {
    let ones = vec![1.0_f32.to_bits(); rows as usize];
    let arrays: [Vec<u32>; 4] = [(0..=rows).collect(), (0..rows).collect(), ones.clone(), ones];
    let array_words = arrays[0].len().next_power_of_two();
    let place_words = PLACE_WORDS.max(8 * array_words);
    let mut words = vec![0; PLACES * place_words];
    for place in words.chunks_exact_mut(place_words) {
        for (array, data) in place.chunks_exact_mut(array_words).zip(&arrays) {
            array[..data.len()].copy_from_slice(data);
        }
    }
    (words, array_words)
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
        for rows in [1, 32 * 132, 32 * 304] {
            let (words, array_words) = small_matrices(rows);
            for place in words.chunks_exact(words.len() / PLACES) {
                let array = |number: usize| &place[number * array_words..][..array_words];
                let [offsets, columns, values, x, y] = [0, 1, 2, 3, 4].map(array);
                for row in 0..rows as usize {
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
}
