//! Learning every kernel with one method, group by group, and how the outcome is stored.

use super::cross_validation::{CrossValidation, HeldOut, held_out, log_error};
use super::folds::Folds;
use super::format::Format;
use super::size_classes::{HeldTo, SizeClasses};
use super::trained::Trained;
use super::{Learner, LearningSample, enough_real};
use crate::accuracy::Accuracy;
use crate::baseline::positive_or;
use crate::{LogInterval, PredictError, Storable, packed};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use sparsight_kernels::{DeviceFacts, Kernel};
use sparsight_matrix::{Dtype, Seconds};
use std::collections::{BTreeMap, BTreeSet};

/// Matrices needed before a kernel is learned: four in each fold, and one residual more than an interval needs.
pub const MIN_MATRICES: usize = 20;

/// Longest time that is predicted, seconds: more than the age of the universe. Keeps the exponential of a damaged or
/// far extrapolated model finite. Chosen.
const MOST_S: f64 = 1e18;

/// The model of one method for every kernel with enough measured matrices.
///
/// Stored with its format and the names of its inputs first; another format or other inputs are refused. Kernels stand in the order
/// of the catalogue, and what was learned of their groups in the order in which these begin.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(bound = "")]
pub struct LearnedModel<L: Learner> {
    format: Format<L>,
    matrices: usize,
    dtypes: Vec<Dtype>,
    cross_validation: CrossValidation,
    #[serde(default)]
    pub(super) size_classes: SizeClasses,
    kernels: Vec<LearnedKernel>,
    groups: Vec<L>,
}

/// Range and errors of one kernel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LearnedKernel {
    pub(super) kernel: Kernel,
    /// Matrices learned from.
    pub matrices: usize,
    /// Accuracy on held-out matrices, all block sizes and value types; on real ones alone where there are enough.
    pub error: Accuracy,
    /// Mean of `|ln(predicted / measured)|` over the same: what methods are compared by.
    pub log_error: f64,
    /// 90 % of `ln(measured / predicted)` of held-out matrices: nominal, since the model was fitted to all of
    /// them again afterwards.
    pub(super) interval: LogInterval,
    /// Shortest time measured.
    pub(super) least: Seconds,
    pub(super) trained: Trained,
}

/// The time of a held-out matrix beside what was predicted for it.
#[derive(Debug, Clone, Copy)]
pub struct Judged<'a> {
    /// The measured time.
    pub sample: LearningSample<'a>,
    /// Predicted by what was learned without the matrix.
    pub predicted: Seconds,
    /// Interval around it, as the model states it for that kernel and time.
    pub interval: LogInterval,
}

/// A group of kernels as it was learned, with the predictions of held-out matrices that judge each of its kernels.
struct LearnedGroup<'a, L> {
    kernels: Vec<(LearnedKernel, Vec<HeldOut<'a>>)>,
    learned: L,
}

