//! Plans run on a device, in turn with the best single candidate and the vendor's library.

use super::is_single;
use crate::context::Context;
use crate::failure::Failure;
use sparsight::device::Device;
use sparsight::device::timing::StoppingRule;
use sparsight::kernels::{catalogue_on, feasible};
use sparsight::matrix::{Csr, Scalar};
use sparsight::{Bench, MeasuredPartition, Partitioning, Plan, Strategy, contest};

/// A plan that was run.
pub(super) struct Measured {
    pub(super) what: String,
    pub(super) plan: Plan,
    pub(super) outcome: Result<MeasuredPartition, String>,
}

/// The best single candidate, every strategy that cuts, and the routines of the vendor's library, timed in turn.
pub(super) fn measure<T: Scalar>(
    matrix: &Csr<T>,
    partitioning: &Partitioning,
    device: &dyn Device<T>,
    context: &Context,
) -> Result<Vec<Measured>, Failure> {
    let whole = |candidate| Plan::whole(matrix.nrows(), candidate, None);
    let mut plans = Vec::new();
    if let Some(Strategy { single, .. }) = partitioning.strategies.first() {
        plans.push(("single".to_owned(), whole(single.candidate)));
    }
    for strategy in partitioning.strategies.iter().filter(|strategy| !is_single(strategy)) {
        plans.push((strategy.execution.to_string(), Plan::of(strategy)?));
    }
    let vendors = catalogue_on(device.facts().kind, T::DTYPE).filter(|c| {
        let fits = feasible(c, &partitioning.features, &device.limits()).is_ok();
        c.kernel.is_vendors() && fits && device.runs(c.kernel).is_ok()
    });
    plans.extend(vendors.map(|candidate| (candidate.kernel.to_string(), whole(candidate))));
    let how = Bench { rule: StoppingRule::BRISK, seed: context.seed, ..Bench::default() };
    let (names, plans): (Vec<String>, Vec<Plan>) = plans.into_iter().unzip();
    let outcomes = contest(device, matrix, &plans, &how);
    let measured = names.into_iter().zip(plans).zip(outcomes);
    Ok(measured
        .map(|((what, plan), outcome)| Measured { what, plan, outcome: outcome.map_err(|e| e.to_string()) })
        .collect())
}
