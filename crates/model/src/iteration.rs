//! Time of an iteration of a solver around a product, captured in a CUDA graph.
//!
//! ```text
//! T = sum of products (E + c B (m(W) - m(B)) + t) + sum of vector updates (u + n / r)
//!
//! E        predicted time of the product by itself, launch included
//! B, W     bytes of the product, and of all that the iteration touches
//! m(B)     max(0, 1 - C / B): the share of B bytes that a cache of C bytes does not hold until they are read again
//! c        seconds for each byte that is evicted between two products
//! t        what an epilogue and dot products add; in the launch of the product: n / r + d
//!          in a launch of their own: u + n / r + d, with the sums of the rows read and y written once more
//! d        0 without dot products, else what the last thread block needs to add the partial sums; u more where a launch of its own
//!          does so, of products of more thread blocks than run at once
//! u        a launch that reads and writes next to nothing
//! n / r    bytes of vectors over the rate at which they come: copy rate for the share m(W), twice that for the rest
//! ```
//! `C` and `c` are those that the profile learned from matrices that were cut into parts run one after the other
//! ([`CutCost`]), which evict each other's data as products and vectors do; without, `C` is 0.6 L2 and `c` a byte at the copy rate.
//!
//! [`Iteration::steps`] is the one definition of what an iteration launches and which vectors it moves; the examples of the Python
//! package are written by it, and a test compares them.
//!
//! Sources: Chronopoulos and Gear 1989 (CG with one reduction); van der Vorst 1992 (stabilised biconjugate gradients), with (r0, r)
//! from the dot products of the second product; Chambolle and Pock 2011 and Applegate et al. 2021 (PDHG for linear programs). The sum is this project's own.

use crate::baseline::{KEPT_OF_L2, bytes_per_s, launch_s};
use crate::{CutCost, Prediction};
use serde::Serialize;
use sparsight_kernels::DeviceFacts;
use sparsight_matrix::{Bytes, Seconds};
use std::fmt;
use std::str::FromStr;

/// u over the cost of an empty launch. Measured: 1.05 on an H100, 1.25 on an H200 (docs/results/solvers.md).
const UPDATE_LAUNCHES: f64 = 1.15;
/// Least and most of it.
const UPDATE_LAUNCHES_BETWEEN: [f64; 2] = [1.0, 1.5];

/// d over the cost of an empty launch. Measured: 1.4 on an H100, 1.8 on an H200, of up to three dot products.
const LAST_BLOCK_LAUNCHES: f64 = 1.6;
/// Least and most of it.
const LAST_BLOCK_LAUNCHES_BETWEEN: [f64; 2] = [1.1, 2.2];

/// Rate of bytes from the cache over the copy rate. Chosen: as for the reasons of a product's time.
const CACHED_RATE: f64 = 2.0;

/// A solver whose iteration is predicted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Iteration {
    /// Conjugate gradients.
    Cg,
    /// Stabilised biconjugate gradients.
    Bicgstab,
    /// Primal-dual hybrid gradient for linear programs: a product with A^T and one with A.
    Pdhg,
}

/// A product with what comes after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProductStep {
    /// A^T in place of A.
    pub is_transposed: bool,
    /// Vectors that the epilogue and the dot products read at the row, the old y and x among them.
    pub reads: u32,
    /// Vectors that the epilogue writes beside y.
    pub writes: u32,
    /// Dot products.
    pub dots: u32,
}

/// A launch of an iteration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// A product with what comes after it; where its kernel takes no epilogue, two launches.
    Product(ProductStep),
    /// Updates of vectors of a row's length by each other.
    Update {
        /// Vectors that are read.
        reads: u32,
        /// Vectors that are written.
        writes: u32,
    },
}

const fn product(reads: u32, dots: u32) -> Step {
    Step::Product(ProductStep { is_transposed: false, reads, writes: 0, dots })
}

const fn update(reads: u32, writes: u32) -> Step {
    Step::Update { reads, writes }
}

impl Iteration {
    /// All, in the order in which help lists them.
    pub const ALL: [Self; 3] = [Self::Cg, Self::Bicgstab, Self::Pdhg];

