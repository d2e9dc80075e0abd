//! Time of a matrix that is cut into parts, learned from cuts that were run.
//!
//! ```text
//! T = f + sum over the parts of ( a max(E - L, 0) + b + c B (m(W) - m(B)) )      two parts or more
//!
//! E       predicted time of a part by itself
//! B, W    bytes of a part and of the whole matrix in CSR
//! m(B)    1 - C / B, at least 0: the share of B bytes that a cache of C bytes does not hold from one product to the next
//!
//!                    f    a    L    b    c
//! sequential         0    1    0    0    0      the sums: the paper's T = sum of E
//! fused              l    1    l    0    0      one launch that costs l: T = l + sum of (E - l)
//! learned            none negative, L and C of some values: the squares of relative errors are least
//! ```
//! What the sums leave out is the cache. By itself a part of 30 MB stays in the L2 from one product to the next, and that is
//! how E was measured; in a product of all parts it is evicted by the others, and what was there has to come from memory. On
//! an H200 matrices of 40 to 150 MB take 1.36 times the sum of the measured times of their parts (median of 18 sequential
//! cuts), those up to 25 MB 1.00 and larger ones 1.03 times (docs/results/h200-plans.md).
//! Fused parts share more than a launch: while one waits for its first data another one works. L is then the time of a
//! product of next to nothing.
//!
//! a and b also take what is wrong with E on average, for blocks that were chosen because they look fast: the law belongs to
//! the model that made E. A matrix that is not cut takes its E, whatever was learned, and far beyond the times that it was
//! fitted to no law is asked.
//!
//! The sums: Guo, Wang and Chen 2014, section 4, and this project's for one launch. The cache and what is learned are this
//! project's own.

use crate::accuracy::quantile;
use crate::{Accuracy, non_negative};
use serde::{Deserialize, Serialize};
use sparsight_kernels::Execution;
use sparsight_matrix::{Bytes, Seconds};

/// Cuts that are needed before anything is learned from them. Of random draws from the cuts of an H200, 40 give an interval
/// that holds 84 (fused) and 87 % (sequential) of the others, 12 one that holds 66 and 77 %.
const LEAST: usize = 40;

/// Range of a: outside, the cuts that it was fitted to were too much alike to tell it from f. Chosen.
const FACTORS: std::ops::RangeInclusive<f64> = 0.5..=2.0;

/// Factor beyond the fitted times up to which a law still answers. Chosen.
const BEYOND: f64 = 2.0;

/// Values of C that are tried, in eighths of the L2: copies of the same data in its halves make it look smaller.
const EIGHTHS: std::ops::RangeInclusive<u64> = 1..=8;

/// Values of L that are tried, in quarters of a launch.
const QUARTERS: std::ops::RangeInclusive<u32> = 4..=12;

/// A part of a cut.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Piece {
    /// Predicted time of one product of it by itself.
    pub time: Seconds,
    /// Size in CSR.
    pub bytes: Bytes,
}

/// A cut that was run.
#[derive(Debug, Clone, PartialEq)]
pub struct MeasuredCut {
    /// The parts.
    pub parts: Vec<Piece>,
    /// Measured time of one product.
    pub time: Seconds,
}

/// The law of one execution.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct CutCost {
    /// f: paid once.
    pub fixed_s: f64,
    /// a: of what a part takes beyond L.
    pub factor: f64,
    /// L: what is in every E, and in f once.
    pub shared_s: f64,
    /// b: for every part.
    pub s_per_part: f64,
    /// c: for every byte that the other parts have evicted.
    pub s_per_byte: f64,
    /// C.
    pub cache_bytes: Bytes,
    /// Statistics of the fit; `None` for the sums of the paper.
    pub learned: Option<LearnedCut>,
}

/// Quality of a learned law on the cuts that it was fitted to.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LearnedCut {
    /// Relative errors of the cuts that it was fitted to.
    pub error: Accuracy,
    /// 5th and 95th percentile of measured over predicted, of the same.
    pub range: (f64, f64),
    /// Least and largest measured time of them.
    pub times_s: (f64, f64),
    /// Median of measured over the sums of the paper.
    pub over_sums: f64,
}

