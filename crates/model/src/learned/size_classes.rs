//! Width of intervals by the length of products and the family of the kernel.
//!
//! Short products are launch cost for the most part, and are predicted better than the residuals of all matrices say; long ones
//! depend on where x is found, and are predicted worse, of some families more than of others. So the interval of a kernel is scaled by
//! the class of its predicted time and by its family:
//!
//! ```text
//! s = r / high for r > 0, r / low else         r = ln(measured / predicted), held out; low, high: of the kernel
//! f = rank ceil(0.9 (n + 1)) of its s          of a class, all kernels together; of a class and a family
//! factor = f(class)^(1 - w) f(class, family)^w          w = m / (m + 10) with m matrices of the class that the family was held to
//! ```
//! The rank is that of split-conformal prediction, within each class (Mondrian: Vovk, Gammerman and Shafer 2005, section 4.5). A family
//! with few matrices of a size has the factor of all families there, so that nothing is narrow for want of measurements.
//!
//! The comparison of candidates has a second set of factors, for joined times: there a class is that of the matrix, by its least time.

use crate::LogInterval;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use sparsight_kernels::Kernel;
use std::collections::{BTreeMap, BTreeSet};

/// Ends of the classes, seconds: those by which results are shown, and one more, since of long products those of most matrices
/// that were measured take less than 80 us.
const ENDS_S: [f64; 4] = [4e-6, 8e-6, 20e-6, 80e-6];
const CLASSES: usize = ENDS_S.len() + 1;
/// Residuals that a class must have for a factor of its own. Chosen: below, the rank says little.
const ENOUGH: usize = 200;
/// Matrices by which the factor of all families counts beside that of one. Chosen with folders a to d, g and h held out in turn on an
/// H200: with 5, 10 and 20 coverage by family and class is off 90 % by 4.0 points in the mean, with the classes alone by 4.7.
const PRIOR: f64 = 10.0;
/// A factor is no further from 1 than this. Chosen: more is no scale but another model.
const MOST: f64 = 4.0;

/// Factors of the classes; 1 where a class has too few residuals.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(crate) struct SizeClasses {
    /// Of a family that was not held to anything.
    all: Factors,
    /// By the name of the family.
    #[serde(deserialize_with = "of_known_families")]
    families: BTreeMap<String, Factors>,
}

/// Refuses the name of a family that is not in the catalogue.
fn of_known_families<'de, D: Deserializer<'de>>(stored: D) -> Result<BTreeMap<String, Factors>, D::Error> {
    let families = BTreeMap::<String, Factors>::deserialize(stored)?;
    let known: BTreeSet<&str> = Kernel::all().map(|kernel| kernel.family().name).collect();
    match families.keys().find(|name| !known.contains(name.as_str())) {
        Some(name) => Err(D::Error::custom(format!("'{name}' is no kernel family"))),
        None => Ok(families),
    }
}

/// The factors of one family.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct Factors([f64; CLASSES]);

impl Default for Factors {
    fn default() -> Self {
        Self([1.0; CLASSES])
    }
}

/// A held-out time beside the interval of its kernel.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HeldTo<'a> {
    pub(crate) matrix: &'a str,
    pub(crate) kernel: Kernel,
    pub(crate) interval: LogInterval,
    /// Time that decides the class.
    pub(crate) time_s: f64,
    /// `ln(measured / predicted)`.
    pub(crate) residual: f64,
}

impl HeldTo<'_> {
    /// The residual over the end of the interval on its side; `None` where that is no length.
    fn score(&self) -> Option<f64> {
        let end = if self.residual > 0.0 { self.interval.high() } else { self.interval.low() };
        (end.abs() > 1e-9).then(|| self.residual / end)
    }
}

fn class(time_s: f64) -> usize {
    ENDS_S.iter().take_while(|end| time_s >= **end).count()
}

/// Rank 0.9 of at least one score, as a factor.
fn ninth_tenth(mut scores: Vec<f64>) -> f64 {
    scores.sort_by(f64::total_cmp);
    let rank = (9 * (scores.len() + 1)).div_ceil(10).min(scores.len());
    scores[rank - 1].clamp(MOST.recip(), MOST)
}

