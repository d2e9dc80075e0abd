//! The power laws of one kernel.

use super::least_squares::{Plane, least_squares};
use crate::papers::table_2::{LINEAR, described, selected};
use serde::{Deserialize, Serialize};
use sparsight_kernels::{Candidate, DeviceFacts, Kernel};
use sparsight_matrix::{Dtype, Features};
use sparsight_model::{Learner, LearningSample, Quantity, Term, enough_real};
use std::collections::BTreeMap;

/// `ln T` as a plane over logarithms of features, for each block size and value type.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Linear {
    laws: Vec<Law>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Law {
    block: u32,
    dtype: Dtype,
    #[serde(flatten)]
    plane: Plane,
}

fn row(kernel: Kernel, features: &Features) -> Vec<f64> {
    selected(LINEAR, kernel).into_iter().map(|quantity| quantity.ln(features)).collect()
}

impl Linear {
    fn law(&self, candidate: &Candidate) -> Option<&Law> {
        self.laws.iter().find(|law| (law.block, law.dtype) == (candidate.block, candidate.dtype))
    }
}

impl Learner for Linear {
    const NAME: &'static str = "linear";
    const FORMAT: &'static str = "sparsight/linear/2";

    fn inputs() -> Vec<String> {
        described(LINEAR)
    }

    /// Real matrices alone where there are enough: a plane cannot pass through both.
    fn taught<'a>(samples: &[LearningSample<'a>]) -> Vec<LearningSample<'a>> {
        let enough = enough_real(samples.iter().map(|s| (s.matrix, s.origin.is_generated())));
        samples.iter().copied().filter(|s| !(enough && s.origin.is_generated())).collect()
    }

    fn learn(samples: &[LearningSample<'_>], _: &DeviceFacts) -> Self {
        let mut groups: BTreeMap<(Dtype, u32), Vec<&LearningSample<'_>>> = BTreeMap::new();
        for s in samples {
            groups.entry((s.candidate.dtype, s.candidate.block)).or_default().push(s);
        }
        let law = |((dtype, block), group): ((Dtype, u32), Vec<&LearningSample<'_>>)| {
            let row = |s: &LearningSample<'_>| (row(s.candidate.kernel, s.features), s.time.0.ln());
            let (rows, responses): (Vec<_>, Vec<_>) = group.into_iter().map(row).unzip();
            Law { block, dtype, plane: least_squares(&rows, &responses) }
        };
        Self { laws: groups.into_iter().map(law).collect() }
    }

    type Matrix<'m> = &'m Features;

    fn matrix<'m>(&'m self, features: &'m Features, _: Dtype, _: &'m DeviceFacts) -> Option<&'m Features> {
        Some(features)
    }

    fn times_s(&self, blocks: &[Candidate], features: &&Features) -> Vec<Option<f64>> {
        let Some(first) = blocks.first() else { return Vec::new() };
        let row = row(first.kernel, features);
        blocks.iter().map(|candidate| Some(self.law(candidate)?.plane.at(&row).exp())).collect()
    }

    fn terms(&self, candidate: &Candidate, features: &Features, _: &DeviceFacts) -> Vec<Term> {
        let Some(law) = self.law(candidate) else { return Vec::new() };
        let quantities = selected(LINEAR, candidate.kernel);
        let value =
            |q: &Quantity| Term { part: "features", name: q.name(), value: q.ln(features).exp(), unit: "" };
        let mut all: Vec<Term> = quantities.iter().map(value).collect();
        let power = |(q, &value): (&Quantity, &f64)| Term { part: "powers", name: q.name(), value, unit: "" };
        all.extend(quantities.iter().zip(&law.plane.slopes).map(power));
        all.push(Term { part: "", name: "e^w_0", value: law.plane.intercept.exp(), unit: "s" });
        all
    }
}