    /// Name of the method: `CG`.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Cg => "CG",
            Self::Bicgstab => "BiCGStab",
            Self::Pdhg => "PDHG",
        }
    }

    /// The launches of an iteration.
    ///
    /// ```text
    /// cg         w = A r with (w, r), (r, r), (w, p)      p = r + b p, q = w + b q, x += a p, r -= a q
    /// bicgstab   v = A p with (v, r0)                     r -= a v
    ///            t = A r with (t, r), (t, t), (t, r0)     x += a p + o r, r -= o t, p = r + b (p - o v)
    /// pdhg       x' = clamp(x - tau (c - A^T y), l, u), v = 2 x' - x
    ///            y = max(y + sigma (b - A v), l_y)
    /// ```
    pub const fn steps(self) -> &'static [Step] {
        match self {
            Self::Cg => const { &[product(2, 3), update(5, 4)] },
            Self::Bicgstab => const { &[product(1, 1), update(2, 1), product(2, 3), update(5, 3)] },
            Self::Pdhg => {
                const {
                    &[
                        Step::Product(ProductStep { is_transposed: true, reads: 4, writes: 1, dots: 0 }),
                        product(3, 0),
                    ]
                }
            }
        }
    }

    /// Vectors of a row's and of a column's length that an iteration touches.
    const fn vectors(self) -> [u64; 2] {
        match self {
            // x, r, w, p, q
            Self::Cg => [5, 0],
            // x, r, r0, p, v, t
            Self::Bicgstab => [6, 0],
            // y, b, l_y; x, v, c, l, u
            Self::Pdhg => [3, 5],
        }
    }

    /// True if it multiplies with A^T, too.
    pub const fn needs_transpose(self) -> bool {
        matches!(self, Self::Pdhg)
    }
}

/// The one name used in flags and answers: `cg`, `bicgstab`, `pdhg`.
impl fmt::Display for Iteration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

impl FromStr for Iteration {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|iteration| iteration.to_string() == text);
        found.ok_or_else(|| format!("unknown iteration '{text}': cg, bicgstab or pdhg"))
    }
}

/// What comes after the row sums in the launch that computes them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InLaunch {
    /// Epilogues.
    pub epilogue: bool,
    /// Dot products, and epilogues with them.
    pub dots: bool,
    /// Of dot products, the sums of thread blocks alone: one launch more adds them up.
    pub block_sums: bool,
}

/// A product of an iteration.
#[derive(Debug, Clone, Copy)]
pub struct IteratedProduct<'a> {
    /// Its time by itself.
    pub prediction: &'a Prediction,
    /// Matrix in its format, x and y.
    pub bytes: Bytes,
    /// What its kernel takes.
    pub in_launch: InLaunch,
}

/// Predicted time of an iteration. `low <= time <= high`, as for a [`Prediction`].
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct IterationTime {
    /// Time of an iteration.
    #[serde(rename = "iteration_s")]
    pub time: Seconds,
    /// Lower end of the 90 % interval.
    #[serde(rename = "iteration_low_s")]
    pub low: Seconds,
    /// Upper end of the 90 % interval.
    #[serde(rename = "iteration_high_s")]
    pub high: Seconds,
    /// Time of its products by themselves, a part of `time`.
    #[serde(rename = "in_products_s")]
    pub in_products: Seconds,
    /// Launches of an iteration; a product counts as one.
    pub launches: u32,
    /// Bytes of vectors that it reads and writes beside its products.
    #[serde(rename = "vector_bytes")]
    pub bytes: Bytes,
}

/// A time with the ends of its interval, seconds.
#[derive(Debug, Clone, Copy, Default)]
struct Span {
    low: f64,
    time: f64,
    high: f64,
}

impl Span {
    fn of_launches(launch: f64, times: f64, [least, most]: [f64; 2]) -> Self {
        Self { low: launch * least, time: launch * times, high: launch * most }
    }

    fn plus(self, other: Self) -> Self {
        Self { low: self.low + other.low, time: self.time + other.time, high: self.high + other.high }
    }
}

