//! Mixed precision, values in `f32` and vectors in `f64`: predicted from what is predicted in both.
//!
//! Of the matrix as much is moved as in `f32`, of x and y as much as in `f64`, and every value is converted on the way:
//!
//! ```text
//! ln T = ln T64 + c + (a + b phi) (ln T32 - ln T64)
//! phi  = (B64 - B) / (B64 - B32)      the share of the bytes that are saved; B are compulsory bytes
//! ```
//! a, b and c are fitted for each kernel by least squares to matrices that were measured in all three.

use crate::Prediction;
use crate::non_negative::solved;
use serde::{Deserialize, Serialize};
use sparsight_kernels::{Candidate, Kernel, compulsory_bytes};
use sparsight_matrix::{Dtype, Features, Seconds};
use std::collections::BTreeMap;

/// Fewest times for coefficients of a kernel of its own. Chosen.
const FEWEST: usize = 40;

/// Weight of what stands for a device on which nothing was measured, as a sum of squares beside that of the times. Chosen: a few
/// times of much measured kernels, more where hardly anything was measured.
const PRIOR: f64 = 0.3;

/// Half of a 90 % interval, in standard deviations.
const Z90: f64 = 1.645;

/// Farthest that a time may lie from those in `f32` and `f64`, as a logarithm, whatever was fitted. Chosen, beyond what was seen.
const FARTHEST: f64 = 0.3;

/// Position of a kernel's times between those in `f32` and in `f64`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Beside32And64 {
    /// c: what converting takes, as a logarithm.
    pub constant: f64,
    /// a.
    pub share: f64,
    /// b.
    pub by_bytes: f64,
    /// Standard deviation of what is left, as a logarithm.
    pub sd: f64,
}

/// Default for a device without measurements in mixed precision: about the mean of all kernels on an H200 and on
/// an H100, which hardly differ. The rest is chosen, wider than there.
impl Default for Beside32And64 {
    fn default() -> Self {
        Self { constant: 0.03, share: -0.27, by_bytes: 0.85, sd: 0.1 }
    }
}

/// The cost of mixed precision on a device.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct MixedPrecision {
    /// All kernels together.
    pub any: Beside32And64,
    /// Kernels of which enough was measured.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    kernels: BTreeMap<String, Beside32And64>,
}

/// A candidate on one matrix, measured in all three value types.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MeasuredInAll {
    /// It, in mixed precision.
    pub candidate: Candidate,
    /// phi.
    pub saved: f64,
    /// Time in `f32`.
    pub single: Seconds,
    /// Time in `f64`.
    pub double: Seconds,
    /// Time in mixed precision.
    pub mixed: Seconds,
}

/// The share of the bytes which `f32` saves against `f64` that mixed precision saves, too: below 1, since x and y stay.
pub fn saved_share(candidate: &Candidate, features: &Features) -> f64 {
    let bytes = |dtype| compulsory_bytes(&Candidate { dtype, ..*candidate }, features).0 as f64;
    let [single, double, mixed] = [Dtype::F32, Dtype::F64, Dtype::Mixed].map(bytes);
    if double > single { ((double - mixed) / (double - single)).clamp(0.0, 1.0) } else { 1.0 }
}

impl Beside32And64 {
    /// `ln (mixed / double)` where `apart` is `ln (single / double)`.
    fn beside_double(&self, apart: f64, saved: f64) -> f64 {
        let found = self.constant + (self.share + self.by_bytes * saved) * apart;
        found.clamp(apart.min(0.0) - FARTHEST, apart.max(0.0) + FARTHEST)
    }

    /// Least squares, drawn towards bytes alone.
    fn fit(measured: &[&MeasuredInAll]) -> Option<Self> {
        if measured.len() < FEWEST {
            return None;
        }
        // As if bytes alone decided.
        let prior = Self { constant: 0.0, share: 0.0, by_bytes: 1.0, sd: 0.0 };
        let (mut normal, mut right) = ([[PRIOR, 0.0, 0.0], [0.0, PRIOR, 0.0], [0.0, 0.0, PRIOR]], [0.0; 3]);
        let apart = |m: &MeasuredInAll| (m.single.0 / m.double.0).ln();
        for m in measured {
            let row = [1.0, apart(m), m.saved * apart(m)];
            let left = (m.mixed.0 / m.double.0).ln() - prior.by_bytes * row[2];
            for i in 0..3 {
                right[i] += row[i] * left;
                for j in 0..3 {
                    normal[i][j] += row[i] * row[j];
                }
            }
        }
        let [constant, share, by_bytes] = solved(&normal, &right, [true; 3])?;
        let fitted = Self { constant, share, by_bytes: prior.by_bytes + by_bytes, sd: 0.0 };
        let left =
            |m: &&MeasuredInAll| (m.mixed.0 / m.double.0).ln() - fitted.beside_double(apart(m), m.saved);
        let squares: f64 = measured.iter().map(|m| left(m).powi(2)).sum();
        Some(Self { sd: (squares / measured.len() as f64).sqrt(), ..fitted })
    }
}

