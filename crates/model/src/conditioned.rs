//! Predictions conditioned on measured times of other candidates of the same matrix, and the choice of the next one to run.
//!
//! ```text
//! e_c = ln(measured / predicted)         normal, mean 0, standard deviation s_c = ln(high / low) / 3.29
//! correlation of e_c and e_d             r_cd = 0.82^|log2 b_c - log2 b_d| (0.3 + 0.35 0.5^|log2 t_c - log2 t_d| + 0.3)
//!                                        b: block size, t: threads a row; 0.35 only for kernels of one family,
//!                                        the last 0.3 only for one kernel; r_cc = 1
//! m_c = ln predicted, V = (s_c s_d r_cd)
//! candidate i takes t:                   m += V_i (ln t - m_i) / (V_ii + noise),  V -= V_i V_i' / (V_ii + noise)
//! gain of running c, i being the best    E max(0, t_i - t_c) = t_i P(z) - exp(m_c + s^2 / 2) P(z - s),  z = (ln t_i - m_c) / s
//! ```
//! P is the normal distribution. Conditioning a normal distribution: Rasmussen and Williams 2006, equation A.6; what a run may gain:
//! Mockus 1975, "expected improvement".
//!
//! The numbers were chosen by residuals on an H100 (the five folds of `fit`, 1,269 real matrices in two value types). Weighed by the
//! square of the least time of the matrix over that of the candidate, two block sizes of a kernel correlate by 0.77, 0.63, 0.51 and 0.41
//! where one is 2, 4, 8 and 16 times the other, two kernels of a family with one block size by 0.42, others by 0.22. The best of 2, 3, 4
//! and 5 runs reaches 0.9883, 0.9927, 0.9951 and 0.9963 of the best of all in f32, 0.9885, 0.9931, 0.9953 and 0.9968 in f64; with 0.8, 0.5
//! and 0.3 at any block size and any threads a row, as it was, 0.9879, 0.9920, 0.9945 and 0.9959, 0.9881, 0.9926, 0.9948 and 0.9961. Sums
//! between 0.9 and 1 and factors of 0.75 to 0.87 and 0.35 to 0.7 are as good, and so is a further part for kernels whose threads load alike.

use crate::Prediction;
use sparsight_kernels::Candidate;
use sparsight_matrix::Seconds;

/// Standard deviations between the ends of a 90 % interval.
const WIDTH: f64 = 2.0 * 1.644_853_626_951;

/// Variance of the logarithm of a measured time: two runs differ by half a percent.
const NOISE: f64 = 0.005 * 0.005;

/// Least standard deviation of a predicted time: none is surer than a measured one.
const LEAST: f64 = 0.005;

/// Parts of a correlation: of any two candidates, of two of a family, and of two of a kernel.
const SHARED: [f64; 3] = [0.3, 0.35, 0.3];

/// What is left of the family's part where one kernel has twice as many threads a row, and of the whole where one block is twice as large.
const TWICE_THE_TEAM: f64 = 0.5;
const TWICE_THE_BLOCK: f64 = 0.82;

/// Block size that a routine of the vendor's, which has none, counts as having.
const NO_BLOCK: u32 = 256;

/// Correlation of the errors of two candidates; 1 for one and the same. Every such matrix is positive definite: each part and the powers
/// of distances are at least semidefinite, and so are sums and products (by elements) of these; what 1 is above the sum of the parts is
/// added to the diagonal.
fn correlation(a: &Candidate, b: &Candidate) -> f64 {
    if a == b {
        return 1.0;
    }
    let doublings = |a: u32, b: u32| a.ilog2().abs_diff(b.ilog2()) as i32;
    let team = |c: &Candidate| c.kernel.threads_per_row().map_or(1, |threads| threads.max(1));
    let block = |c: &Candidate| if c.block == 0 { NO_BLOCK } else { c.block };
    let [all, mut family, mut kernel] = SHARED;
    if a.kernel != b.kernel {
        kernel = 0.0;
        family *= TWICE_THE_TEAM.powi(doublings(team(a), team(b)));
    }
    if a.kernel.family().name != b.kernel.family().name {
        family = 0.0;
    }
    TWICE_THE_BLOCK.powi(doublings(block(a), block(b))) * (all + family + kernel)
}

