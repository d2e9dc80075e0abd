//! What a matrix takes that is cut into parts, learned from cuts that were run.
//!
//! ```text
//! T = f + sum over the parts of ( a (E - L) + b )      k >= 2 parts; E predicted time of a part by itself
//!
//!                    f    a    b    L
//! sequential         0    1    0    0         the paper: T = sum of E
//! fused              L    1    0    launch    one launch: T = L + sum of (E - L)
//! learned            each >= 0      as above  fitted to the measured T, squares of relative errors least
//! ```
//! What the sums of the paper leave out: a part that does not fill the device ends with idle multiprocessors, a fused thread
//! block has to find its part and takes the registers of the largest one. And E is the least of many predictions for a block
//! that was chosen because it looks fast, so on average it is too low. a and b are what all of that comes to; they belong to
//! the model that made E. A matrix that is not cut takes its E, whatever was learned.
//!
//! The sums: Guo, Wang and Chen 2014, section 4, and this project's for one launch. What is learned is this project's own.

use crate::accuracy::quantile;
use crate::{Accuracy, non_negative};
use serde::{Deserialize, Serialize};
use sparsight_kernels::Execution;
use sparsight_matrix::Seconds;

/// Cuts that are needed before anything is learned from them. Chosen: as for preparations, three numbers are fitted.
const LEAST: usize = 12;

/// A cut that was run.
#[derive(Debug, Clone, PartialEq)]
pub struct MeasuredCut {
    /// Predicted time of each part by itself.
    pub parts: Vec<Seconds>,
    /// Measured time of one product.
    pub time: Seconds,
}

/// The law of one execution.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct CutCost {
    /// f: paid once.
    pub fixed_s: f64,
    /// a: of what a part takes beyond the launch that it shares.
    pub factor: f64,
    /// b: paid for every part.
    pub s_per_part: f64,
    /// L: what is in every E and paid once.
    pub shared_s: f64,
    /// What was found when it was learned; `None` for the sums of the paper.
    pub learned: Option<LearnedCut>,
}

/// How well a learned law fits what it was fitted to.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LearnedCut {
    /// Relative errors.
    pub error: Accuracy,
    /// 5th and 95th percentile of measured over predicted.
    pub range: (f64, f64),
    /// Median of measured over the sums of the paper.
    pub over_sums: f64,
}

impl CutCost {
    /// The sums of the paper, on a device where a launch costs `launch`.
    pub fn sums(execution: Execution, launch: Seconds) -> Self {
        let once = execution.once(launch).0;
        Self { fixed_s: once, factor: 1.0, s_per_part: 0.0, shared_s: once, learned: None }
    }

    /// Learned from cuts into two or more parts, all with one execution and one model; `None` from fewer than a dozen.
    pub fn fit(execution: Execution, launch: Seconds, cuts: &[MeasuredCut]) -> Option<Self> {
        let sums = Self::sums(execution, launch);
        let is_usable = |cut: &&MeasuredCut| {
            cut.parts.len() > 1
                && cut.time.0 > 0.0
                && cut.time.0.is_finite()
                && sums.total(&cut.parts).0.is_finite()
        };
        let cuts: Vec<&MeasuredCut> = cuts.iter().filter(is_usable).collect();
        if cuts.len() < LEAST {
            return None;
        }
        let beyond = |cut: &MeasuredCut| cut.parts.iter().map(|part| part.0 - sums.shared_s).sum::<f64>();
        let samples =
            cuts.iter().map(|cut| ([1.0, beyond(cut) / MICRO, cut.parts.len() as f64], cut.time.0 / MICRO));
        let [fixed, factor, per_part] = non_negative::fit(samples)?;
        let law = Self { fixed_s: fixed * MICRO, factor, s_per_part: per_part * MICRO, ..sums };
        let error = Accuracy::of(cuts.iter().map(|cut| (law.total(&cut.parts), cut.time)))?;
        let ratios = |law: &Self| {
            let mut ratios: Vec<f64> = cuts.iter().map(|cut| cut.time.0 / law.total(&cut.parts).0).collect();
            ratios.sort_by(f64::total_cmp);
            ratios
        };
        let own = ratios(&law);
        let range = (quantile(&own, 0.05)?, quantile(&own, 0.95)?);
        let over_sums = quantile(&ratios(&sums), 0.5)?;
        Some(Self { learned: Some(LearnedCut { error, range, over_sums }), ..law })
    }