/// Prices of what stands between products, on one device.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct IterationCost {
    launch_s: f64,
    bytes_per_s: f64,
    /// C.
    cache_bytes: f64,
    /// c.
    s_per_evicted_byte: f64,
}

impl IterationCost {
    /// Prices on a device with these facts, whose caches are known from cuts into sequential parts, or not.
    pub fn new(facts: &DeviceFacts, sequential: &CutCost) -> Self {
        let bytes_per_s = bytes_per_s(facts);
        let (cache_bytes, s_per_evicted_byte) = match sequential.learned {
            Some(_) => (sequential.cache_bytes.0 as f64, sequential.s_per_byte),
            None => (KEPT_OF_L2 * facts.l2_bytes.0 as f64, 1.0 / bytes_per_s),
        };
        Self { launch_s: launch_s(facts), bytes_per_s, cache_bytes, s_per_evicted_byte }
    }

    /// m(B).
    fn missing(&self, bytes: f64) -> f64 {
        if bytes > self.cache_bytes { 1.0 - self.cache_bytes / bytes } else { 0.0 }
    }

    /// n / r in a working set of `whole` bytes.
    fn moved(&self, bytes: f64, whole: f64) -> Span {
        let (from_memory, cached) = (bytes / self.bytes_per_s, bytes / (CACHED_RATE * self.bytes_per_s));
        let missing = self.missing(whole);
        Span { low: cached, time: missing * from_memory + (1.0 - missing) * cached, high: from_memory }
    }

    fn update(&self) -> Span {
        Span::of_launches(self.launch_s, UPDATE_LAUNCHES, UPDATE_LAUNCHES_BETWEEN)
    }

    /// t, launches and bytes of what comes after a product with vectors of `vector` bytes in a working set of `whole` bytes.
    fn after(&self, step: ProductStep, in_launch: InLaunch, vector: f64, whole: f64) -> (Span, u32, f64) {
        let takes_all = if step.dots > 0 { in_launch.dots } else { in_launch.epilogue };
        let mut bytes = f64::from(step.reads + step.writes) * vector;
        let mut added = Span::default();
        if !takes_all {
            bytes += 2.0 * vector;
            added = self.update();
        }
        if step.dots > 0 {
            let last = Span::of_launches(self.launch_s, LAST_BLOCK_LAUNCHES, LAST_BLOCK_LAUNCHES_BETWEEN);
            added = added.plus(last);
        }
        let adds_up_behind = step.dots > 0 && takes_all && in_launch.block_sums;
        if adds_up_behind {
            added = added.plus(self.update());
        }
        let more = u32::from(!takes_all) + u32::from(adds_up_behind);
        (added.plus(self.moved(bytes, whole)), more, bytes)
    }