/// The candidates of one matrix and one value type, with all that is known of their times.
#[derive(Debug, Clone)]
pub struct Conditioned {
    known: Vec<Known>,
    /// ln of the expected seconds.
    mean: Vec<f64>,
    /// Covariance of these logarithms, row by row.
    covariance: Vec<f64>,
}

#[derive(Debug, Clone)]
struct Known {
    candidate: Candidate,
    predicted: Prediction,
    outcome: Outcome,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Outcome {
    /// A candidate that was not run.
    Open,
    Time(Seconds),
    /// A candidate that cannot be run.
    Failed,
}

/// The next candidate to run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NextRun {
    /// The candidate.
    pub candidate: Candidate,
    /// Expected gain over the best so far, in what the predictions are of: a product or an iteration.
    pub gain: Seconds,
}

impl Conditioned {
    /// Starts from predictions, in any order.
    pub fn new(predictions: impl IntoIterator<Item = (Candidate, Prediction)>) -> Self {
        let known: Vec<Known> = predictions
            .into_iter()
            .map(|(candidate, predicted)| Known { candidate, predicted, outcome: Outcome::Open })
            .collect();
        let deviation = |p: &Prediction| ((p.high.0 / p.low.0).ln() / WIDTH).max(LEAST);
        let deviations: Vec<f64> = known.iter().map(|one| deviation(&one.predicted)).collect();
        let row = |(a, s): (&Known, &f64)| {
            let entry = |(b, t): (&Known, &f64)| s * t * correlation(&a.candidate, &b.candidate);
            known.iter().zip(&deviations).map(entry).collect::<Vec<f64>>()
        };
        let covariance = known.iter().zip(&deviations).flat_map(row).collect();
        Self { mean: known.iter().map(|one| one.predicted.time.0.ln()).collect(), covariance, known }
    }

    fn place(&self, candidate: &Candidate) -> Option<usize> {
        self.known.iter().position(|one| one.candidate == *candidate)
    }

    fn variance(&self, at: usize) -> f64 {
        self.covariance[at * self.known.len() + at].max(0.0)
    }

    /// Learns what a candidate took: the others' expected times move with it. Does nothing for one that was not predicted and for what
    /// is no positive time. O(candidates^2).
    pub fn took(&mut self, candidate: &Candidate, time: Seconds) {
        let Some(at) = self.place(candidate).filter(|_| time.0.is_finite() && time.0 > 0.0) else { return };
        let n = self.known.len();
        let with: Vec<f64> = self.covariance[at * n..(at + 1) * n].to_vec();
        let (surprise, variance) = (time.0.ln() - self.mean[at], with[at].max(0.0) + NOISE);
        for (mean, with) in self.mean.iter_mut().zip(&with) {
            *mean += with / variance * surprise;
        }
        for (row, a) in self.covariance.chunks_exact_mut(n).zip(&with) {
            for (entry, b) in row.iter_mut().zip(&with) {
                *entry -= a * b / variance;
            }
        }
        self.known[at].outcome = Outcome::Time(time);
    }

    /// Learns that a candidate cannot be run. What was run before stays what it was.
    pub fn failed(&mut self, candidate: &Candidate) {
        if let Some(at) = self.place(candidate).filter(|&at| self.known[at].outcome == Outcome::Open) {
            self.known[at].outcome = Outcome::Failed;
        }
    }

    /// The fastest that was run.
    pub fn fastest(&self) -> Option<(Candidate, Seconds)> {
        let time = |one: &Known| match one.outcome {
            Outcome::Time(time) => Some((one.candidate, time)),
            Outcome::Open | Outcome::Failed => None,
        };
        self.known.iter().filter_map(time).min_by(|a, b| a.1.0.total_cmp(&b.1.0))
    }

    /// Next candidate to run beside `best`, the best so far, run or not: the one with the largest expected gain over `products`
    /// products, less `cost`, the time to prepare and run it. Of equal ones the earlier. `None` if all were run, or if
    /// `best` is none of them.
    pub fn next(
        &self,
        best: &Candidate,
        products: u64,
        cost: impl Fn(&Candidate) -> Seconds,
    ) -> Option<NextRun> {
        let best = self.place(best)?;
        let is_open = |&at: &usize| at != best && self.known[at].outcome == Outcome::Open;
        let worth = |at: usize| {
            let (candidate, gain) = (self.known[at].candidate, self.gain(best, at));
            (products as f64 * gain - cost(&candidate).0, NextRun { candidate, gain: Seconds(gain) })
        };
        // `max_by` would take the last of equal ones.
        (0..self.known.len())
            .filter(is_open)
            .map(worth)
            .reduce(|a, b| if b.0 > a.0 { b } else { a })
            .map(|(_, next)| next)
    }

