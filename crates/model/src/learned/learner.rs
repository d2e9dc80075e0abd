//! Interface of a method that learns the times of kernels.

use super::LearningSample;
use crate::Term;
use serde::{Serialize, de::DeserializeOwned};
use sparsight_kernels::{Candidate, DeviceFacts, Kernel};
use sparsight_matrix::{Dtype, Features};
use std::fmt::Debug;

/// A method's model of a group of kernels: all block sizes and value types. Made by [`LearnedModel`](super::LearnedModel).
pub trait Learner: Clone + Debug + PartialEq + Send + Sync + Serialize + DeserializeOwned {
    /// The model's name in flags and tables.
    const NAME: &'static str;
    /// Name and version of the stored form: changes whenever that or the meaning of an input does.
    const FORMAT: &'static str;

    /// The inputs by name, in order. A model that was stored with others is refused.
    fn inputs() -> Vec<String>;

    /// Kernels with the same name of a group, one behind the other in the catalogue, are learned together; each alone, unless a
    /// method says otherwise.
    fn group(kernel: Kernel) -> &'static str {
        kernel.id()
    }

    /// Itself without what text would hold badly, which is added to `body`; nothing is, unless a method says otherwise.
    #[must_use]
    fn split(&self, _body: &mut Vec<u8>) -> Self {
        self.clone()
    }

    /// The whole, from what [`Learner::split`] left and what `body` begins with, which is cut off from it.
    ///
    /// # Errors
    /// A description of the fault in the bytes.
    fn join(self, _body: &mut &[u8]) -> Result<Self, String> {
        Ok(self)
    }

    /// Samples, of one group, that it learns from: all, unless a method is better off with fewer.
    fn taught<'a>(samples: &[LearningSample<'a>]) -> Vec<LearningSample<'a>> {
        samples.to_vec()
    }

    /// Learns from samples of one group of kernels, at least one, with positive times and features that hold
    /// [`Locality`](sparsight_matrix::Locality). Deterministic.
    fn learn(samples: &[LearningSample<'_>], facts: &DeviceFacts) -> Self;

    /// What it computes once for all candidates of a matrix in one value type.
    type Matrix<'m>: Sync;

    /// A matrix in one value type, on the device that was learned from; `None` if the features lack what it looks at.
    fn matrix<'m>(
        &'m self,
        features: &'m Features,
        dtype: Dtype,
        facts: &'m DeviceFacts,
    ) -> Option<Self::Matrix<'m>>;

    /// Predicted seconds, before any floor, of candidates of the matrix' value type that differ in their block size alone, in order;
    /// `None` if nothing was learned of the kernel, block size or value type.
    fn times_s(&self, blocks: &[Candidate], matrix: &Self::Matrix<'_>) -> Vec<Option<f64>>;

    /// [`Learner::times_s`] of one candidate; `None` also if the features lack what the method looks at.
    fn time_s(&self, candidate: &Candidate, features: &Features, facts: &DeviceFacts) -> Option<f64> {
        let matrix = self.matrix(features, candidate.dtype, facts)?;
        self.times_s(std::slice::from_ref(candidate), &matrix).pop()?
    }

    /// The numbers behind [`Learner::time_s`], in the order of the formula.
    fn terms(&self, candidate: &Candidate, features: &Features, facts: &DeviceFacts) -> Vec<Term>;
}
