//! A partition on one matrix: checked against the reference, then timed.

use super::Plan;
use crate::Error;
use crate::bench::{Bench, RightAnswer};
use sparsight_device::timing::{Sampling, Timing, measure};
use sparsight_device::{
    Device, DeviceError, LoadRequest, Partition, Preparation, Product, check_product, random_x_for,
};
use sparsight_kernels::{Candidate, Execution};
use sparsight_matrix::{Csr, Scalar};
use std::ops::Range;

/// Measured times of a partition.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MeasuredPartition {
    /// Timing of one product.
    pub timing: Timing,
    /// Conversion of all parts, and bringing them to the device.
    pub preparation: Preparation,
}

/// Runs `a` cut into `parts`, in order and without gaps, on `device`. The time is kept only if y is right.
///
/// Of `how`, [`Bench::hopeless`] is not looked at: nothing is compared here.
///
/// # Errors
/// [`Error::Device`]: [`DeviceError::Partition`] if the parts do not fit together or do not run there,
/// [`DeviceError::Infeasible`] if one cannot be held, [`DeviceError::WrongResult`] with the first wrong row.
pub fn run_partition<T: Scalar>(
    device: &dyn Device<T>,
    a: &Csr<T>,
    parts: &[(Range<usize>, Candidate)],
    execution: Execution,
    how: &Bench,
) -> Result<MeasuredPartition, Error> {
    let partition = Partition::try_new(parts.to_vec(), execution).map_err(DeviceError::from)?;
    let x = random_x_for(a, how.seed)?;
    let product = checked(device, a, &partition, &RightAnswer::new(a, &x))?;
    let timing = measure(|products| product.batch(products, how.caches), &how.rule)?;
    Ok(MeasuredPartition { timing, preparation: product.preparation() })
}

/// The product of a partition, held to the reference.
pub(super) fn checked<T: Scalar>(
    device: &dyn Device<T>,
    a: &Csr<T>,
    partition: &Partition,
    right: &RightAnswer<'_, T>,
) -> Result<Box<dyn Product<T>>, DeviceError> {
    let product = device.load(LoadRequest::Parts { a, partition })?;
    let name = match partition.parts() {
        [(_, candidate)] => candidate.to_string(),
        parts => format!("the {} product of {} parts", partition.execution(), parts.len()),
    };
    check_product(product.as_ref(), &name, right.x(), right.of(partition.dtype()))?;
    Ok(product)
}

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
