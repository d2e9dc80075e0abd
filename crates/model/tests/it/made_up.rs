//! A made-up device whose times obey a given equation, and the benchmark grid measured on it.

#![allow(dead_code, reason = "the tests of `sparsight-lab` use a part")]

use serde::de::DeserializeOwned;
use sparsight_kernels::{
    BenchmarkMatrix, Candidate, DeviceFacts, Kernel, Placement, RowLengthDistribution, StripRule, StripUnit,
    strip,
};
use sparsight_matrix::{Bytes, Dtype, Features, HybSplit, Loads, Locality, RowLengths, Seconds};
use sparsight_model::{LearningSample, Observation};
use std::fmt::Debug;

/// Strips of 64 rows and 2,048 non-zeros, a threshold of 256, an L2 of 1 MB; launch cost unknown.
pub fn device() -> DeviceFacts {
    DeviceFacts { max_threads_per_block: Some(256), l2_bytes: Bytes(1 << 20), ..gpu("made up", 2, 1024) }
}

pub fn gpu(name: &str, multiprocessors: u32, threads_per_multiprocessor: u32) -> DeviceFacts {
    DeviceFacts {
        l2_bytes: Bytes(60_000_000),
        memory_bytes: Bytes(1 << 34),
        compute_capability: Some((9, 0)),
        copy_bytes_per_s: 1e12,
        upload_bytes_per_s: Some(1e10),
        ..DeviceFacts::of_gpu(name, multiprocessors, threads_per_multiprocessor)
    }
}

pub fn candidate(kernel: Kernel) -> Candidate {
    Candidate { kernel, block: 128, dtype: Dtype::F32 }
}

pub const STRIPS: [u64; 12] = [1, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 50];
pub const ROW_LENGTHS: [u64; 10] = [4, 8, 16, 32, 64, 128, 200, 300, 512, 1024];

/// Times `time(I, p, working set)` over the grid, rows of one length.
pub fn observe(
    facts: &DeviceFacts,
    candidate: Candidate,
    placement: Placement,
    time: impl Fn(f64, f64, u64) -> f64,
) -> Vec<Observation> {
    let strip = strip(candidate.kernel, facts);
    let mut all = Vec::new();
    for strips in STRIPS {
        for row_length in ROW_LENGTHS {
            // COO: a matrix of `strips` strips of rows, as in the papers' grid where I is 1.
            let nrows = (strips * strip.size).max(row_length);
            let lengths = RowLengthDistribution::Constant;
            let matrix = BenchmarkMatrix { nrows, row_length, lengths, placement, seed: 0 };
            let count = strip.unit.count(nrows, nrows * row_length);
            let bytes = matrix.bytes(candidate.format(), candidate.dtype).0;
            let time = Seconds(time(strip.strips(count) as f64, row_length as f64, bytes));
            all.push(Observation { candidate, placement, lengths, row_length, strips, nrows, time });
        }
    }
    all
}

/// A matrix whose `nrows` rows mostly hold `mode` entries and one of them `max`.
pub fn matrix(nrows: u64, mode: u64, max: u64) -> Features {
    let lengths = RowLengths::from_counts([(mode, nrows - 1), (max, 1)]);
    Features::from_row_lengths(&lengths, nrows, nrows, 1.0)
}

/// Features as if the rows, all alike, lay beside each other.
pub fn located(mut features: Features) -> Features {
    let (nrows, row) = (features.nrows, features.row_max);
    let team_steps = [1, 2, 4, 8, 16, 32].map(|t| (nrows * t).div_ceil(32) * row.div_ceil(t));
    let sectors = [0.125, 0.25];
    let locality = Locality {
        min_distance: 1,
        max_distance: 1,
        team_steps,
        warp_sectors: sectors,
        multiprocessor_sectors: sectors,
        loads: Some(Loads::default()),
    };
    features.locality = Some(locality);
    features
}

/// A HYB matrix with the cut given.
pub fn hyb_matrix(nrows: u64, width: u64, coo_nnz: u64, x_reuse: f64) -> Features {
    let mut f = matrix(nrows, width, width);
    f.hyb = HybSplit { width, coo_nnz };
    f.nnz = nrows * width + coo_nnz;
    f.x_reuse = x_reuse;
    f
}

pub fn assert_close(got: f64, wanted: f64, what: &str) {
    assert!((got / wanted - 1.0).abs() < 1e-9, "{what}: got {got:e}, wanted {wanted:e}");
}