    /// Seconds a product that may be expected from running `at`, `best` being the best so far.
    fn gain(&self, best: usize, at: usize) -> f64 {
        let with = self.covariance[best * self.known.len() + at];
        let deviation = (self.variance(best) + self.variance(at) - 2.0 * with).max(0.0).sqrt();
        let difference = self.mean[best] - self.mean[at];
        let best_s = self.mean[best].exp();
        if deviation < 1e-9 {
            return best_s * (1.0 - (-difference).exp()).max(0.0);
        }
        let z = difference / deviation;
        let ratio = (deviation * deviation / 2.0 - difference).exp();
        (best_s * (normal(z) - ratio * normal(z - deviation))).max(0.0)
    }

    /// Expected time of a candidate with its 90 % interval; the measured time for one that was run. `None` for one that was
    /// not predicted or failed.
    pub fn expected(&self, candidate: &Candidate) -> Option<Prediction> {
        let at = self.place(candidate)?;
        let Known { predicted, outcome, .. } = &self.known[at];
        let (time, half) = match outcome {
            Outcome::Failed => return None,
            Outcome::Open => (self.mean[at].exp(), WIDTH / 2.0 * self.variance(at).sqrt()),
            Outcome::Time(time) => (time.0, WIDTH / 2.0 * NOISE.sqrt()),
        };
        let (low, high) = (Seconds(time * (-half).exp()), Seconds(time * half.exp()));
        Some(Prediction { time: Seconds(time), low, high, extrapolates: predicted.extrapolates.clone() })
    }
}

