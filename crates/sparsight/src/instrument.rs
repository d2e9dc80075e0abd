//! Instrumenting a device: the benchmark matrices of the papers, run one after another.
//!
//! Grids (Guo, Wang and Chen 2014, section 3.2.2; Wang, Gu and Li 2017):
//!
//! ```text
//! csr-vector        I = 1..10, 15, 20, 30, 40, 50    p = 1, 4 16 64 256 1024 | 2048 3072 4096
//! csr-scalar, ell   I = 1..10                        p = 1, 4 16 64 256 1024
//! coo               one strip of rows                p = 1 2 5, 10 20 .. 100
//! ```
//! `|` is the threshold of the models. The row lengths before the papers' first one are ours: many real matrices
//! have rows of one or two, and a strip of COO on a large GPU holds 270,336 non-zeros, so most real matrices have
//! fewer than ten. A point beyond the memory bound is a record that says so.

use crate::Error;
use crate::profile::ConversionCost;
use crate::records::{BenchmarkOutcome, BenchmarkRecord, BlockTiming};
use sparsight_device::timing::{Caches, StoppingRule, measure};
use sparsight_device::{Device, DeviceError, Operand};
use sparsight_kernels::{
    BLOCKS, BenchmarkMatrix, Candidate, DeviceFacts, Format, Kernel, Placement, Strip, catalogue,
    device_bytes, feasible, strip,
};
use sparsight_matrix::gallery::Recipe;
use sparsight_matrix::{Bytes, Dtype, Features, Infeasible, Limits, Scalar, rounding_bound};
use std::collections::{BTreeMap, HashSet};

/// Seed of every benchmark matrix and its x.
const SEED: u64 = 2014;
/// Rows of y that are recomputed on the host before a time is kept.
const CHECKED_ROWS: u64 = 64;
/// Matrix on which conversions are timed.
const CONVERTED: &str = "random,row=16,spread=12";

/// One benchmark matrix to run with one kernel.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// Kernel with its knobs.
    pub kernel: Kernel,
    /// Value type.
    pub dtype: Dtype,
    /// The matrix.
    pub matrix: BenchmarkMatrix,
    /// Strips, I.
    pub strips: u64,
}

/// The points of a device.
#[derive(Debug, Clone, PartialEq)]
pub struct Grid {
    points: Vec<Point>,
    bound: Bytes,
}

impl Grid {
    /// The papers' grid for a device, both placements; matrices of more than `bound` bytes are only recorded.
    pub fn new(facts: &DeviceFacts, dtypes: &[Dtype], bound: Bytes) -> Self {
        let mut points = Vec::new();
        for &dtype in dtypes {
            for placement in Placement::ALL {
                for kernel in Kernel::ALL.into_iter().filter(|k| k.has_benchmark_matrices()) {
                    points.extend(points_of(kernel, strip(kernel, facts)).map(
                        |(nrows, row_length, strips)| {
                            let matrix = BenchmarkMatrix { nrows, row_length, placement, seed: SEED };
                            Point { kernel, dtype, matrix, strips }
                        },
                    ));
                }
            }
        }
        Self { points, bound }
    }

    /// The points with 1, 2, 4 and 8 strips of rows alone, for a person who waits: the lines of the models need two
    /// of them, the rest makes them firm.
    #[must_use]
    pub fn thinned(mut self) -> Self {
        self.points.retain(|p| p.kernel.format() == Format::Coo || [1, 2, 4, 8].contains(&p.strips));
        self
    }

    /// All points, in the order in which they run.
    pub fn points(&self) -> &[Point] {
        &self.points
    }
}