impl MixedPrecision {
    /// Fits to times measured in all three; `None` with fewer than 40 times.
    pub fn fit(measured: &[MeasuredInAll]) -> Option<Self> {
        let any = Beside32And64::fit(&measured.iter().collect::<Vec<_>>())?;
        let mut kernels: BTreeMap<String, Vec<&MeasuredInAll>> = BTreeMap::new();
        for one in measured {
            kernels.entry(one.candidate.kernel.to_string()).or_default().push(one);
        }
        let fitted = kernels.into_iter().filter_map(|(name, of)| Some((name, Beside32And64::fit(&of)?)));
        Some(Self { any, kernels: fitted.collect() })
    }

    /// The value of a kernel, else that of all together.
    pub fn of(&self, kernel: Kernel) -> &Beside32And64 {
        self.kernels.get(&kernel.to_string()).unwrap_or(&self.any)
    }

    /// Prediction of `candidate` in mixed precision, from those in `f32` and in `f64`.
    pub fn predict(
        &self,
        candidate: &Candidate,
        features: &Features,
        single: &Prediction,
        double: &Prediction,
    ) -> Prediction {
        let beside = self.of(candidate.kernel);
        let saved = saved_share(candidate, features);
        let at = |single: f64, double: f64| double.ln() + beside.beside_double((single / double).ln(), saved);
        let time = at(single.time.0, double.time.0);
        let wider = Z90 * beside.sd;
        let low = time - (time - at(single.low.0, double.low.0)).hypot(wider);
        let high = time + (at(single.high.0, double.high.0) - time).hypot(wider);
        Prediction {
            time: Seconds(time.exp()),
            low: Seconds(low.exp().min(time.exp())),
            high: Seconds(high.exp().max(time.exp())),
            extrapolates: double.extrapolates.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sparsight_matrix::gallery::Recipe;

    fn prediction(us: f64) -> Prediction {
        let at = |factor: f64| Seconds(1e-6 * us * factor);
        Prediction { time: at(1.0), low: at(0.9), high: at(1.2), extrapolates: Vec::new() }
    }

    fn features() -> Features {
        Features::of(&"stencil2d,n=200".parse::<Recipe>().unwrap().generate::<f64>().unwrap())
    }

    #[test]
    fn mixed_precision_saves_most_of_the_f32_gain_on_a_stencil() {
        let share = saved_share(&"csr-scalar/b128/f32-f64".parse().unwrap(), &features());
        // 5 values a row in place of 5 values and two entries of vectors.
        assert!((share - 5.0 / 7.0).abs() < 0.01, "{share}");
    }

    #[test]
    fn the_time_lies_where_bytes_say() {
        let candidate: Candidate = "csr-scalar/b128/f32-f64".parse().unwrap();
        let (single, double) = (prediction(10.0), prediction(15.0));
        let mixed = MixedPrecision::default().predict(&candidate, &features(), &single, &double);
        let s = -0.27 + 0.85 * saved_share(&candidate, &features());
        let expected = 15e-6 * 0.03_f64.exp() * (10.0_f64 / 15.0).powf(s);
        assert!((mixed.time.0 / expected - 1.0).abs() < 1e-12);
        // Wider than either.
        assert!(mixed.low.0 / mixed.time.0 < 0.9 && mixed.high.0 / mixed.time.0 > 1.2);
    }

    #[test]
    fn the_fit_recovers_each_kernels_position_in_mixed_precision() {
        let one = |name: &str, i: u32, beside: fn(f64, f64) -> f64| {
            let saved = 0.5 + 0.4 * f64::from(i % 7) / 7.0;
            let (single, double) = (10.0, 13.0 + f64::from(i % 5));
            let mixed = double * beside((single / double).ln(), saved).exp();
            let [single, double, mixed] = [single, double, mixed].map(|us| Seconds(1e-6 * us));
            let candidate = format!("{name}/b128/f32-f64").parse().unwrap();
            MeasuredInAll { candidate, saved, single, double, mixed }
        };
        let mut all: Vec<MeasuredInAll> = (0..600).map(|i| one("ell", i, |apart, phi| phi * apart)).collect();
        all.extend((0..600).map(|i| one("coo", i, |apart, phi| 0.05 + 0.3 * phi * apart)));
        all.extend((0..5).map(|i| one("jad", i, |_, _| 0.0)));
        let fitted = MixedPrecision::fit(&all).unwrap();
        for m in all.iter().filter(|m| m.candidate.kernel.name() != "jad") {
            let beside = fitted.of(m.candidate.kernel);
            let found = beside.beside_double((m.single.0 / m.double.0).ln(), m.saved);
            assert!(
                (found - (m.mixed.0 / m.double.0).ln()).abs() < 0.02 && beside.sd < 0.01,
                "{m:?}: {beside:?}"
            );
        }
        assert_eq!(fitted.of(Kernel::known("jad")), &fitted.any, "of five matrices");
        assert!(MixedPrecision::fit(&all[..10]).is_none());
    }

    #[test]
    fn wild_fits_are_clamped_near_the_known_times() {
        let wild = Beside32And64 { constant: 9.0, share: -50.0, by_bytes: 0.0, sd: 0.1 };
        assert!((wild.beside_double(-0.4, 0.5) - FARTHEST).abs() < 1e-12);
        assert!((wild.beside_double(0.6, 0.5) - (-FARTHEST)).abs() < 1e-12);
    }
}
