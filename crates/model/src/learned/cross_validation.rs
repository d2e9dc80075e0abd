//! Predictions of matrices that were held out, and what they say about the model.

use super::folds::{FOLDS, Folds};
use super::model::within;
use super::{Learner, LearningSample};
use crate::ChoiceQuality;
use crate::accuracy::Accuracy;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use sparsight_kernels::{DeviceFacts, Kernel};
use sparsight_matrix::{Dtype, Seconds};
use std::collections::BTreeMap;

/// Errors of the predictions of held-out matrices: five folds, no matrix in two of them.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct CrossValidation {
    /// Accuracy of `|predicted - measured| / measured`, over matrices, kernels, block sizes and value types.
    pub error: Accuracy,
    /// Cost of the first-ranked candidate of each held-out matrix against its best, a value type counted apart.
    pub choice: ChoiceQuality,
}

impl CrossValidation {
    /// Cross-validation of all kernels together; `None` without any.
    pub(super) fn of(held_out: &[HeldOut<'_>]) -> Option<Self> {
        let mut matrices: BTreeMap<(&str, Dtype), Vec<&HeldOut<'_>>> = BTreeMap::new();
        for h in held_out {
            matrices.entry((h.sample.matrix, h.sample.candidate.dtype)).or_default().push(h);
        }
        let choice = |of_one: &Vec<&HeldOut<'_>>| -> Option<(Seconds, Seconds)> {
            let first = of_one.iter().min_by(|a, b| a.predicted.0.total_cmp(&b.predicted.0))?;
            let best = of_one.iter().map(|h| h.sample.time).min_by(|a, b| a.0.total_cmp(&b.0))?;
            Some((first.sample.time, best))
        };
        Some(Self {
            error: Accuracy::of(held_out.iter().map(|h| (h.predicted, h.sample.time)))?,
            choice: ChoiceQuality::of(matrices.values().filter_map(choice))?,
        })
    }
}

/// A sample and its time as predicted by what was learned without its matrix.
#[derive(Debug, Clone, Copy)]
pub(super) struct HeldOut<'a> {
    pub(super) sample: LearningSample<'a>,
    pub(super) predicted: Seconds,
}

impl HeldOut<'_> {
    /// `ln(measured / predicted)`.
    pub(super) fn residual(&self) -> f64 {
        (self.sample.time.0 / self.predicted.0).ln()
    }
}

/// Mean of `|ln(predicted / measured)|`, by which methods are compared for a kernel.
///
/// Why this mean: candidates are ranked across kernels, and what a wrong ranking costs is bounded by it. With e the
/// logarithmic error of a candidate, the one that is predicted to be fastest (c) and the one that is (b),
/// `ln(t_c / t_b) = ln(p_c / p_b) + e_b - e_c <= |e_b| + |e_c|`, as `p_c <= p_b`. Squares would let one wild matrix decide.
pub(super) fn log_error(held_out: &[HeldOut<'_>]) -> f64 {
    held_out.iter().map(|h| h.residual().abs()).sum::<f64>() / held_out.len() as f64
}

/// Every sample of one group of kernels predicted by what was learned without its matrix, folds side by side, above the floor of its
/// kernel. Left out are samples of which the other folds teach nothing (a block size that is in one fold alone).
pub(super) fn held_out<'a, L: Learner>(
    samples: &[LearningSample<'a>],
    folds: &Folds<'_>,
    facts: &DeviceFacts,
    floor_s: impl Fn(Kernel) -> f64 + Sync,
) -> Vec<HeldOut<'a>> {
    let of_fold = |fold| {
        let (own, others): (Vec<LearningSample<'a>>, Vec<LearningSample<'a>>) =
            samples.iter().partition(|s| folds.fold(s.matrix) == fold);
        if own.is_empty() || others.is_empty() {
            return Vec::new();
        }
        let learned = L::learn(&L::taught(&others), facts);
        let predicted = |sample: LearningSample<'a>| {
            let time_s = learned.time_s(&sample.candidate, sample.features, facts)?;
            Some(HeldOut { sample, predicted: Seconds(within(time_s, floor_s(sample.candidate.kernel))) })
        };
        own.into_iter().filter_map(predicted).collect()
    };
    (0..FOLDS).into_par_iter().flat_map_iter(of_fold).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Term;
    use sparsight_kernels::Candidate;
    use sparsight_matrix::{Features, RowLengths};
    use std::collections::BTreeSet;

    /// Remembers what it saw: matrices are told apart by their rows.
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    struct Spy(BTreeSet<u64>);

    impl Learner for Spy {
        const NAME: &'static str = "spy";
        const FORMAT: &'static str = "spy/1";

        fn inputs() -> Vec<String> {
            Vec::new()
        }

        fn learn(samples: &[LearningSample<'_>], _: &DeviceFacts) -> Self {
            Self(samples.iter().map(|s| s.features.nrows).collect())
        }

        type Matrix<'m> = &'m Features;

        fn matrix<'m>(
            &'m self,
            features: &'m Features,
            _: Dtype,
            _: &'m DeviceFacts,
        ) -> Option<&'m Features> {
            Some(features)
        }

        /// 2 s for a matrix that it never saw.
        fn times_s(&self, blocks: &[Candidate], features: &&Features) -> Vec<Option<f64>> {
            vec![Some(if self.0.contains(&features.nrows) { 1.0 } else { 2.0 }); blocks.len()]
        }

        fn terms(&self, _: &Candidate, _: &Features, _: &DeviceFacts) -> Vec<Term> {
            Vec::new()
        }
    }

    fn facts() -> DeviceFacts {
        DeviceFacts { copy_bytes_per_s: 1e12, ..DeviceFacts::of_gpu("made up", 1, 256) }
    }

    #[test]
    fn every_sample_is_predicted_by_what_never_saw_its_matrix() {
        let matrices: Vec<(String, Features)> = (1..=23)
            .map(|n| {
                let lengths = RowLengths::from_counts([(3, n)]);
                (format!("m/{n}"), Features::from_row_lengths(&lengths, n, 1, 0.5))
            })
            .collect();
        let sample = |(matrix, features), block, dtype| LearningSample {
            matrix,
            features,
            candidate: Candidate { kernel: Kernel::known("coo"), block, dtype },
            time: Seconds(4.0),
            best: Seconds(4.0),
            origin: crate::Origin::Real,
        };
        let samples: Vec<LearningSample<'_>> = matrices
            .iter()
            .flat_map(|(m, f)| Dtype::ALL.map(|d| [64, 128].map(|b| sample((m.as_str(), f), b, d))))
            .flatten()
            .collect();
        let folds = Folds::of(samples.iter().map(|s| s.matrix));
        let all = held_out::<Spy>(&samples, &folds, &facts(), |_| 0.0);
        assert_eq!(all.len(), samples.len(), "each once");
        assert!(all.iter().all(|h| (h.predicted.0 - 2.0).abs() < 1e-15));
        assert!((log_error(&all) - std::f64::consts::LN_2).abs() < 1e-12, "4 s measured, 2 s predicted");
    }
}
