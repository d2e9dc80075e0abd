//! The estimator of the papers with a spread and a stopping rule.
//!
//! A sample is a batch of `alpha` and a batch of `beta` products:
//! `T = (time of beta - time of alpha) / (beta - alpha)`, which cancels whatever a batch costs once
//! (Guo and Wang 2012; Wang, Gu and Li 2017, eq. 5). The result is the median of the samples; the spread is
//! their interquartile range over it. Products so slow that one of them uses up the batch time are sampled
//! one by one, where what a batch costs once does not matter.

use super::{Batch, Clock, Stopped, StoppingRule};
use crate::DeviceError;
use serde::{Deserialize, Serialize};
use sparsight_matrix::Seconds;

/// A measured time with its spread and conditions.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Timing {
    /// Time of one product: the median of the samples.
    #[serde(rename = "time_s")]
    pub time: Seconds,
    /// Interquartile range of the samples over their median.
    pub spread: f64,
    /// Number of samples.
    pub samples: u32,
    /// Products in the shorter batch of a sample; 0 if samples are single batches.
    pub alpha: u32,
    /// Products in the longer batch.
    pub beta: u32,
    /// The reason why sampling ended.
    pub stopped: Stopped,
    /// The slowest clock of the device that a sample ended with, millions of cycles a second; `None` where it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sm_mhz: Option<u32>,
    /// Samples that were thrown away, since the device had slowed its clock down. Where fewer than three others could be had
    /// they count, too.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub throttled: u32,
    /// Samples farther from the median than half of it: few of them move neither the median nor the interquartile range, and tell
    /// that something else was at work.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub far: u32,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands it over so")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// No clock used here resolves less than this.
const CLOCK: f64 = 1e-10;

/// Relative distance from the median beyond which a sample is far. Chosen: no clock or cache state seen here is so far off by itself.
const FAR: f64 = 0.5;

/// A product that takes this many times the whole budget is hopeless whatever else is known. Chosen.
const BUDGETS: f64 = 10.0;

/// Measures by asking `batch(n)` for the time of `n` products until `rule` is satisfied.
///
/// `batch` is first called once or twice to warm up and to find how many products fill a batch. A first product
/// beyond `rule.hopeless`, or beyond ten times the whole budget, is the only one and its time is the answer; a kernel
/// should have run before (see [`check`](crate::check)), so that this is not the time of its very first run.
///
/// # Errors
/// The first error of `batch`.
pub fn measure<B: Into<Batch>>(
    mut batch: impl FnMut(u32) -> Result<B, DeviceError>,
    rule: &StoppingRule,
) -> Result<Timing, DeviceError> {
    let mut sampling = Sampling::begin(&mut batch, rule)?;
    while !sampling.is_done() {
        sampling.sample(&mut batch)?;
    }
    Ok(sampling.timing())
}

/// An unfinished measurement, for callers that measure several things in turn.
#[derive(Debug, Clone)]
pub struct Sampling {
    rule: StoppingRule,
    alpha: u32,
    beta: u32,
    good: Vec<Sample>,
    throttled: Vec<Sample>,
    spent: f64,
    stopped: Option<Stopped>,
}

/// Times of one product, of the difference of two batches and of the longer batch alone, and the slower of their clocks.
#[derive(Debug, Clone, Copy)]
struct Sample {
    difference: f64,
    whole: f64,
    sm_mhz: Option<u32>,
}

/// Samples without which nothing is said, unless one product takes longer than there is time for.
const LEAST: u32 = 3;

