//! The measured matrices of one kernel as points.

use super::nearest::Nearest;
use super::weights::Points;
use crate::papers::kernels::KernelInPapers;
use crate::papers::table_2::{NEIGHBOURS, described, selected};
use serde::{Deserialize, Serialize};
use sparsight_kernels::{Candidate, DeviceFacts, Kernel};
use sparsight_matrix::{Dtype, Features};
use sparsight_model::{Baseline, Learner, LearningSample, Term, Terms, enough_real, packed};
use std::collections::{BTreeMap, BTreeSet};

/// Every matrix once, with its times over the baseline in every block size and value type.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Neighbours {
    baseline: Baseline,
    axes: Vec<Axis>,
    /// Block size and value type of each time, in order.
    variants: Vec<(u32, Dtype)>,
    /// Axis by axis the coordinate of every matrix.
    places: Vec<Vec<f32>>,
    /// Matrix by matrix ln(T / b) of each variant in [`STEPS`], where it was measured. Stored as bytes: of each what it is more than the
    /// one before, since block sizes differ little.
    #[serde(skip)]
    factors: Vec<Option<i32>>,
}

/// Steps to 1 of a logarithm. Chosen: a step is a quarter of a percent, and times repeat to half of one.
const STEPS: f64 = 400.0;

/// Conversion of a feature into a coordinate: `scale (ln v - least)`.
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
    selected(NEIGHBOURS, kernel).into_iter().map(|q| q.ln(features) as f32).collect()
}

/// Axes that map the range from least to most to 1; a feature that is the same everywhere stays 0.
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

/// Three decimal digits behind the first: short in a file.
fn short(value: f32) -> f32 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    let digits = 3 - value.abs().log10().floor() as i32;
    let scale = 10_f64.powi(digits);
    ((f64::from(value) * scale).round() / scale) as f32
}

/// Logarithm of a factor that nothing is wrong by; a damaged file may say more.
const LARGEST: f64 = 50.0;

/// ln(T / b) in [`STEPS`].
fn in_steps(factor: f64) -> i32 {
    (STEPS * factor.ln()).round() as i32
}

/// ln(T / b) again.
fn ln(steps: i32) -> f64 {
    (f64::from(steps) / STEPS).clamp(-LARGEST, LARGEST)
}

fn place(axes: &[Axis], logarithms: &[f32]) -> Vec<f32> {
    axes.iter().zip(logarithms).map(|(axis, ln)| short(axis.scale * (ln - axis.least))).collect()
}

/// A matrix to learn from.
struct Known<'a> {
    matrix: &'a str,
    features: &'a Features,
    generated: bool,
    factors: Vec<Option<i32>>,
}

impl Neighbours {
    fn nearest(&self, candidate: &Candidate, features: &Features) -> Option<(Nearest, usize)> {
        let variant = self.variants.iter().position(|v| *v == (candidate.block, candidate.dtype))?;
        let at = place(&self.axes, &logarithms(candidate.kernel, features));
        let mut squared = vec![0.0; self.matrices()];
        for (at, places) in at.iter().zip(&self.places) {
            for (squared, place) in squared.iter_mut().zip(places) {
                *squared += (at - place) * (at - place);
            }
        }
        let mut nearest = Nearest::new(KernelInPapers::of(candidate.kernel).neighbours);
        for (index, squared) in squared.into_iter().enumerate() {
            if self.factor(index, variant).is_some() {
                nearest.offer(squared, index);
            }
        }
        Some((nearest, variant))
    }

    fn matrices(&self) -> usize {
        self.places.first().map_or(0, Vec::len)
    }

    /// ln(T / b), if it was measured.
    fn factor(&self, matrix: usize, variant: usize) -> Option<f64> {
        self.factors.get(matrix * self.variants.len() + variant).copied().flatten().map(ln)
    }
}

impl Learner for Neighbours {
    const NAME: &'static str = "neighbours";
    const FORMAT: &'static str = "sparsight/neighbours/7";

    fn inputs() -> Vec<String> {
        described(NEIGHBOURS)
    }

    fn split(&self, body: &mut Vec<u8>) -> Self {
        for of_matrix in self.factors.chunks(self.variants.len().max(1)) {
            let mut last = 0;
            for factor in of_matrix {
                let difference = |factor: &i32| factor.wrapping_sub(std::mem::replace(&mut last, *factor));
                packed::push_optional(body, factor.as_ref().map(difference));
            }
        }
        let Self { baseline, axes, variants, places, factors: _ } = self.clone();
        Self { baseline, axes, variants, places, factors: Vec::new() }
    }

    fn join(self, body: &mut &[u8]) -> Result<Self, String> {
        let matrices = self.matrices();
        if self.places.len() != self.axes.len() || self.places.iter().any(|axis| axis.len() != matrices) {
            return Err("not every matrix has a place on each axis".to_owned());
        }
        // No more than there are bytes: a damaged file may claim anything.
        let count = matrices.saturating_mul(self.variants.len());
        let mut factors = Vec::with_capacity(count.min(body.len()));
        for _ in 0..matrices {
            let mut last = 0_i32;
            for _ in &self.variants {
                let factor = packed::take_optional(body).ok_or("its times end early")?;
                factors.push(factor.map(|difference| {
                    last = last.wrapping_add(difference);
                    last
                }));
            }
        }
        Ok(Self { factors, ..self })
    }

