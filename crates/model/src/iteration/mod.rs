//! Time of an iteration of a solver around a product, captured in a CUDA graph.
//!
//! ```text
//! T = sum of products (E - (l - g) + c B (m(W) - m(B)) + t) + sum of vector updates (u + n / r)
//!
//! E        predicted time of the product by itself, one of many in a stream
//! l, g     a launch in a stream, which is part of E, and a launch in a graph; l - g is 0 where it is negative
//! B, W     bytes of the product, and of all that the iteration touches
//! m(B)     max(0, 1 - C / B): the share of B bytes that a cache of C = 0.6 L2 does not hold until they are read again
//! c        seconds for each byte that is evicted between two products: a byte at the copy rate
//! t        what an epilogue and dot products add:
//!          n / r + e                in the launch of the product
//!          n / r + d + k p          there, with dot products, of which the last thread block adds up p partial sums
//!          n / r + d + s            there, of products of more thread blocks than run at once: a launch of its own adds these up
//!          n / r + a                in a launch of their own, with the sums of the rows read and y written once more; d more with dot products
//! u        a launch that reads scalars and next to nothing else
//! n / r    bytes of vectors over the rate at which they come: copy rate for the share m(W), twice that for the rest
//! ```
//! [`Iteration::steps`] is the one definition of what an iteration launches and which vectors it moves; the examples of the Python
//! package are written by it, and a test compares them.
//!
//! Sources: Chronopoulos and Gear 1989 (CG with one reduction); van der Vorst 1992 (stabilised biconjugate gradients), with (r0, r)
//! from the dot products of the second product; Chambolle and Pock 2011 and Applegate et al. 2021 (PDHG for linear programs). The sum is this project's own.

mod prices;
mod steps;

pub use steps::{Iteration, ProductStep, Step};

use crate::Prediction;
use crate::baseline::{KEPT_OF_L2, bytes_per_s, launch_s};
use prices::{Prices, Span};
use serde::Serialize;
use sparsight_kernels::DeviceFacts;
use sparsight_matrix::{Bytes, Seconds};

/// Rate of bytes from the cache over the copy rate. Chosen: as for the reasons of a product's time. Updates of vectors that stay in the
/// L2 move 1.6 (H200) and 2.1 times (H100) what copies do.
const CACHED_RATE: f64 = 2.0;

/// What comes after the row sums in the launch that computes them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InLaunch {
    /// Epilogues.
    pub epilogue: bool,
    /// Dot products, and epilogues with them.
    pub dots: bool,
    /// Of dot products, the sums of thread blocks alone: one launch more adds them up.
    pub block_sums: bool,
    /// Thread blocks, each of which has a partial sum of each dot product.
    pub blocks: u64,
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
    /// Time of its products, a part of `time`: in a graph, and with what the vectors evict.
    #[serde(rename = "in_products_s")]
    pub in_products: Seconds,
    /// Launches of an iteration; a product counts as one.
    pub launches: u32,
    /// Bytes of vectors that it reads and writes beside its products.
    #[serde(rename = "vector_bytes")]
    pub bytes: Bytes,
}

/// Prices of what stands between products, on one device.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct IterationCost {
    /// l.
    launch_s: f64,
    bytes_per_s: f64,
    /// C.
    cache_bytes: f64,
    prices: Prices,
}

