//! Inputs of trees and network: the features of Lehnert et al. 2016 and what the device makes of them.
//!
//! Every input is a whole number, `round(1024 ln v)` for a quantity and `round(4096 v)` for a share in 0..=1: finer
//! than any difference that measured times could teach, short on disk, and exact when compared. For trees, which only ask
//! what is larger, the logarithm changes nothing but the rounding; the network sees logarithms.
//!
//! The inputs that differ between block sizes come first, then those of a kernel, then those that all candidates of a
//! matrix share, so that each is computed as seldom as it changes. What tells kernels of a family apart comes last.
//!
//! Absent, since held-out errors were no smaller with them: minimum and maximum distance of neighbouring non-zeros.
//! Density: rows, columns and non-zeros are there.

use crate::Term;
use crate::baseline::{TERMS, Terms, bytes_per_s, fetched_bytes, launch_s, longest_and_turns, reuse};
use sparsight_kernels::{Candidate, DeviceFacts, Kernel, compulsory_bytes, strip};
use sparsight_matrix::{Dtype, Features, Locality};

/// Inputs that differ between the block sizes of a kernel.
pub(super) const BLOCK_INPUTS: usize = 2 + TERMS;
/// Inputs that differ between kernels.
const KERNEL_INPUTS: usize = 15;
/// Inputs that all candidates of one value type share.
const MATRIX_INPUTS: usize = 28;
/// Inputs that tell the kernels of a family apart.
const KNOB_INPUTS: usize = 3;
/// Inputs of one prediction.
pub(super) const COUNT: usize = BLOCK_INPUTS + KERNEL_INPUTS + MATRIX_INPUTS + KNOB_INPUTS;
/// The place of the first input that all candidates share.
pub(super) const OF_MATRIX: usize = BLOCK_INPUTS + KERNEL_INPUTS;

/// Name and unit of each input, in order; b is the baseline, of which its terms have shares. A model that was fitted with other
/// inputs is refused.
pub(super) const INPUTS: [(&str, &str); COUNT] = [
    ("block", ""),
    ("blocks a multiprocessor", ""),
    ("launch / b", ""),
    ("bytes / b", ""),
    ("beyond L2 / b", ""),
    ("x by warps / b", ""),
    ("x by multiprocessors / b", ""),
    ("x scattered / b", ""),
    ("turns / b", ""),
    ("longest row / b", ""),
    ("thread blocks / b", ""),
    ("waves / b", ""),
    ("heaviest block / b", ""),
    ("kept places / b", ""),
    ("lookups / b", ""),
    ("lookups of a block / b", ""),
    ("lookups of a warp / b", ""),
    ("compulsory bytes", "B"),
    ("working set / L2", ""),
    ("streamed / launch", ""),
    ("n / S", ""),
    ("rounded up / (n / S)", ""),
    ("threads used a row", ""),
    ("longest row / streamed", "1/s"),
    ("strewn / streamed", ""),
    ("non-zeros a warp", ""),
    ("lanes used", ""),
    ("turns / streamed", "1/s"),
    ("fetched by warps / streamed", ""),
    ("fetched by multiprocessors / streamed", ""),
    ("lines a non-zero", ""),
    ("lines a load of the heaviest warp", ""),
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
    ("x / L2", ""),
    ("ELL padding", ""),
    ("HYB width", ""),
    ("HYB COO non-zeros", ""),
    ("HYB COO share", ""),
    ("fetched by multiprocessors / L2", ""),
    ("first knob", ""),
    ("second knob", ""),
    ("third knob", ""),
];

/// Names of the inputs that do not depend on the block size: those of a kernel, then those that all share.
pub(crate) fn names_without_block() -> impl Iterator<Item = &'static str> {
    INPUTS.into_iter().skip(BLOCK_INPUTS).take(KERNEL_INPUTS + MATRIX_INPUTS).map(|(name, _)| name)
}

/// Smallest quantity that is told from nothing.
const LEAST: f64 = 1e-6;

/// Threads of the block for which a kernel's inputs are computed, the middle one of the catalogue.
pub(super) const MIDDLE_BLOCK: u32 = 256;

