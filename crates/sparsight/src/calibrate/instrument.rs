//! Instrumenting a device: the benchmark matrices of the papers, run one after another.
//!
//! Grids (Guo, Wang and Chen 2014, section 3.2.2; Wang, Gu and Li 2017, section 3.1):
//!
//! ```text
//! rows of one length
//!   csr-vector        I = 1..10, 15, 20, 30, 40, 50    p = 1, 4 16 64 256 1024 | 2048 3072 4096
//!   csr-scalar, ell, jad   I = 1..10                        p = 1, 4 16 64 256 1024
//!   coo, csr-balanced one strip of rows                p = 1 2 5, 10 20 .. 100
//! lengths drawn around p, uniform and normal
//!   csr-vector        I = 1..10, 15, 20, 30, 40, 50    p = 1, 4 16 64 256 1024 | 1536 2048 3072
//!   csr-scalar, ell, jad   I = 1..10                        p = 1, 4 16 64 256 1024
//! ```
//! `|` is the threshold of the models. The row lengths before the papers' first one are ours: many real matrices
//! have rows of one or two, and a strip of COO on a large GPU holds 270,336 non-zeros, so most real matrices have
//! fewer than ten. Where the 2017 paper has every power of two and every fifth I, every other stands here: a line does
//! not need them, and calibration occupies the device. A point beyond the memory bound is a record that says so.
//!
//! The coarse grid is a part of it, for a person who waits for the profile of a CPU.

use crate::Error;
use crate::profile::ConversionCost;
use crate::records::{BenchmarkOutcome, BenchmarkRecord, BlockTiming, DrawnLengths};
use sparsight_device::gpu::{ConvertOn, GpuDevice};
use sparsight_device::timing::{Caches, StoppingRule, measure};
use sparsight_device::{Device, DeviceError, Operand};
use sparsight_kernels::{
    BLOCKS, BenchmarkMatrix, BenchmarkRows, Candidate, DeviceFacts, Format, Kernel, Placement,
    RowLengthDistribution, StripRule, StripUnit, catalogue, device_bytes, feasible, strip,
};
use sparsight_matrix::gallery::Recipe;
use sparsight_matrix::{Bytes, Csr, Dtype, Features, Infeasible, Limits, Scalar, rounding_bound};
use std::collections::{BTreeMap, HashSet};

/// Seed of every benchmark matrix and its x.
const SEED: u64 = 2014;
/// Rows of y that are recomputed on the host before a time is kept.
const CHECKED_ROWS: u64 = 64;
/// Matrices on which conversions are timed: each format on the first that it can hold.
const CONVERTED: [&str; 2] = ["random,row=16,spread=12", "stencil3d,n=60"];
/// Rows of the matrices that are converted on both sides, with 16 non-zeros on average.
const CONVERTED_ROWS: [u64; 6] = [1 << 8, 1 << 10, 1 << 12, 1 << 14, 1 << 16, 1 << 18];

/// A benchmark matrix to run with one kernel.
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
    /// All points, in the order in which they run.
    pub points: Vec<Point>,
    /// Largest matrix that is run; larger ones are only recorded.
    pub bound: Bytes,
}

/// A place on a kernel's grid: p and strips of rows.
pub type Place = (u64, u64);

impl Grid {
    /// The papers' grid for a device, both placements; matrices of more than `bound` bytes are only recorded. Rows of
    /// one length first, then uniform and normal ones, so that a run that is stopped has what most models need.
    pub fn new(facts: &DeviceFacts, dtypes: &[Dtype], bound: Bytes) -> Self {
        Self::of(places, facts, dtypes, bound)
    }

