//! A benchmark matrix on one device.

use super::{is_plausible, recorded, significant};
use serde::{Deserialize, Serialize};
use sparsight_device::timing::{Stopped, Timing};
use sparsight_kernels::{BenchmarkRows, Candidate, Kernel, Placement, RowLengthDistribution};
use sparsight_matrix::{Dtype, Infeasible, Seconds};
use sparsight_model::Observation;

/// Outcome of one benchmark matrix with one kernel: the times of all block sizes, or why there are none.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BenchmarkRecord {
    /// Kernel with its knobs: `csr-vector/t8`.
    pub kernel: String,
    /// Value type.
    pub dtype: Dtype,
    /// Placement of the columns.
    pub placement: Placement,
    /// Distribution of the row lengths; constant in lines that do not say.
    #[serde(default, skip_serializing_if = "is_constant")]
    pub lengths: RowLengthDistribution,
    /// Non-zeros a row; the mean that the distribution names.
    pub p: u64,
    /// Strips, I.
    pub strips: u64,
    /// Rows and columns.
    pub nrows: u64,
    /// Seed of lengths, columns and values.
    pub seed: u64,
    /// The drawn lengths, where lengths were drawn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drawn: Option<DrawnLengths>,
    /// Times or reason.
    #[serde(flatten)]
    pub outcome: BenchmarkOutcome,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde asks for")]
fn is_constant(lengths: &RowLengthDistribution) -> bool {
    !lengths.is_drawn()
}

/// Statistics of the row lengths that were drawn for a benchmark matrix.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct DrawnLengths {
    /// Mean, to six digits: p but for chance, and for rows that were cut to the width of the matrix.
    pub mean: f64,
    /// Most frequent length.
    pub mode: u64,
    /// Longest row.
    pub max: u64,
}

impl DrawnLengths {
    /// Distribution of the lengths of `rows`; `None` if they all have one length.
    pub fn of(rows: &BenchmarkRows) -> Option<Self> {
        let lengths = rows.lengths();
        let drawn = Self { mean: significant(lengths.mean(), 6), mode: lengths.mode(), max: lengths.max() };
        rows.offsets().map(|_| drawn)
    }
}

/// Times or reason.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BenchmarkOutcome {
    /// Timings, one for each block size.
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
        self.kernel.parse().ok()
    }

    /// Number of recorded times that no product can take.
    pub fn implausible(&self) -> usize {
        match &self.outcome {
            BenchmarkOutcome::Blocks(blocks) => blocks.iter().filter(|b| !is_plausible(b.time_s)).count(),
            _ => 0,
        }
    }

    /// Observations, one for each block size; none if there are no times, or none that a product can take (below 10 ns, beyond a
    /// day).
    pub fn observations(&self) -> impl Iterator<Item = Observation> + '_ {
        let blocks = match &self.outcome {
            BenchmarkOutcome::Blocks(blocks) => blocks.as_slice(),
            _ => &[],
        };
        self.kernel().into_iter().flat_map(move |kernel| {
            blocks.iter().filter(|b| is_plausible(b.time_s)).map(move |b| Observation {
                candidate: Candidate { kernel, block: b.block, dtype: self.dtype },
                placement: self.placement,
                lengths: self.lengths,
                row_length: self.p,
                strips: self.strips,
                nrows: self.nrows,
                time: b.time_s,
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A line as it was written before row lengths were drawn.
    const OLD: &str = r#"{"kernel":"ell","dtype":"f32","placement":"banded","p":4,"strips":2,"nrows":540672,"seed":2014,"blocks":[{"block":64,"time_s":4.8e-6,"spread":0.001,"samples":5,"beta":30,"stopped":"spread"}]}"#;

    #[test]
    fn a_line_without_lengths_is_constant_and_written_back_unchanged() {
        let record: BenchmarkRecord = serde_json::from_str(OLD).unwrap();
        assert_eq!((record.lengths, record.drawn), (RowLengthDistribution::Constant, None));
        assert_eq!(record.observations().next().unwrap().lengths, RowLengthDistribution::Constant);
        assert_eq!(serde_json::to_string(&record).unwrap(), OLD);
    }

    #[test]
    fn a_line_with_drawn_lengths_reads_back() {
        let record: BenchmarkRecord = serde_json::from_str(OLD).unwrap();
        let drawn = Some(DrawnLengths { mean: 3.99871, mode: 4, max: 8 });
        let record = BenchmarkRecord { lengths: RowLengthDistribution::Normal, drawn, ..record };
        let text = serde_json::to_string(&record).unwrap();
        assert!(text.contains(r#""lengths":"normal""#), "{text}");
        assert_eq!(serde_json::from_str::<BenchmarkRecord>(&text).unwrap(), record);
    }
}