/// Held-out samples by which errors are judged: those of real matrices, if there are enough. Derived ones are nearer to what was learned:
/// where they judged as well, intervals held less often on matrices of new kinds (docs/results/h200-learned.md).
fn judged(held_out: Vec<HeldOut<'_>>) -> Vec<HeldOut<'_>> {
    let enough = enough_real(held_out.iter().map(|h| (h.sample.matrix, !h.sample.origin.is_real())));
    held_out.into_iter().filter(|h| !enough || h.sample.origin.is_real()).collect()
}

fn count_matrices(samples: &[LearningSample<'_>]) -> usize {
    samples.iter().map(|s| s.matrix).collect::<BTreeSet<_>>().len()
}

fn least(samples: &[LearningSample<'_>]) -> Option<Seconds> {
    samples.iter().map(|s| s.time).min_by(|a, b| a.0.total_cmp(&b.0))
}

impl<'a, L: Learner> LearnedGroup<'a, L> {
    /// Learns from the samples of each kernel of a group; kernels with too few matrices are left out, and `None` if all are.
    fn learn(
        samples: Vec<(Kernel, Vec<LearningSample<'a>>)>,
        facts: &DeviceFacts,
        folds: &Folds<'_>,
    ) -> Option<Self> {
        let enough = |(_, own): &(Kernel, Vec<LearningSample<'_>>)| count_matrices(own) >= MIN_MATRICES;
        let samples: Vec<_> = samples.into_iter().filter(enough).collect();
        let all: Vec<LearningSample<'a>> = samples.iter().flat_map(|(_, own)| own).copied().collect();
        if all.is_empty() {
            return None;
        }
        let floors: BTreeMap<Kernel, f64> = samples
            .iter()
            .filter_map(|(kernel, own)| Some((*kernel, positive_or(facts.launch_s.0, least(own)?.0))))
            .collect();
        let (learned, predicted) = rayon::join(
            || L::learn(&L::taught(&all), facts),
            || held_out::<L>(&all, folds, facts, |kernel| floors[&kernel]),
        );
        let mut held_out: BTreeMap<Kernel, Vec<HeldOut<'a>>> = BTreeMap::new();
        for one in predicted {
            held_out.entry(one.sample.candidate.kernel).or_default().push(one);
        }
        let kernels = samples.into_iter().filter_map(|(kernel, own)| {
            let judged = judged(held_out.remove(&kernel)?);
            Some((LearnedKernel::of(kernel, &L::taught(&own), least(&own)?, &judged)?, judged))
        });
        Some(Self { kernels: kernels.collect(), learned })
    }
}

impl LearnedKernel {
    /// A group from the learned model, the shortest time measured, and the predictions by which it is judged.
    fn of(
        kernel: Kernel,
        taught: &[LearningSample<'_>],
        least: Seconds,
        judged: &[HeldOut<'_>],
    ) -> Option<Self> {
        Some(Self {
            kernel,
            matrices: count_matrices(taught),
            error: Accuracy::of(judged.iter().map(|h| (h.predicted, h.sample.time)))?,
            log_error: log_error(judged),
            interval: LogInterval::of_residuals(judged.iter().map(HeldOut::residual).collect()),
            least,
            trained: Trained::of(taught)?,
        })
    }

    /// The kernel, with its knobs.
    pub fn kernel(&self) -> Kernel {
        self.kernel
    }

    /// Lower bound of predictions: the launch cost of the device, or where that is unknown the shortest time that was measured.
    pub(super) fn floor_s(&self, facts: &DeviceFacts) -> f64 {
        positive_or(facts.launch_s.0, self.least.0)
    }
}

impl<L: Learner> LearnedModel<L> {
    /// Learns from measured matrices. Samples without a positive time are left out, and so are those whose features do
    /// not hold [`Locality`](sparsight_matrix::Locality) and kernels with fewer than [`MIN_MATRICES`] matrices.
    ///
    /// Deterministic. Learns each group six times, five of them for cross-validation; groups side by side.
    ///
    /// # Errors
    /// [`PredictError::TooFewMatrices`] if no kernel has enough.
    pub fn fit(facts: &DeviceFacts, samples: &[LearningSample<'_>]) -> Result<Self, PredictError> {
        Self::fit_judged(facts, samples).map(|(model, _)| model)
    }

    /// [`LearnedModel::fit`], with the times of held-out matrices by which the model was judged.
    ///
    /// # Errors
    /// As [`LearnedModel::fit`].
    pub fn fit_judged<'a>(
        facts: &DeviceFacts,
        samples: &[LearningSample<'a>],
    ) -> Result<(Self, Vec<Judged<'a>>), PredictError> {
        let usable: Vec<LearningSample<'a>> =
            samples.iter().copied().filter(LearningSample::is_usable).collect();
        let folds = Folds::of(usable.iter().map(|s| s.matrix));
        let mut by_kernel: BTreeMap<Kernel, Vec<LearningSample<'a>>> = BTreeMap::new();
        for sample in &usable {
            by_kernel.entry(sample.candidate.kernel).or_default().push(*sample);
        }
        let by_kernel: Vec<_> = by_kernel.into_iter().collect();
        let together = |a: &(Kernel, _), b: &(Kernel, _)| L::group(a.0) == L::group(b.0);
        let groups: Vec<_> = by_kernel.chunk_by(together).map(<[_]>::to_vec).collect();
        let one = |samples| LearnedGroup::<L>::learn(samples, facts, &folds);
        let learned: Vec<LearnedGroup<'a, L>> = groups.into_par_iter().filter_map(one).collect();
        let (mut kernels, mut judged, mut groups) = (Vec::new(), Vec::new(), Vec::new());
        for group in learned.into_iter().filter(|group| !group.kernels.is_empty()) {
            groups.push(group.learned);
            for (kernel, by) in group.kernels {
                kernels.push(kernel);
                judged.push(by);
            }
        }
        let matrices = folds.matrices().count();
        let cross_validation = CrossValidation::of(&judged.concat()).ok_or(PredictError::TooFewMatrices {
            model: L::NAME,
            got: matrices,
            needed: MIN_MATRICES,
        })?;
        let of_kernel = |(kernel, judged): (&LearnedKernel, &Vec<HeldOut<'a>>)| {
            let held_to = |h: &HeldOut<'a>| HeldTo {
                matrix: h.sample.matrix,
                kernel: kernel.kernel,
                interval: kernel.interval,
                time_s: h.predicted.0,
                residual: h.residual(),
            };
            judged.iter().map(held_to).collect::<Vec<_>>()
        };
        let held_to: Vec<HeldTo<'_>> = kernels.iter().zip(&judged).flat_map(of_kernel).collect();
        let size_classes = SizeClasses::of(&held_to);
        let dtypes: BTreeSet<Dtype> = usable.iter().map(|s| s.candidate.dtype).collect();
        let dtypes = dtypes.into_iter().collect();
        let of_kernel = |(kernel, judged): (&LearnedKernel, Vec<HeldOut<'a>>)| {
            let factors = size_classes.of_kernel(kernel.kernel);
            let judged = judged.into_iter().map(|HeldOut { sample, predicted }| Judged {
                sample,
                predicted,
                interval: factors.scaled(kernel.interval, predicted.0),
            });
            judged.collect::<Vec<_>>()
        };
        let judged = kernels.iter().zip(judged).flat_map(of_kernel).collect();
        let model =
            Self { format: Format::new(), matrices, dtypes, cross_validation, size_classes, kernels, groups };
        Ok((model, judged))
    }

    /// Matrices learned from.
    pub fn matrices(&self) -> usize {
        self.matrices
    }

    /// Value types of the matrices learned from.
    pub fn dtypes(&self) -> &[Dtype] {
        &self.dtypes
    }

    /// Returns whether matrices of this value type were learned from.
    pub fn knows(&self, dtype: Dtype) -> bool {
        self.dtypes.contains(&dtype)
    }

    /// Errors of its predictions of held-out matrices.
    pub fn cross_validation(&self) -> &CrossValidation {
        &self.cross_validation
    }

    /// Kernels that were learned, in the order of the catalogue.
    pub fn kernels(&self) -> &[LearnedKernel] {
        &self.kernels
    }

    /// Range and errors of one kernel.
    pub fn kernel(&self, kernel: Kernel) -> Option<&LearnedKernel> {
        of(&self.kernels, kernel)
    }

    /// The kernels of each group, in the order of the groups.
    fn by_group(&self) -> impl Iterator<Item = &[LearnedKernel]> {
        self.kernels.chunk_by(|a, b| L::group(a.kernel) == L::group(b.kernel))
    }

    /// Range and errors of one kernel, and the model of its group.
    pub(super) fn learned(&self, kernel: Kernel) -> Option<(&LearnedKernel, &L)> {
        let in_group = |(kernels, learned)| Some((of(kernels, kernel)?, learned));
        self.by_group().zip(&self.groups).find_map(in_group)
    }
}

fn of(kernels: &[LearnedKernel], kernel: Kernel) -> Option<&LearnedKernel> {
    kernels.iter().find(|known| known.kernel == kernel)
}

impl<L: Learner> Storable for LearnedModel<L> {
    const FORMAT: &'static str = L::FORMAT;

    /// The bytes of the groups, one behind the other.
    fn split(&self) -> (Self, Vec<u8>) {
        let mut body = Vec::new();
        let groups = self.groups.iter().map(|group| group.split(&mut body)).collect();
        let (dtypes, kernels) = (self.dtypes.clone(), self.kernels.clone());
        let size_classes = self.size_classes.clone();
        (Self { format: Format::new(), dtypes, size_classes, kernels, groups, ..*self }, body)
    }

    fn join(self, mut body: &[u8]) -> Result<Self, String> {
        let names: Vec<_> = self.by_group().map(|kernels| L::group(kernels[0].kernel)).collect();
        if names.len() != self.groups.len() {
            let (kernels, groups) = (names.len(), self.groups.len());
            return Err(format!("the kernels are of {kernels} groups, and {groups} were learned"));
        }
        let joined =
            |(group, name): (L, &str)| group.join(&mut body).map_err(|reason| format!("{name}: {reason}"));
        let groups = self.groups.into_iter().zip(names).map(joined).collect::<Result<_, _>>()?;
        packed::end(body)?;
        Ok(Self { groups, ..self })
    }
}

/// Between the floor and what stays finite; `min` and `max` drop a NaN.
pub(super) fn within(time_s: f64, floor_s: f64) -> f64 {
    time_s.min(MOST_S).max(floor_s)
}