/// Threads of a warp.
const WARP: f64 = 32.0;

fn value(v: u64) -> Quantity {
    Quantity::Value(v as f64)
}

fn over(a: f64, b: f64) -> Quantity {
    Quantity::Value(a / b.max(LEAST))
}

/// A matrix of one value type, with what is the same for all of its candidates.
#[derive(Debug)]
pub(crate) struct Matrix<'f> {
    features: &'f Features,
    locality: &'f Locality,
    dtype: Dtype,
    quantities: [Quantity; MATRIX_INPUTS],
    /// The quantities as inputs of the trees.
    inputs: [i32; MATRIX_INPUTS],
}

impl<'f> Matrix<'f> {
    /// `None` for features without locality or lines of loads.
    pub(crate) fn of(features: &'f Features, dtype: Dtype, facts: &DeviceFacts) -> Option<Self> {
        features.loads()?;
        let locality = features.locality.as_ref()?;
        let quantities = shared(features, locality, dtype, facts);
        Some(Self { features, locality, dtype, quantities, inputs: quantities.map(Quantity::input) })
    }

    /// Inputs of `candidate`, which is of the matrix' value type. O(1).
    pub(super) fn inputs(
        &self,
        candidate: &Candidate,
        terms: &Terms,
        shares: &[f64; TERMS],
        facts: &DeviceFacts,
    ) -> [i32; COUNT] {
        let kernel = self.kernel(candidate, terms, facts).map(Quantity::input);
        let mut all = [0; COUNT];
        all[..BLOCK_INPUTS].copy_from_slice(&self.block_inputs(candidate, shares, facts));
        all[BLOCK_INPUTS..OF_MATRIX].copy_from_slice(&kernel);
        all[OF_MATRIX..][..MATRIX_INPUTS].copy_from_slice(&self.inputs);
        all[COUNT - KNOB_INPUTS..].copy_from_slice(&knobs(candidate.kernel).map(Quantity::input));
        all
    }

    /// Inputs that all candidates share, which begin at [`OF_MATRIX`].
    pub(super) fn shared(&self) -> &[i32] {
        &self.inputs
    }

    /// Inputs that all candidates share, then those that each of `kernels` adds, whatever its block size: 28 numbers and 15 a kernel.
    pub(crate) fn side_by_side(
        &self,
        kernels: impl IntoIterator<Item = Kernel>,
        facts: &DeviceFacts,
    ) -> Vec<i32> {
        let of_kernel = |kernel| {
            // Nothing here looks at the block size.
            let candidate = Candidate { kernel, block: 1, dtype: self.dtype };
            let terms = Terms::of(&candidate, self.features, facts);
            self.kernel(&candidate, &terms, facts).map(Quantity::input)
        };
        self.inputs.into_iter().chain(kernels.into_iter().flat_map(of_kernel)).collect()
    }

    /// Length of [`Matrix::side_by_side`] for this many kernels.
    pub(crate) const fn count_side_by_side(kernels: usize) -> usize {
        MATRIX_INPUTS + KERNEL_INPUTS * kernels
    }

    /// The first of [`Matrix::inputs`]: where candidates of one kernel differ.
    pub(super) fn block_inputs(
        &self,
        candidate: &Candidate,
        shares: &[f64; TERMS],
        facts: &DeviceFacts,
    ) -> [i32; BLOCK_INPUTS] {
        self.block(candidate, shares, facts).map(Quantity::input)
    }

    /// The quantities with their names, for people.
    pub(super) fn terms(
        &self,
        candidate: &Candidate,
        terms: &Terms,
        shares: &[f64; TERMS],
        facts: &DeviceFacts,
    ) -> Vec<Term> {
        let (block, kernel) = (self.block(candidate, shares, facts), self.kernel(candidate, terms, facts));
        let quantities =
            block.into_iter().chain(kernel).chain(self.quantities).chain(knobs(candidate.kernel));
        let term = |((name, unit), q): ((&'static str, &'static str), Quantity)| Term {
            part: "inputs",
            name,
            value: q.number(),
            unit,
        };
        INPUTS.into_iter().zip(quantities).map(term).collect()
    }

