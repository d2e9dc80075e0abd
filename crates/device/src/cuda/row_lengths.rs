//! Row lengths of a CSR of another library, counted in its stream and asked for without waiting.

use super::Cuda;
use super::context::Context;
use super::module::Module;
use super::shared_words::SharedWords;
use crate::gpu::{DeviceArray, LaunchShape, Memory, Module as _};
use crate::{DeviceError, Stream};
use sparsight_kernels::{HELPER_BLOCK, row_lengths_source};
use std::sync::{Arc, Mutex, PoisonError};

/// Matrices that are counted at the same time.
const SLOTS: usize = 64;
/// Words of an answer: three numbers of two words, the sign that they are there, and one to fill up.
const WORDS: usize = 8;
const IS_THERE: usize = 6;
/// Sums of a slot before a launch.
const BEFORE: [u64; 4] = [u64::MAX, 0, 0, 0];

/// Counts row lengths on a device.
#[derive(Debug)]
pub struct RowLengthCounter {
    context: Arc<Context>,
    module: Module,
    sums: DeviceArray<u64>,
    answers: SharedWords,
    most_blocks: u32,
    /// Slots that no launch uses.
    free: Mutex<Vec<usize>>,
}

/// A count that was queued. It has to be [taken](RowLengthCounter::take) once it is there.
#[derive(Debug)]
pub struct QueuedCount(usize);

/// What decision rules ask of the row offsets of a matrix.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RowLengthSummary {
    /// Length of the shortest row.
    pub min: u64,
    /// Length of the longest row.
    pub max: u64,
    /// Sum of the squares of the lengths.
    pub squares: u64,
}

impl Cuda {
    /// A counter for streams of this device.
    ///
    /// # Errors
    /// [`DeviceError::Compile`], or a failed call.
    pub fn row_length_counter(&self) -> Result<RowLengthCounter, DeviceError> {
        let context = Arc::clone(&self.gpu.context);
        let memory: Arc<dyn Memory> = Arc::clone(&context) as _;
        Ok(RowLengthCounter {
            module: self.gpu.compiler.load(&context, &row_lengths_source())?,
            sums: DeviceArray::of(&memory, &BEFORE.repeat(SLOTS))?,
            answers: SharedWords::new(&context, SLOTS * WORDS)?,
            most_blocks: self.gpu.facts.multiprocessors.max(1) * 4,
            free: Mutex::new((0..SLOTS).collect()),
            context,
        })
    }
}

impl RowLengthCounter {
    /// Queues the count of the `nrows` rows whose offsets, of `offset_bytes` each, lie at `row_ptr`. `None` while all slots are used.
    ///
    /// # Errors
    /// A failed call.
    ///
    /// # Safety
    /// The offsets are there when the stream comes to it.
    pub unsafe fn queue(
        &self,
        row_ptr: u64,
        nrows: u64,
        offset_bytes: u64,
        stream: Stream<'_>,
    ) -> Result<Option<QueuedCount>, DeviceError> {
        let Some(slot) = self.free().pop() else { return Ok(None) };
        self.answers.set(slot * WORDS + IS_THERE, 0);
        let sums = self.sums.address() + (slot * size_of_val(&BEFORE)) as u64;
        let answer = self.answers.address() + (slot * WORDS * size_of::<u32>()) as u64;
        let blocks = nrows.div_ceil(u64::from(HELPER_BLOCK)).clamp(1, u64::from(self.most_blocks)) as u32;
        let shape = LaunchShape::linear(blocks, HELPER_BLOCK);
        let args = [nrows, row_ptr, u64::from(offset_bytes == 8), sums, answer];
        // SAFETY: as the caller promises; sums and answer are the slot's.
        let queued = unsafe { self.module.queue(0, shape, &args, Some(stream)) };
        if queued.is_err() {
            self.free().push(slot);
        }
        queued.map(|()| Some(QueuedCount(slot)))
    }

    /// The numbers once they are there; else the count is given back.
    ///
    /// # Errors
    /// The count itself, while the device has not come to it.
    pub fn take(&self, count: QueuedCount) -> Result<RowLengthSummary, QueuedCount> {
        let word = |at: usize| u64::from(self.answers.get(count.0 * WORDS + at));
        if word(IS_THERE) == 0 {
            return Err(count);
        }
        let [min, max, squares] = [0, 2, 4].map(|at| word(at) | word(at + 1) << 32);
        self.free().push(count.0);
        Ok(RowLengthSummary { min, max, squares })
    }

    fn free(&self) -> std::sync::MutexGuard<'_, Vec<usize>> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for RowLengthCounter {
    fn drop(&mut self) {
        // A launch may still write to the answers.
        let _ = self.context.synchronize();
    }
}
