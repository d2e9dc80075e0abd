//! A grid of benchmark matrices, run into the journal of a folder.

use super::{Event, Watcher};
use super::{Grid, Point, instrument};
use crate::Error;
use crate::bench::Noise;
use crate::profile::ProfileFolder;
use crate::records::{BenchmarkOutcome, BenchmarkRecord};
use sparsight_device::Device;
use sparsight_device::timing::Stopwatch;
use sparsight_matrix::Dtype;

/// Longest time between two writes of the journal to the disk, in seconds: a loss of power takes no more. Chosen.
const SYNC_INTERVAL: f64 = 1.0;

/// Results of one run over a grid.
#[derive(Debug, Clone, Default)]
pub struct Benchmarked {
    /// Points of the grid.
    pub points: usize,
    /// Points measured by this run.
    pub measured: usize,
    /// Points of this run that are beyond the memory bound.
    pub beyond: usize,
    /// Points of this run that failed, with the reason.
    pub failed: Vec<(BenchmarkRecord, String)>,
    /// Points that the run did not reach, since the watcher ended it.
    pub left: usize,
}

/// Runs the points of `grid` that `folder` does not hold. Each record is in the journal before the next point begins; `counts` holds the
/// results also when the run ends early, and `noise` sees each time.
///
/// # Errors
/// Errors of files; the error of `watcher`, which is sent [`Event::Benchmark`] after each point.
pub fn run_benchmark(
    (of_f32, of_f64): (&dyn Device<f32>, &dyn Device<f64>),
    folder: &ProfileFolder,
    grid: &Grid,
    noise: &mut Noise,
    counts: &mut Benchmarked,
    watcher: &mut Watcher<'_>,
) -> Result<(), Error> {
    let mut journal = folder.benchmark()?;
    journal.begin()?;
    let known = journal.records().to_vec();
    let mut since_sync = Stopwatch::start();
    let total = grid.points.len();
    *counts = Benchmarked { points: total, left: total, ..Benchmarked::default() };
    for part in grid.parts() {
        let before = total - counts.left;
        let each = |done: usize, point: &Point, record: Option<BenchmarkRecord>| {
            let (done, is_new) = (before + done, record.is_some());
            if let Some(record) = record {
                match &record.outcome {
                    BenchmarkOutcome::Blocks(_) => {
                        counts.measured += 1;
                        noise.benchmarked(&record);
                    }
                    BenchmarkOutcome::Beyond(_) => counts.beyond += 1,
                    BenchmarkOutcome::Failed(why) => counts.failed.push((record.clone(), why.clone())),
                }
                journal.append(record)?;
                if since_sync.elapsed().0 >= SYNC_INTERVAL {
                    journal.sync()?;
                    since_sync = Stopwatch::start();
                }
            }
            counts.left = total - done;
            watcher(Event::Benchmark { done, total, point, is_new })
        };
        match part.points[0].dtype {
            Dtype::F32 => instrument(of_f32, &part, &known, each)?,
            Dtype::F64 | Dtype::Mixed => instrument(of_f64, &part, &known, each)?,
        }
    }
    Ok(())
}
