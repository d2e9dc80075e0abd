//! A time on one GPU from that on another: each part of it rescaled by the facts that it follows.
//!
//! ```text
//! T_to / T_from = w1 l L_to / L_from + w2 m c_from / c_to + w3 (1 - l - m) (a + v_to) / (a + v_from)
//!
//! l   share of the launch:             L_from / T_from
//! m   share of what memory brings:     max(0, bytes - 0.6 L2) / (c_from T_from), of the smaller L2
//! L, c, v   a launch, the rate of copies, waves: work over what the multiprocessors hold
//! a   what takes as long on any number of multiprocessors, in waves: 1 + (16 + steps of the longest warp) / (16 + those of a mean one)
//! ```
//! With all w = 1 that is known from the facts of both devices alone. A handful of matrices measured on both gives the w: the
//! least squares of relative errors, none negative, drawn towards 1. The shape of
//! the last part and its two numbers were found on parts of an H200, folders a to d: between two devices of as many multiprocessors
//! it is 1. Sources: none; the 2013 paper's way ([`transfer`](crate::transfer)) knows of no cache.
//!
//! [`Floor`]s hold whatever the w.
//!
//! Known by facts alone, a time is the less sure the more the numbers of multiprocessors differ, and far less between two architectures:
//! [`Rescaling::of_facts`].

use crate::baseline::KEPT_OF_L2;
use crate::baseline::longest_and_turns;
use crate::non_negative::dot;
use crate::{Between, Floor, Prediction, non_negative};
use serde::{Deserialize, Serialize};
use sparsight_kernels::{Candidate, DeviceFacts, compulsory_bytes, strip};
use sparsight_matrix::{Features, Seconds};
use std::collections::BTreeMap;

/// Weight of the w = 1 of the facts, in measured times. Chosen: a tenth of a calibration's.
const PRIOR_SHARE: f64 = 0.1;
/// Standard deviation of ln(measured / rescaled) where the w are those of the facts, as seen between an H100 and an H200 on 89
/// matrices: devices with as many multiprocessors.
const FACTS_LOG_SD: f64 = 0.05;
/// Standard deviation added for each natural logarithm by which the numbers of multiprocessors differ, so that intervals hold on 104, 72,
/// 40 and 16 of the 132 of an H200 (docs/results/h200-parts.md).
const FACTS_LOG_SD_OF_SIZE: f64 = 0.15;
/// The same between two architectures: as six GPUs of five architectures showed of each other in other people's times
/// (docs/results/nine-gpus.md), launches taken for their shortest times.
const FACTS_LOG_SD_OF_ARCHITECTURE: f64 = 0.5;
/// Waves that every product waits, however many multiprocessors there are; and the steps that a wave takes beside those of its
/// warps. Fitted to parts of an H200.
const WAITED_WAVES: f64 = 1.0;
const STEPS_OF_A_WAVE: f64 = 16.0;

/// Conversion of times on one device into times on another.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Rescaling {
    /// w1, w2, w3: launch, memory, the rest; none negative.
    pub weights: [f64; 3],
    /// Standard deviation of ln(measured / rescaled) of matrices that took no part in the weights.
    pub log_sd: f64,
    /// Matrices that gave the weights; 0 if the facts alone did.
    pub matrices: usize,
}

/// A matrix measured on both devices with one candidate.
#[derive(Debug, Clone, Copy)]
pub struct OnBoth<'a> {
    /// Name of the matrix.
    pub matrix: &'a str,
    /// Candidate that was run.
    pub candidate: Candidate,
    /// Features of the matrix.
    pub features: &'a Features,
    /// Times: on the device that is known, and on the other.
    pub times: [Seconds; 2],
}

/// Ratio of the two, 1 if either is not known.
fn ratio(above: f64, below: f64) -> f64 {
    let ratio = above / below;
    if ratio.is_finite() && ratio > 0.0 { ratio } else { 1.0 }
}

