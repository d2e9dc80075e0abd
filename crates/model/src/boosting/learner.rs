//! The trees of a family over the baselines of its kernels.

use super::growth::growth;
use super::inputs::{COUNT, INPUTS, Matrix};
use crate::baseline::{Baseline, Terms};
use crate::trees::{Row, ScalarForest};
use crate::{Learner, LearningSample, Term};
use serde::{Deserialize, Serialize};
use sparsight_kernels::{Candidate, DeviceFacts, Kernel};
use sparsight_matrix::Features;
use std::collections::BTreeSet;

/// `T = b exp(sum of the leaves)`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Boosting {
    /// Baseline of each kernel.
    baselines: Vec<(Kernel, Baseline)>,
    /// Stored as bytes.
    #[serde(skip)]
    trees: ScalarForest,
}

const _: () = assert!(COUNT <= ScalarForest::MOST_INPUTS);

/// Baselines, one for each kernel of the samples.
fn baselines(samples: &[LearningSample<'_>], terms: &[Terms]) -> Vec<(Kernel, Baseline)> {
    let kernels: BTreeSet<Kernel> = samples.iter().map(|s| s.candidate.kernel).collect();
    let fit = |kernel: Kernel| {
        let own = samples.iter().zip(terms).filter(|(s, _)| s.candidate.kernel == kernel);
        (kernel, Baseline::fit(own.map(|(s, terms)| (&s.candidate, terms, s.time.0))))
    };
    kernels.into_iter().map(fit).collect()
}

fn of(baselines: &[(Kernel, Baseline)], kernel: Kernel) -> Option<&Baseline> {
    baselines.iter().find(|(known, _)| *known == kernel).map(|(_, baseline)| baseline)
}

impl Learner for Boosting {
    const NAME: &'static str = "boosting";
    const FORMAT: &'static str = "sparsight/boosting/11";

    fn inputs() -> Vec<String> {
        INPUTS.iter().map(|(name, _)| (*name).to_owned()).collect()
    }

    /// A family: what its kernels have in common is learned from the times of all of them.
    fn group(kernel: Kernel) -> &'static str {
        kernel.family().name
    }

    fn split(&self, body: &mut Vec<u8>) -> Self {
        self.trees.pack(body);
        Self { baselines: self.baselines.clone(), trees: ScalarForest::default() }
    }

    fn join(self, body: &mut &[u8]) -> Result<Self, String> {
        Ok(Self { trees: ScalarForest::unpack(COUNT, body)?, ..self })
    }

    fn learn(samples: &[LearningSample<'_>], facts: &DeviceFacts) -> Self {
        let terms: Vec<Terms> = samples.iter().map(|s| Terms::of(&s.candidate, s.features, facts)).collect();
        let baselines = baselines(samples, &terms);
        let row = |(s, terms): (&LearningSample<'_>, &Terms)| {
            let matrix = Matrix::of(s.features, s.candidate.dtype, facts)?;
            let (baseline_s, shares) = of(&baselines, s.candidate.kernel)?.parts(&s.candidate, terms);
            let response = (s.time.0 / baseline_s).ln();
            let inputs = matrix.inputs(&s.candidate, terms, &shares, facts);
            Some((inputs, [response as f32], [s.weight() as f32]))
        };
        let mut taught: Vec<_> = samples.iter().zip(&terms).filter_map(row).collect();
        // The least weight of a leaf speaks of records: weights are brought to a mean of 1.
        let mean = taught.iter().map(|(_, _, [weight])| weight).sum::<f32>() / taught.len() as f32;
        for (_, _, [weight]) in &mut taught {
            *weight /= mean;
        }
        let rows: Vec<Row<'_>> =
            taught.iter().map(|(inputs, responses, weights)| Row { inputs, responses, weights }).collect();
        Self { trees: ScalarForest::grow(&rows, &growth(samples[0].candidate.kernel)), baselines }
    }

    fn time_s(&self, candidate: &Candidate, features: &Features, facts: &DeviceFacts) -> Option<f64> {
        self.times_s(std::slice::from_ref(candidate), features, facts).swap_remove(0)
    }

    fn times_s(&self, blocks: &[Candidate], features: &Features, facts: &DeviceFacts) -> Vec<Option<f64>> {
        let Some(first) = blocks.first() else { return Vec::new() };
        let Some(matrix) = Matrix::of(features, first.dtype, facts) else { return vec![None; blocks.len()] };
        let Some(baseline) = of(&self.baselines, first.kernel) else { return vec![None; blocks.len()] };
        let terms: Vec<Terms> = blocks.iter().map(|c| Terms::of(c, features, facts)).collect();
        let parts: Vec<_> = blocks.iter().zip(&terms).map(|(c, t)| baseline.parts(c, t)).collect();
        let of_block = |(c, (_, shares)): (&Candidate, &(f64, _))| matrix.block_inputs(c, shares, facts);
        let differing: Vec<_> = blocks.iter().zip(&parts).map(of_block).collect();
        let inputs = matrix.inputs(first, &terms[0], &parts[0].1, facts);
        let corrections = self.trees.sums(&inputs, &differing);
        corrections
            .iter()
            .zip(parts)
            .map(|(correction, (baseline, _))| Some(baseline * correction.exp()))
            .collect()
    }

    fn terms(&self, candidate: &Candidate, features: &Features, facts: &DeviceFacts) -> Vec<Term> {
        let Some(matrix) = Matrix::of(features, candidate.dtype, facts) else { return Vec::new() };
        let Some(baseline) = of(&self.baselines, candidate.kernel) else { return Vec::new() };
        let terms = Terms::of(candidate, features, facts);
        let (baseline, shares) = baseline.parts(candidate, &terms);
        let correction = self.trees.sum(&matrix.inputs(candidate, &terms, &shares, facts));
        let mut all = matrix.terms(candidate, &terms, &shares, facts);
        let whole = |name, value, unit| Term { part: "", name, value, unit };
        all.push(whole("baseline", baseline, "s"));
        all.push(whole("trees", self.trees.len() as f64, ""));
        all.push(whole("factor of the trees", correction.exp(), ""));
        all
    }
}
