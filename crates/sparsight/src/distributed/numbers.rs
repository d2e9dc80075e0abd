//! One matrix on several numbers of GPUs of one kind, each held against one GPU where that can hold the matrix.

use super::{Deal, Distributed, KnownLinks};
use crate::answer::{OnGpus, TooFewGpus};
use crate::{Advice, Advised, Advisor, Error, Objective};
use sparsight_matrix::{Bytes, Csr, Scalar};
use std::collections::BTreeSet;

/// Most GPUs that are predicted at one time, all numbers of them together: each GPU's rows are ranked by themselves. Chosen: ten
/// seconds or so on one core.
pub const MOST_GPUS: usize = 8_192;

/// The numbers of GPUs that are asked about, fewest first, each once, and one among them: with it all others are compared.
///
/// # Errors
/// [`Error::TooManyGpus`] if they are more than [`MOST_GPUS`] together.
pub fn numbers_of_gpus(asked: &[usize]) -> Result<Vec<usize>, Error> {
    let all: BTreeSet<usize> = asked.iter().copied().chain([1]).collect();
    let together =
        all.iter().filter(|&&count| count > 1).fold(0_usize, |sum, &count| sum.saturating_add(count));
    if together > MOST_GPUS {
        Err(Error::TooManyGpus { together, most: MOST_GPUS })
    } else {
        Ok(all.into_iter().collect())
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_sorted_and_bounded_together() {
        assert_eq!(numbers_of_gpus(&[4, 2, 4]).unwrap(), [1, 2, 4]);
        assert_eq!(numbers_of_gpus(&[MOST_GPUS, 1]).unwrap(), [1, MOST_GPUS]);
        let many: Vec<usize> = (1..=3000).collect();
        let error = numbers_of_gpus(&many).unwrap_err().to_string();
        assert_eq!(error, "4501499 GPUs over all numbers of them: at most 8192 are predicted at one time");
        assert!(numbers_of_gpus(&[2, MOST_GPUS - 1]).is_err());
        assert!(numbers_of_gpus(&[usize::MAX, 2]).is_err(), "no overflow");
    }
}