/// The normal distribution: the share below z.
fn normal(z: f64) -> f64 {
    0.5 * libm::erfc(-z / std::f64::consts::SQRT_2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use sparsight_kernels::catalogue;
    use sparsight_matrix::Dtype;

    fn predicted(id: &str, time_us: f64, factor: f64) -> (Candidate, Prediction) {
        let at = |us: f64| Seconds(1e-6 * us);
        let (time, low, high) = (at(time_us), at(time_us / factor), at(time_us * factor));
        (id.parse().unwrap(), Prediction { time, low, high, extrapolates: Vec::new() })
    }

    fn four() -> Conditioned {
        Conditioned::new([
            predicted("csr-vector/t8/b128/f64", 10.0, 1.2),
            predicted("csr-vector/t8/b256/f64", 10.5, 1.2),
            predicted("csr-vector/t4/b128/f64", 11.0, 1.2),
            predicted("coo/b128/f64", 10.2, 1.2),
        ])
    }

    fn id(text: &str) -> Candidate {
        text.parse().unwrap()
    }

    #[test]
    fn a_measured_time_moves_the_others_as_far_as_they_are_related() {
        let mut all = four();
        let before: Vec<f64> = all.mean.clone();
        all.took(&id("csr-vector/t8/b128/f64"), Seconds(11e-6));
        // Of a surprise of ln 1.1, the others follow by their correlation, but for the noise.
        let share = |at: usize| (all.mean[at] - before[at]) / 1.1_f64.ln();
        for (at, correlation) in [(1, 0.82 * 0.95), (2, 0.3 + 0.5 * 0.35), (3, 0.3)] {
            assert!((share(at) - correlation).abs() < 0.01, "{at}: {}", share(at));
        }
        let expected = all.expected(&id("csr-vector/t8/b256/f64")).unwrap();
        assert!((expected.time.0 / (10.5e-6 * 1.1_f64.powf(0.82 * 0.95)) - 1.0).abs() < 0.01);
        // sqrt(1 - (0.82 0.95)^2) of what it was.
        let width = (expected.high.0 / expected.time.0).ln() / 1.2_f64.ln();
        assert!((width - 0.627).abs() < 0.01, "{width}");
        assert_eq!(all.fastest(), Some((id("csr-vector/t8/b128/f64"), Seconds(11e-6))));
        // What was measured is as sure as a measurement.
        let known = all.expected(&id("csr-vector/t8/b128/f64")).unwrap();
        assert!(known.time == Seconds(11e-6) && known.high.0 / known.time.0 < 1.01);
    }

    #[test]
    fn the_correlations_of_all_candidates_are_positive_definite() {
        for dtype in Dtype::ALL {
            let all: Vec<Candidate> = catalogue(dtype).collect();
            // Cholesky's factor, row by row: what is left of the diagonal stays positive.
            let mut rows: Vec<Vec<f64>> = Vec::new();
            for (i, a) in all.iter().enumerate() {
                let mut row: Vec<f64> = Vec::new();
                for (j, b) in all[..=i].iter().enumerate() {
                    assert!((correlation(a, b) - correlation(b, a)).abs() < 1e-15, "{a} {b}");
                    let known: f64 = row.iter().zip(rows.get(j).unwrap_or(&row)).map(|(x, y)| x * y).sum();
                    let left = correlation(a, b) - known;
                    row.push(if i == j { left.sqrt() } else { left / rows[j][j] });
                }
                assert!(row[i] > 0.1, "{a}: {}", row[i]);
                rows.push(row);
            }
        }
    }

    #[test]
    fn the_gain_of_a_run_is_the_expected_improvement() {
        let mut all = Conditioned::new([
            predicted("coo/b128/f64", 10.0, 1.000_001),
            predicted("jad/b128/f64", 10.0, 1.0_f64.exp().powf(WIDTH / 2.0 * 0.1)),
        ]);
        all.took(&id("coo/b128/f64"), Seconds(10e-6));
        // E max(0, t - t exp(0.1 Z)), by sums over Z.
        let steps = 200_000;
        let (mut sum, width) = (0.0, 16.0 / f64::from(steps));
        for step in 0..steps {
            let z = -8.0 + (f64::from(step) + 0.5) * width;
            let density = (-z * z / 2.0).exp() / std::f64::consts::TAU.sqrt();
            sum += density * width * (1.0 - (0.1 * z).exp()).max(0.0);
        }
        let next = all.next(&id("coo/b128/f64"), 1, |_| Seconds(0.0)).unwrap();
        assert_eq!(next.candidate, id("jad/b128/f64"));
        // The little that the first one's own error shares with the second is left of it.
        assert!((next.gain.0 / 10e-6 / sum - 1.0).abs() < 0.06, "{} {sum}", next.gain.0 / 10e-6);
    }

    #[test]
    fn a_run_that_costs_more_than_its_gain_is_not_next() {
        let (all, first) = (four(), id("csr-vector/t8/b128/f64"));
        let free = all.next(&first, 1, |_| Seconds(0.0)).unwrap();
        assert_eq!(free.candidate, id("coo/b128/f64"), "nearest behind the first, and least related to it");
        let dear = |c: &Candidate| Seconds(if c.kernel.family().name == "coo" { 1.0 } else { 0.0 });
        assert_eq!(all.next(&first, 1000, dear).unwrap().candidate.kernel.family().name, "csr-vector");
        assert_eq!(
            all.next(&first, u64::MAX, dear).unwrap().candidate,
            free.candidate,
            "with enough products to come"
        );
    }

    #[test]
    fn failed_candidates_are_not_proposed_again() {
        let (mut all, first) = (four(), id("csr-vector/t8/b128/f64"));
        for candidate in ["coo/b128/f64", "csr-vector/t4/b128/f64", "csr-vector/t8/b256/f64"].map(id) {
            all.failed(&candidate);
            assert_eq!(all.expected(&candidate), None);
        }
        assert_eq!(all.next(&first, 1, |_| Seconds(0.0)), None, "one is left, and it is the best there is");
        all.took(&first, Seconds(9e-6));
        assert_eq!(all.next(&first, 1, |_| Seconds(0.0)), None);
        // Not among them, and no times.
        all.took(&id("jad/b64/f64"), Seconds(1e-6));
        all.took(&first, Seconds(f64::NAN));
        assert_eq!(all.fastest(), Some((first, Seconds(9e-6))));
        let none = Conditioned::new([]);
        assert_eq!((none.fastest(), none.next(&first, 1, |_| Seconds(0.0))), (None, None));
    }

    #[test]
    fn after_every_run_all_stays_finite_and_sure() {
        let mut all = four();
        for (at, candidate) in all.clone().known.iter().map(|one| one.candidate).enumerate() {
            all.took(&candidate, Seconds(1e-6 * (9.0 + at as f64)));
        }
        for at in 0..4 {
            assert!(all.variance(at) <= NOISE && all.mean[at].is_finite());
        }
        assert_eq!(all.fastest().unwrap().1, Seconds(9e-6));
    }
}