impl IterationCost {
    /// Prices on a device with these facts.
    pub fn new(facts: &DeviceFacts) -> Self {
        let launch_s = launch_s(facts);
        Self {
            launch_s,
            bytes_per_s: bytes_per_s(facts),
            cache_bytes: KEPT_OF_L2 * facts.l2_bytes.0 as f64,
            prices: if facts.kind.is_gpu() { Prices::ON_GPU } else { Prices::on_processor(launch_s) },
        }
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

    /// E - (l - g), and what is evicted by the rest of a working set of `whole` bytes.
    fn product(&self, one: IteratedProduct<'_>, whole: f64) -> Span {
        let Prediction { time, low, high, .. } = one.prediction;
        let own = one.bytes.0 as f64;
        let evicted = own / self.bytes_per_s * (self.missing(whole) - self.missing(own)).max(0.0);
        // A product is not priced below g, unless E itself is below g.
        let in_graph = |time: f64, launch: f64| {
            let shorter = (self.launch_s - launch).max(0.0);
            (time - shorter).max(time.min(launch))
        };
        let launch = self.prices.graph_launch;
        // Nothing may be evicted, or twice as much as the law says.
        Span {
            low: in_graph(low.0, launch.low),
            time: in_graph(time.0, launch.time) + evicted,
            high: in_graph(high.0, launch.high) + 2.0 * evicted,
        }
    }

    /// t, launches and bytes of what comes after a product with vectors of `vector` bytes in a working set of `whole` bytes.
    fn after(&self, step: ProductStep, in_launch: InLaunch, vector: f64, whole: f64) -> (Span, u32, f64) {
        let Prices { epilogue, last_block, dot, partial_sum, sums, behind, .. } = self.prices;
        let (has_dots, dots) = (step.dots > 0, f64::from(step.dots));
        let takes_all = if has_dots { in_launch.dots } else { in_launch.epilogue };
        let mut bytes = f64::from(step.reads + step.writes) * vector;
        let (mut added, mut more) = (Span::default(), 0);
        if has_dots {
            added = last_block.plus(dot.times(dots));
        }
        if !takes_all {
            bytes += 2.0 * vector;
            (added, more) = (added.plus(behind), 1);
        } else if !has_dots {
            added = epilogue;
        } else if in_launch.block_sums {
            (added, more) = (added.plus(sums), 1);
        } else {
            added = added.plus(partial_sum.times(dots * in_launch.blocks as f64));
        }
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
                    let product = self.product(one, whole);
                    in_products += product.time;
                    let vector = if step.is_transposed { of_column } else { of_row };
                    let (after, more, moved) = self.after(step, one.in_launch, vector, whole);
                    (product.plus(after), more, moved)
                }
                Step::Update { reads, writes } => {
                    let moved = f64::from(reads + writes) * of_row;
                    (self.prices.update.plus(self.moved(moved, whole)), 0, moved)
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
    use sparsight_kernels::DeviceKind;

    const ALL: InLaunch = InLaunch { epilogue: true, dots: true, block_sums: false, blocks: 1000 };
    const NONE: InLaunch = InLaunch { epilogue: false, dots: false, block_sums: true, ..ALL };

    fn facts(kind: DeviceKind, l2: u64, launch: f64) -> DeviceFacts {
        DeviceFacts {
            kind,
            l2_bytes: Bytes(l2),
            compute_capability: Some((9, 0)),
            copy_bytes_per_s: 1e12,
            launch_s: Seconds(launch),
            ..DeviceFacts::of_gpu("made up", 100, 2048)
        }
    }

    fn cost(l2: u64) -> IterationCost {
        IterationCost::new(&facts(DeviceKind::Cuda, l2, 1e-6))
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
    /// A launch of 1 us takes 0.75 us in a graph. The product reads r and p for its three dot products, 8 us; the last block takes
    /// 1.6 + 3 x 0.25 us, and 1.5 for 3 x 1,000 partial sums; the update takes 1.8 us and moves nine vectors, 36 us.
    #[test]
    fn an_iteration_of_cg_is_the_sum_of_its_two_launches() {
        let prediction = prediction(100e-6);
        let a = IteratedProduct { prediction: &prediction, bytes: Bytes(100_000_000), in_launch: ALL };
        let time = |a: IteratedProduct<'_>| {
            cost(10_000_000_000).time(Iteration::Cg, a, None, (1_000_000, 1_000_000), 8).unwrap()
        };
        let whole = time(a);
        near(whole.time, 99.75e-6 + 8e-6 + 2.35e-6 + 1.5e-6 + 37.8e-6);
        near(whole.in_products, 99.75e-6);
        assert_eq!((whole.launches, whole.bytes), (2, Bytes(88_000_000)));
        // Low: launches take the least; high: all from memory, and launches the most.
        near(whole.low, 89.7e-6 + 8e-6 + 2.11e-6 + 37.65e-6);
        near(whole.high, 120e-6 + 16e-6 + 2.93e-6 + 3e-6 + 74.1e-6);
        // Sums of thread blocks take a launch more, in place of one that reads all partial sums.
        let left = time(IteratedProduct { in_launch: InLaunch { block_sums: true, ..ALL }, ..a });
        near(left.time, whole.time.0 - 1.5e-6 + 2e-6);
        assert_eq!((left.launches, left.bytes), (3, whole.bytes));
        // In a launch of their own the dot products read the sums, write y, and launch.
        let after = time(IteratedProduct { in_launch: NONE, ..a });
        near(after.time, whole.time.0 - 1.5e-6 + 1.2e-6 + 8e-6);
        assert_eq!((after.launches, after.bytes), (3, Bytes(104_000_000)));
        let same = time(IteratedProduct { in_launch: InLaunch { dots: false, ..ALL }, ..a });
        assert_eq!(same, after, "it has dot products");
    }

    /// By hand: without a cache all comes at 1e12 B/s, and a product by itself missed as much.
    #[test]
    fn what_vectors_evict_from_the_cache_is_read_again() {
        let prediction = prediction(100e-6);
        let a = IteratedProduct { prediction: &prediction, bytes: Bytes(100_000_000), in_launch: ALL };
        let size = (1_000_000, 1_000_000);
        let launches = 99.75e-6 + 2.35e-6 + 1.5e-6 + 1.8e-6;
        let time = cost(0).time(Iteration::Cg, a, None, size, 8).unwrap();
        near(time.time, launches + 16e-6 + 72e-6);
        // A cache of exactly the product: the iteration touches 84 MB of the matrix and 40 MB of vectors, of which 24 do not stay.
        let time = cost(166_666_667).time(Iteration::Cg, a, None, size, 8).unwrap();
        let missing: f64 = 24.0 / 124.0;
        let rate = |bytes: f64| bytes * (1.0 + missing) / 2.0 / 1e12;
        let expected = launches + missing * 100e-6 + rate(16e6) + rate(72e6);
        assert!((time.time.0 / expected - 1.0).abs() < 1e-6, "{} for {expected}", time.time.0);
    }

    /// A host or driver that launches more slowly lengthens products in a stream, and no iteration in a graph.
    #[test]
    fn an_iteration_does_not_depend_on_launches_in_streams() {
        let time = |launch: f64| {
            let product = prediction(0.0);
            let longer = |time: Seconds| Seconds(20e-6 + time.0 + launch);
            let product = Prediction {
                time: longer(product.time),
                low: longer(product.low),
                high: longer(product.high),
                ..product
            };
            let a = IteratedProduct { prediction: &product, bytes: Bytes(1_000_000), in_launch: ALL };
            let cost = IterationCost::new(&facts(DeviceKind::Cuda, 50_000_000, launch));
            cost.time(Iteration::Cg, a, None, (10_000, 10_000), 8).unwrap()
        };
        let [short, long] = [1.3e-6, 1.7e-6].map(time);
        near(short.time, long.time.0);
        near(short.low, long.low.0);
        near(short.high, long.high.0);
        // What is shorter than in a graph stays as it is.
        assert!(time(0.5e-6).time < short.time);
    }

    /// By hand: a pass over the rows for the dot products and one for the update, 5 us each, and none of them shorter in a graph.
    #[test]
    fn on_a_processor_what_stands_beside_products_takes_passes() {
        let prediction = prediction(100e-6);
        let a = IteratedProduct { prediction: &prediction, bytes: Bytes(8_000), in_launch: ALL };
        let cost = IterationCost::new(&facts(DeviceKind::Cpu, 10_000_000, 5e-6));
        let time = cost.time(Iteration::Cg, a, None, (1000, 1000), 8).unwrap();
        near(time.time, 100e-6 + 2.0 * 5e-6 + 88_000.0 / 2e12);
    }

    #[test]
    fn pdhg_multiplies_with_both_and_is_not_priced_without_the_transpose() {
        let (of_a, of_t) = (prediction(10e-6), prediction(20e-6));
        let a = IteratedProduct { prediction: &of_a, bytes: Bytes(1_000_000), in_launch: ALL };
        let t = IteratedProduct { prediction: &of_t, ..a };
        let cost = cost(10_000_000_000);
        assert_eq!(cost.time(Iteration::Pdhg, a, None, (1000, 4000), 8), None);
        let time = cost.time(Iteration::Pdhg, a, Some(t), (1000, 4000), 8).unwrap();
        near(time.in_products, 9.75e-6 + 19.75e-6);
        // Columns: 5 vectors of 32 kB; rows: 3 of 8 kB.
        assert_eq!((time.launches, time.bytes), (2, Bytes(5 * 32_000 + 3 * 8_000)));
        near(time.time, 29.5e-6 + 2.0 * 0.15e-6 + 184_000.0 / 2e12);
        // Epilogues in launches of their own read the sums and write y.
        let [a, t] = [a, t].map(|one| IteratedProduct { in_launch: NONE, ..one });
        let after = cost.time(Iteration::Pdhg, a, Some(t), (1000, 4000), 8).unwrap();
        assert_eq!((after.launches, after.bytes), (4, Bytes(time.bytes.0 + 2 * 32_000 + 2 * 8_000)));
    }

    #[test]
    fn an_interval_holds_its_time_for_every_iteration_and_size() {
        for (iteration, product) in Iteration::ALL.into_iter().flat_map(|one| [(one, 3e-6), (one, 0.9e-6)]) {
            let prediction = prediction(product);
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
}