impl CutCost {
    /// The sums of the paper, on a device where a launch costs `launch`.
    pub fn sums(execution: Execution, launch: Seconds) -> Self {
        let once = execution.once(launch).0;
        Self {
            fixed_s: once,
            factor: 1.0,
            shared_s: once,
            s_per_part: 0.0,
            s_per_byte: 0.0,
            cache_bytes: Bytes(0),
            learned: None,
        }
    }

    /// Learned from cuts into two or more parts, all with one execution and one model, on a device with such a cost of a launch
    /// and L2; `None` from fewer than 40, or if they are too much alike.
    pub fn fit(execution: Execution, launch: Seconds, l2: Bytes, cuts: &[MeasuredCut]) -> Option<Self> {
        let sums = Self::sums(execution, launch);
        let is_usable = |cut: &&MeasuredCut| {
            let is_time = cut.time.0 > 0.0 && cut.time.0.is_finite();
            cut.parts.len() > 1 && is_time && sums.total(&cut.parts).0.is_finite()
        };
        let cuts: Vec<&MeasuredCut> = cuts.iter().filter(is_usable).collect();
        if cuts.len() < LEAST {
            return None;
        }
        let mut shared: Vec<f64> =
            QUARTERS.map(|quarters| sums.shared_s * f64::from(quarters) / 4.0).collect();
        // Nothing is shared by sequential parts.
        shared.dedup();
        let laws = shared.into_iter().flat_map(|shared_s| {
            let caches = EIGHTHS.map(|eighths| Bytes(l2.0 / 8 * eighths));
            caches.map(move |cache_bytes| Self { shared_s, cache_bytes, ..sums })
        });
        let fitted = laws.filter_map(|law| law.fitted(&cuts));
        let misfit = |law: &Self| cuts.iter().map(|cut| (law.ratio(cut) - 1.0).powi(2)).sum::<f64>();
        // Of equally good ones the first.
        let law = fitted.map(|law| (misfit(&law), law)).min_by(|a, b| a.0.total_cmp(&b.0))?.1;
        let error = Accuracy::of(cuts.iter().map(|cut| (law.total(&cut.parts), cut.time)))?;
        let ratios = |law: &Self| {
            let mut ratios: Vec<f64> = cuts.iter().map(|cut| 1.0 / law.ratio(cut)).collect();
            ratios.sort_by(f64::total_cmp);
            ratios
        };
        let own = ratios(&law);
        let range = (quantile(&own, 0.05)?, quantile(&own, 0.95)?);
        let over_sums = quantile(&ratios(&sums), 0.5)?;
        let times = || cuts.iter().map(|cut| cut.time.0);
        let times_s = (times().fold(f64::INFINITY, f64::min), times().fold(0.0, f64::max));
        let learned = Some(LearnedCut { error, range, times_s, over_sums });
        Some(Self { learned, ..law }).filter(|law| FACTORS.contains(&law.factor))
    }

    /// Returns whether it says anything about a matrix that takes about `time`: not far beyond what it was fitted to.
    pub fn reaches(&self, time: Seconds) -> bool {
        self.learned.is_none_or(|LearnedCut { times_s: (least, most), .. }| {
            least / BEYOND <= time.0 && time.0 <= most * BEYOND
        })
    }

    /// Fits f, a, b and c for its L and C.
    fn fitted(self, cuts: &[&MeasuredCut]) -> Option<Self> {
        let samples = cuts.iter().map(|cut| {
            let whole = whole(&cut.parts);
            let beyond: f64 = cut.parts.iter().map(|part| self.beyond(part.time)).sum();
            let evicted: f64 = cut.parts.iter().map(|part| self.evicted(part.bytes, whole)).sum();
            ([1.0, beyond / MICRO, cut.parts.len() as f64, evicted / MEGA], cut.time.0 / MICRO)
        });
        let [fixed, factor, per_part, per_mega] = non_negative::fit(samples)?;
        let (fixed_s, s_per_part) = (fixed * MICRO, per_part * MICRO);
        Some(Self { fixed_s, factor, s_per_part, s_per_byte: per_mega * MICRO / MEGA, ..self })
    }