    fn learn(samples: &[LearningSample<'_>], facts: &DeviceFacts) -> Self {
        let terms: Vec<Terms> = samples.iter().map(|s| Terms::of(&s.candidate, s.features, facts)).collect();
        let baseline =
            Baseline::fit(samples.iter().zip(&terms).map(|(s, terms)| (&s.candidate, terms, s.time.0)));
        let kernel = samples[0].candidate.kernel;
        let variant = |s: &LearningSample<'_>| (s.candidate.block, s.candidate.dtype);
        let variants: Vec<(u32, Dtype)> =
            samples.iter().map(variant).collect::<BTreeSet<_>>().into_iter().collect();
        let mut matrices: BTreeMap<&str, Known<'_>> = BTreeMap::new();
        for (s, terms) in samples.iter().zip(&terms) {
            let known = matrices.entry(s.matrix).or_insert_with(|| Known {
                matrix: s.matrix,
                features: s.features,
                generated: s.origin.is_generated(),
                factors: vec![None; variants.len()],
            });
            let at = variants.binary_search(&variant(s)).expect("collected from these samples");
            known.factors[at] = Some(in_steps(s.time.0 / baseline.seconds(&s.candidate, terms)));
        }
        let matrices: Vec<Known<'_>> = matrices.into_values().collect();
        let rows: Vec<Vec<f32>> = matrices.iter().map(|m| logarithms(kernel, m.features)).collect();
        let mut axes = zero_to_one(&rows);
        let points: Vec<Vec<f32>> = rows.iter().map(|row| place(&axes, row)).collect();
        let logs = |factors: &[Option<i32>]| factors.iter().map(|f| f.map(|f| ln(f) as f32)).collect();
        let responses: Vec<Vec<Option<f32>>> = matrices.iter().map(|m| logs(&m.factors)).collect();
        let judges = judges(&matrices);
        let all = Points {
            at: &points,
            responses: &responses,
            judges: &judges,
            k: KernelInPapers::of(kernel).neighbours,
        };
        for (axis, weight) in axes.iter_mut().zip(all.weights()) {
            axis.scale *= weight.sqrt();
        }
        let placed: Vec<Vec<f32>> = rows.iter().map(|row| place(&axes, row)).collect();
        let places = (0..axes.len()).map(|axis| placed.iter().map(|at| at[axis]).collect()).collect();
        let factors = matrices.into_iter().flat_map(|m| m.factors).collect();
        Self { baseline, axes, variants, places, factors }
    }

    type Matrix<'m> = (&'m Features, &'m DeviceFacts);

    fn matrix<'m>(
        &'m self,
        features: &'m Features,
        _: Dtype,
        facts: &'m DeviceFacts,
    ) -> Option<Self::Matrix<'m>> {
        Some((features, facts))
    }

    fn times_s(&self, blocks: &[Candidate], (features, facts): &Self::Matrix<'_>) -> Vec<Option<f64>> {
        let time = |candidate: &Candidate| {
            let (nearest, variant) = self.nearest(candidate, features)?;
            let mean = nearest.mean(|at| self.factor(at, variant))?;
            Some(self.baseline.seconds(candidate, &Terms::of(candidate, features, facts)) * mean.exp())
        };
        blocks.iter().map(time).collect()
    }

    fn terms(&self, candidate: &Candidate, features: &Features, facts: &DeviceFacts) -> Vec<Term> {
        let Some((nearest, variant)) = self.nearest(candidate, features) else { return Vec::new() };
        let mut all = Vec::new();
        for &(squared, at) in nearest.found() {
            let factor = self.factor(at, variant).map_or(f64::NAN, f64::exp);
            let term = |name, value| Term { part: "neighbours", name, value, unit: "" };
            all.extend([term("d", f64::from(squared).sqrt()), term("T_i / b_i", factor)]);
        }
        let b = self.baseline.seconds(candidate, &Terms::of(candidate, features, facts));
        all.push(Term { part: "", name: "b", value: b, unit: "s" });
        all
    }
}

/// Matrices that weights are judged by: those that no generator made, if there are enough.
fn judges(matrices: &[Known<'_>]) -> Vec<usize> {
    let enough = enough_real(matrices.iter().map(|m| (m.matrix, m.generated)));
    (0..matrices.len()).filter(|&at| !(enough && matrices[at].generated)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made() -> Neighbours {
        Neighbours {
            baseline: Baseline::default(),
            axes: vec![Axis { least: 0.0, scale: 1.0 }; 2],
            variants: vec![(64, Dtype::F32), (64, Dtype::F64), (128, Dtype::F32)],
            places: vec![vec![0.5, 1.0], vec![0.25, 0.75]],
            factors: vec![Some(-40), None, Some(i32::MAX), Some(7), Some(i32::MIN), None],
        }
    }

    #[test]
    fn stored_neighbours_equal_the_learned_ones() {
        let mut body = Vec::new();
        let text = made().split(&mut body);
        let text: Neighbours = serde_json::from_str(&serde_json::to_string(&text).unwrap()).unwrap();
        let mut rest = &body[..];
        assert_eq!(text.join(&mut rest).unwrap(), made());
        assert!(rest.is_empty());
        assert_eq!((made().factor(1, 0), made().factor(0, 1)), (Some(7.0 / STEPS), None));
    }

    #[test]
    fn damaged_ones_are_refused() {
        let mut body = Vec::new();
        let text = made().split(&mut body);
        let refused = |text: &Neighbours, body: &[u8]| text.clone().join(&mut &*body).unwrap_err();
        assert!(refused(&text, &body[..body.len() - 1]).contains("end early"));
        let mut crooked = text.clone();
        crooked.places[1].pop();
        assert!(refused(&crooked, &body).contains("a place on each axis"));
        let mut more = text.clone();
        more.places.pop();
        assert!(refused(&more, &body).contains("a place on each axis"));
        // Terabytes are claimed, and none are asked for.
        let mut huge = text;
        huge.variants = vec![(64, Dtype::F32); 1 << 20];
        assert!(refused(&huge, &body).contains("end early"));
    }
}
