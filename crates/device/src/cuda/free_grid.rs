//! Kernels that take any number of blocks: each thread does what is left over by the others.

use super::Cuda;
use super::module::Module;
use crate::DeviceError;
use sparsight_kernels::HELPER_BLOCK;
use std::sync::Arc;

/// Blocks a multiprocessor: 8 of 256 threads fill it, and twice that evens out.
const BLOCKS_PER_MULTIPROCESSOR: u64 = 16;

/// Such kernels, loaded. Launches are queued and not waited for.
#[derive(Debug)]
pub(super) struct FreeGrid {
    module: Arc<Module>,
    most_blocks: u64,
}

impl FreeGrid {
    pub(super) fn new(cuda: &Cuda, module: Arc<Module>) -> Self {
        let most_blocks = u64::from(cuda.facts.multiprocessors) * BLOCKS_PER_MULTIPROCESSOR;
        Self { module, most_blocks: most_blocks.max(1) }
    }

    /// Launches `kernel` with a thread for each of `elements`, or with as many as fill the device; nothing for none.
    pub(super) fn launch(&self, kernel: usize, elements: u64, args: &[u64]) -> Result<(), DeviceError> {
        if elements == 0 {
            return Ok(());
        }
        let grid = elements.div_ceil(u64::from(HELPER_BLOCK)).min(self.most_blocks) as u32;
        self.module.launch(kernel, grid, HELPER_BLOCK, args).queue()
    }
}