    /// What a part adds that takes `time` by itself; to be summed up from [`CutCost::fixed_s`] on.
    pub fn part(&self, time: Seconds) -> Seconds {
        Seconds(self.factor * (time.0 - self.shared_s) + self.s_per_part)
    }

    /// T; of a single part its own time, of none 0.
    pub fn total(&self, parts: &[Seconds]) -> Seconds {
        match parts {
            [] => Seconds(0.0),
            [single] => *single,
            parts => Seconds(self.fixed_s + parts.iter().map(|part| self.part(*part).0).sum::<f64>()),
        }
    }
}

/// Times are counted in microseconds when they are fitted, so that they are about as large as numbers of parts.
const MICRO: f64 = 1e-6;

#[cfg(test)]
mod tests {
    use super::*;

    const LAUNCH: Seconds = Seconds(2e-6);

    fn times() -> Vec<Seconds> {
        vec![Seconds(5e-6), Seconds(7e-6), Seconds(4e-6)]
    }

    fn assert_close(got: f64, expected: f64) {
        assert!((got / expected - 1.0).abs() < 1e-6, "{got} for {expected}");
    }

    #[test]
    fn the_sums_are_the_papers_and_of_a_fused_product_with_one_launch() {
        let total = |execution, launch, parts: &[Seconds]| CutCost::sums(execution, launch).total(parts).0;
        assert_close(total(Execution::Sequential, LAUNCH, &times()), 16e-6);
        assert_close(total(Execution::Fused, LAUNCH, &times()), 12e-6);
        assert_close(total(Execution::Fused, LAUNCH, &times()[..1]), 5e-6);
        // A launch of unknown cost.
        assert_close(total(Execution::Fused, Seconds(0.0), &times()), 16e-6);
        assert_eq!(CutCost::sums(Execution::Fused, LAUNCH).total(&[]), Seconds(0.0));
    }

    /// Cuts into 2 to 5 parts of 3 us to some milliseconds.
    fn made(execution: Execution, [f, a, b]: [f64; 3]) -> Vec<MeasuredCut> {
        let law = CutCost { fixed_s: f, factor: a, s_per_part: b, ..CutCost::sums(execution, LAUNCH) };
        let cut = |i: u32| {
            let part =
                |k: u32| Seconds(2e-6 + 1e-6 * f64::from(1 + (i * 7 + k * 5) % 11) * 1.5_f64.powi(i as i32));
            let parts: Vec<Seconds> = (0..2 + i % 4).map(part).collect();
            MeasuredCut { time: law.total(&parts), parts }
        };
        (0..20).map(cut).collect()
    }

    #[test]
    fn the_law_that_cuts_were_made_with_is_found() {
        for execution in Execution::ALL {
            for law in [[3e-6, 1.4, 1e-6], [2e-6, 1.0, 0.0], [0.0, 1.3, 2.5e-6]] {
                let found = CutCost::fit(execution, LAUNCH, &made(execution, law)).unwrap();
                let got = [found.fixed_s, found.factor, found.s_per_part];
                for (got, made) in got.iter().zip(law) {
                    assert!((got - made).abs() < 1e-6 * made.max(1e-6), "{found:?} for {law:?}");
                }
                let LearnedCut { error, range, .. } = found.learned.unwrap();
                assert!(error.worst < 1e-6 && (range.0 - 1.0).abs() < 1e-6 && (range.1 - 1.0).abs() < 1e-6);
            }
        }
    }

    #[test]
    fn a_matrix_that_is_not_cut_pays_nothing_and_few_cuts_teach_nothing() {
        let cuts = made(Execution::Fused, [3e-6, 1.4, 1e-6]);
        let law = CutCost::fit(Execution::Fused, LAUNCH, &cuts).unwrap();
        assert_eq!(law.total(&[Seconds(7e-6)]), Seconds(7e-6));
        assert!(law.learned.unwrap().over_sums > 1.4);
        assert_eq!(CutCost::fit(Execution::Fused, LAUNCH, &cuts[..LEAST - 1]), None);
        // Nor do matrices that were not cut, and times that are none.
        let whole = MeasuredCut { parts: vec![Seconds(7e-6)], time: Seconds(9e-6) };
        let broken = MeasuredCut { parts: times(), time: Seconds(f64::NAN) };
        let few = [vec![whole; 20], vec![broken; 20], cuts[..LEAST - 1].to_vec()].concat();
        assert_eq!(CutCost::fit(Execution::Fused, LAUNCH, &few), None);
    }
}
