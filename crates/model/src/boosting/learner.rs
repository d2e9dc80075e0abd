//! The trees of one kernel over its baseline.

use super::FittedBaseline;
use super::forest::Forest;
use super::inputs::{INPUTS, inputs, terms};
use super::trainer::{Growth, grow};
use crate::{Learner, LearningSample, Term};
use serde::{Deserialize, Serialize};
use sparsight_kernels::{Candidate, DeviceFacts};
use sparsight_matrix::Features;

/// `T = b exp(sum of the leaves)`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Boosting {
    #[serde(rename = "step_s")]
    baseline: FittedBaseline,
    trees: Forest,
}

impl Boosting {
    fn factor(&self, candidate: &Candidate, features: &Features, facts: &DeviceFacts) -> f64 {
        self.trees.sum(&inputs(candidate, features, facts)).exp()
    }
}

impl Learner for Boosting {
    const NAME: &'static str = "boosting";
    const FORMAT: &'static str = "sparsight/boosting/1";

    fn inputs() -> Vec<String> {
        INPUTS.iter().map(|(name, _)| (*name).to_owned()).collect()
    }

    fn learn(samples: &[LearningSample<'_>], facts: &DeviceFacts) -> Self {
        let baseline = FittedBaseline::fit(samples, facts);
        let row = |s: &LearningSample<'_>| {
            let over_baseline = s.time.0 / baseline.seconds(&s.candidate, s.features, facts);
            (inputs(&s.candidate, s.features, facts), over_baseline.ln())
        };
        let (inputs, responses): (Vec<_>, Vec<_>) = samples.iter().map(row).unzip();
        Self { baseline, trees: grow(&inputs, &responses, &Growth::CHOSEN) }
    }

    fn time_s(&self, candidate: &Candidate, features: &Features, facts: &DeviceFacts) -> Option<f64> {
        Some(self.baseline.seconds(candidate, features, facts) * self.factor(candidate, features, facts))
    }

    fn terms(&self, candidate: &Candidate, features: &Features, facts: &DeviceFacts) -> Vec<Term> {
        let mut all = terms(candidate, features, facts);
        let baseline = self.baseline.seconds(candidate, features, facts);
        all.push(Term { part: "", name: "baseline", value: baseline, unit: "s" });
        all.push(Term { part: "", name: "trees", value: self.trees.len() as f64, unit: "" });
        let factor = self.factor(candidate, features, facts);
        all.push(Term { part: "", name: "factor of the trees", value: factor, unit: "" });
        all
    }
}
