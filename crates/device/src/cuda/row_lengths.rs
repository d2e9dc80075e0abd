//! Row lengths of a CSR of another library, counted in its stream and asked for without waiting.

use super::Cuda;
use super::context::Context;
use super::module::Module;
use crate::gpu::{DeviceArray, LaunchShape, Memory, Module as _, SharedWords};
use crate::{DeviceError, Stream};
use cudarc::driver::result;
use sparsight_kernels::{HELPER_BLOCK, row_lengths_source};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Counts that are queued or not yet taken at the same time. Chosen: a program may have a thousand matrices under way.
const SLOTS: usize = 2048;
/// Words of an answer: three numbers of two words, the sign that they are there, and one to fill up.
const WORDS: usize = 8;
const IS_THERE: usize = 6;
/// Sums of a slot before a launch.
const BEFORE: [u64; 4] = [u64::MAX, 0, 0, 0];

/// Counts row lengths on a device.
#[derive(Debug)]
pub struct RowLengthCounter {
    module: Module,
    sums: DeviceArray<u64>,
    slots: Arc<Slots>,
    most_blocks: u32,
}

/// Places for answers.
#[derive(Debug)]
struct Slots {
    context: Arc<Context>,
    answers: SharedWords<Context>,
    state: Mutex<SlotState>,
}

#[derive(Debug, Default)]
struct SlotState {
    /// Those that no launch uses.
    free: Vec<usize>,
    /// Those whose counts were dropped while a launch may still write to them.
    left: Vec<usize>,
}

/// A count that was queued.
#[derive(Debug)]
pub struct QueuedCount {
    slot: usize,
    slots: Arc<Slots>,
}

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
            slots: Arc::new(Slots {
                answers: SharedWords::new(&context, SLOTS * WORDS)?,
                state: Mutex::new(SlotState { free: (0..SLOTS).collect(), left: Vec::new() }),
                context,
            }),
            most_blocks: self.gpu.facts.multiprocessors.max(1) * 4,
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
        let _entered = self.slots.context.enter()?;
        let Some(slot) = self.slots.take() else { return Ok(None) };
        let answers = &self.slots.answers;
        answers.set(slot * WORDS + IS_THERE, 0);
        let sums = self.sums.address() + (slot * size_of_val(&BEFORE)) as u64;
        let answer = answers.address() + (slot * WORDS * size_of::<u32>()) as u64;
        let blocks = nrows.div_ceil(u64::from(HELPER_BLOCK)).clamp(1, u64::from(self.most_blocks)) as u32;
        let shape = LaunchShape::linear(blocks, HELPER_BLOCK);
        let args = [nrows, row_ptr, u64::from(offset_bytes == 8), sums, answer];
        // SAFETY: as the caller promises; sums and answer are the slot's.
        let queued = unsafe { self.module.queue(0, shape, &args, Some(stream)) };
        if queued.is_err() {
            self.slots.state().free.push(slot);
        }
        queued.map(|()| Some(QueuedCount { slot, slots: Arc::clone(&self.slots) }))
    }
}

impl QueuedCount {
    /// The numbers, `None` while the device has not come to the count, and after a reset of the device.
    pub fn summary(&self) -> Option<RowLengthSummary> {
        if !self.slots.is_there(self.slot) {
            return None;
        }
        let word = |at: usize| u64::from(self.slots.answers.get(self.slot * WORDS + at));
        let [min, max, squares] = [0, 2, 4].map(|at| word(at) | word(at + 1) << 32);
        Some(RowLengthSummary { min, max, squares })
    }
}

impl Drop for QueuedCount {
    fn drop(&mut self) {
        let is_there = self.slots.is_there(self.slot);
        let mut state = self.slots.state();
        if is_there { state.free.push(self.slot) } else { state.left.push(self.slot) }
    }
}

impl Slots {
    fn state(&self) -> MutexGuard<'_, SlotState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns whether the answer of a slot is there, so that no launch uses it any more. A reset of the device takes the answers away.
    fn is_there(&self, slot: usize) -> bool {
        self.context.is_alive() && self.answers.get(slot * WORDS + IS_THERE) != 0
    }

    /// A slot that no launch uses.
    fn take(&self) -> Option<usize> {
        let mut state = self.state();
        let left = |state: &mut SlotState| {
            let at = state.left.iter().position(|slot| self.is_there(*slot))?;
            Some(state.left.swap_remove(at))
        };
        state.free.pop().or_else(|| left(&mut state))
    }
}

impl Drop for RowLengthCounter {
    fn drop(&mut self) {
        // A launch in another stream may still write to the answers.
        if let Ok(_entered) = self.slots.context.enter() {
            let _ = result::ctx::synchronize();
        }
    }
}
