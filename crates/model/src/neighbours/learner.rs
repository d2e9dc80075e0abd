//! The measured matrices of one kernel as points.

use super::nearest::{Nearest, squared};
use super::weights::Points;
use crate::baseline::{Baseline, Terms};
use crate::learned::{Method, described, enough_real, selected};
use crate::{Learner, LearningSample, Term};
use serde::{Deserialize, Serialize};
use sparsight_kernels::{Candidate, DeviceFacts, Kernel};
use sparsight_matrix::{Dtype, Features};
use std::collections::{BTreeMap, BTreeSet};

/// Every matrix once, with its times over the baseline in every block size and value type.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Neighbours {
    baseline: Baseline,
    axes: Vec<Axis>,
    /// Which times a matrix has, in order.
    variants: Vec<(u32, Dtype)>,
    /// Coordinates, and `T / b` of each variant, where it was measured.
    measured: Vec<(Vec<f32>, Vec<Option<f32>>)>,
}

/// How a feature becomes a coordinate: `scale (ln v - least)`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(from = "(f32, f32)", into = "(f32, f32)")]
struct Axis {
    least: f32,
    /// `sqrt(weight) / (most - least)`.
    scale: f32,
}

impl From<(f32, f32)> for Axis {
    fn from((least, scale): (f32, f32)) -> Self {
        Self { least, scale }
    }
}

impl From<Axis> for (f32, f32) {
    fn from(axis: Axis) -> Self {
        (axis.least, axis.scale)
    }
}

fn logarithms(kernel: Kernel, features: &Features) -> Vec<f32> {
    selected(Method::Neighbours, kernel).into_iter().map(|q| q.ln(features) as f32).collect()
}

/// From least to most is 1; a feature that is the same everywhere stays 0.
fn zero_to_one(rows: &[Vec<f32>]) -> Vec<Axis> {
    let columns = rows.first().map_or(0, Vec::len);
    let axis = |c: usize| {
        let values = || rows.iter().map(|row| row[c]);
        let (least, most) =
            (values().fold(f32::INFINITY, f32::min), values().fold(f32::NEG_INFINITY, f32::max));
        Axis { least, scale: if most > least { (most - least).recip() } else { 0.0 } }
    };
    (0..columns).map(axis).collect()
}

/// Three decimal digits behind the first: more exact than what was measured, which repeats to half a percent, and short
/// in a file.
fn short(value: f32) -> f32 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    let digits = 3 - value.abs().log10().floor() as i32;
    let scale = 10_f64.powi(digits);
    ((f64::from(value) * scale).round() / scale) as f32
}

fn place(axes: &[Axis], logarithms: &[f32]) -> Vec<f32> {
    axes.iter().zip(logarithms).map(|(axis, ln)| short(axis.scale * (ln - axis.least))).collect()
}

/// A matrix to learn from.
struct Known<'a> {
    matrix: &'a str,
    features: &'a Features,
    generated: bool,
    factors: Vec<Option<f32>>,
}

impl Neighbours {
    fn nearest(&self, candidate: &Candidate, features: &Features) -> Option<(Nearest, usize)> {
        let variant = self.variants.iter().position(|v| *v == (candidate.block, candidate.dtype))?;
        let at = place(&self.axes, &logarithms(candidate.kernel, features));
        let mut nearest = Nearest::new(candidate.kernel.family().neighbours);
        for (index, (point, factors)) in self.measured.iter().enumerate() {
            if factors.get(variant).is_some_and(Option::is_some) {
                nearest.offer(squared(&at, point), index);
            }
        }
        Some((nearest, variant))
    }
}

impl Learner for Neighbours {
    const NAME: &'static str = "neighbours";
    const FORMAT: &'static str = "sparsight/neighbours/3";

    fn inputs() -> Vec<String> {
        described(Method::Neighbours)
    }

    fn learn(samples: &[LearningSample<'_>], facts: &DeviceFacts) -> Self {
        let terms: Vec<Terms> = samples.iter().map(|s| Terms::of(&s.candidate, s.features, facts)).collect();
        let baseline = Baseline::of_samples(samples, &terms);
        let kernel = samples[0].candidate.kernel;
        let variant = |s: &LearningSample<'_>| (s.candidate.block, s.candidate.dtype);
        let variants: Vec<(u32, Dtype)> =
            samples.iter().map(variant).collect::<BTreeSet<_>>().into_iter().collect();
        let mut matrices: BTreeMap<&str, Known<'_>> = BTreeMap::new();
        for (s, terms) in samples.iter().zip(&terms) {
            let known = matrices.entry(s.matrix).or_insert_with(|| Known {
                matrix: s.matrix,
                features: s.features,
                generated: s.generated,
                factors: vec![None; variants.len()],
            });
            let at = variants.binary_search(&variant(s)).expect("collected from these samples");
            known.factors[at] = Some(short((s.time.0 / baseline.seconds(&s.candidate, terms)) as f32));
        }
        let matrices: Vec<Known<'_>> = matrices.into_values().collect();
        let rows: Vec<Vec<f32>> = matrices.iter().map(|m| logarithms(kernel, m.features)).collect();
        let mut axes = zero_to_one(&rows);
        let points: Vec<Vec<f32>> = rows.iter().map(|row| place(&axes, row)).collect();
        let ln = |factors: &[Option<f32>]| factors.iter().map(|f| f.map(f32::ln)).collect();
        let responses: Vec<Vec<Option<f32>>> = matrices.iter().map(|m| ln(&m.factors)).collect();
        let judges = judges(&matrices);
        let all =
            Points { at: &points, responses: &responses, judges: &judges, k: kernel.family().neighbours };
        for (axis, weight) in axes.iter_mut().zip(all.weights()) {
            axis.scale *= weight.sqrt();
        }
        let measured =
            matrices.into_iter().zip(&rows).map(|(m, row)| (place(&axes, row), m.factors)).collect();
        Self { baseline, axes, variants, measured }
    }

    fn time_s(&self, candidate: &Candidate, features: &Features, facts: &DeviceFacts) -> Option<f64> {
        let (nearest, variant) = self.nearest(candidate, features)?;
        let mean = nearest.mean(|at| self.measured[at].1[variant].map(|factor| f64::from(factor).ln()))?;
        Some(self.baseline.seconds(candidate, &Terms::of(candidate, features, facts)) * mean.exp())
    }

    fn terms(&self, candidate: &Candidate, features: &Features, facts: &DeviceFacts) -> Vec<Term> {
        let Some((nearest, variant)) = self.nearest(candidate, features) else { return Vec::new() };
        let mut all = Vec::new();
        for &(squared, at) in nearest.found() {
            let factor = self.measured[at].1[variant].map_or(f64::NAN, f64::from);
            let term = |name, value| Term { part: "neighbours", name, value, unit: "" };
            all.extend([term("d", f64::from(squared).sqrt()), term("T_i / b_i", factor)]);
        }
        let b = self.baseline.seconds(candidate, &Terms::of(candidate, features, facts));
        all.push(Term { part: "", name: "b", value: b, unit: "s" });
        all
    }
}

/// Those that weights are judged by: of matrices that no generator made, if there are enough.
fn judges(matrices: &[Known<'_>]) -> Vec<usize> {
    let enough = enough_real(matrices.iter().map(|m| (m.matrix, m.generated)));
    (0..matrices.len()).filter(|&at| !(enough && matrices[at].generated)).collect()
}
