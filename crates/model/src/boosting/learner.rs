//! The trees of one kernel over its baseline.

use super::baseline::{Parts, Steps};
use super::growth::growth;
use super::inputs::{COUNT, INPUTS, Matrix};
use crate::trees::{Row, ScalarForest};
use crate::{Learner, LearningSample, Term};
use serde::{Deserialize, Serialize};
use sparsight_kernels::{Candidate, DeviceFacts};
use sparsight_matrix::Features;

/// `T = b exp(sum of the leaves)`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Boosting {
    /// Of the baseline.
    steps: Steps,
    /// Stored as bytes.
    #[serde(skip)]
    trees: ScalarForest,
}

const _: () = assert!(COUNT <= ScalarForest::MOST_INPUTS);

impl Learner for Boosting {
    const NAME: &'static str = "boosting";
    const FORMAT: &'static str = "sparsight/boosting/4";

    fn inputs() -> Vec<String> {
        INPUTS.iter().map(|(name, _)| (*name).to_owned()).collect()
    }

    fn split(&self, body: &mut Vec<u8>) -> Self {
        self.trees.pack(body);
        Self { steps: self.steps, trees: ScalarForest::default() }
    }

    fn join(self, body: &mut &[u8]) -> Result<Self, String> {
        Ok(Self { trees: ScalarForest::unpack(COUNT, body)?, ..self })
    }

    fn learn(samples: &[LearningSample<'_>], facts: &DeviceFacts) -> Self {
        let parts = |s: &LearningSample<'_>| (Parts::of(&s.candidate, s.features, facts), s.time.0);
        let measured: Vec<(Parts, f64)> = samples.iter().map(parts).collect();
        let steps = Steps::fit(&measured);
        let row = |(s, (parts, time_s)): (&LearningSample<'_>, &(Parts, f64))| {
            let matrix = Matrix::of(s.features, s.candidate.dtype, facts)?;
            let response = (time_s / steps.baseline_s(parts)).ln();
            Some((matrix.inputs(&s.candidate, parts, facts), [response as f32], [s.weight() as f32]))
        };
        let mut taught: Vec<_> = samples.iter().zip(&measured).filter_map(row).collect();
        // The least weight of a leaf speaks of records: weights are brought to a mean of 1.
        let mean = taught.iter().map(|(_, _, [weight])| weight).sum::<f32>() / taught.len() as f32;
        for (_, _, [weight]) in &mut taught {
            *weight /= mean;
        }
        let rows: Vec<Row<'_>> =
            taught.iter().map(|(inputs, responses, weights)| Row { inputs, responses, weights }).collect();
        Self { steps, trees: ScalarForest::grow(&rows, &growth(samples[0].candidate.kernel)) }
    }

    fn time_s(&self, candidate: &Candidate, features: &Features, facts: &DeviceFacts) -> Option<f64> {
        self.times_s(std::slice::from_ref(candidate), features, facts).swap_remove(0)
    }

    fn times_s(&self, blocks: &[Candidate], features: &Features, facts: &DeviceFacts) -> Vec<Option<f64>> {
        let Some(first) = blocks.first() else { return Vec::new() };
        let Some(matrix) = Matrix::of(features, first.dtype, facts) else { return vec![None; blocks.len()] };
        let parts = Parts::of(first, features, facts);
        let baseline = self.steps.baseline_s(&parts);
        let differing: Vec<_> = blocks.iter().map(|c| matrix.block_inputs(c, facts)).collect();
        let corrections = self.trees.sums(&matrix.inputs(first, &parts, facts), &differing);
        corrections.into_iter().map(|correction| Some(baseline * correction.exp())).collect()
    }

    fn terms(&self, candidate: &Candidate, features: &Features, facts: &DeviceFacts) -> Vec<Term> {
        let Some(matrix) = Matrix::of(features, candidate.dtype, facts) else { return Vec::new() };
        let parts = Parts::of(candidate, features, facts);
        let correction = self.trees.sum(&matrix.inputs(candidate, &parts, facts));
        let mut all = matrix.terms(candidate, &parts, facts);
        let whole = |name, value, unit| Term { part: "", name, value, unit };
        all.push(whole("baseline", self.steps.baseline_s(&parts), "s"));
        all.push(whole("trees", self.trees.len() as f64, ""));
        all.push(whole("factor of the trees", correction.exp(), ""));
        all
    }
}
