//! One measured benchmark matrix, and the point on the grid that it becomes.

use sparsight_kernels::{BenchmarkMatrix, Candidate, DeviceFacts, Placement, StripUnit, strip};
use sparsight_matrix::Seconds;

/// One measured benchmark matrix: what a strip model is fitted to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Observation {
    /// What was run.
    pub candidate: Candidate,
    /// Where the columns lie.
    pub placement: Placement,
    /// Non-zeros a row, p.
    pub row_length: u64,
    /// Strips of rows, as the grid names them. A fit counts I again from `nrows` (COO: from the non-zeros),
    /// with the strip with which it will also count the strips of a matrix.
    pub strips: u64,
    /// Rows (and columns).
    pub nrows: u64,
    /// Time of one product.
    pub time: Seconds,
}

/// An observation as a fit sees it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Point {
    /// I, in the unit of the kernel's strip.
    pub strips: u64,
    /// p.
    pub row_length: u64,
    /// Working set: matrix in its format, x and y.
    pub bytes: u64,
    /// T; finite and positive.
    pub time_s: f64,
}

impl Point {
    /// The point of `observation`; `None` if its time is no positive number or its size overflows.
    pub fn of(observation: &Observation, facts: &DeviceFacts) -> Option<Self> {
        let Observation { candidate, placement, row_length, nrows, time, .. } = *observation;
        // Sixteen bytes an entry is the most that any format takes.
        let nnz = nrows.checked_mul(row_length).filter(|nnz| *nnz < u64::MAX / 64)?;
        if !(time.0.is_finite() && time.0 > 0.0) || nrows > u64::MAX / 64 {
            return None;
        }
        let strip = strip(candidate.kernel, facts);
        let strips = strip.strips(match strip.unit {
            StripUnit::Rows => nrows,
            StripUnit::NonZeros => nnz,
        });
        let matrix = BenchmarkMatrix { nrows, row_length, placement, seed: 0 };
        let bytes = matrix.bytes(candidate.format(), candidate.dtype).0;
        Some(Self { strips, row_length, bytes, time_s: time.0 })
    }
}

/// Sum of the squared relative residuals `predicted / measured - 1`: the quantity that every choice a fit may
/// make (crossing point, `p_1`, border) minimises, the same that the lines minimise.
pub(crate) fn squared_relative_error(points: &[Point], predict: impl Fn(&Point) -> f64) -> f64 {
    points.iter().map(|p| (predict(p) / p.time_s - 1.0).powi(2)).sum()
}

/// Distinct values of `key`, increasing.
pub(crate) fn distinct(points: &[Point], key: impl Fn(&Point) -> u64) -> Vec<u64> {
    let mut values: Vec<u64> = points.iter().map(key).collect();
    values.sort_unstable();
    values.dedup();
    values
}