pub fn csr_time(i: f64, p: f64) -> f64 {
    // Both sides of the threshold of 256 have their own lines, over p and over I.
    if p <= 256.0 { (2e-8 * p + 1e-6) * (0.7 * i + 0.3) } else { (3e-8 * p + 4e-6) * (0.9 * i + 0.2) }
}

pub fn ell_time(i: f64, p: f64) -> f64 {
    (3e-8 * i + 1e-8) * p + (4e-7 * i + 2e-6)
}

pub fn coo_time(i: f64) -> f64 {
    5e-7 * i + 3e-6
}

/// Scattered columns take twice as long and 1 microsecond more: still each model's equation for ELL and COO; for
/// CSR, where a constant is not, only twice as long.
pub fn placed(placement: Placement, kernel: Kernel, time: f64) -> f64 {
    match (placement, kernel.strip_rule()) {
        (Placement::Banded, _) => time,
        (Placement::Scattered, StripRule::Csr) => 2.0 * time,
        (Placement::Scattered, _) => 2.0 * time + 1e-6,
    }
}

pub fn time(kernel: Kernel, placement: Placement, i: f64, p: f64) -> f64 {
    let banded = match kernel.strip_rule() {
        StripRule::Csr => csr_time(i, p),
        StripRule::Coo => coo_time(i),
        _ => ell_time(i, p),
    };
    placed(placement, kernel, banded)
}

/// Rows of many lengths take longer, by a factor of the distribution: still each model's equation.
pub fn slower(lengths: RowLengthDistribution) -> f64 {
    match lengths {
        RowLengthDistribution::Constant => 1.0,
        RowLengthDistribution::Uniform => 1.5,
        RowLengthDistribution::Normal => 1.25,
    }
}

/// Observations of drawn lengths beside `constant`: of the kernels that work by rows.
pub fn drawn(constant: &[Observation]) -> Vec<Observation> {
    let by_rows = constant.iter().filter(|o| o.candidate.kernel.unit() == StripUnit::Rows);
    let drawn = [RowLengthDistribution::Uniform, RowLengthDistribution::Normal];
    let again = |o: &Observation| {
        let o = *o;
        drawn.map(|lengths| Observation { lengths, time: Seconds(slower(lengths) * o.time.0), ..o })
    };
    by_rows.flat_map(again).collect()
}

/// Kernels that benchmark matrices are run with.
pub fn measured() -> impl Iterator<Item = Kernel> {
    Kernel::all().filter(|k| k.has_benchmark_matrices())
}

/// Kernels that strip models predict: those, and HYB from its parts.
pub fn predicted() -> impl Iterator<Item = Kernel> {
    measured().chain([Kernel::known("hyb")])
}

pub fn observe_all(facts: &DeviceFacts) -> Vec<Observation> {
    measured()
        .flat_map(|k| Placement::ALL.map(|placement| (k, placement)))
        .flat_map(|(k, place)| observe(facts, candidate(k), place, |i, p, _| time(k, place, i, p)))
        .collect()
}

/// A table of measured times in microseconds: rows of `(p, time at each I)`, scattered columns.
pub fn observe_table<const N: usize>(
    facts: &DeviceFacts,
    candidate: Candidate,
    strips: &[u64; N],
    table: &[(u64, [f64; N])],
) -> Vec<Observation> {
    let size = strip(candidate.kernel, facts).size;
    let row = |(row_length, times): &(u64, [f64; N])| {
        let row_length = *row_length;
        let cell = |(&strips, us): (&u64, f64)| Observation {
            candidate,
            placement: Placement::Scattered,
            lengths: RowLengthDistribution::Constant,
            row_length,
            strips,
            nrows: strips * size,
            time: Seconds(us * 1e-6),
        };
        strips.iter().zip(*times).map(cell).collect::<Vec<_>>()
    };
    table.iter().flat_map(row).collect()
}

/// Every matrix measured with ELL alone, in one block size and value type, always with the same time.
pub fn ell_alone(corpus: &[(String, Features)]) -> Vec<LearningSample<'_>> {
    let (candidate, time) = (candidate(Kernel::known("ell")), Seconds(1e-5));
    let samples = corpus.iter().map(|(matrix, features)| LearningSample {
        matrix,
        features,
        candidate,
        time,
        best: time,
        origin: sparsight_model::Origin::Real,
    });
    samples.collect()
}

/// The words with which a stored model is refused once `from` is changed to `to` in it.
pub fn refused_with<M: DeserializeOwned + Debug>(stored: &str, from: &str, to: &str) -> String {
    let other = stored.replacen(from, to, 1);
    assert_ne!(other, stored);
    serde_json::from_str::<M>(&other).unwrap_err().to_string()
}
