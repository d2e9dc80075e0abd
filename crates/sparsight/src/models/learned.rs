//! A learned model whose method is not known where it is used: what `best`, `fit` and tables ask of it.

use super::index::KnownKernels;
use super::model_file;
use sparsight_kernels::DeviceFacts;
use sparsight_model::{CrossValidation, LearnedModel, LearnedPredictor, Learner, Model};
use std::any::Any;
use std::fmt::Debug;
use std::sync::Arc;

/// A model learned from measured matrices; its kind is told by
/// [`Models::of`](crate::profile::Models::of).
pub trait Learned: Any + Debug + Send + Sync {
    /// The model's name in flags and tables.
    fn name(&self) -> &'static str;

    /// Name and version of its stored form.
    fn format(&self) -> &'static str;

    /// Matrices learned from.
    fn matrices(&self) -> usize;

    /// Errors of its predictions of held-out matrices.
    fn cross_validation(&self) -> &CrossValidation;

    /// The kernels that it knows, with their errors.
    fn known(&self) -> KnownKernels;

    /// The model on the device with `facts`, on which it was learned.
    fn on<'p>(&'p self, facts: &'p DeviceFacts) -> Arc<dyn Model + 'p>;

    /// The bytes of a file with it.
    fn pack(&self) -> Vec<u8>;
}

impl<L: Learner + 'static> Learned for LearnedModel<L> {
    fn name(&self) -> &'static str {
        L::NAME
    }

    fn format(&self) -> &'static str {
        L::FORMAT
    }

    fn matrices(&self) -> usize {
        Self::matrices(self)
    }

    fn cross_validation(&self) -> &CrossValidation {
        Self::cross_validation(self)
    }

    fn known(&self) -> KnownKernels {
        let log_errors = self.kernels().iter().map(|kernel| (kernel.kernel(), kernel.log_error)).collect();
        KnownKernels { dtypes: self.dtypes().to_vec(), log_errors }
    }

    fn on<'p>(&'p self, facts: &'p DeviceFacts) -> Arc<dyn Model + 'p> {
        Arc::new(LearnedPredictor { model: self, facts })
    }

    fn pack(&self) -> Vec<u8> {
        model_file::pack(L::NAME, self)
    }
}