    /// Time of an iteration around products with A, and with A^T where it [needs](Iteration::needs_transpose) them, of a matrix of
    /// `rows` x `columns`, whose vectors have entries of `entry` bytes. `None` if A^T is needed and not given.
    pub fn time(
        &self,
        iteration: Iteration,
        a: IteratedProduct<'_>,
        transposed: Option<IteratedProduct<'_>>,
        (rows, columns): (u64, u64),
        entry: u64,
    ) -> Option<IterationTime> {
        let [of_row, of_column] = [rows, columns].map(|count| (count * entry) as f64);
        let [of_rows, of_columns] = iteration.vectors();
        // x and y are among the vectors.
        let beside_vectors = |one: IteratedProduct<'_>| one.bytes.0 as f64 - of_row - of_column;
        let turned = iteration.needs_transpose().then_some(transposed);
        let matrices = beside_vectors(a) + turned.flatten().map_or(0.0, beside_vectors);
        let vectors = of_rows as f64 * of_row + of_columns as f64 * of_column;
        let whole = matrices.max(0.0) + vectors;
        let (mut sum, mut in_products, mut launches, mut bytes) = (Span::default(), 0.0, 0, 0.0);
        for step in iteration.steps() {
            let (added, more, moved) = match *step {
                Step::Product(step) => {
                    let one = if step.is_transposed { transposed? } else { a };
                    let Prediction { time, low, high, .. } = one.prediction;
                    let own = one.bytes.0 as f64;
                    let evicted =
                        self.s_per_evicted_byte * own * (self.missing(whole) - self.missing(own)).max(0.0);
                    in_products += time.0;
                    // Nothing may be evicted, or twice as much as the law says.
                    let product = Span { low: low.0, time: time.0 + evicted, high: high.0 + 2.0 * evicted };
                    let vector = if step.is_transposed { of_column } else { of_row };
                    let (after, more, moved) = self.after(step, one.in_launch, vector, whole);
                    (product.plus(after), more, moved)
                }
                Step::Update { reads, writes } => {
                    let moved = f64::from(reads + writes) * of_row;
                    (self.update().plus(self.moved(moved, whole)), 0, moved)
                }
            };
            sum = sum.plus(added);
            launches += 1 + more;
            bytes += moved;
        }
        Some(IterationTime {
            time: Seconds(sum.time),
            low: Seconds(sum.low),
            high: Seconds(sum.high),
            in_products: Seconds(in_products),
            launches,
            bytes: Bytes(bytes as u64),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sparsight_kernels::{DeviceKind, Execution};

    const ALL: InLaunch = InLaunch { epilogue: true, dots: true, block_sums: false };
    const NONE: InLaunch = InLaunch { epilogue: false, dots: false, block_sums: true };

    fn facts(l2: u64) -> DeviceFacts {
        DeviceFacts {
            name: "made up".to_owned(),
            kind: DeviceKind::Cuda,
            multiprocessors: 100,
            warps_per_multiprocessor: 64,
            threads_per_multiprocessor: 2048,
            max_threads_per_block: Some(1024),
            l2_bytes: Bytes(l2),
            memory_bytes: Bytes(1 << 34),
            compute_capability: Some((9, 0)),
            driver: "made up".to_owned(),
            copy_bytes_per_s: 1e12,
            launch_s: Seconds(1e-6),
            upload_bytes_per_s: None,
        }
    }

    fn cost(l2: u64) -> IterationCost {
        IterationCost::new(&facts(l2), &CutCost::sums(Execution::Sequential, Seconds(1e-6)))
    }

    fn prediction(time: f64) -> Prediction {
        Prediction {
            time: Seconds(time),
            low: Seconds(0.9 * time),
            high: Seconds(1.2 * time),
            extrapolates: Vec::new(),
        }
    }

    fn near(got: Seconds, expected: f64) {
        assert!((got.0 / expected - 1.0).abs() < 1e-9, "{} for {expected}", got.0);
    }

    /// By hand: 1,000,000 rows of f64, so 8 MB a vector. Everything stays in a cache of 0.6 x 10 GB: vectors come at 2e12 B/s, 4 us each.
    /// The product reads r and p for its dot products, 8 us, and the last block takes 1.6 us; the update takes 1.15 us and moves nine vectors, 36 us.
    #[test]
    fn an_iteration_of_cg_is_the_sum_of_its_two_launches() {
        let prediction = prediction(100e-6);
        let a = IteratedProduct { prediction: &prediction, bytes: Bytes(100_000_000), in_launch: ALL };
        let size = (1_000_000, 1_000_000);
        let time = cost(10_000_000_000).time(Iteration::Cg, a, None, size, 8).unwrap();
        near(time.time, 100e-6 + 9.6e-6 + 37.15e-6);
        near(time.in_products, 100e-6);
        assert_eq!((time.launches, time.bytes), (2, Bytes(88_000_000)));
        // Low: launches take the least; high: all from memory, and launches the most.
        near(time.low, 90e-6 + 9.1e-6 + 37e-6);
        near(time.high, 120e-6 + 18.2e-6 + 73.5e-6);
        // Sums of thread blocks take a launch more.
        let sums = InLaunch { block_sums: true, ..ALL };
        let left = cost(10_000_000_000)
            .time(Iteration::Cg, IteratedProduct { in_launch: sums, ..a }, None, size, 8)
            .unwrap();
        near(left.time, time.time.0 + 1.15e-6);
        assert_eq!((left.launches, left.bytes), (3, time.bytes));
        // In a launch of their own the dot products read the sums, write y, and launch.
        let after = cost(10_000_000_000)
            .time(Iteration::Cg, IteratedProduct { in_launch: NONE, ..a }, None, size, 8)
            .unwrap();
        near(after.time, time.time.0 + 1.15e-6 + 8e-6);
        assert_eq!((after.launches, after.bytes), (3, Bytes(104_000_000)));
        let half = InLaunch { dots: false, ..ALL };
        let same = cost(10_000_000_000)
            .time(Iteration::Cg, IteratedProduct { in_launch: half, ..a }, None, size, 8)
            .unwrap();
        assert_eq!(same, after, "it has dot products");
    }

    /// By hand: without a cache all comes at 1e12 B/s, and a product by itself missed as much.
    #[test]
    fn what_vectors_evict_from_the_cache_is_read_again() {
        let prediction = prediction(100e-6);
        let a = IteratedProduct { prediction: &prediction, bytes: Bytes(100_000_000), in_launch: ALL };
        let size = (1_000_000, 1_000_000);
        let time = cost(0).time(Iteration::Cg, a, None, size, 8).unwrap();
        near(time.time, 100e-6 + 17.6e-6 + 1.15e-6 + 72e-6);
        // A cache of exactly the product: the iteration touches 84 MB of the matrix and 40 MB of vectors, of which 24 do not stay.
        let time = cost(166_666_667).time(Iteration::Cg, a, None, size, 8).unwrap();
        let missing: f64 = 24.0 / 124.0;
        let rate = |bytes: f64| bytes * (1.0 + missing) / 2.0 / 1e12;
        let expected = 100e-6 + missing * 100e-6 + rate(16e6) + 1.6e-6 + 1.15e-6 + rate(72e6);
        assert!((time.time.0 / expected - 1.0).abs() < 1e-6, "{} for {expected}", time.time.0);
    }

    #[test]
    fn pdhg_multiplies_with_both_and_is_not_priced_without_the_transpose() {
        let (of_a, of_t) = (prediction(10e-6), prediction(20e-6));
        let a = IteratedProduct { prediction: &of_a, bytes: Bytes(1_000_000), in_launch: ALL };
        let t = IteratedProduct { prediction: &of_t, ..a };
        let cost = cost(10_000_000_000);
        assert_eq!(cost.time(Iteration::Pdhg, a, None, (1000, 4000), 8), None);
        let time = cost.time(Iteration::Pdhg, a, Some(t), (1000, 4000), 8).unwrap();
        near(time.in_products, 30e-6);
        // Columns: 5 vectors of 32 kB; rows: 3 of 8 kB.
        assert_eq!((time.launches, time.bytes), (2, Bytes(5 * 32_000 + 3 * 8_000)));
        near(time.time, 30e-6 + 184_000.0 / 2e12);
        // Epilogues in launches of their own read the sums and write y.
        let [a, t] = [a, t].map(|one| IteratedProduct { in_launch: NONE, ..one });
        let after = cost.time(Iteration::Pdhg, a, Some(t), (1000, 4000), 8).unwrap();
        assert_eq!((after.launches, after.bytes), (4, Bytes(time.bytes.0 + 2 * 32_000 + 2 * 8_000)));
    }

    #[test]
    fn an_interval_holds_its_time_for_every_iteration_and_size() {
        let prediction = prediction(3e-6);
        for iteration in Iteration::ALL {
            for (rows, bytes) in [(0, 0), (1, 100), (1000, 50_000), (10_000_000, 900_000_000)] {
                for in_launch in [ALL, NONE] {
                    let a = IteratedProduct { prediction: &prediction, bytes: Bytes(bytes), in_launch };
                    let time = cost(60_000_000).time(iteration, a, Some(a), (rows, rows), 4).unwrap();
                    assert!(0.0 < time.low.0 && time.low <= time.time && time.time <= time.high, "{time:?}");
                    assert!(time.in_products <= time.time && time.high.0.is_finite());
                }
            }
        }
    }

    #[test]
    fn names_read_back() {
        assert_eq!(Iteration::ALL.map(|one| one.to_string().parse()), Iteration::ALL.map(Ok));
        assert!("gmres".parse::<Iteration>().unwrap_err().contains("cg, bicgstab or pdhg"));
    }
}