    /// Predicted over measured.
    fn ratio(&self, cut: &MeasuredCut) -> f64 {
        self.total(&cut.parts).0 / cut.time.0
    }

    fn beyond(&self, time: Seconds) -> f64 {
        // Not `max`, which would make something of an infinite or missing time.
        if time.0 < self.shared_s { 0.0 } else { time.0 - self.shared_s }
    }

    /// B (m(W) - m(B)).
    fn evicted(&self, part: Bytes, whole: Bytes) -> f64 {
        let missing =
            |bytes: Bytes| (bytes.0.saturating_sub(self.cache_bytes.0)) as f64 / bytes.0.max(1) as f64;
        part.0 as f64 * (missing(whole) - missing(part)).max(0.0)
    }

    /// Time that a part adds to a product of a matrix of `whole` bytes; to be summed up from [`CutCost::fixed_s`] on.
    pub fn part(&self, part: Piece, whole: Bytes) -> Seconds {
        let own = self.factor * self.beyond(part.time) + self.s_per_part;
        // The paper's sums are asked for a million blocks.
        if self.s_per_byte > 0.0 {
            Seconds(own + self.s_per_byte * self.evicted(part.bytes, whole))
        } else {
            Seconds(own)
        }
    }

    /// T; of a single part its own time, of none 0.
    pub fn total(&self, parts: &[Piece]) -> Seconds {
        match parts {
            [] => Seconds(0.0),
            [single] => single.time,
            parts => {
                let whole = whole(parts);
                let sum: f64 = parts.iter().map(|&part| self.part(part, whole).0).sum();
                Seconds(self.fixed_s + sum)
            }
        }
    }
}

fn whole(parts: &[Piece]) -> Bytes {
    Bytes(parts.iter().map(|part| part.bytes.0).sum())
}

/// Times and bytes are counted in these when they are fitted, so that all numbers are about as large.
const MICRO: f64 = 1e-6;
const MEGA: f64 = 1e6;

#[cfg(test)]
mod tests {
    use super::*;

    const LAUNCH: Seconds = Seconds(2e-6);

    const L2: Bytes = Bytes(64_000_000);

    fn piece(time: f64, bytes: u64) -> Piece {
        Piece { time: Seconds(time), bytes: Bytes(bytes) }
    }

    fn pieces() -> Vec<Piece> {
        vec![piece(5e-6, 3_000_000), piece(7e-6, 9_000_000), piece(4e-6, 6_000_000)]
    }

    fn assert_close(got: f64, expected: f64) {
        assert!((got / expected - 1.0).abs() < 1e-6, "{got} for {expected}");
    }

    #[test]
    fn the_sums_are_the_papers_and_of_a_fused_product_with_one_launch() {
        let total = |execution, launch, parts: &[Piece]| CutCost::sums(execution, launch).total(parts).0;
        assert_close(total(Execution::Sequential, LAUNCH, &pieces()), 16e-6);
        assert_close(total(Execution::Fused, LAUNCH, &pieces()), 12e-6);
        assert_close(total(Execution::Fused, LAUNCH, &pieces()[..1]), 5e-6);
        // A launch of unknown cost.
        assert_close(total(Execution::Fused, Seconds(0.0), &pieces()), 16e-6);
        assert_eq!(CutCost::sums(Execution::Fused, LAUNCH).total(&[]), Seconds(0.0));
        let impossible = [pieces()[0], piece(f64::INFINITY, 1)];
        assert!(total(Execution::Fused, LAUNCH, &impossible).is_infinite());
    }

    /// By hand: of the whole, 18 MB, a cache of 6 MB misses 2/3. Of its own 3 MB a part misses nothing, of 9 MB 1/3, of 6 MB
    /// nothing: 2 + 3 + 4 MB are evicted, 9 us at 1 us a MB.
    #[test]
    fn parts_pay_for_what_the_others_evict() {
        let sums = CutCost::sums(Execution::Sequential, LAUNCH);
        let law = CutCost { cache_bytes: Bytes(6_000_000), s_per_byte: 1e-12, ..sums };
        assert_close(law.total(&pieces()).0, 16e-6 + 9e-6);
        assert_close(CutCost { cache_bytes: Bytes(18_000_000), ..law }.total(&pieces()).0, 16e-6);
    }

