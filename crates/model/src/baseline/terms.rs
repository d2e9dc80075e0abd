//! Terms of a baseline: times of a product that one resource alone limits.
//!
//! | term | seconds of |
//! |---|---|
//! | launch | starting the kernel |
//! | bytes | the compulsory bytes at the rate of copies |
//! | beyond L2 | those that do not stay in the L2, `max(0, bytes - 0.6 L2)`, at that rate |
//! | x by warps, by multiprocessors, scattered | the sectors of x that 32 rows, 1,024 rows or each non-zero for itself fetch, at that rate |
//! | turns | the steps of all warps over the warps that the device holds, 1 ns each |
//! | longest row | the steps of the longest row's team, 1 ns each |
//! | thread blocks | the thread blocks over the multiprocessors, 1 ns each |
//! | waves | strips of work (what the device does at once), begun ones counted whole, 1 ns each |
//! | heaviest block | the steps of all warps of the thread block that has most of them, 1 ns each |
//! | kept places | of each thread block its warps times the steps of its slowest warp, over the warps that the device holds, 1 ns each |
//! | lookups | the lines that all loads of non-zeros touch, over the multiprocessors, 1 ns each |
//! | lookups of a block | the steps of the thread block that has most of them, each with as many lines as one of the heaviest warp's, 1 ns each |
//! | lookups of a warp | the lines that all loads of the warp with most non-zeros touch, 1 ns each |
//!
//! COO waits on a GPU for additions to y by atomics: longest row, heaviest block and lookups of a block count these in place of steps.
//!
//! Steps and warps are those of 32 threads; a wave of 64 is two warps ([`DeviceFacts::warps_of_32`]), which step together.
//!
//! The numbers of a term need not be right to a factor: how much of it counts is fitted for each kernel, block size and value type
//! ([`Baseline`](super::Baseline)).

use sparsight_kernels::{Candidate, DeviceFacts, WarpWork, compulsory_bytes, strip};
use sparsight_matrix::{Features, Format, Loads, Locality};

/// Number of terms.
pub(crate) const TERMS: usize = 15;

/// Bytes a second where the device's bandwidth was never measured. Chosen; any will do, since the same number
/// stands in training and in prediction.
const UNKNOWN_BYTES_PER_S: f64 = 1e11;
/// Seconds a launch where that was never measured. Chosen, as above.
const UNKNOWN_LAUNCH_S: f64 = 1e-6;
/// Bytes that a GPU fetches at once: what a column of its own costs.
const SECTOR_BYTES: f64 = 32.0;
/// Share of the L2 that a matrix may fill before parts of it are fetched again in each product. Found on an H200.
pub(crate) const KEPT_OF_L2: f64 = 0.6;
/// Seconds of a step before it is fitted.
const STEP_S: f64 = 1e-9;

/// `value`, or `otherwise` where it is no positive number.
pub(crate) fn positive_or(value: f64, otherwise: f64) -> f64 {
    if value.is_finite() && value > 0.0 { value } else { otherwise }
}

/// The device's measured launch cost, or what stands for it.
pub(crate) fn launch_s(facts: &DeviceFacts) -> f64 {
    positive_or(facts.launch_s.0, UNKNOWN_LAUNCH_S)
}

/// The device's measured bandwidth, or what stands for it.
pub(crate) fn bytes_per_s(facts: &DeviceFacts) -> f64 {
    positive_or(facts.copy_bytes_per_s, UNKNOWN_BYTES_PER_S)
}

/// Bytes of x that are fetched if `share` of the non-zeros fetch a sector.
pub(crate) fn fetched_bytes(nnz: f64, share: f64) -> f64 {
    nnz * share * SECTOR_BYTES
}

/// Share of the non-zeros whose x was fetched just before. Without a sensible one it is 0, which costs most.
pub(crate) fn reuse(f: &Features) -> f64 {
    if f.x_reuse.is_nan() { 0.0 } else { f.x_reuse.clamp(0.0, 1.0) }
}

/// Steps of the warp that works longest, and those of all warps over the warps that the device holds; 0 where they are not counted.
pub(crate) fn longest_and_turns(work: Option<WarpWork>, facts: &DeviceFacts) -> [f64; 2] {
    work.map_or([0.0; 2], |work| [work.longest, work.steps / held(facts)])
}

/// Warps that the device holds, of 32 threads as steps are counted.
fn held(facts: &DeviceFacts) -> f64 {
    (f64::from(facts.multiprocessors) * f64::from(facts.warps_of_32())).max(1.0)
}

/// Lines of 128 bytes that loads of non-zeros touch: of x, and where teams of threads go along rows of CSR those of its columns and
/// values too, which other formats and kernels read one after the other. A lookup is one line of one load; a multiprocessor does one a
/// cycle. Where threads are given to non-zeros a load is of 32 neighbouring non-zeros of a row; a routine of the vendor's library whose
/// work is counted by rows counts with one thread a row, as its work does.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Lookups {
    /// Lines a non-zero.
    pub(crate) share: f64,
    /// Lines of all loads of the warp with most non-zeros.
    pub(crate) heaviest: f64,
    /// Lines of one of its loads.
    pub(crate) a_load: f64,
}

