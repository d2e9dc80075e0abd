//! Samples of the comparison: one row for each matrix and value type, with all of its candidates side by side.

use crate::boosting::Matrix;
use crate::{LearningSample, MIN_MATRICES, Origin};
use serde::{Deserialize, Serialize};
use sparsight_kernels::{Candidate, DeviceFacts, Kernel};
use sparsight_matrix::{Dtype, Features};
use std::collections::{BTreeMap, BTreeSet};

/// A kernel whose candidates are compared with the others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Compared {
    pub(super) kernel: Kernel,
    /// Block sizes, each an output of the trees.
    pub(super) blocks: Vec<u32>,
}

impl Compared {
    /// Kernels and block sizes that enough matrices were measured with, in the order of the catalogue.
    pub(super) fn of(samples: &[LearningSample<'_>]) -> Vec<Self> {
        let mut measured: BTreeMap<Kernel, BTreeMap<u32, BTreeSet<&str>>> = BTreeMap::new();
        for s in samples {
            let blocks = measured.entry(s.candidate.kernel).or_default();
            blocks.entry(s.candidate.block).or_default().insert(s.matrix);
        }
        let enough =
            |(block, matrices): (u32, BTreeSet<&str>)| (matrices.len() >= MIN_MATRICES).then_some(block);
        let compared = |kernel| {
            let blocks: Vec<u32> = measured.remove(&kernel)?.into_iter().filter_map(enough).collect();
            (!blocks.is_empty()).then_some(Self { kernel, blocks })
        };
        Kernel::all().filter_map(compared).collect()
    }

    /// The output that stands for a candidate.
    pub(super) fn output(all: &[Self], candidate: &Candidate) -> Option<usize> {
        let mut before = 0;
        for compared in all {
            if compared.kernel == candidate.kernel {
                return Some(before + compared.blocks.iter().position(|b| *b == candidate.block)?);
            }
            before += compared.blocks.len();
        }
        None
    }

    /// The candidates of a value type that the outputs stand for, in their order.
    pub(super) fn candidates(all: &[Self], dtype: Dtype) -> impl Iterator<Item = Candidate> {
        let of = move |compared: &Self| {
            let kernel = compared.kernel;
            compared.blocks.iter().map(move |&block| Candidate { kernel, block, dtype }).collect::<Vec<_>>()
        };
        all.iter().flat_map(of)
    }

    pub(super) fn outputs(all: &[Self]) -> usize {
        all.iter().map(|compared| compared.blocks.len()).sum()
    }

    /// Inputs of the trees; `None` for features without locality or lines of loads.
    pub(super) fn inputs(
        all: &[Self],
        features: &Features,
        dtype: Dtype,
        facts: &DeviceFacts,
    ) -> Option<Vec<i32>> {
        let matrix = Matrix::of(features, dtype, facts)?;
        Some(matrix.side_by_side(all.iter().map(|compared| compared.kernel), facts))
    }
}

/// A matrix in one value type.
#[derive(Debug, Clone)]
pub(super) struct Row<'a> {
    pub(super) matrix: &'a str,
    pub(super) dtype: Dtype,
    pub(super) real: bool,
    pub(super) inputs: Vec<i32>,
    /// `ln(T / T_best)` of each output; anything where nothing was measured.
    pub(super) responses: Vec<f32>,
    /// 0 where nothing was measured.
    pub(super) weights: Vec<f32>,
}

/// Weight of a real matrix beside a generated one: the trees are made for real ones, and there
/// are fewer of them. Chosen by cross-validation, as are the weights of candidates: [`GROWTH`](super::growth::GROWTH).
const REAL: f32 = 3.0;

impl<'a> Row<'a> {
    /// Samples with positive times and features that hold [`Locality`](sparsight_matrix::Locality).
    pub(super) fn all(
        compared: &[Compared],
        samples: &[LearningSample<'a>],
        facts: &DeviceFacts,
    ) -> Vec<Self> {
        let outputs = Compared::outputs(compared);
        let mut rows: BTreeMap<(&str, Dtype), Self> = BTreeMap::new();
        for s in samples {
            let Some(output) = Compared::output(compared, &s.candidate) else { continue };
            let dtype = s.candidate.dtype;
            let row = rows.entry((s.matrix, dtype)).or_insert_with(|| Self {
                matrix: s.matrix,
                dtype,
                real: s.origin.is_real(),
                inputs: Compared::inputs(compared, s.features, dtype, facts).unwrap_or_default(),
                responses: vec![0.0; outputs],
                weights: vec![0.0; outputs],
            });
            let share = (s.best.0 / s.time.0).min(1.0) as f32;
            row.responses[output] = -share.ln();
            row.weights[output] = share * share * if s.origin == Origin::Real { REAL } else { 1.0 };
        }
        rows.into_values().collect()
    }

    /// `T / T_best` of the measured output with the least of `predicted`.
    pub(super) fn chosen(&self, predicted: &[f64]) -> Option<f64> {
        let measured = (0..predicted.len()).filter(|&output| self.weights[output] > 0.0);
        let first = measured.min_by(|&a, &b| predicted[a].total_cmp(&predicted[b]))?;
        Some(f64::from(self.responses[first]).exp())
    }
}