    /// Cuts into 2 to 5 parts of 3 us to a millisecond, and of some kilobytes to 200 MB.
    fn made(execution: Execution, law: [f64; 4], eighths: u64) -> Vec<MeasuredCut> {
        let [fixed_s, factor, s_per_part, s_per_byte] = law;
        let cache_bytes = Bytes(L2.0 / 8 * eighths);
        let sums = CutCost::sums(execution, LAUNCH);
        let law = CutCost { fixed_s, factor, s_per_part, s_per_byte, cache_bytes, ..sums };
        let cut = |i: u32| {
            let part = |k: u32| {
                let size = f64::from(1 + (i * 7 + k * 5) % 11) * 1.4_f64.powi(i as i32 % 15);
                piece(2e-6 + 1e-6 * size, (4e4 * size * f64::from(1 + i % 3)) as u64)
            };
            let parts: Vec<Piece> = (0..2 + i % 4).map(part).collect();
            MeasuredCut { time: law.total(&parts), parts }
        };
        (0..60).map(cut).collect()
    }

    #[test]
    fn the_law_that_cuts_were_made_with_is_found() {
        for execution in Execution::ALL {
            for (law, eighths) in
                [([3e-6, 1.4, 0.0, 1e-12], 4), ([2e-6, 1.0, 1e-6, 3e-12], 2), ([0.0, 1.1, 5e-7, 2e-12], 6)]
            {
                let found = CutCost::fit(execution, LAUNCH, L2, &made(execution, law, eighths)).unwrap();
                assert_eq!(found.cache_bytes, Bytes(8_000_000 * eighths), "{found:?}");
                // L and b are told apart by parts that take less than L, which there are none of here.
                let per_part = |law: &CutCost| law.s_per_part - law.factor * law.shared_s;
                let [fixed_s, factor, s_per_part, s_per_byte] = law;
                let own = CutCost { factor, s_per_part, ..CutCost::sums(execution, LAUNCH) };
                for (got, made) in [
                    (found.fixed_s, fixed_s),
                    (found.factor, factor),
                    (per_part(&found), per_part(&own)),
                    (found.s_per_byte, s_per_byte),
                ] {
                    assert!((got - made).abs() <= 1e-6 * made.abs().max(1e-6), "{found:?} for {law:?}");
                }
                let LearnedCut { error, range, .. } = found.learned.unwrap();
                assert!(error.worst < 1e-6 && (range.0 - 1.0).abs() < 1e-6 && (range.1 - 1.0).abs() < 1e-6);
            }
        }
    }

    #[test]
    fn uncut_matrices_cost_nothing_and_few_cuts_are_not_fitted() {
        let cuts = made(Execution::Fused, [3e-6, 1.4, 0.0, 1e-12], 4);
        let alike: Vec<MeasuredCut> = vec![cuts[7].clone(); 100];
        let fit = |cuts: &[MeasuredCut]| CutCost::fit(Execution::Fused, LAUNCH, L2, cuts);
        let law = fit(&cuts).unwrap();
        assert_eq!(law.total(&[piece(7e-6, 90_000_000)]), Seconds(7e-6));
        assert!(law.learned.unwrap().over_sums > 1.2);
        let (least, most) = law.learned.unwrap().times_s;
        assert!(law.reaches(Seconds(least)) && law.reaches(Seconds(1.9 * most)));
        assert!(!law.reaches(Seconds(2.1 * most)) && !law.reaches(Seconds(0.4 * least)));
        assert!(CutCost::sums(Execution::Fused, LAUNCH).reaches(Seconds(1e3)), "sums are asked anything");
        assert_eq!(fit(&alike), None, "f alone would do");
        assert_eq!(fit(&cuts[..LEAST - 1]), None);
        // Nor do matrices that were not cut, and times that are none.
        let whole = MeasuredCut { parts: vec![piece(7e-6, 1)], time: Seconds(9e-6) };
        let broken = MeasuredCut { parts: pieces(), time: Seconds(f64::NAN) };
        let few = [vec![whole; 20], vec![broken; 20], cuts[..LEAST - 1].to_vec()].concat();
        assert_eq!(fit(&few), None);
    }
}
