//! Several plans for one matrix, timed in turn: what disturbs one of them disturbs all.

use super::measured::checked;
use super::{MeasuredPartition, Plan};
use crate::right_answer::RightAnswer;
use crate::{Bench, Error};
use sparsight_device::timing::Sampling;
use sparsight_device::{Device, DeviceError, Product};
use sparsight_matrix::{Csr, Scalar};

type Contestant<T> = (Box<dyn Product<T>>, Sampling);

/// Prepares every plan, holds each to the reference, and samples their times in turn, a sample of each a round, until all
/// satisfy the rule of `how`. The answers are in the order of `plans`; a plan that cannot be run or is wrong says why.
///
/// All are on the device at one time. Of `how`, [`Bench::hopeless`] is not looked at.
pub fn contest<T: Scalar>(
    device: &dyn Device<T>,
    a: &Csr<T>,
    plans: &[Plan],
    how: &Bench,
) -> Vec<Result<MeasuredPartition, Error>> {
    let x = match sparsight_device::random_x_for(a, how.seed) {
        Ok(x) => x,
        Err(why) => return plans.iter().map(|_| Err(why.clone().into())).collect(),
    };
    let right = RightAnswer::new(a, &x);
    let begin = |plan: &Plan| -> Result<_, DeviceError> {
        let product = checked(device, a, plan.partition(), &right)?;
        let sampling = Sampling::begin(|products| product.batch(products, how.caches), &how.rule)?;
        Ok((product, sampling))
    };
    let mut all: Vec<Result<Contestant<T>, DeviceError>> = plans.iter().map(begin).collect();
    loop {
        let mut sampled = false;
        for one in &mut all {
            let Ok((product, sampling)) = one else { continue };
            if sampling.is_done() {
                continue;
            }
            sampled = true;
            if let Err(why) = sampling.sample_after_others(|products| product.batch(products, how.caches)) {
                *one = Err(why);
            }
        }
        if !sampled {
            break;
        }
    }
    let measured = |(product, sampling): Contestant<T>| MeasuredPartition {
        timing: sampling.timing(),
        preparation: product.preparation(),
    };
    all.into_iter().map(|one| one.map(measured).map_err(Error::from)).collect()
}
