//! Detection of noise on the machine during a measurement, reported in one line.
//!
//! ```text
//! samples     spread (interquartile range over median) above 10 % of more than a quarter of what was timed; more than a tenth of
//!             all farther from their median than half of it
//! CPU         a load average above the logical CPUs by more than 1 when measuring began: others were at work
//! GPU         samples thrown away, since it had slowed its clock down
//! ```
//! What was measured is shown and kept, but for the calibration of a processor, which is made again.

use crate::records::{BenchmarkOutcome, BenchmarkRecord, ClockRecord, CorpusRecord, Outcome};
use sparsight_device::timing::Timing;
use sparsight_kernels::DeviceKind;
use std::fs;
use std::num::NonZeroUsize;
use std::thread::available_parallelism;

/// Spread from which on samples are wide. Chosen: ten times the target of a careful measurement, five times that of a brisk one.
const WIDE: f64 = 0.1;

/// Share of wide ones from which on that is said. Measured: where a product has a thread for each of two CPUs, 11 to 15 % of the times
/// are wide on a machine that does nothing else, and 33 % where builds keep both busy (docs/measuring.md).
const MANY_WIDE: f64 = 0.25;

/// Share of samples far from their median from which on that is said. Chosen: a few outliers are the rule on any machine.
const MANY_FAR: f64 = 0.1;

/// Load average above the logical CPUs that is not reported: the work just before, with a thread for each, counts in it. Chosen.
const OWN_LOAD: f64 = 1.0;

/// Statistics of the times so far.
#[derive(Debug)]
pub struct Noise {
    /// Load average and logical CPUs, of a CPU whose load is known.
    load: Option<(f64, usize)>,
    /// Timed with more than one sample, and of these wide.
    timed: u64,
    wide: u64,
    /// Samples of these, and such as were far from their median.
    samples: u64,
    far: u64,
    throttled: u64,
}

impl Noise {
    /// Starts to watch; call it before measuring begins, since measuring is a load by itself.
    pub fn before(kind: DeviceKind) -> Self {
        let cpus = available_parallelism().map_or(1, NonZeroUsize::get);
        let load = fs::read_to_string("/proc/loadavg").ok().and_then(|text| last_minute(&text));
        let load = load.filter(|_| kind.is_disturbed_by_load()).map(|load| (load, cpus));
        Self { load, timed: 0, wide: 0, samples: 0, far: 0, throttled: 0 }
    }

    /// Counts the outcome of a candidate.
    pub fn saw(&mut self, outcome: &Outcome) {
        if let Outcome::Time { spread, samples, .. } = outcome {
            self.timed_with(*spread, *samples);
        }
    }

    /// Counts a time with its spread.
    pub fn timed_with(&mut self, spread: f64, samples: u32) {
        if samples > 1 {
            self.timed += 1;
            self.wide += u64::from(spread > WIDE);
            self.samples += u64::from(samples);
        }
    }

    /// The times of a benchmark matrix.
    pub fn benchmarked(&mut self, record: &BenchmarkRecord) {
        if let BenchmarkOutcome::Blocks(blocks) = &record.outcome {
            for block in blocks {
                self.timed_with(block.spread, block.samples);
            }
        }
    }

    /// All that was timed on a matrix.
    pub fn recorded(&mut self, record: &CorpusRecord) {
        record.results.iter().for_each(|measured| self.saw(&measured.outcome));
        self.clocked(record.clock);
        self.strayed(record.far);
    }

    /// A time with all that is known of it.
    pub fn took(&mut self, timing: &Timing) {
        self.timed_with(timing.spread, timing.samples);
        self.throttled += u64::from(timing.throttled);
        self.strayed(timing.far);
    }

    /// Counts samples far from their median.
    pub fn strayed(&mut self, far: u32) {
        self.far += u64::from(far);
    }

    /// Counts throttled samples of a device's clock.
    pub fn clocked(&mut self, clock: Option<ClockRecord>) {
        self.throttled += clock.map_or(0, |clock| u64::from(clock.throttled));
    }

