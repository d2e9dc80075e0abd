//! One benchmark matrix on one device.

use super::{recorded, significant};
use serde::{Deserialize, Serialize};
use sparsight_device::timing::{Stopped, Timing};
use sparsight_kernels::{Candidate, Kernel, Placement};
use sparsight_matrix::{Dtype, Infeasible, Seconds};
use sparsight_model::Observation;

/// What happened to one benchmark matrix with one kernel: the times of all block sizes, or why there are none.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BenchmarkRecord {
    /// Kernel with its knobs: `csr-vector/t8`.
    pub kernel: String,
    /// Value type.
    pub dtype: Dtype,
    /// Where the columns lie.
    pub placement: Placement,
    /// Non-zeros a row.
    pub p: u64,
    /// Strips, I.
    pub strips: u64,
    /// Rows and columns.
    pub nrows: u64,
    /// Seed of columns and values.
    pub seed: u64,
    /// Times or reason.
    #[serde(flatten)]
    pub outcome: BenchmarkOutcome,
}

/// Times or reason.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BenchmarkOutcome {
    /// One entry a block size.
    Blocks(Vec<BlockTiming>),
    /// Beyond the memory bound.
    Beyond(Infeasible),
    /// A device's failure, in words.
    Failed(String),
}

/// The time of one block size.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct BlockTiming {
    /// Threads a block.
    pub block: u32,
    /// Time of one product.
    pub time_s: Seconds,
    /// Interquartile range over median.
    pub spread: f64,
    /// Samples.
    pub samples: u32,
    /// Products in the longer batch of a sample.
    pub beta: u32,
    /// Why sampling ended.
    pub stopped: Stopped,
}

impl BlockTiming {
    /// The part of a timing that is recorded.
    pub fn new(block: u32, timing: &Timing) -> Self {
        let Timing { time, spread, samples, beta, stopped, .. } = *timing;
        Self { block, time_s: recorded(time), spread: significant(spread, 2), samples, beta, stopped }
    }
}

impl BenchmarkRecord {
    /// The kernel, `None` if this version does not have it.
    pub fn kernel(&self) -> Option<Kernel> {
        Kernel::ALL.into_iter().find(|k| k.to_string() == self.kernel)
    }

    /// One observation a block size; none if there are no times.
    pub fn observations(&self) -> impl Iterator<Item = Observation> + '_ {
        let blocks = match &self.outcome {
            BenchmarkOutcome::Blocks(blocks) => blocks.as_slice(),
            _ => &[],
        };
        self.kernel().into_iter().flat_map(move |kernel| {
            blocks.iter().map(move |b| Observation {
                candidate: Candidate { kernel, block: b.block, dtype: self.dtype },
                placement: self.placement,
                row_length: self.p,
                strips: self.strips,
                nrows: self.nrows,
                time: b.time_s,
            })
        })
    }
}