    /// The benchmark matrices that `places` names for each kernel and distribution of row lengths, both placements.
    pub fn of(
        places: impl Fn(Kernel, RowLengthDistribution) -> Vec<Place>,
        facts: &DeviceFacts,
        dtypes: &[Dtype],
        bound: Bytes,
    ) -> Self {
        let mut points = Vec::new();
        for lengths in RowLengthDistribution::ALL {
            for &dtype in dtypes {
                for placement in Placement::ALL {
                    for kernel in Kernel::all().filter(|kernel| kernel.runs_on(facts.kind)) {
                        let strip = strip(kernel, facts);
                        points.extend(places(kernel, lengths).into_iter().map(
                            |(row_length, strips_of_rows)| {
                                let nrows = strip.size * strips_of_rows;
                                let matrix =
                                    BenchmarkMatrix { nrows, row_length, lengths, placement, seed: SEED };
                                let strips = strip.strips(strip.unit.count(nrows, nrows * row_length));
                                Point { kernel, dtype, matrix, strips }
                            },
                        ));
                    }
                }
            }
        }
        Self { points, bound }
    }

    /// The points with these row lengths alone.
    #[must_use]
    pub fn only(mut self, lengths: &[RowLengthDistribution]) -> Self {
        self.points.retain(|p| lengths.contains(&p.matrix.lengths));
        self
    }

    /// The points with 1, 2, 4 and 8 strips of rows of one length alone, for a person who waits: the lines of the
    /// models need two of them, the rest makes them firm.
    #[must_use]
    pub fn coarse(self) -> Self {
        let mut grid = self.only(&[RowLengthDistribution::Constant]);
        grid.points.retain(|p| p.kernel.unit() != StripUnit::Rows || [1, 2, 4, 8].contains(&p.strips));
        grid
    }

    /// The grid cut where the value type changes: each part is one call of [`instrument`], and all of them in turn
    /// run the points in their order.
    pub fn parts(&self) -> impl Iterator<Item = Self> {
        let runs = self.points.chunk_by(|a, b| a.dtype == b.dtype);
        runs.map(|points| Self { points: points.to_vec(), bound: self.bound })
    }
}

/// Part of the papers' grid for one kernel. HYB has no benchmark matrices of its own: it is ELL and COO; and for COO and
/// csr-balanced, which work by non-zeros, it makes no difference how long the rows are.
fn places(kernel: Kernel, lengths: RowLengthDistribution) -> Vec<Place> {
    let by_non_zeros = kernel.unit() != StripUnit::Rows;
    let means: &[u64] = match kernel.strip_rule() {
        _ if !kernel.has_benchmark_matrices() => &[],
        _ if by_non_zeros && lengths.is_drawn() => &[],
        _ if by_non_zeros => &[1, 2, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100],
        StripRule::Csr if lengths.is_drawn() => &[1, 4, 16, 64, 256, 1024, 1536, 2048, 3072],
        StripRule::Csr => &[1, 4, 16, 64, 256, 1024, 2048, 3072, 4096],
        _ => &[1, 4, 16, 64, 256, 1024],
    };
    let strips: &[u64] = match kernel.strip_rule() {
        StripRule::Csr => &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 15, 20, 30, 40, 50],
        _ if by_non_zeros => &[1],
        _ => &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10],
    };
    means.iter().flat_map(|&p| strips.iter().map(move |&strips| (p, strips))).collect()
}

