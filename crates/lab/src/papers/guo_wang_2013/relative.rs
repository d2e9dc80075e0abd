//! Relative performance of two devices, for one matrix and kernel: section 4 of Guo and Wang 2013.

use serde::Serialize;
use sparsight_matrix::Seconds;

/// `T_tar = T_init_tar + P (T_ref - T_init_ref)`.
///
/// Invariant, kept by [`Relative::new`]: P is positive, all three are finite. The initialization times of ELL are
/// intercepts of lines and may be below zero.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Relative {
    #[serde(rename = "relative_performance")]
    performance: f64,
    #[serde(rename = "init_reference_s")]
    init_reference: f64,
    #[serde(rename = "init_target_s")]
    init_target: f64,
}

impl Relative {
    /// `None` if P is not positive or a number not finite.
    pub fn new(performance: f64, init_reference: Seconds, init_target: Seconds) -> Option<Self> {
        let (init_reference, init_target) = (init_reference.0, init_target.0);
        let finite = performance.is_finite() && init_reference.is_finite() && init_target.is_finite();
        (finite && performance > 0.0).then_some(Self { performance, init_reference, init_target })
    }

    /// P: how much longer the target takes for what is not initialization.
    pub fn performance(&self) -> f64 {
        self.performance
    }

    /// `T_init_ref`.
    pub fn init_reference(&self) -> Seconds {
        Seconds(self.init_reference)
    }

    /// `T_init_tar`.
    pub fn init_target(&self) -> Seconds {
        Seconds(self.init_target)
    }

    /// `T_tar` in seconds by the equation alone: below zero where `T_ref` is far below `T_init_ref`.
    pub fn time_s(&self, reference: Seconds) -> f64 {
        self.init_target + self.performance * (reference.0 - self.init_reference)
    }

    /// `weight` of this and the rest of `other`: its times are the means of both times, for every `T_ref`. So P and
    /// `T_init_tar` are means, and `T_init_ref` is one in proportion to P.
    #[must_use]
    pub fn blend(self, other: Self, weight: f64) -> Self {
        let mean = |own: f64, others: f64| weight * own + (1.0 - weight) * others;
        let performance = mean(self.performance, other.performance);
        let removed = mean(self.performance * self.init_reference, other.performance * other.init_reference);
        Self {
            performance,
            init_reference: removed / performance,
            init_target: mean(self.init_target, other.init_target),
        }
    }

    /// HYB of its parts (section 4.4), where both hold something: `P = P_ELL`, and the initialization of COO is one more
    /// launch, on the reference in the scale of ELL: `T_init_ref = ELL + (P_COO / P_ELL) COO`, `T_init_tar = ELL + COO`.
    #[must_use]
    pub fn hyb(ell: Self, coo: Self) -> Self {
        Self {
            performance: ell.performance,
            init_reference: ell.init_reference + coo.performance / ell.performance * coo.init_reference,
            init_target: ell.init_target + coo.init_target,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn relative(p: f64, init_reference: f64, init_target: f64) -> Relative {
        Relative::new(p, Seconds(init_reference), Seconds(init_target)).unwrap()
    }

    #[test]
    fn the_equation_gives_what_it_gives_by_hand() {
        // 3 + 0.5 (10 - 4) = 6.
        assert!((relative(0.5, 4.0, 3.0).time_s(Seconds(10.0)) - 6.0).abs() < 1e-12);
    }

    #[test]
    fn a_blend_gives_the_mean_of_both_times() {
        let (a, b) = (relative(0.5, 4.0, 3.0), relative(2.0, 1.0, -1.0));
        for (weight, t) in [(0.0, 7.0), (0.25, 10.0), (0.9, 0.1), (1.0, 100.0)] {
            let t = Seconds(t);
            let mean = weight * a.time_s(t) + (1.0 - weight) * b.time_s(t);
            assert!((a.blend(b, weight).time_s(t) - mean).abs() < 1e-12, "{weight} {t}");
        }
        let same = a.blend(a, 0.3);
        assert!((same.init_reference().0 - 4.0).abs() < 1e-12 && (same.performance() - 0.5).abs() < 1e-12);
    }

    #[test]
    fn invalid_ratios_of_times_are_refused() {
        let of = |p, init| Relative::new(p, Seconds(init), Seconds(1.0));
        assert!(of(0.0, 1.0).is_none() && of(-1.0, 1.0).is_none() && of(f64::NAN, 1.0).is_none());
        assert!(of(f64::INFINITY, 1.0).is_none() && of(1.0, f64::NAN).is_none());
        assert!(of(1.0, -1.0).is_some(), "an intercept may be below zero");
    }
}
