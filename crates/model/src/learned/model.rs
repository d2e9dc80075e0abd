//! Learning every kernel with one method, and how the outcome is stored.

use super::cross_validation::{CrossValidation, HeldOut, held_out, log_error};
use super::folds::Folds;
use super::format::Format;
use super::size_classes::SizeClasses;
use super::trained::Trained;
use super::{Learner, LearningSample, enough_real};
use crate::accuracy::Accuracy;
use crate::{LogInterval, PredictError, Storable, packed};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use sparsight_kernels::{Candidate, DeviceFacts, Kernel};
use sparsight_matrix::{Dtype, Features, Seconds};
use std::collections::BTreeSet;

/// Matrices needed before a kernel is learned: four in each fold, and one residual more than an interval needs.
pub const MIN_MATRICES: usize = 20;

/// Longest time that is predicted, seconds: more than the age of the universe. Keeps the exponential of a damaged or
/// far extrapolated model finite. Chosen.
const MOST_S: f64 = 1e18;

/// What one method learned of every kernel that enough matrices were measured with.
///
/// Stored with its format and the names of its inputs first; another format or other inputs are refused.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(bound = "")]
pub struct LearnedModel<L: Learner> {
    format: Format<L>,
    matrices: usize,
    dtypes: Vec<Dtype>,
    cross_validation: CrossValidation,
    #[serde(default)]
    pub(super) size_classes: SizeClasses,
    kernels: Vec<LearnedKernel<L>>,
}

/// What was learned of one kernel, and of its errors. How it is read: `stored.rs`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(bound = "")]
pub struct LearnedKernel<L: Learner> {
    pub(super) kernel: Kernel,
    /// Matrices learned from.
    pub matrices: usize,
    /// Of held-out matrices, all block sizes and value types; of real ones alone where there are enough.
    pub error: Accuracy,
    /// Mean of `|ln(predicted / measured)|` over the same: what methods are compared by.
    pub log_error: f64,
    /// 90 % of `ln(measured / predicted)` of held-out matrices: nominal, since the model was fitted to all of
    /// them again afterwards.
    pub(super) interval: LogInterval,
    /// Shortest time measured.
    pub(super) least: Seconds,
    pub(super) trained: Trained,
    #[serde(flatten)]
    pub(super) learned: L,
}