    fn block(
        &self,
        candidate: &Candidate,
        shares: &[f64; TERMS],
        facts: &DeviceFacts,
    ) -> [Quantity; BLOCK_INPUTS] {
        // Where the vendor's library cuts the work into blocks, their number is unknown: a constant, which trees ignore.
        let blocks = candidate.kernel.thread_blocks(candidate.block, self.features);
        let mut all = [Quantity::Share(0.0); BLOCK_INPUTS];
        all[0] = value(u64::from(candidate.block));
        all[1] = over(blocks, f64::from(facts.multiprocessors));
        all[2..].copy_from_slice(&shares.map(Quantity::Share));
        all
    }

    fn kernel(&self, candidate: &Candidate, of: &Terms, facts: &DeviceFacts) -> [Quantity; KERNEL_INPUTS] {
        use Quantity::{Share, Value};
        let (f, l, kernel) = (self.features, self.locality, candidate.kernel);
        let (nnz, threads) = (f.nnz as f64, f64::from(kernel.threads_per_row().unwrap_or(1)));
        let bytes = compulsory_bytes(candidate, f).0 as f64;
        let streamed = of.streamed_s();
        let strips = kernel.unit().count(f.nrows, f.nnz) as f64 / strip(kernel, facts).size as f64;
        // The same for every block size of the kernel.
        let work_of_warps = kernel.warp_work(MIDDLE_BLOCK, f);
        let steps = work_of_warps.map(|work| work.steps).filter(|steps| *steps > 0.0).unwrap_or(nnz / WARP);
        let [longest, turns] = longest_and_turns(work_of_warps, facts);
        let sector = Locality::sector(self.dtype);
        let fetched = |share: f64| over(fetched_bytes(nnz, share), bytes_per_s(facts) * streamed);
        [
            Value(bytes),
            over(bytes, facts.l2_bytes.0 as f64),
            Value(streamed / launch_s(facts)),
            Value(strips),
            over(strips.ceil(), strips),
            Share(threads_used(f, threads)),
            Value(longest / streamed),
            fetched(1.0 - reuse(f)),
            Value(f.row_mean() * WARP / threads),
            Share(nnz / (WARP * steps).max(1.0)),
            Value(turns / streamed),
            fetched(l.warp_sectors[sector]),
            fetched(l.multiprocessor_sectors[sector]),
            Value(of.lookups.share),
            Value(of.lookups.a_load),
        ]
    }
}

fn shared(f: &Features, l: &Locality, dtype: Dtype, facts: &DeviceFacts) -> [Quantity; MATRIX_INPUTS] {
    use Quantity::{Share, Value};
    let (nrows, ncols, nnz, mean) = (f.nrows as f64, f.ncols as f64, f.nnz as f64, f.row_mean());
    let (longest, l2) = (f.row_max as f64, facts.l2_bytes.0 as f64);
    let value_bytes = dtype.bytes();
    let [q05, q25, q50, q75, q90, q95, q99] = f.row_quantiles.map(value);
    [
        value(value_bytes),
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
        over(f.bandwidth as f64, ncols),
        Share(reuse(f)),
        over(ncols * value_bytes as f64, l2),
        over(nrows * longest, nnz),
        value(f.hyb.width),
        value(f.hyb.coo_nnz),
        Share(f.hyb.coo_nnz as f64 / nnz.max(1.0)),
        over(fetched_bytes(nnz, l.multiprocessor_sectors[Locality::sector(dtype)]), l2),
    ]
}

/// The numbers by which kernels of a family differ; what each means is the family's affair.
fn knobs(kernel: Kernel) -> [Quantity; KNOB_INPUTS] {
    kernel.knobs().map(|knob| value(u64::from(knob)))
}

/// Share of the threads given to a row that find a non-zero there, over all steps, from the quantiles.
fn threads_used(f: &Features, threads: f64) -> f64 {
    let (mut used, mut given) = (0.0, 0.0);
    for (share, length) in f.shares_of_rows() {
        used += share * length;
        given += share * (length / threads).ceil() * threads;
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
