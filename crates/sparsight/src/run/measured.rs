//! A partition on one matrix: checked against the reference, then timed.

use crate::right_answer::RightAnswer;
use crate::{Bench, Error};
use sparsight_device::timing::{Timing, measure};
use sparsight_device::{
    Device, DeviceError, LoadRequest, Partition, Preparation, Product, check_product, random_x_for,
};
use sparsight_kernels::{Candidate, Execution};
use sparsight_matrix::{Csr, Scalar};
use std::ops::Range;

/// What a partition took.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MeasuredPartition {
    /// Of one product.
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