/// Runs the points of `grid` with value type `T` that have no times in `known`; those beyond an earlier bound are
/// tried again if they are within the present one. `each` is told of every point, with the number of points done or found done, this
/// one included, and with the record, if it was made now; it may stop the run by returning an error.
///
/// # Errors
/// What `each` returned.
pub fn instrument<T: Scalar>(
    device: &dyn Device<T>,
    grid: &Grid,
    known: &[BenchmarkRecord],
    mut each: impl FnMut(usize, &Point, Option<BenchmarkRecord>) -> Result<(), Error>,
) -> Result<(), Error> {
    let key =
        |r: &BenchmarkRecord| (r.kernel.clone(), r.dtype, r.placement, r.lengths, r.p, r.strips, r.nrows);
    // What has times is done. What was beyond an earlier bound or failed is tried again, unless it would be beyond
    // the present bound, too.
    let still_known = |record: &&BenchmarkRecord| match &record.outcome {
        BenchmarkOutcome::Beyond(Infeasible::DoesNotFit { need, .. }) => *need > grid.bound,
        BenchmarkOutcome::Blocks(_) | BenchmarkOutcome::Beyond(_) => true,
        BenchmarkOutcome::Failed(_) => false,
    };
    let known: HashSet<_> = known.iter().filter(still_known).map(key).collect();
    for (index, point) in grid.points.iter().enumerate().filter(|(_, p)| p.dtype == T::DTYPE) {
        let mut record = BenchmarkRecord {
            kernel: point.kernel.to_string(),
            dtype: point.dtype,
            placement: point.matrix.placement,
            lengths: point.matrix.lengths,
            p: point.matrix.row_length,
            strips: point.strips,
            nrows: point.matrix.nrows,
            seed: point.matrix.seed,
            drawn: None,
            outcome: BenchmarkOutcome::Failed(String::new()),
        };
        let is_new = !known.contains(&key(&record));
        if is_new {
            let bound = Bytes(grid.bound.0.min(device.limits().memory.0));
            match point.matrix.rows(bound) {
                Ok(rows) => {
                    record.drawn = DrawnLengths::of(&rows);
                    record.outcome = run(device, point, &rows, bound);
                }
                // Rows longer than the matrix is wide happen on devices with small strips.
                Err(reason) => record.outcome = BenchmarkOutcome::Beyond(reason),
            }
        }
        each(index + 1, point, is_new.then_some(record))?;
    }
    Ok(())
}