impl Sampling {
    /// Warms up and finds how many products fill a batch; with a product that is slow enough, that is the measurement.
    ///
    /// # Errors
    /// The first error of `batch`.
    pub fn begin<B: Into<Batch>>(
        mut batch: impl FnMut(u32) -> Result<B, DeviceError>,
        rule: &StoppingRule,
    ) -> Result<Self, DeviceError> {
        let mut batch = |products| batch(products).map(Into::<Batch>::into);
        let (good, throttled) = (Vec::new(), Vec::new());
        let mut new = Self { rule: *rule, alpha: 0, beta: 1, good, throttled, spent: 0.0, stopped: None };
        let first = batch(1)?;
        let keep = |new: &mut Self, one: Batch| new.keep(one.time.0, one.time.0, [one.clock, None]);
        let time = first.time.0;
        if time > rule.hopeless.0 || time >= BUDGETS * rule.budget.0 {
            keep(&mut new, first);
            new.stopped = Some(Stopped::Hopeless);
            return Ok(new);
        }
        if time >= rule.budget.0 {
            // One product alone takes more than all the time there is: two more show the spread.
            for one in [first, batch(1)?, batch(1)?] {
                keep(&mut new, one);
            }
            new.stopped = Some(Stopped::Budget);
            return Ok(new);
        }
        let probe = 4;
        let one = batch(probe)?.time.0 / f64::from(probe);
        let wanted = (rule.batch.0 / one.max(1e-9)).ceil();
        new.beta = if wanted < 2.0 { 1 } else { (wanted as u32).clamp(4, rule.max_products) };
        new.alpha = if new.beta == 1 { 0 } else { (new.beta / 4).max(1) };
        Ok(new)
    }

    /// Returns whether the rule is satisfied.
    pub fn is_done(&self) -> bool {
        self.stopped.is_some()
    }

    /// Takes one more sample, unless it is done, where something else has run since the one before: its longer batch is run
    /// first and thrown away. Else the longer batch of the sample would find caches full of another matrix and the shorter
    /// one its own, and what the cold start costs would not cancel. The longer one, since it takes some hundred products until
    /// a cache holds what it will hold.
    ///
    /// # Errors
    /// The first error of `batch`.
    pub fn sample_after_others<B: Into<Batch>>(
        &mut self,
        mut batch: impl FnMut(u32) -> Result<B, DeviceError>,
    ) -> Result<(), DeviceError> {
        if !self.is_done() {
            batch(self.beta)?;
        }
        self.sample(batch)
    }

    /// Takes one more sample, unless it is done.
    ///
    /// # Errors
    /// The first error of `batch`.
    pub fn sample<B: Into<Batch>>(
        &mut self,
        mut batch: impl FnMut(u32) -> Result<B, DeviceError>,
    ) -> Result<(), DeviceError> {
        if self.is_done() {
            return Ok(());
        }
        let (alpha, beta) = (self.alpha, self.beta);
        let long: Batch = batch(beta)?.into();
        let short: Batch = if alpha == 0 { Seconds(0.0).into() } else { batch(alpha)?.into() };
        self.spent += long.time.0 + short.time.0;
        let difference = (long.time.0 - short.time.0) / f64::from(beta - alpha);
        self.keep(difference, long.time.0 / f64::from(beta), [long.clock, short.clock]);
        let (rule, good, throttled) = (&self.rule, self.good.len() as u32, self.throttled.len() as u32);
        if good >= rule.min_samples && spread(&mut differences(&self.good)).1 <= rule.spread {
            self.stopped = Some(Stopped::Spread);
        } else if good.max(throttled) >= rule.max_samples
            || self.spent >= rule.budget.0 && good >= LEAST
            || self.spent >= 2.0 * rule.budget.0 && good + throttled >= LEAST
        {
            self.stopped = Some(Stopped::Budget);
        }
        Ok(())
    }

    /// Adds a sample: of one product the difference of two batches, and the longer batch alone.
    fn keep(&mut self, difference: f64, whole: f64, clocks: [Option<Clock>; 2]) {
        let clocks = clocks.into_iter().flatten();
        let is_throttled = clocks.clone().any(|clock| clock.is_throttled);
        let sm_mhz = clocks.map(|clock| clock.sm_mhz).min();
        let samples = if is_throttled { &mut self.throttled } else { &mut self.good };
        samples.push(Sample { difference, whole, sm_mhz });
    }

    /// The result of the samples so far; there must be one.
    ///
    /// # Panics
    /// If there is none.
    pub fn timing(&self) -> Timing {
        let mut counted = self.good.clone();
        if counted.len() < LEAST as usize {
            // There is nothing better. The timing says so.
            counted.extend(&self.throttled);
        }
        let (mut samples, mut alpha) = (differences(&counted), self.alpha);
        let (mut median, mut range) = spread(&mut samples);
        if median <= 0.0 {
            // Noise larger than the difference of the batches: then the longer batches alone must serve.
            samples = counted.iter().map(|sample| sample.whole).collect();
            (median, range) = spread(&mut samples);
            alpha = 0;
        }
        // A clock that does not see even those leaves no more to say than "below its resolution".
        let time = Seconds(median.max(CLOCK));
        Timing {
            time,
            spread: range,
            samples: samples.len() as u32,
            alpha,
            beta: self.beta,
            stopped: self.stopped.unwrap_or(Stopped::Budget),
            sm_mhz: counted.iter().filter_map(|sample| sample.sm_mhz).min(),
            throttled: self.throttled.len() as u32,
            far: samples.iter().filter(|sample| (*sample - median).abs() > FAR * median).count() as u32,
        }
    }
}