    /// The disturbances, if any: `a load average of 3.5 on 2 logical CPUs`.
    pub fn reasons(&self) -> Option<String> {
        let is_wide = self.wide as f64 > MANY_WIDE * self.timed as f64;
        let wide = is_wide.then(|| {
            let times = counted(self.timed, "time");
            format!("the samples of {} of {times} spread over more than {:.1} %", self.wide, 100.0 * WIDE)
        });
        let load = self.load.filter(|(load, cpus)| *load > *cpus as f64 + OWN_LOAD).map(|(load, cpus)| {
            format!("a load average of {load:.1} on {}", counted(cpus as u64, "logical CPU"))
        });
        let throttled = (self.throttled > 0).then(|| {
            format!("{} thrown away, as the GPU had slowed its clock down", counted(self.throttled, "sample"))
        });
        let strayed = (self.far as f64 > MANY_FAR * self.samples as f64).then(|| {
            let samples = counted(self.samples, "sample");
            format!("{} of {samples} farther from their median than half of it", self.far)
        });
        let reasons: Vec<String> = [wide, strayed, load, throttled].into_iter().flatten().collect();
        (!reasons.is_empty()).then(|| reasons.join("; "))
    }
}

/// `1 time`, `5 times`.
fn counted(count: u64, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// The first number of `/proc/loadavg`.
fn last_minute(text: &str) -> Option<f64> {
    text.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use sparsight_device::timing::{StoppingRule, measure};
    use sparsight_matrix::Seconds;

    fn quiet() -> Noise {
        Noise { load: Some((2.9, 2)), timed: 0, wide: 0, samples: 0, far: 0, throttled: 0 }
    }

    #[test]
    fn a_quiet_machine_is_not_spoken_of() {
        let mut noise = quiet();
        noise.timed_with(0.5, 1);
        for at in 0..20 {
            let spread = if at < 5 { 0.2 } else { 0.01 };
            noise.saw(&Outcome::Time { time_s: Seconds(1e-6), spread, samples: 5 });
        }
        noise.clocked(Some(ClockRecord { sm_mhz: [1980, 1980], throttled: 0 }));
        noise.clocked(None);
        assert_eq!(noise.reasons(), None, "{noise:?}");
        assert_eq!(Noise::before(DeviceKind::Cuda).load, None, "a GPU does not mind");
    }

    #[test]
    fn samples_far_from_their_median_are_a_reason_though_none_spreads() {
        let timing = |far| {
            // As measured, with what is asked about.
            let batch = |n: u32| Ok(Seconds(f64::from(n) * 1e-6));
            Timing { far, throttled: 1, ..measure(batch, &StoppingRule::BRISK).unwrap() }
        };
        let mut noise = quiet();
        noise.took(&timing(1));
        let text = noise.reasons().unwrap();
        let samples = timing(0).samples;
        let expected = format!(
            "1 of {samples} samples farther from their median than half of it; 1 sample thrown away, as the GPU had slowed its clock \
             down"
        );
        assert_eq!(text, expected);
        let mut few = quiet();
        (0..10).for_each(|_| few.timed_with(0.0, 5));
        few.strayed(5);
        assert_eq!(few.reasons(), None, "{few:?}");
        few.strayed(1);
        assert!(few.reasons().unwrap().starts_with("6 of 50 samples"), "{few:?}");
    }

    #[test]
    fn wide_samples_a_load_and_a_slowed_clock_are_each_a_reason() {
        let mut wide = quiet();
        for at in 0..10 {
            wide.timed_with(if at < 3 { 0.2 } else { 0.01 }, 5);
        }
        let text = wide.reasons().unwrap();
        assert!(text.ends_with("the samples of 3 of 10 times spread over more than 10.0 %"), "{text}");
        let mut both = Noise { load: Some((3.5, 2)), ..quiet() };
        both.clocked(Some(ClockRecord { sm_mhz: [900, 1980], throttled: 7 }));
        let text = both.reasons().unwrap();
        let expected = "a load average of 3.5 on 2 logical CPUs; 7 samples thrown away, as the GPU had slowed its clock down";
        assert!(text.ends_with(expected) && !text.contains('\n'), "{text}");
        assert_eq!(last_minute("0.52 0.58 0.59 1/389 12345\n"), Some(0.52));
        assert_eq!(last_minute(""), None);
    }
}