/// Those that errors are judged by: of matrices that no generator made, if there are enough.
fn judged(held_out: Vec<HeldOut<'_>>) -> Vec<HeldOut<'_>> {
    let enough = enough_real(held_out.iter().map(|h| (h.sample.matrix, h.sample.generated)));
    held_out.into_iter().filter(|h| !(enough && h.sample.generated)).collect()
}

impl<L: Learner> LearnedKernel<L> {
    /// With the predictions of held-out matrices; `None` if there are too few matrices.
    fn learn<'a>(
        kernel: Kernel,
        facts: &DeviceFacts,
        samples: &[LearningSample<'a>],
        folds: &Folds<'_>,
    ) -> Option<(Self, Vec<HeldOut<'a>>)> {
        let matrices = samples.iter().map(|s| s.matrix).collect::<BTreeSet<_>>().len();
        if matrices < MIN_MATRICES {
            return None;
        }
        let taught = L::taught(samples);
        let matrices = taught.iter().map(|s| s.matrix).collect::<BTreeSet<_>>().len();
        let least = samples.iter().map(|s| s.time).min_by(|a, b| a.0.total_cmp(&b.0))?;
        let judged = judged(held_out::<L>(samples, folds, facts, floor_s(least, facts)));
        let model = Self {
            kernel,
            matrices,
            error: Accuracy::of(judged.iter().map(|h| (h.predicted, h.sample.time)))?,
            log_error: log_error(&judged),
            interval: LogInterval::of_residuals(judged.iter().map(HeldOut::residual).collect()),
            least,
            trained: Trained::of(&taught)?,
            learned: L::learn(&taught, facts),
        };
        Some((model, judged))
    }

    /// Without what is stored as bytes, which is added to `body`.
    fn split(&self, body: &mut Vec<u8>) -> Self {
        Self { learned: self.learned.split(body), ..self.clone() }
    }

    /// The whole again.
    fn join(self, body: &mut &[u8]) -> Result<Self, String> {
        let kernel = self.kernel;
        let learned = self.learned.join(body).map_err(|reason| format!("{kernel}: {reason}"))?;
        Ok(Self { learned, ..self })
    }

    /// The kernel, with its knobs.
    pub fn kernel(&self) -> Kernel {
        self.kernel
    }

    /// Predicted seconds of block sizes, not below the floor; `None` where nothing was learned of the block size or value
    /// type.
    pub(super) fn times_s(
        &self,
        blocks: &[Candidate],
        features: &Features,
        facts: &DeviceFacts,
    ) -> Vec<Option<f64>> {
        let floor_s = self.floor_s(facts);
        let times = self.learned.times_s(blocks, features, facts);
        times.into_iter().map(|time_s| Some(within(time_s?, floor_s))).collect()
    }

    /// What no prediction is below.
    pub(super) fn floor_s(&self, facts: &DeviceFacts) -> f64 {
        floor_s(self.least, facts)
    }
}

impl<L: Learner> LearnedModel<L> {
    /// Learns from measured matrices. Samples without a positive time are left out, and so are those whose features do
    /// not hold [`Locality`](sparsight_matrix::Locality) and kernels with fewer than [`MIN_MATRICES`] matrices.
    ///
    /// Deterministic. Learns six times a kernel, five of them for cross-validation; kernels side by side.
    ///
    /// # Errors
    /// [`PredictError::TooFewMatrices`] if no kernel has enough.
    pub fn fit(facts: &DeviceFacts, samples: &[LearningSample<'_>]) -> Result<Self, PredictError> {
        let usable: Vec<LearningSample<'_>> =
            samples.iter().copied().filter(LearningSample::is_usable).collect();
        let folds = Folds::of(usable.iter().map(|s| s.matrix));
        let one = |&kernel: &Kernel| {
            let own: Vec<LearningSample<'_>> =
                usable.iter().copied().filter(|s| s.candidate.kernel == kernel).collect();
            LearnedKernel::learn(kernel, facts, &own, &folds)
        };
        let kernels: Vec<Kernel> = Kernel::all().collect();
        let learned: Vec<_> = kernels.par_iter().filter_map(one).collect();
        let (kernels, judged): (Vec<_>, Vec<_>) = learned.into_iter().unzip();
        let matrices = folds.matrices().count();
        let cross_validation = CrossValidation::of(&judged.concat()).ok_or(PredictError::TooFewMatrices {
            model: L::NAME,
            got: matrices,
            needed: MIN_MATRICES,
        })?;
        let of_kernel = |(kernel, judged): (&LearnedKernel<L>, &Vec<HeldOut<'_>>)| {
            let interval = kernel.interval;
            judged.iter().map(move |h| (interval, h.predicted.0, h.residual())).collect::<Vec<_>>()
        };
        let size_classes = SizeClasses::of(kernels.iter().zip(&judged).flat_map(of_kernel));
        let dtypes: BTreeSet<Dtype> = usable.iter().map(|s| s.candidate.dtype).collect();
        let dtypes = dtypes.into_iter().collect();
        Ok(Self { format: Format::new(), matrices, dtypes, cross_validation, size_classes, kernels })
    }

    /// Matrices learned from.
    pub fn matrices(&self) -> usize {
        self.matrices
    }

    /// Value types of the matrices learned from.
    pub fn dtypes(&self) -> &[Dtype] {
        &self.dtypes
    }

    /// Whether matrices of this value type were learned from.
    pub fn knows(&self, dtype: Dtype) -> bool {
        self.dtypes.contains(&dtype)
    }

    /// How good its predictions of held-out matrices were.
    pub fn cross_validation(&self) -> &CrossValidation {
        &self.cross_validation
    }

    /// Kernels that were learned, in the order of the catalogue.
    pub fn kernels(&self) -> &[LearnedKernel<L>] {
        &self.kernels
    }

    /// What was learned of one kernel.
    pub fn kernel(&self, kernel: Kernel) -> Option<&LearnedKernel<L>> {
        self.kernels.iter().find(|k| k.kernel == kernel)
    }
}

impl<L: Learner> Storable for LearnedModel<L> {
    const FORMAT: &'static str = L::FORMAT;

    /// The bytes of the kernels, one behind the other.
    fn split(&self) -> (Self, Vec<u8>) {
        let mut body = Vec::new();
        let kernels = self.kernels.iter().map(|kernel| kernel.split(&mut body)).collect();
        let (matrices, dtypes, cross_validation) =
            (self.matrices, self.dtypes.clone(), self.cross_validation);
        let size_classes = self.size_classes;
        (Self { format: Format::new(), matrices, dtypes, cross_validation, size_classes, kernels }, body)
    }

    fn join(self, mut body: &[u8]) -> Result<Self, String> {
        let whole = self.kernels.into_iter().map(|kernel| kernel.join(&mut body));
        let kernels = whole.collect::<Result<_, _>>()?;
        packed::end(body)?;
        Ok(Self { kernels, ..self })
    }
}

/// What no product can undercut: the launch cost of the device, or where that is unknown the shortest time that was
/// measured.
fn floor_s(least: Seconds, facts: &DeviceFacts) -> f64 {
    let launch = facts.launch_s.0;
    if launch.is_finite() && launch > 0.0 { launch } else { least.0 }
}

/// Between the floor and what stays finite; `min` and `max` drop a NaN.
pub(super) fn within(time_s: f64, floor_s: f64) -> f64 {
    time_s.min(MOST_S).max(floor_s)
}
