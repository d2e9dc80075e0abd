//! The arrays of a pattern, which belong to the program: read within one of its calls, or by the worker while their descriptor lives.

use crate::gpu::Gpu;
use crate::product::Key;
use crate::totals::Totals;
use crate::worker;
use bytemuck::Pod;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Bytes that are read at a time: short enough that the program does not wait for long when it destroys the descriptor.
const PIECE: usize = 16 << 20;

/// What is known of a pattern beside its progress.
#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) key: Key,
    pub(crate) totals: Arc<Totals>,
    /// True after a preprocess step: the pattern stays what it is, so that tables may be made of it.
    pub(crate) stays: bool,
    /// Set when its descriptor is destroyed, after which nothing of it is read.
    is_gone: AtomicBool,
    /// Held while a piece of its arrays is read.
    reading: Mutex<()>,
}

impl Source {
    pub(crate) fn new(key: Key, totals: Arc<Totals>, stays: bool) -> Self {
        Self { key, totals, stays, is_gone: AtomicBool::new(false), reading: Mutex::new(()) }
    }

    /// Ends all reading: the descriptor is destroyed.
    pub(crate) fn leave(&self) {
        self.is_gone.store(true, Ordering::SeqCst);
        drop(self.reading.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// The row offsets, from 0 on. `None` if they cannot be read or are none.
    pub(crate) fn row_offsets(&self, gpu: &Gpu) -> Option<Vec<u64>> {
        let Key { row_ptr, nrows, nnz, offset_bytes, base, .. } = self.key;
        let count = nrows as usize + 1;
        let mut offsets = if offset_bytes == 8 {
            self.read(gpu, row_ptr, count)?
        } else {
            self.read::<u32>(gpu, row_ptr, count)?.into_iter().map(u64::from).collect()
        };
        let is_sorted = offsets.is_sorted();
        for offset in &mut offsets {
            *offset = offset.wrapping_sub(base);
        }
        (offsets[0] == 0 && is_sorted && offsets[count - 1] == nnz).then_some(offsets)
    }

    /// The columns, from 0 on. `None` if they cannot be read.
    pub(crate) fn columns(&self, gpu: &Gpu) -> Option<Vec<u32>> {
        let mut columns = self.read::<u32>(gpu, self.key.col_idx, self.key.nnz as usize)?;
        for column in &mut columns {
            *column = column.wrapping_sub(self.key.base as u32);
        }
        Some(columns)
    }

    /// A copy of an array of the program, as long as its descriptor lives.
    pub(crate) fn read<N: Pod>(&self, gpu: &Gpu, address: u64, count: usize) -> Option<Vec<N>> {
        let memory = gpu.cuda.as_gpu().gpu().memory();
        let mut numbers = vec![N::zeroed(); count];
        let mut at = address;
        for piece in bytemuck::cast_slice_mut::<N, u8>(&mut numbers).chunks_mut(PIECE) {
            let _reading = self.reading.lock().unwrap_or_else(PoisonError::into_inner);
            if self.is_gone.load(Ordering::SeqCst) || worker::is_stopped() {
                return None;
            }
            // SAFETY: the descriptor says that the array is that long; the driver refuses what is not there.
            unsafe { memory.read(at, piece).ok()? };
            at += piece.len() as u64;
        }
        Some(numbers)
    }
}