fn run<T: Scalar>(
    device: &dyn Device<T>,
    point: &Point,
    rows: &BenchmarkRows,
    bound: Bytes,
) -> BenchmarkOutcome {
    let format = point.kernel.format();
    let need = rows.bytes(format, point.dtype);
    if let Err(reason) = Limits::with_memory(bound).check(0, 0, need.0.into()) {
        return BenchmarkOutcome::Beyond(reason);
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
    let mut checked = Ok(());
    operand.look_at_y(&mut |y| checked = check_rows(y, point, &candidate))?;
    checked?;
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
    let constant = RowLengthDistribution::Constant;
    let x = BenchmarkMatrix { row_length: 1, lengths: constant, placement: Placement::Banded, ..*m };
    for sample in 0..CHECKED_ROWS.min(m.nrows) {
        let row = sample * (m.nrows - 1) / (CHECKED_ROWS.min(m.nrows) - 1).max(1);
        let (length, mut expected, mut size) = (m.length(row), 0.0, 0.0);
        for k in 0..length {
            let column = m.column(row, length, k);
            let (value, x) = (T::from_f64(m.value(row, k)), T::from_f64(x.value(column.into(), 0)));
            expected += value.to_f64() * x.to_f64();
            size += (value.to_f64() * x.to_f64()).abs();
        }
        let bound = rounding_bound::<T>(length, size);
        let got = y[row as usize].to_f64();
        if (got - expected).abs() > bound {
            return Err(wrong(row, got, expected, bound));
        }
    }
    Ok(())
}

/// Seconds a byte to convert CSR into each format, where this device has that done, from a matrix with rows of many lengths,
/// so that ELL pads and HYB has both parts; formats that cannot hold that, from a stencil.
///
/// # Errors
/// Whatever the device reports.
///
/// # Panics
/// If the built-in recipes of those matrices are broken.
pub fn measure_conversion<T: Scalar>(
    device: &dyn Device<T>,
) -> Result<BTreeMap<Format, ConversionCost>, DeviceError> {
    let mut costs = BTreeMap::new();
    measure_lacking_conversions(device, &mut costs)?;
    Ok(costs)
}

/// Adds to `costs` those of the formats that it lacks and that a matrix of [`CONVERTED`] can be held in.
///
/// # Errors
/// Whatever the device reports.
pub(super) fn measure_lacking_conversions<T: Scalar>(
    device: &dyn Device<T>,
    costs: &mut BTreeMap<Format, ConversionCost>,
) -> Result<(), DeviceError> {
    for recipe in CONVERTED {
        let a = made::<T>(recipe);
        let f = Features::of(&a);
        for candidate in catalogue(T::DTYPE).filter(|c| c.block == BLOCKS[0]) {
            let format = candidate.format();
            let bytes = device_bytes(&candidate, &f);
            if costs.contains_key(&format) || feasible(&candidate, &f, &device.limits()).is_err() {
                continue;
            }
            // The better of two: the first also pays for threads that have not run yet.
            let mut best = device.operand(&a, format, T::DTYPE)?.preparation();
            let second = device.operand(&a, format, T::DTYPE)?.preparation();
            if second.convert < best.convert {
                best = second;
            }
            let s_per_byte = best.convert.0 / bytes.0.max(1) as f64;
            costs.insert(format, ConversionCost { s_per_byte, on_device: best.on_device });
        }
    }
    Ok(())
}

fn made<T: Scalar>(recipe: &str) -> Csr<T> {
    recipe.parse::<Recipe>().and_then(|r| r.generate::<T>()).expect("a built-in recipe is valid")
}

/// Non-zeros from which `gpu` converts and is sent the CSR in less time than the host beside it converts and sends the format, as
/// the geometric mean over the formats that move their entries: the least of six sizes, up to four million, from which on that
/// holds. `u64::MAX` if it holds for neither of the two largest; `None` if the device converted nothing at all.
///
/// # Errors
/// Whatever the device reports.
///
/// # Panics
/// If the built-in recipe of the matrices is broken.
pub fn measure_conversion_threshold(gpu: &GpuDevice) -> Result<Option<u64>, DeviceError> {
    let [mut host, mut device] = [gpu.clone(), gpu.clone()];
    host.convert_on(ConvertOn::Host);
    device.convert_on(ConvertOn::Device);
    let mut threshold = None;
    for (smaller_ones, rows) in CONVERTED_ROWS.into_iter().enumerate().rev() {
        let a = made::<f64>(&format!("{},rows={rows}", CONVERTED[0]));
        let (mut logarithms, mut count) = (0.0, 0);
        for format in Format::all().filter(|format| !format.stays_in_csr()) {
            match host_over_device(&a, format, &host, &device) {
                Ok(Some(ratio)) => (logarithms, count) = (logarithms + ratio.ln(), count + 1),
                Ok(None) | Err(DeviceError::Infeasible(_)) => {}
                Err(error) => return Err(error),
            }
        }
        let is_largest = smaller_ones + 1 == CONVERTED_ROWS.len();
        match (count, logarithms > 0.0) {
            (0, _) => {}
            (_, true) => threshold = Some(a.nnz() as u64),
            // The largest may have been disturbed: the next one decides.
            (_, false) if is_largest => threshold = Some(u64::MAX),
            (_, false) => break,
        }
    }
    Ok(threshold)
}

/// Time of conversion and upload on the host over that on the device, the least of three each; `None` where the device left it
/// to the host.
fn host_over_device(
    a: &Csr<f64>,
    format: Format,
    host: &GpuDevice,
    device: &GpuDevice,
) -> Result<Option<f64>, DeviceError> {
    let mut least = [f64::INFINITY; 2];
    // The first pays for threads that have not run yet and for kernels that were not compiled.
    for _ in 0..3 {
        for (gpu, least) in [host, device].into_iter().zip(&mut least) {
            let took = gpu.store(a, format)?.1;
            if std::ptr::eq(gpu, device) && !took.on_device {
                return Ok(None);
            }
            *least = least.min(took.total().0);
        }
    }
    Ok(Some(least[0] / least[1]))
}
