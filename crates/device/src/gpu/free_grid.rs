//! Kernels that take any number of blocks: each thread does what is left over by the others.

use super::{LaunchShape, Module};
use crate::{DeviceError, Stream};
use sparsight_kernels::HELPER_BLOCK;
use std::sync::Arc;

/// Blocks a multiprocessor: 8 of 256 threads fill it, and twice that evens out.
const BLOCKS_PER_MULTIPROCESSOR: u64 = 16;

/// Loaded kernels of a free grid. Launches are queued and not waited for.
#[derive(Debug)]
pub(super) struct FreeGrid {
    module: Arc<dyn Module>,
    /// Entry points, in the order of the source.
    entry_points: Vec<String>,
    most_blocks: u64,
}

impl FreeGrid {
    pub(super) fn new(module: Arc<dyn Module>, entry_points: Vec<String>, multiprocessors: u32) -> Self {
        let most_blocks = u64::from(multiprocessors) * BLOCKS_PER_MULTIPROCESSOR;
        Self { module, entry_points, most_blocks: most_blocks.max(1) }
    }

    /// Launches `kernel` in the GPU's own stream with a thread for each of `elements`, or with as many as fill the device;
    /// nothing for none.
    ///
    /// # Safety
    /// The arguments are the kernel's, and it stays within the arrays that they name.
    ///
    /// # Panics
    /// If there is no such kernel.
    pub(super) unsafe fn launch(&self, kernel: &str, elements: u64, args: &[u64]) -> Result<(), DeviceError> {
        // SAFETY: as the caller promises.
        unsafe { self.launch_in(None, kernel, elements, args) }
    }

    /// Launches in `stream`.
    ///
    /// # Safety
    /// As [`FreeGrid::launch`].
    ///
    /// # Panics
    /// As there.
    pub(super) unsafe fn launch_in(
        &self,
        stream: Option<Stream<'_>>,
        kernel: &str,
        elements: u64,
        args: &[u64],
    ) -> Result<(), DeviceError> {
        if elements == 0 {
            return Ok(());
        }
        let at = self.entry_points.iter().position(|entry| *entry == kernel);
        let at = at.expect("the source has the kernels that are named");
        let grid = elements.div_ceil(u64::from(HELPER_BLOCK)).min(self.most_blocks) as u32;
        // SAFETY: as the caller promises.
        unsafe { self.module.queue(at, LaunchShape::linear(grid, HELPER_BLOCK), args, stream) }
    }
}