impl Between<'_> {
    /// The three parts of a time, as shares of it, each rescaled by the facts.
    fn parts(&self, candidate: &Candidate, features: &Features, time: Seconds) -> [f64; 3] {
        let Self { from, to } = self;
        let launch = (from.launch_s.0 / time.0).clamp(0.0, 1.0);
        let bytes = compulsory_bytes(candidate, features).0 as f64;
        let beyond = (bytes - KEPT_OF_L2 * from.l2_bytes.0.min(to.l2_bytes.0) as f64).max(0.0);
        let copied = if from.copy_bytes_per_s > 0.0 { beyond / from.copy_bytes_per_s } else { 0.0 };
        let memory = (copied / time.0).clamp(0.0, 1.0 - launch);
        let work = candidate.kernel.unit().count(features.nrows, features.nnz) as f64;
        let waves = |facts: &DeviceFacts| work / strip(candidate.kernel, facts).size as f64;
        let waited = self.waited(candidate, features, waves(from));
        [
            launch * ratio(to.launch_s.0, from.launch_s.0),
            memory * ratio(from.copy_bytes_per_s, to.copy_bytes_per_s),
            (1.0 - launch - memory) * ratio(waited + waves(to), waited + waves(from)),
        ]
    }

    /// Time that is the same on any number of multiprocessors, in waves: a start, and the warp that works longest. `waves` of the known
    /// device.
    fn waited(&self, candidate: &Candidate, features: &Features, waves: f64) -> f64 {
        let work = candidate.kernel.warp_work(candidate.block, features);
        let [longest, turns] = longest_and_turns(work, self.from);
        // Where steps are not counted, all warps are assumed to work alike.
        if turns <= 0.0 || waves <= 0.0 {
            return WAITED_WAVES + 1.0;
        }
        WAITED_WAVES + ((STEPS_OF_A_WAVE + longest) / (STEPS_OF_A_WAVE + turns / waves)).max(1.0)
    }
}

impl Rescaling {
    /// Share of the L2 that is taken to hold, from one product to the next, what the product reads.
    pub const KEPT_OF_L2: f64 = KEPT_OF_L2;

    /// 90 % of a normal distribution lie within so many standard deviations.
    pub const NINETY_PERCENT: f64 = 1.645;

    /// That by the facts of two devices of different architectures and equal size.
    pub const BETWEEN_ARCHITECTURES: Self =
        Self { weights: [1.0; 3], log_sd: FACTS_LOG_SD_OF_ARCHITECTURE, matrices: 0 };

    /// The rescaling by the facts of two devices, without any measured matrix.
    pub fn of_facts(between: Between<'_>) -> Self {
        let [from, to] = [between.from, between.to].map(|facts| f64::from(facts.multiprocessors));
        let size = FACTS_LOG_SD_OF_SIZE * ratio(to, from).ln();
        let is_known = between.from.is_of_one_architecture(between.to);
        let log_sd = if is_known { FACTS_LOG_SD } else { FACTS_LOG_SD_OF_ARCHITECTURE };
        Self { weights: [1.0; 3], log_sd: log_sd.hypot(size), matrices: 0 }
    }

    /// Returns whether it can have come from measured times: no more than a factor of a thousand in anything.
    pub fn is_plausible(&self) -> bool {
        let within = |value: f64| (0.0..=1e3).contains(&value);
        self.weights.into_iter().all(within) && within(self.log_sd)
    }