impl SizeClasses {
    /// Fits the factors to held-out times.
    pub(crate) fn of(held_out: &[HeldTo<'_>]) -> Self {
        let in_class = |at: usize| held_out.iter().filter(move |h| class(h.time_s) == at);
        let names: BTreeSet<&str> = held_out.iter().map(|h| h.kernel.family().name).collect();
        let (mut all, mut families) = (Factors::default(), BTreeMap::<String, Factors>::new());
        for at in 0..CLASSES {
            let scores: Vec<f64> = in_class(at).filter_map(HeldTo::score).collect();
            if scores.len() < ENOUGH {
                continue;
            }
            all.0[at] = ninth_tenth(scores);
            for &name in &names {
                let own = || in_class(at).filter(|h| h.kernel.family().name == name);
                let matrices = own().map(|h| h.matrix).collect::<BTreeSet<_>>().len() as f64;
                let scores: Vec<f64> = own().filter_map(HeldTo::score).collect();
                let weight = if scores.is_empty() { 0.0 } else { matrices / (matrices + PRIOR) };
                let of_family = if scores.is_empty() { 1.0 } else { ninth_tenth(scores) };
                let factor = all.0[at].powf(1.0 - weight) * of_family.powf(weight);
                families.entry(name.to_owned()).or_default().0[at] = factor;
            }
        }
        Self { all, families }
    }

    /// The factors of a kernel.
    pub(crate) fn of_kernel(&self, kernel: Kernel) -> &Factors {
        self.families.get(kernel.family().name).unwrap_or(&self.all)
    }
}

impl Factors {
    /// The factor at a time of that size.
    pub(crate) fn at(&self, time_s: f64) -> f64 {
        let factor = self.0[class(time_s)];
        // A damaged file may say anything.
        if factor.is_finite() { factor.clamp(MOST.recip(), MOST) } else { 1.0 }
    }

    /// The interval of a kernel around a time of that size.
    pub(crate) fn scaled(&self, interval: LogInterval, time_s: f64) -> LogInterval {
        interval.widened(self.at(time_s) - 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTERVAL: [f64; 2] = [-0.1, 0.2];

    fn kernel(id: &str) -> Kernel {
        id.parse::<sparsight_kernels::Candidate>().unwrap().kernel
    }

    /// A thousand residuals of two hundred matrices up to so many times as far as the interval's ends.
    fn held(kernel: Kernel, time_s: f64, reach: f64, matrices: &[String]) -> Vec<HeldTo<'_>> {
        let interval = LogInterval::from(INTERVAL);
        let of = |at: usize| {
            let share = (at % 100) as f64 / 100.0 * reach;
            let residual = if at.is_multiple_of(2) { 0.2 * share } else { -0.1 * share };
            HeldTo { matrix: &matrices[at % matrices.len()], kernel, interval, time_s, residual }
        };
        (0..1000).map(of).collect()
    }

    fn names(count: usize) -> Vec<String> {
        (0..count).map(|at| format!("a/{at}")).collect()
    }

    #[test]
    fn nine_in_ten_of_each_class_and_family_lie_inside() {
        let (many, few) = (names(200), names(1));
        let [coo, ell, jad] = ["coo/b64/f64", "ell/b64/f64", "jad/b64/f64"].map(kernel);
        let short = held(coo, 3e-6, 0.5, &many);
        let long = held(coo, 1e-3, 2.0, &many);
        let long_ell = held(ell, 1e-3, 1.0, &many);
        // One matrix says little of JAD: the factor of all families counts more.
        let one_jad = &held(jad, 1e-3, 0.5, &few)[..100];
        let all = [&short[..], &long, &long_ell, one_jad].concat();
        let classes = SizeClasses::of(&all);
        for own in [short, long, long_ell] {
            let scaled = classes.of_kernel(own[0].kernel).scaled(LogInterval::from(INTERVAL), own[0].time_s);
            let inside = own.iter().filter(|h| scaled.low() <= h.residual && h.residual <= scaled.high());
            assert!((870..=930).contains(&inside.count()), "{scaled:?}");
        }
        let high =
            |kernel, time_s| classes.of_kernel(kernel).scaled(LogInterval::from(INTERVAL), time_s).high();
        assert!(high(jad, 1e-3) > high(ell, 1e-3), "as wide as of all, though its one matrix is near");
        assert!((high(ell, 5e-6) - 0.2).abs() < 1e-12, "of that size nothing was held out");
        assert!(high(coo, 1e-3) < 0.5 && high(coo, 30e-6) < 0.21, "30 us are another class than 1 ms");
        let other = kernel("dia/b64/f64");
        assert!(high(other, 1e-3) > high(ell, 1e-3), "a family without measurements is as wide as all");
    }

    #[test]
    fn a_damaged_factor_leaves_an_interval() {
        for factor in [f64::NAN, f64::INFINITY, -3.0, 0.0] {
            let classes = SizeClasses { all: Factors([factor; CLASSES]), families: BTreeMap::new() };
            let scaled = classes.of_kernel(kernel("coo/b64/f64")).scaled(LogInterval::new(-0.1, 0.2), 1e-6);
            assert!(scaled.low() < 0.0 && scaled.high() > 0.0 && scaled.high() <= 0.8);
        }
    }
}
