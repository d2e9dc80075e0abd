//! A measured benchmark matrix, and the point on the grid that it becomes.

use sparsight_kernels::{BenchmarkMatrix, Candidate, DeviceFacts, Placement, RowLengthDistribution, strip};
use sparsight_matrix::{Bytes, Seconds};

/// A measured benchmark matrix, to which strip models are fitted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Observation {
    /// Candidate that was run.
    pub candidate: Candidate,
    /// Placement of the columns.
    pub placement: Placement,
    /// Distribution of the row lengths around p.
    pub lengths: RowLengthDistribution,
    /// Mean of the non-zeros a row, p: the one that the distribution names, whatever was drawn.
    pub row_length: u64,
    /// Strips of rows, as the grid names them. A fit counts I again from `nrows` (COO: from the non-zeros),
    /// with the strip with which it will also count the strips of a matrix.
    pub strips: u64,
    /// Rows (and columns).
    pub nrows: u64,
    /// Time of one product.
    pub time: Seconds,
}

/// Memory that a product touches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Footprint {
    /// Matrix in its format, x and y.
    pub working_set: Bytes,
    /// x.
    pub x: Bytes,
}

/// An observation as a fit sees it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// I, in the unit of the kernel's strip.
    pub strips: u64,
    /// p.
    pub row_length: u64,
    /// Working set and x.
    pub footprint: Footprint,
    /// T; finite and positive.
    pub time_s: f64,
}

impl Point {
    /// The point of `observation`; `None` if its time is no positive number or its size overflows.
    pub fn of(observation: &Observation, facts: &DeviceFacts) -> Option<Self> {
        let Observation { candidate, placement, lengths, row_length, nrows, time, .. } = *observation;
        // Sixteen bytes an entry is the most that any format takes.
        let nnz = nrows.checked_mul(row_length).filter(|nnz| *nnz < u64::MAX / 64)?;
        if !(time.0.is_finite() && time.0 > 0.0) || nrows > u64::MAX / 64 {
            return None;
        }
        let strip = strip(candidate.kernel, facts);
        let strips = strip.strips(strip.unit.count(nrows, nnz));
        let matrix = BenchmarkMatrix { nrows, row_length, lengths, placement, seed: 0 };
        let working_set = matrix.bytes(candidate.format(), candidate.dtype);
        let footprint = Footprint { working_set, x: Bytes(nrows * candidate.dtype.vector_bytes()) };
        Some(Self { strips, row_length, footprint, time_s: time.0 })
    }
}

/// Sum of `ln(predicted / measured)^2`: what every choice that the papers leave open (crossing point, `p_1`) or
/// that is this project's (border) minimises. Not the relative residual of the lines: that is never below -1, so
/// where the equation does not hold it prefers choices that predict far too little.
pub(crate) fn squared_log_error(points: &[Point], predict: impl Fn(&Point) -> f64) -> f64 {
    points.iter().map(|p| (predict(p).max(NOTHING_S) / p.time_s).ln().powi(2)).sum()
}

/// Stands for a time that an equation puts at zero or below, so that its logarithm is finite (and very bad).
pub(crate) const NOTHING_S: f64 = 1e-300;

/// Distinct values of `key`, increasing.
pub(crate) fn distinct(points: &[Point], key: impl Fn(&Point) -> u64) -> Vec<u64> {
    let mut values: Vec<u64> = points.iter().map(key).collect();
    values.sort_unstable();
    values.dedup();
    values
}

/// A point of which only the place on the grid and the time matter.
#[cfg(test)]
pub(crate) fn point(strips: u64, row_length: u64, time_s: f64) -> Point {
    let footprint = Footprint { working_set: Bytes(1), x: Bytes(1) };
    Point { strips, row_length, footprint, time_s }
}
