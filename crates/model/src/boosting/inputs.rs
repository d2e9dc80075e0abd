//! What the trees look at: the features of Lehnert et al. 2016 and what the device makes of them.
//!
//! Every input is a whole number, `round(1024 ln v)` for a quantity and `round(4096 v)` for a share in 0..=1: finer
//! than any difference that measured times could teach, short on disk, and exact when compared. Trees only ask
//! what is larger, so the logarithm changes nothing but the rounding.
//!
//! Absent: minimum and maximum distance of neighbouring non-zeros (`x_reuse` and the matrix bandwidth stand for
//! them), density (rows, columns and non-zeros are there).

use super::baseline::{bytes_per_s, launch_s, longest_steps, streamed_s};
use crate::Term;
use sparsight_kernels::{Candidate, DeviceFacts, Kernel, compulsory_bytes, strip};
use sparsight_matrix::Features;

/// Name and unit of each input, in order. A model that was fitted with other inputs is refused.
pub(super) const INPUTS: [(&str, &str); 38] = [
    ("block", ""),
    ("bytes a value", "B"),
    ("rows", ""),
    ("columns", ""),
    ("non-zeros", ""),
    ("row mean", ""),
    ("row min", ""),
    ("row max", ""),
    ("row mode", ""),
    ("row q05", ""),
    ("row q25", ""),
    ("row q50", ""),
    ("row q75", ""),
    ("row q90", ""),
    ("row q95", ""),
    ("row q99", ""),
    ("row std", ""),
    ("row std / mean", ""),
    ("row max / mean", ""),
    ("row max / q99", ""),
    ("empty share", ""),
    ("bandwidth / columns", ""),
    ("x_reuse", ""),
    ("compulsory bytes", "B"),
    ("working set / L2", ""),
    ("x / L2", ""),
    ("streamed / launch", ""),
    ("n / S", ""),
    ("rounded up / (n / S)", ""),
    ("blocks a multiprocessor", ""),
    ("threads used a row", ""),
    ("longest row / streamed", "1/s"),
    ("strewn / streamed", ""),
    ("ELL padding", ""),
    ("HYB width", ""),
    ("HYB COO non-zeros", ""),
    ("HYB COO share", ""),
    ("non-zeros a warp", ""),
];

/// Inputs of one prediction.
pub(super) const COUNT: usize = INPUTS.len();

/// Smallest quantity that is told from nothing.
const LEAST: f64 = 1e-6;

/// Bytes that a GPU fetches at once: what a column of its own costs.
const SECTOR_BYTES: f64 = 32.0;

/// The quantities of [`INPUTS`]; shares are marked.
fn quantities(candidate: &Candidate, f: &Features, facts: &DeviceFacts) -> [Quantity; COUNT] {
    use Quantity::{Share, Value};
    let value = |v: u64| Value(v as f64);
    let over = |a: f64, b: f64| Value(a / b.max(LEAST));
    let (nrows, nnz, mean) = (f.nrows as f64, f.nnz as f64, f.row_mean());
    let longest = f.row_max as f64;
    let bytes = compulsory_bytes(candidate, f).0 as f64;
    let streamed = streamed_s(candidate, f, facts);
    let l2 = facts.l2_bytes.0 as f64;
    let value_bytes = candidate.dtype.bytes() as f64;
    let strip = strip(candidate.kernel, facts);
    let threads = f64::from(candidate.kernel.threads_per_row().unwrap_or(1));
    let work = if candidate.kernel == Kernel::Coo { nnz } else { nrows };
    let waves = work / strip.size as f64;
    let blocks = work * threads / f64::from(candidate.block);
    let reuse = if f.x_reuse.is_nan() { 0.0 } else { f.x_reuse.clamp(0.0, 1.0) };
    let [q05, q25, q50, q75, q90, q95, q99] = f.row_quantiles.map(value);
    [
        value(u64::from(candidate.block)),
        value(candidate.dtype.bytes()),
        value(f.nrows),
        value(f.ncols),
        value(f.nnz),
        Value(mean),
        value(f.row_min),
        value(f.row_max),
        value(f.row_mode),
        q05,
        q25,
        q50,
        q75,
        q90,
        q95,
        q99,
        Value(f.row_std),
        over(f.row_std, mean),
        over(longest, mean),
        over(longest, f.row_quantiles[6] as f64),
        Share(f.empty_rows as f64 / nrows.max(1.0)),
        over(f.bandwidth as f64, f.ncols as f64),
        Share(reuse),
        Value(bytes),
        over(bytes, l2),
        over(f.ncols as f64 * value_bytes, l2),
        Value(streamed / launch_s(facts)),
        Value(waves),
        over(waves.ceil(), waves),
        over(blocks, f64::from(facts.multiprocessors)),
        Share(threads_used(f, threads)),
        Value(longest_steps(candidate.kernel, f) / streamed),
        over(nnz * (1.0 - reuse) * SECTOR_BYTES, bytes_per_s(facts) * streamed),
        over(nrows * longest, nnz),
        value(f.hyb.width),
        value(f.hyb.coo_nnz),
        Share(f.hyb.coo_nnz as f64 / nnz.max(1.0)),
        Value(mean * 32.0 / threads),
    ]
}

/// Share of the threads given to a row that find a non-zero there, over all steps, from the quantiles: each stands for
/// the rows between the middles to its neighbours.
fn threads_used(f: &Features, threads: f64) -> f64 {
    let q = Features::QUANTILES;
    let (mut used, mut given) = (0.0, 0.0);
    for (at, &length) in f.row_quantiles.iter().enumerate() {
        let from = if at == 0 { 0.0 } else { f64::midpoint(q[at - 1], q[at]) };
        let to = if at + 1 == q.len() { 1.0 } else { f64::midpoint(q[at], q[at + 1]) };
        let length = length as f64;
        used += (to - from) * length;
        given += (to - from) * (length / threads).ceil() * threads;
    }
    if given > 0.0 { used / given } else { 0.0 }
}

#[derive(Debug, Clone, Copy)]
enum Quantity {
    Value(f64),
    Share(f64),
}

impl Quantity {
    fn number(self) -> f64 {
        match self {
            Self::Value(v) | Self::Share(v) => v,
        }
    }

    /// `max` and the conversion to whole numbers drop a NaN and keep infinity finite.
    fn input(self) -> i32 {
        match self {
            Self::Value(v) => (v.max(LEAST).ln() * 1024.0).round() as i32,
            Self::Share(v) => (v.clamp(0.0, 1.0) * 4096.0).round() as i32,
        }
    }
}

/// The inputs of one prediction. O(1).
pub(super) fn inputs(candidate: &Candidate, features: &Features, facts: &DeviceFacts) -> [i32; COUNT] {
    quantities(candidate, features, facts).map(Quantity::input)
}

/// The same numbers for people.
pub(super) fn terms(candidate: &Candidate, features: &Features, facts: &DeviceFacts) -> Vec<Term> {
    let quantities = quantities(candidate, features, facts);
    let term = |((name, unit), q): ((&'static str, &'static str), Quantity)| Term {
        part: "inputs",
        name,
        value: q.number(),
        unit,
    };
    INPUTS.into_iter().zip(quantities).map(term).collect()
}
