//! One matrix on several numbers of GPUs of one kind, each held against one GPU where that can hold the matrix.

use super::{Deal, Distributed, KnownLinks};
use crate::answer::{OnGpus, TooFewGpus};
use crate::{Advice, Advised, Advisor, Error, Objective};
use sparsight_matrix::{Bytes, Csr, Scalar};

/// A matrix that is asked about, and what one GPU would do with it.
#[derive(Debug, Clone, Copy)]
pub struct NumbersOfGpus<'a, T: Scalar> {
    matrix: &'a Csr<T>,
    advisor: Advisor<'a>,
    advice: &'a Advice,
    objective: &'a Objective,
}

impl<'a, T: Scalar> NumbersOfGpus<'a, T> {
    /// `advice` is that for the matrix on one GPU.
    pub fn new(
        matrix: &'a Csr<T>,
        advisor: Advisor<'a>,
        advice: &'a Advice,
        objective: &'a Objective,
    ) -> Self {
        Self { matrix, advisor, advice, objective }
    }

    /// What is best on one GPU; `None` if one cannot hold the matrix.
    pub fn best_on_one(&self) -> Option<&'a Advised> {
        self.advice.ours().next()
    }

    /// One GPU.
    ///
    /// # Errors
    /// Why one cannot hold it.
    pub fn on_one(&self) -> Result<OnGpus, TooFewGpus> {
        let a = self.matrix;
        let Some(best) = self.best_on_one() else {
            return Err(TooFewGpus { count: 1, why: self.advice.why_nothing() });
        };
        let vectors = (a.nrows() + a.ncols()) as u64 * T::DTYPE.bytes();
        let prediction = &best.prediction;
        let times = [prediction.time, prediction.low, prediction.high];
        Ok(OnGpus::one(times, Bytes(best.memory.0 + vectors)))
    }

    /// So many that are linked like that, with the plan that says so. Cost and memory are those of [`Advisor::distribute`].
    ///
    /// # Errors
    /// As [`Advisor::distribute`]; within, why so few cannot hold it.
    pub fn on(
        &self,
        count: usize,
        deal: &Deal,
        known: &KnownLinks,
    ) -> Result<Result<(OnGpus, Distributed<T>), TooFewGpus>, Error> {
        let one = self.best_on_one().map(|best| best.prediction.time);
        match self.advisor.distribute(self.matrix, count, deal, &known.links, self.objective) {
            Ok(distributed) => {
                let on = OnGpus::several(&distributed.plan, one, known.measured_on);
                Ok(Ok((on, distributed)))
            }
            Err(Error::NothingToRun { why }) => Ok(Err(TooFewGpus { count, why })),
            Err(error) => Err(error),
        }
    }
}