fn differences(samples: &[Sample]) -> Vec<f64> {
    samples.iter().map(|sample| sample.difference).collect()
}

/// Median and relative interquartile range.
fn spread(samples: &mut [f64]) -> (f64, f64) {
    samples.sort_by(f64::total_cmp);
    let at = |q: f64| {
        let place = q * (samples.len() - 1) as f64;
        let (low, part) = (place.floor() as usize, place.fract());
        let high = (low + 1).min(samples.len() - 1);
        samples[low] * (1.0 - part) + samples[high] * part
    };
    let median = at(0.5);
    (median, (at(0.75) - at(0.25)) / median.max(CLOCK))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A batch that costs `start + n * product`.
    fn steady(start: f64, product: f64) -> impl FnMut(u32) -> Result<Seconds, DeviceError> {
        move |n| Ok(Seconds(start + f64::from(n) * product))
    }

    #[test]
    fn fixed_costs_of_a_batch_cancel() {
        let t = measure(steady(50e-6, 3e-6), &StoppingRule::BRISK).unwrap();
        assert!((t.time.0 - 3e-6).abs() < 1e-15, "{t:?}");
        assert_eq!(t.stopped, Stopped::Spread);
        assert_eq!(t.samples, StoppingRule::BRISK.min_samples);
    }

    #[test]
    fn a_cold_start_after_another_batch_is_discarded() {
        // The first batch after another matrix takes 40 us more, however long it is.
        let is_cold = std::cell::Cell::new(true);
        let batch = |n: u32| {
            let start = if is_cold.replace(false) { 40e-6 } else { 0.0 };
            Ok(Seconds(start + f64::from(n) * 3e-6))
        };
        let mut sampling = Sampling::begin(batch, &StoppingRule::BRISK).unwrap();
        while !sampling.is_done() {
            is_cold.set(true);
            sampling.sample_after_others(batch).unwrap();
        }
        assert!((sampling.timing().time.0 - 3e-6).abs() < 1e-12, "{:?}", sampling.timing());
    }

    #[test]
    fn throttled_samples_are_discarded_and_counted() {
        // Every third batch at half the clock.
        let mut call = 0_u32;
        let batch = |n: u32| {
            call += 1;
            let is_throttled = call.is_multiple_of(3);
            let time = Seconds(f64::from(n) * if is_throttled { 6e-6 } else { 3e-6 });
            let clock = Some(Clock { sm_mhz: if is_throttled { 990 } else { 1980 }, is_throttled });
            Ok(Batch { time, clock })
        };
        let t = measure(batch, &StoppingRule::BRISK).unwrap();
        assert!((t.time.0 - 3e-6).abs() < 1e-15 && t.throttled > 0, "{t:?}");
        assert_eq!((t.stopped, t.sm_mhz), (Stopped::Spread, Some(1980)));
    }

    #[test]
    fn a_device_that_is_always_throttled_gives_its_time_and_says_so() {
        let clock = Some(Clock { sm_mhz: 500, is_throttled: true });
        let batch = |n: u32| Ok(Batch { time: Seconds(f64::from(n) * 3e-6), clock });
        let t = measure(batch, &StoppingRule::BRISK).unwrap();
        assert!((t.time.0 - 3e-6).abs() < 1e-15, "{t:?}");
        assert_eq!((t.stopped, t.sm_mhz, t.throttled), (Stopped::Budget, Some(500), t.samples));
    }

    #[test]
    fn one_good_sample_among_throttled_ones_is_not_enough() {
        // The first sample is good, all others are not.
        let mut call = 0_u32;
        let batch = |n: u32| {
            call += 1;
            let is_throttled = call > 4;
            let clock = Some(Clock { sm_mhz: if is_throttled { 900 } else { 1900 }, is_throttled });
            Ok(Batch { time: Seconds(f64::from(n) * if is_throttled { 6e-6 } else { 3e-6 }), clock })
        };
        let t = measure(batch, &StoppingRule::BRISK).unwrap();
        assert!((t.time.0 - 6e-6).abs() < 1e-12 && t.samples > 3, "{t:?}");
        assert_eq!((t.stopped, t.sm_mhz, t.throttled + 1), (Stopped::Budget, Some(900), t.samples));
    }

    #[test]
    fn a_single_slow_product_says_at_which_clock() {
        let clock = Some(Clock { sm_mhz: 700, is_throttled: true });
        let t = measure(|_| Ok(Batch { time: Seconds(1.0), clock }), &StoppingRule::BRISK).unwrap();
        assert_eq!((t.samples, t.sm_mhz, t.throttled), (1, Some(700), 1));
    }

    #[test]
    fn a_noisy_device_stops_by_budget_and_says_so() {
        let mut call = 0_u32;
        let noisy = |n: u32| {
            call += 1;
            Ok(Seconds(f64::from(n) * 1e-5 * (1.0 + f64::from(call % 7))))
        };
        let t = measure(noisy, &StoppingRule::BRISK).unwrap();
        assert_eq!(t.stopped, Stopped::Budget);
        assert!(t.spread > 0.02);
    }

    #[test]
    fn outliers_beyond_the_spread_are_counted() {
        let of = |slowed: u32| {
            // The longer batch of the second sample is hit, with `slowed` times what it takes.
            let (mut longest, mut longer) = (0, 0);
            let hit = |n: u32| {
                longest = longest.max(n);
                longer += u32::from(n == longest && n > 4);
                let slow = if n == longest && longer == 2 { slowed } else { 1 };
                Ok(Seconds(f64::from(n * slow) * 1e-6))
            };
            measure(hit, &StoppingRule::BRISK).unwrap()
        };
        let (quiet, once) = (of(1), of(3));
        assert_eq!((quiet.far, once.far), (0, 1), "{once:?}");
        assert!((once.time.0 / quiet.time.0 - 1.0).abs() < 1e-9 && once.spread < 1e-9, "{once:?}");
    }

    #[test]
    fn noise_larger_than_the_difference_leaves_the_longer_batches() {
        // The shorter batch of each sample is hit by something that takes longer than the longer one.
        let mut longest = 0;
        let hit = |n: u32| {
            longest = longest.max(n);
            Ok(Seconds(f64::from(n) * 1e-6 + if n < longest { 1.0 } else { 0.0 }))
        };
        let rule = StoppingRule { budget: Seconds(1e3), ..StoppingRule::BRISK };
        let t = measure(hit, &rule).unwrap();
        assert!((t.time.0 - 1e-6).abs() < 1e-12 && t.spread.is_finite() && t.alpha == 0, "{t:?}");
    }

    #[test]
    fn a_stopped_clock_gives_a_tiny_finite_time() {
        let t = measure(|_| Ok(Seconds(0.0)), &StoppingRule::BRISK).unwrap();
        assert!(t.time.0 > 0.0 && t.spread.is_finite(), "{t:?}");
    }

    #[test]
    fn a_hopeless_product_is_run_once_and_recorded() {
        let mut calls = 0;
        let slow = |n| {
            calls += n;
            Ok(Seconds(f64::from(n) * 0.1))
        };
        let t = measure(slow, &StoppingRule::BRISK).unwrap();
        assert_eq!((t.samples, t.stopped, t.time), (1, Stopped::Hopeless, Seconds(0.1)));
        assert_eq!(calls, 1);
    }

    #[test]
    fn a_product_slower_than_the_hopeless_limit_is_run_once() {
        let rule = StoppingRule { hopeless: Seconds(8e-6), ..StoppingRule::BRISK };
        let t = measure(steady(0.0, 9e-6), &rule).unwrap();
        assert_eq!((t.samples, t.stopped, t.time), (1, Stopped::Hopeless, Seconds(9e-6)));
        let t = measure(steady(0.0, 8e-6), &rule).unwrap();
        assert_eq!((t.samples, t.stopped), (rule.min_samples, Stopped::Spread), "the border itself has hope");
    }

    #[test]
    fn an_error_of_the_batch_is_passed_on() {
        let failing = |_| Err::<Seconds, _>(DeviceError::Interrupted);
        assert_eq!(measure(failing, &StoppingRule::BRISK), Err(DeviceError::Interrupted));
    }
}