    /// Fits to times measured on both; `None` without any that are positive.
    pub fn fit(times: &[OnBoth<'_>], between: Between<'_>) -> Option<Self> {
        let is_positive = |t: &&OnBoth<'_>| t.times.iter().all(|time| time.0 > 0.0 && time.0.is_finite());
        let mut by_matrix: BTreeMap<&str, Vec<([f64; 3], f64)>> = BTreeMap::new();
        for t in times.iter().filter(is_positive) {
            let parts = between.parts(&t.candidate, t.features, t.times[0]);
            by_matrix.entry(t.matrix).or_default().push((parts, t.times[1].0 / t.times[0].0));
        }
        let samples: Vec<Vec<([f64; 3], f64)>> = by_matrix.into_values().collect();
        Some(Self::of_parts(&samples, Self::of_facts(between))).filter(|found| found.matrices > 0)
    }

    /// Fits to shares of times on the known device, each rescaled by the facts, and the ratios of times there: a list a matrix. Without any it
    /// is `of_facts`, and with too few to see what they leave open, that is what `of_facts` says.
    pub fn of_parts(by_matrix: &[Vec<([f64; 3], f64)>], of_facts: Self) -> Self {
        let weights_without = |left_out: Option<usize>| {
            let taken = by_matrix.iter().enumerate().filter(|(at, _)| Some(*at) != left_out);
            let samples = taken.flat_map(|(_, samples)| samples).copied();
            let prior = (PRIOR_SHARE * samples.clone().count() as f64).ceil() as usize;
            let one = |at: usize| (std::array::from_fn(|i| if i == at { 1.0 } else { 0.0 }), 1.0);
            let priors = (0..3).flat_map(|at| std::iter::repeat_n(one(at), prior));
            non_negative::fit::<3>(samples.chain(priors))
        };
        let Some(weights) = weights_without(None) else { return of_facts };
        // What is left of each matrix when the others give the weights.
        let mut squares = (0.0, 0_usize);
        for (at, samples) in by_matrix.iter().enumerate() {
            let Some(others) = weights_without(Some(at)) else { continue };
            for (parts, measured) in samples {
                let residual = (measured / dot(&others, parts)).ln();
                if residual.is_finite() {
                    squares = (squares.0 + residual * residual, squares.1 + 1);
                }
            }
        }
        let log_sd = if squares.1 == 0 { of_facts.log_sd } else { (squares.0 / squares.1 as f64).sqrt() };
        Self { weights, log_sd, matrices: by_matrix.len() }
    }

    /// The time on the device asked about of what takes `time` on the known one; positive and finite if `time` is.
    pub fn time(
        &self,
        candidate: &Candidate,
        features: &Features,
        time: Seconds,
        between: Between<'_>,
    ) -> Seconds {
        self.floored(candidate, features, time, between).0
    }

    fn floored(
        &self,
        candidate: &Candidate,
        features: &Features,
        time: Seconds,
        between: Between<'_>,
    ) -> (Seconds, Option<Floor>) {
        let ratio = dot(&self.weights, &between.parts(candidate, features, time));
        // No weights: nothing that the calibration was made of counts here.
        let ratio = if ratio > 0.0 { ratio } else { 1.0 };
        between.floored(candidate, features, time, Seconds(time.0 * ratio))
    }

    /// Takes a prediction there, and says which floor it was raised to, if it was. Its interval becomes wider: both errors are
    /// as if independent.
    pub fn carry(
        &self,
        prediction: &mut Prediction,
        candidate: &Candidate,
        features: &Features,
        between: Between<'_>,
    ) -> Option<Floor> {
        let (carried, floor) = self.floored(candidate, features, prediction.time, between);
        prediction.move_to(carried);
        let widened = |log: f64| log.hypot(Self::NINETY_PERCENT * self.log_sd).exp();
        let Prediction { time, low, high, .. } = prediction;
        *low = Seconds(time.0 / widened((time.0 / low.0).ln()));
        *high = Seconds(time.0 * widened((high.0 / time.0).ln()));
        floor
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sparsight_kernels::DeviceKind;
    use sparsight_matrix::Bytes;
    use sparsight_matrix::gallery::Recipe;

    fn facts(multiprocessors: u32, copy: f64, l2: u64, launch: f64) -> DeviceFacts {
        DeviceFacts {
            l2_bytes: Bytes(l2),
            memory_bytes: Bytes(1 << 36),
            compute_capability: Some((9, 0)),
            copy_bytes_per_s: copy,
            launch_s: Seconds(launch),
            ..DeviceFacts::of_gpu("made up", multiprocessors, 2048)
        }
    }

    fn features(recipe: &str) -> Features {
        Features::of(&recipe.parse::<Recipe>().unwrap().generate::<f64>().unwrap())
    }

    fn candidate() -> Candidate {
        "csr-vector/t4/b256/f64".parse().unwrap()
    }

    #[test]
    fn each_part_follows_its_own_fact() {
        let from = facts(132, 4e12, 60_000_000, 1.3e-6);
        let f = features("stencil2d,n=300");
        let bytes = compulsory_bytes(&candidate(), &f).0 as f64;
        let carried = |time: f64, to: &DeviceFacts| {
            let between = Between { from: &from, to };
            Rescaling::of_facts(between).time(&candidate(), &f, Seconds(time), between).0
        };
        let same = carried(5e-6, &from);
        assert!((same - 5e-6).abs() < 1e-18, "{same}");
        // A launch that takes 0.6 us longer takes 0.6 us longer.
        let slower = carried(5e-6, &facts(132, 4e12, 60_000_000, 1.9e-6));
        assert!((slower - 5.6e-6).abs() < 1e-12, "{slower}");
        // What lies in neither L2 comes at the other rate; what the larger holds counts as if in neither.
        let small = facts(132, 2e12, 1_000_000, 1.3e-6);
        let beyond = (bytes - 0.6e6) / 4e12;
        assert!((carried(5e-6, &small) - (5e-6 + beyond)).abs() < 1e-12);
        // It cannot come faster than by copies.
        let slow = facts(132, 1e10, 1_000_000, 1.3e-6);
        assert!(carried(1e-6, &slow) >= (bytes - 1e6) / 1e10);
        // A quarter of the multiprocessors and nothing else: never faster, and four times as long at most; half a wave hardly slower.
        let part = facts(33, 4e12, 60_000_000, 1.3e-6);
        let on_part = carried(50e-6, &part);
        assert!((60e-6..=200e-6).contains(&on_part), "{on_part}");
        let few = features("stencil2d,n=60");
        let between = Between { from: &from, to: &part };
        let on_part = Rescaling::of_facts(between).time(&candidate(), &few, Seconds(5e-6), between).0;
        assert!((5e-6..=6e-6).contains(&on_part), "{on_part}");
    }

    #[test]
    fn a_long_row_takes_as_long_on_a_part_of_a_gpu() {
        let (whole, part) = (facts(132, 4e12, 60_000_000, 1.3e-6), facts(16, 4e12, 60_000_000, 1.3e-6));
        let between = Between { from: &whole, to: &part };
        let times = |recipe: &str| {
            let f = features(recipe);
            Rescaling::of_facts(between).time(&candidate(), &f, Seconds(50e-6), between).0 / 50e-6
        };
        let (even, uneven) = (times("banded,n=100000"), times("arrow,n=100000"));
        assert!(uneven < 1.1 && even > 2.0, "{even} {uneven}");
    }

    #[test]
    fn by_facts_alone_a_time_is_less_sure_the_more_the_sizes_differ() {
        let whole = facts(132, 4e12, 60_000_000, 1.3e-6);
        let sd = |multiprocessors| {
            let part = facts(multiprocessors, 4e12, 60_000_000, 1.3e-6);
            Rescaling::of_facts(Between { from: &whole, to: &part }).log_sd
        };
        assert!((sd(132) - 0.05).abs() < 1e-12);
        assert!(sd(104) < sd(72) && sd(72) < sd(40) && sd(40) < sd(16));
        assert!((sd(66) - sd(264)).abs() < 1e-12, "larger is as far away as smaller");
    }

    #[test]
    fn a_time_is_raised_to_the_highest_lower_bound_and_names_it() {
        let f = features("stencil2d,n=300");
        let bytes = compulsory_bytes(&candidate(), &f).0 as f64;
        let from = facts(132, 4e12, 60_000_000, 1.3e-6);
        let floored = |to: &DeviceFacts, time: f64| {
            Between { from: &from, to }.floored(&candidate(), &f, Seconds(5e-6), Seconds(time))
        };
        // Launches are shorter there, so it is not smaller in every respect.
        let quick = facts(132, 4e12, 60_000_000, 1.0e-6);
        assert_eq!(floored(&quick, 4e-6), (Seconds(4e-6), None));
        assert_eq!(floored(&quick, 1e-7), (Seconds(1.0e-6), Some(Floor::Launch)));
        let slow = facts(132, 1e11, 1_000_000, 1.0e-6);
        assert_eq!(floored(&slow, 1e-6), (Seconds((bytes - 1e6) / 1e11), Some(Floor::Copies)));
        let part = facts(16, 1e12, 60_000_000, 1.4e-6);
        assert_eq!(floored(&part, 1e-7), (Seconds(5e-6), Some(Floor::Smaller)));
        assert_eq!(floored(&part, 6e-6), (Seconds(6e-6), None));
        assert_eq!(floored(&from, 5e-6 * (1.0 - 1e-15)).1, None, "rounding is no floor");
        assert_eq!(floored(&facts(16, 0.0, 0, 0.0), 1e-7), (Seconds(1e-7), None), "nothing is known");
    }

    #[test]
    fn facts_of_another_architecture_leave_more_open() {
        let hopper = facts(132, 4e12, 60_000_000, 1.3e-6);
        let ampere = DeviceFacts { compute_capability: Some((8, 0)), ..hopper.clone() };
        let amd = DeviceFacts { kind: DeviceKind::Hip, ..hopper.clone() };
        let log_sd = |to: &DeviceFacts| Rescaling::of_facts(Between { from: &hopper, to }).log_sd;
        assert!((log_sd(&hopper) - FACTS_LOG_SD).abs() < 1e-15);
        for other in [ampere, amd] {
            assert!((log_sd(&other) - FACTS_LOG_SD_OF_ARCHITECTURE).abs() < 1e-15);
        }
    }

    #[test]
    fn a_smaller_device_is_never_faster() {
        let (from, to) = (facts(132, 4e12, 60_000_000, 1.3e-6), facts(100, 3e12, 50_000_000, 1.5e-6));
        let wrong = Rescaling { weights: [0.1; 3], log_sd: 0.05, matrices: 0 };
        let f = features("stencil2d,n=100");
        let time = |between| wrong.time(&candidate(), &f, Seconds(5e-6), between).0;
        assert!((time(Between { from: &from, to: &to }) - 5e-6).abs() < 1e-15);
        assert!(time(Between { from: &to, to: &from }) < 5e-6);
        let none = Rescaling { weights: [0.0; 3], ..wrong };
        let kept = none.time(&candidate(), &f, Seconds(5e-6), Between { from: &to, to: &from });
        assert_eq!(kept, Seconds(5e-6), "without weights nothing is said");
    }

    #[test]
    fn rescaling_recovers_the_weights_and_the_residual_of_invented_times() {
        let (from, to) = (facts(132, 4e12, 6_000_000, 1.3e-6), facts(132, 3e12, 5_000_000, 1.9e-6));
        let between = Between { from: &from, to: &to };
        let all: Vec<Features> =
            ["stencil2d,n=20", "stencil2d,n=300", "stencil2d,n=900", "random,rows=20000"]
                .map(features)
                .into();
        let truth = Rescaling { weights: [0.9, 1.1, 1.25], log_sd: 0.05, matrices: 0 };
        let names = ["a", "b", "c", "d"];
        let mut times = Vec::new();
        for (matrix, features) in names.iter().zip(&all) {
            for longer in (0..40).map(|step| 1.0 + 0.05 * f64::from(step)) {
                let known = compulsory_bytes(&candidate(), features).0 as f64 / 4e12 * longer + 1.3e-6;
                let other =
                    dot(&truth.weights, &between.parts(&candidate(), features, Seconds(known))) * known;
                let times_s = [Seconds(known), Seconds(other)];
                times.push(OnBoth { matrix, candidate: candidate(), features, times: times_s });
            }
        }
        let found = Rescaling::fit(&times, between).unwrap();
        assert_eq!(found.matrices, 4);
        for (found, truth) in found.weights.iter().zip(truth.weights) {
            assert!((found / truth - 1.0).abs() < 0.15, "{found} {truth}");
        }
        assert!(found.log_sd < 0.1, "{}", found.log_sd);
        assert_eq!(Rescaling::fit(&[], between), None);
        let of_one: Vec<OnBoth<'_>> = times.iter().filter(|t| t.matrix == "a").copied().collect();
        let amd = DeviceFacts { kind: DeviceKind::Hip, ..to.clone() };
        let alone = Rescaling::fit(&of_one, Between { from: &from, to: &amd }).unwrap();
        assert_eq!(alone.matrices, 1);
        assert!((alone.log_sd - FACTS_LOG_SD_OF_ARCHITECTURE).abs() < 1e-15, "one matrix shows no spread");
        let mut prediction = Prediction {
            time: Seconds(10e-6),
            low: Seconds(9e-6),
            high: Seconds(11e-6),
            extrapolates: Vec::new(),
        };
        let before = prediction.high.0 / prediction.low.0;
        Rescaling { log_sd: 0.1, ..found }.carry(&mut prediction, &candidate(), &all[1], between);
        assert!(prediction.low <= prediction.time && prediction.time <= prediction.high);
        assert!(prediction.high.0 / prediction.low.0 > before * 1.2);
    }
}