impl Lookups {
    /// Zeros where the features do not hold them.
    pub(crate) fn of(candidate: &Candidate, f: &Features) -> Self {
        let Some(loads) = f.loads() else { return Self::default() };
        let kernel = candidate.kernel;
        let threads = kernel.threads_per_row();
        let [of_vectors, of_values] = [candidate.dtype, candidate.dtype.of_values()].map(Locality::sector);
        let by_rows = || kernel.is_vendors() && kernel.warp_work(candidate.block, f).is_some();
        let team = Locality::team(threads.unwrap_or_else(|| if by_rows() { 1 } else { 32 }));
        let along_rows = threads.is_some() && kernel.format() == Format::csr();
        let lines = |of_x: &[[u64; 6]; 2], of_rows: &[[u64; 6]; 2]| {
            (of_x[of_vectors][team] + if along_rows { of_rows[of_values][team] } else { 0 }) as f64
        };
        let heaviest = lines(&loads.heaviest_x, &loads.heaviest_rows);
        Self {
            share: lines(&loads.x, &loads.rows) / Loads::NNZ as f64,
            heaviest,
            a_load: heaviest / (loads.heaviest_steps[team].max(1)) as f64,
        }
    }
}

/// Seconds by term, of one candidate on one matrix; none negative. What needs the features' locality is 0 without it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Terms {
    pub(crate) seconds: [f64; TERMS],
    /// The lookups that three of them count.
    pub(crate) lookups: Lookups,
}

impl Terms {
    /// The terms of a candidate on a matrix with these features.
    pub fn of(candidate: &Candidate, f: &Features, facts: &DeviceFacts) -> Self {
        let kernel = candidate.kernel;
        let (bytes, rate, nnz) = (compulsory_bytes(candidate, f).0 as f64, bytes_per_s(facts), f.nnz as f64);
        let beyond = (bytes - KEPT_OF_L2 * facts.l2_bytes.0 as f64).max(0.0);
        let sectors = f.locality.as_ref().map_or([0.0; 2], |l| {
            let sector = Locality::sector(candidate.dtype);
            [l.warp_sectors[sector], l.multiprocessor_sectors[sector]]
        });
        let [by_warps, by_multiprocessors] = sectors.map(|share| fetched_bytes(nnz, share) / rate);
        let work = candidate.kernel.warp_work(candidate.block, f);
        let [longest, turns] = longest_and_turns(work, facts);
        let [heaviest, kept] = work.map_or([0.0; 2], |work| [work.heaviest, work.kept / held(facts)]);
        let lookups = Lookups::of(candidate, f);
        let multiprocessors = f64::from(facts.multiprocessors.max(1));
        let blocks = kernel.thread_blocks(candidate.block, f) / multiprocessors;
        let work = kernel.unit().count(f.nrows, f.nnz) as f64;
        let waves = (work / strip(kernel, facts).size as f64).ceil();
        let seconds = [
            launch_s(facts),
            bytes / rate,
            beyond / rate,
            by_warps,
            by_multiprocessors,
            fetched_bytes(nnz, 1.0 - reuse(f)) / rate,
            STEP_S * turns,
            STEP_S * longest,
            STEP_S * blocks,
            STEP_S * waves,
            STEP_S * heaviest,
            STEP_S * kept,
            STEP_S * nnz * lookups.share / multiprocessors,
            STEP_S * heaviest * lookups.a_load,
            STEP_S * lookups.heaviest,
        ];
        Self { seconds, lookups }
    }

    /// Launch and compulsory bytes, seconds; positive.
    pub(crate) fn streamed_s(&self) -> f64 {
        self.seconds[0] + self.seconds[1]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sparsight_matrix::Dtype;

    fn assert_same(found: [f64; 3], wanted: [f64; 3]) {
        assert_eq!(found.map(f64::to_bits), wanted.map(f64::to_bits), "{found:?} {wanted:?}");
    }

    #[test]
    fn lookups_are_of_x_and_along_rows_of_csr_of_their_entries_too() {
        let teams = |first: u64| std::array::from_fn(|team| first >> team);
        let loads = Loads {
            x: [teams(512), teams(1024)],
            rows: [teams(256), teams(512)],
            heaviest_x: [teams(3200), teams(6400)],
            heaviest_rows: [teams(1600), teams(3200)],
            heaviest_steps: teams(320),
        };
        let locality = Some(Locality { loads: Some(loads), ..Locality::default() });
        let features = Features { locality, ..Features::default() };
        let of = |id: &str| {
            let Lookups { share, heaviest, a_load } = Lookups::of(&id.parse().unwrap(), &features);
            [share, heaviest, a_load]
        };
        // One thread a row in SELL; in CSR with 256 / 1,024 lines of columns and values a non-zero more.
        assert_same(of("sell/c32/s1/b256/f32"), [0.5, 3200.0, 10.0]);
        assert_same(of("csr-scalar/b256/f32"), [0.75, 4800.0, 15.0]);
        assert_same(of("csr-vector/t4/b256/f64"), [0.375, 2400.0, 30.0]);
        // Values of mixed precision are in f32, vectors in f64.
        let mixed = Candidate { dtype: Dtype::Mixed, ..("csr-scalar/b256/f64").parse().unwrap() };
        assert!((Lookups::of(&mixed, &features).share - 1.25).abs() < 1e-12);
        // Threads are given to non-zeros: a load is of 32 of a row.
        assert_same(of("coo/b256/f32"), [16.0 / 1024.0, 100.0, 10.0]);
        assert_same(of("cusparse-csr/a1/f32"), [16.0 / 1024.0, 100.0, 10.0]);
        assert_same(of("cusparse-sell/f32"), [0.5, 3200.0, 10.0]);
        assert_same(of("cusparse-bsr/b2/a1/f32"), [0.5, 3200.0, 10.0]);
    }

    #[test]
    fn features_without_lines_of_loads_have_no_lookups() {
        let features = Features { locality: Some(Locality::default()), ..Features::default() };
        let lookups = Lookups::of(&"csr-scalar/b256/f32".parse().unwrap(), &features);
        assert_same([lookups.share, lookups.heaviest, lookups.a_load], [0.0; 3]);
    }
}