/// `(nrows, p, I)` of one kernel's grid.
fn points_of(kernel: Kernel, strip: Strip) -> impl Iterator<Item = (u64, u64, u64)> {
    let lengths: &[u64] = match kernel {
        Kernel::CsrVector { .. } => &[1, 4, 16, 64, 256, 1024, 2048, 3072, 4096],
        Kernel::Coo => &[1, 2, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100],
        _ => &[1, 4, 16, 64, 256, 1024],
    };
    let strips: &[u64] = match kernel {
        Kernel::CsrVector { .. } => &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 15, 20, 30, 40, 50],
        Kernel::Coo => &[1],
        _ => &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10],
    };
    lengths.iter().flat_map(move |&p| {
        strips.iter().map(move |&rows_of_strips| {
            let nrows = strip.size * rows_of_strips;
            let strips = if kernel == Kernel::Coo { strip.strips(nrows * p) } else { rows_of_strips };
            (nrows, p, strips)
        })
    })
}

/// What has just been done, for progress.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Step<'a> {
    /// Points done or found done, this one included.
    pub done: usize,
    /// Points in all.
    pub total: usize,
    /// The point.
    pub point: &'a Point,
}

/// Runs the points of `grid` with value type `T` that have no times in `known`; those beyond an earlier bound are
/// tried again if they are within the present one. Each record is handed to `keep` as
/// soon as it is made; `keep` may stop the run by returning an error. `step` is told of every point.
///
/// # Errors
/// What `keep` returned; [`DeviceError::Interrupted`] when `step` returns `false`.
pub fn instrument<T: Scalar>(
    device: &dyn Device<T>,
    grid: &Grid,
    known: &[BenchmarkRecord],
    mut step: impl FnMut(Step<'_>) -> bool,
    mut keep: impl FnMut(BenchmarkRecord) -> Result<(), Error>,
) -> Result<(), Error> {
    let key = |r: &BenchmarkRecord| (r.kernel.clone(), r.dtype, r.placement, r.p, r.strips, r.nrows);
    // What has times is done. What was beyond an earlier bound or failed is tried again, unless it would be beyond
    // the present bound, too.
    let still_known = |record: &&BenchmarkRecord| match &record.outcome {
        BenchmarkOutcome::Beyond(Infeasible::DoesNotFit { need, .. }) => *need > grid.bound,
        BenchmarkOutcome::Blocks(_) | BenchmarkOutcome::Beyond(_) => true,
        BenchmarkOutcome::Failed(_) => false,
    };
    let known: HashSet<_> = known.iter().filter(still_known).map(key).collect();
    let total = grid.points.len();
    for (index, point) in grid.points.iter().enumerate().filter(|(_, p)| p.dtype == T::DTYPE) {
        let mut record = BenchmarkRecord {
            kernel: point.kernel.to_string(),
            dtype: point.dtype,
            placement: point.matrix.placement,
            p: point.matrix.row_length,
            strips: point.strips,
            nrows: point.matrix.nrows,
            seed: point.matrix.seed,
            outcome: BenchmarkOutcome::Failed(String::new()),
        };
        if !known.contains(&key(&record)) {
            let bound = Bytes(grid.bound.0.min(device.limits().memory.0));
            record.outcome = run(device, point, bound);
            keep(record)?;
        }
        if !step(Step { done: index + 1, total, point }) {
            return Err(DeviceError::Interrupted.into());
        }
    }
    Ok(())
}

fn run<T: Scalar>(device: &dyn Device<T>, point: &Point, bound: Bytes) -> BenchmarkOutcome {
    let format = point.kernel.format();
    let need = point.matrix.bytes(format, point.dtype);
    if let Err(reason) = Limits::with_memory(bound).check(0, 0, need.0.into()) {
        return BenchmarkOutcome::Beyond(reason);
    }
    if point.matrix.row_length > point.matrix.nrows {
        // Happens on devices with small strips.
        let (row_length, ncols) = (point.matrix.row_length, point.matrix.nrows);
        return BenchmarkOutcome::Beyond(Infeasible::LongerThanWide { row_length, ncols });
    }
    let timed = device.generate(&point.matrix, format).and_then(|mut operand| {
        BLOCKS.iter().map(|&block| time_block(operand.as_mut(), point, block)).collect::<Result<Vec<_>, _>>()
    });
    match timed {
        Ok(blocks) => BenchmarkOutcome::Blocks(blocks),
        Err(DeviceError::Infeasible(reason)) => BenchmarkOutcome::Beyond(reason),
        Err(other) => BenchmarkOutcome::Failed(other.to_string()),
    }
}

fn time_block<T: Scalar>(
    operand: &mut (dyn Operand<T> + '_),
    point: &Point,
    block: u32,
) -> Result<BlockTiming, DeviceError> {
    let candidate = Candidate { kernel: point.kernel, block, dtype: point.dtype };
    operand.poison_y()?;
    operand.batch(&candidate, 1, Caches::Warm)?;
    check_rows(&operand.read_y()?, point, &candidate)?;
    let timing = measure(|n| operand.batch(&candidate, n, Caches::Warm), &StoppingRule::BRISK)?;
    Ok(BlockTiming::new(block, &timing))
}

/// Recomputes some rows of y on the host, spread over the matrix with its first and last row among them, and
/// looks for unwritten (NaN) entries in all others.
fn check_rows<T: Scalar>(y: &[T], point: &Point, candidate: &Candidate) -> Result<(), DeviceError> {
    let m = &point.matrix;
    let wrong = |row: u64, got: f64, expected: f64, bound: f64| DeviceError::WrongResult {
        candidate: candidate.to_string(),
        row: row as usize,
        got,
        expected,
        bound,
    };
    if let Some(row) = y.iter().position(|v| v.to_f64().is_nan()) {
        return Err(wrong(row as u64, f64::NAN, 0.0, f64::INFINITY));
    }
    let x = BenchmarkMatrix { row_length: 1, placement: Placement::Banded, ..*m };
    for sample in 0..CHECKED_ROWS.min(m.nrows) {
        let row = sample * (m.nrows - 1) / (CHECKED_ROWS.min(m.nrows) - 1).max(1);
        let (mut expected, mut size) = (0.0, 0.0);
        for k in 0..m.row_length {
            let (value, x) = (T::from_f64(m.value(row, k)), T::from_f64(x.value(m.column(row, k).into(), 0)));
            expected += value.to_f64() * x.to_f64();
            size += (value.to_f64() * x.to_f64()).abs();
        }
        let bound = rounding_bound::<T>(m.row_length, size);
        let got = y[row as usize].to_f64();
        if (got - expected).abs() > bound {
            return Err(wrong(row, got, expected, bound));
        }
    }
    Ok(())
}

/// Seconds a byte to convert CSR into each format beside this device, from a matrix with rows of many lengths,
/// so that ELL pads and HYB has both parts.
///
/// # Errors
/// Whatever the device reports.
///
/// # Panics
/// If the built-in recipe of that matrix is broken.
pub fn measure_conversion<T: Scalar>(
    device: &dyn Device<T>,
) -> Result<BTreeMap<Format, ConversionCost>, DeviceError> {
    let a = CONVERTED.parse::<Recipe>().and_then(|r| r.generate::<T>()).expect("a built-in recipe is valid");
    let f = Features::of(&a);
    let mut costs = BTreeMap::new();
    for candidate in catalogue(T::DTYPE).filter(|c| c.block == BLOCKS[0]) {
        let format = candidate.format();
        let bytes = device_bytes(&candidate, &f);
        if costs.contains_key(&format) || feasible(&candidate, &f, &device.limits()).is_err() {
            continue;
        }
        // The better of two: the first also pays for threads that have not run yet.
        let mut best = f64::INFINITY;
        for _ in 0..2 {
            best = best.min(device.load(&a, format)?.preparation().convert.0);
        }
        costs.insert(format, ConversionCost { s_per_byte: best / bytes.0.max(1) as f64 });
    }
    Ok(costs)
}
