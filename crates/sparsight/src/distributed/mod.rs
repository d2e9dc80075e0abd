//! A matrix on several GPUs: predicted from its pattern, and run.
//!
//! ```text
//! Advisor::distribute -> DistributedPlan    who owns which rows, what each computes with which candidate, what is exchanged, how long
//!   DistributedPlan::prepare                the shares on GPUs of this process
//! measure_links -> LinksFile                what bringing entries of x from GPU to GPU takes here
//! break_even                                from which size on several GPUs are faster
//! ```

mod break_even;
mod measured;
mod plan;

pub use break_even::{break_even, largest_where};
pub use measured::{measure_distributed, measure_links};
pub use plan::{Deal, Distributed, DistributedPlan, GpuLimit, PlannedRows, PlannedShare};

use crate::Error;
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
