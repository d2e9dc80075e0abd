//! Predictions of matrices that were held out, and what they say about the model.

use super::baseline::{Parts, Steps};
use super::folds::{FOLDS, Folds};
use super::forest::Forest;
use super::inputs::COUNT;
use super::sample::LearningSample;
use super::trainer::{Growth, grow};
use crate::accuracy::Accuracy;
use crate::{ChoiceQuality, MeasuredPair};
use serde::{Deserialize, Serialize};
use sparsight_kernels::Candidate;
use sparsight_matrix::{Dtype, Seconds};
use std::collections::BTreeMap;

/// How good the predictions of held-out matrices were: five folds, no matrix in two of them.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct CrossValidation {
    /// Of `|predicted - measured| / measured`, over matrices, kernels, block sizes and value types.
    pub error: Accuracy,
    /// What the first-ranked candidate of each held-out matrix cost against its best, a value type counted apart.
    pub choice: ChoiceQuality,
}

impl CrossValidation {
    /// Of all kernels together; `pairs` belong to the `samples` in order.
    pub(super) fn of(samples: &[LearningSample<'_>], pairs: &[MeasuredPair]) -> Option<Self> {
        let mut matrices: BTreeMap<(&str, Dtype), Vec<&MeasuredPair>> = BTreeMap::new();
        for (sample, pair) in samples.iter().zip(pairs) {
            matrices.entry((sample.matrix, pair.candidate.dtype)).or_default().push(pair);
        }
        let choice = |pairs: &Vec<&MeasuredPair>| -> Option<(Seconds, Seconds)> {
            let first = pairs.iter().min_by(|a, b| a.predicted.0.total_cmp(&b.predicted.0))?;
            let best = pairs.iter().map(|p| p.measured).min_by(|a, b| a.0.total_cmp(&b.0))?;
            Some((first.measured, best))
        };
        Some(Self {
            error: Accuracy::of(pairs.iter().map(|p| (p.predicted, p.measured)))?,
            choice: ChoiceQuality::of(matrices.values().filter_map(choice))?,
        })
    }
}

/// A record ready to learn from.
#[derive(Debug, Clone, Copy)]
pub(super) struct Row {
    pub(super) candidate: Candidate,
    pub(super) inputs: [i32; COUNT],
    pub(super) parts: Parts,
    pub(super) measured: Seconds,
    pub(super) fold: usize,
}

/// What is learned of a kernel: the steps of its baseline and the trees over it.
#[derive(Debug, Clone)]
pub(super) struct Learned {
    pub(super) steps: Steps,
    pub(super) trees: Forest,
}

impl Learned {
    /// From rows of one kernel.
    pub(super) fn of(rows: &[Row], growth: &Growth) -> Self {
        let parts: Vec<_> = rows.iter().map(|r| (r.parts, r.measured.0)).collect();
        let steps = Steps::fit(&parts);
        let (inputs, responses): (Vec<_>, Vec<_>) =
            rows.iter().map(|r| (r.inputs, (r.measured.0 / steps.baseline_s(&r.parts)).ln())).unzip();
        Self { steps, trees: grow(&inputs, &responses, growth) }
    }
}

/// Every row of one kernel predicted by what was learned without its matrix, in order.
pub(super) fn out_of_fold(rows: &[Row], growth: &Growth, floor_s: f64) -> Vec<MeasuredPair> {
    let unknown = |row: &Row| MeasuredPair {
        candidate: row.candidate,
        predicted: Seconds(row.parts.streamed_s),
        measured: row.measured,
    };
    let mut pairs: Vec<MeasuredPair> = rows.iter().map(unknown).collect();
    for fold in 0..FOLDS {
        let others: Vec<Row> = rows.iter().copied().filter(|row| row.fold != fold).collect();
        if others.is_empty() {
            continue;
        }
        let learned = Learned::of(&others, growth);
        for (row, pair) in rows.iter().zip(&mut pairs).filter(|(row, _)| row.fold == fold) {
            let factor = learned.trees.sum(&row.inputs).exp();
            pair.predicted = Seconds((learned.steps.baseline_s(&row.parts) * factor).max(floor_s));
        }
    }
    pairs
}

/// The fold of each sample's matrix.
pub(super) fn folds<'a>(samples: &[LearningSample<'a>]) -> Folds<'a> {
    Folds::of(samples.iter().map(|s| s.matrix))
}
