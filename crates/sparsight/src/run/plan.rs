//! Plan of a matrix: candidates for its rows.

use super::Prepared;
use crate::advise::{Advised, Why};
use crate::missing::Missing;
use crate::partition::Strategy;
use crate::{Advice, Advisor, Error, Objective};
use sparsight_device::{Device, DeviceCsr, DeviceError, LoadRequest, Partition};
use sparsight_kernels::{Candidate, DeviceKind, Execution};
use sparsight_matrix::{Csr, Features, Infeasible, Permutation, Scalar, Seconds};
use std::fmt;
use std::num::NonZeroUsize;
use std::ops::Range;

/// Candidates for all rows of a matrix, with the predicted time.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    partition: Partition,
    predicted: Option<Seconds>,
    /// The kind of device that it was chosen for, unless the caller chose.
    chosen_for: Option<DeviceKind>,
}

impl Plan {
    /// A plan with one candidate for all `nrows` rows.
    pub fn whole(nrows: usize, candidate: Candidate, predicted: Option<Seconds>) -> Self {
        Self { partition: Partition::whole(nrows, candidate), predicted, chosen_for: None }
    }

    /// The rows of each part with its candidate, from row 0 on without gaps, and how the parts are run. `predicted` is the
    /// time of one product, if it is known.
    ///
    /// # Errors
    /// [`DeviceError::Partition`] if the parts do not fit together.
    pub fn try_new(
        parts: Vec<(Range<usize>, Candidate)>,
        execution: Execution,
        predicted: Option<Seconds>,
    ) -> Result<Self, Error> {
        let partition = Partition::try_new(parts, execution).map_err(DeviceError::from)?;
        Ok(Self { partition, predicted, chosen_for: None })
    }

    /// The parts of an optimal partition ([`Advisor::partition`]).
    ///
    /// # Errors
    /// [`DeviceError::Partition`] if there are more parts than one launch may have.
    pub fn of(strategy: &Strategy) -> Result<Self, Error> {
        let rows = |rows: &Range<u64>| rows.start as usize..rows.end as usize;
        let parts = strategy.parts.iter().map(|part| (rows(&part.rows), part.candidate)).collect();
        let plan = Self::try_new(parts, strategy.execution, Some(strategy.predicted))?;
        Ok(plan.chosen_for(strategy.kind))
    }

    pub(super) fn chosen_for(self, kind: DeviceKind) -> Self {
        Self { chosen_for: Some(kind), ..self }
    }

    /// Refuses to run on a processor what was chosen for a GPU.
    fn check_kind<T: Scalar>(&self, device: &dyn Device<T>) -> Result<(), Error> {
        self.chosen_for.map_or(Ok(()), |kind| check_kind(kind, device))
    }

    /// The parts and how they are run.
    pub fn partition(&self) -> &Partition {
        &self.partition
    }

    /// Predicted time of one product.
    pub fn predicted(&self) -> Option<Seconds> {
        self.predicted
    }

    /// Converts `a` as planned, brings it to `device` and loads the kernels, which are compiled if no run before this one
    /// has done that.
    ///
    /// # Errors
    /// [`Error::PlannedForGpu`] on a processor, if an [`Advisor`] chose it for a GPU; [`Error::Device`]: [`DeviceError::Partition`] if the plan is for a matrix of another size or value type,
    /// [`DeviceError::Infeasible`] if the device has not that much memory now.
    pub fn prepare<T: Scalar>(&self, device: &dyn Device<T>, a: &Csr<T>) -> Result<Prepared<T>, Error> {
        self.check_kind(device)?;
        Ok(Prepared::new(device.load(LoadRequest::Parts { a, partition: &self.partition })?))
    }

    /// Prepares the plan for a reordered matrix: the plan is one for the matrix in that order
    /// ([`Permutation::of_matrix`]), `a` and all vectors are in the order that they have. Two passes over vectors are added to
    /// every product; a caller that keeps vectors in the new order prepares the reordered matrix itself.
    ///
    /// ```
    /// use sparsight::{Plan, device::cpu::Cpu, matrix::{Permutation, gallery::Recipe}};
    /// let a = "gallery:stencil2d,n=30,shuffle=1".parse::<Recipe>()?.generate::<f64>()?;
    /// let order = Permutation::reverse_cuthill_mckee(&a)?;
    /// let plan = Plan::whole(a.nrows(), "ell/b256/f64".parse()?, None);
    /// let prepared = plan.prepare_reordered(&Cpu::new(), &a, &order)?;
    /// let (x, mut y, mut same) = (vec![1.0; a.ncols()], vec![0.0; a.nrows()], vec![0.0; a.nrows()]);
    /// prepared.multiply(&x, &mut y)?;
    /// plan.prepare(&Cpu::new(), &a)?.multiply(&x, &mut same)?;
    /// assert!(y.iter().zip(&same).all(|(y, same)| (y - same).abs() < 1e-12));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`Plan::prepare`]; [`DeviceError::Length`] if the order is not one of so many rows and columns.
    pub fn prepare_reordered<T: Scalar>(
        &self,
        device: &dyn Device<T>,
        a: &Csr<T>,
        order: &Permutation,
    ) -> Result<Prepared<T>, Error> {
        self.check_kind(device)?;
        Ok(Prepared::new(device.load(LoadRequest::Reordered { a, order, partition: &self.partition })?))
    }

    /// Prepares a matrix that lies on the GPU already, in the caller's memory, which may be freed when this returns.
    /// Its columns are looked at, whether they increase and lie inside of the matrix.
    ///
    /// # Errors
    /// As [`Plan::prepare`]; [`DeviceError::Matrix`] if it is no CSR, [`DeviceError::NoDeviceVectors`] on a CPU,
    /// [`DeviceError::OtherDevice`] if an array is known to lie on another GPU.
    pub fn prepare_resident<T: Scalar>(
        &self,
        device: &dyn Device<T>,
        a: DeviceCsr<'_, T>,
    ) -> Result<Prepared<T>, Error> {
        Ok(Prepared::new(device.load(LoadRequest::Resident { a, partition: &self.partition })?))
    }
}

/// Refuses a processor what was chosen for devices of the other kind.
pub(super) fn check_kind<T: Scalar>(kind: DeviceKind, device: &dyn Device<T>) -> Result<(), Error> {
    let facts = device.facts();
    if kind.is_gpu() && !facts.kind.is_gpu() {
        return Err(Error::PlannedForGpu { device: facts.name.clone() });
    }
    Ok(())
}

/// The candidate, or `fused: 0..700 ell/b128/f64, 700..900 csr-vector/t8/b128/f64`.
impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let [(_, candidate)] = self.partition.parts() {
            return candidate.fmt(f);
        }
        let part = |(rows, candidate): &(Range<usize>, Candidate)| format!("{rows:?} {candidate}");
        let parts: Vec<String> = self.partition.parts().iter().map(part).collect();
        f.pad(&format!("{}: {}", self.partition.execution(), parts.join(", ")))
    }
}

impl Advisor<'_> {
    /// The plan that is predicted to be the best for `a`: with [`Objective::products`] conversion and upload count, too.
    /// Looks at the pattern of `a` once; O(nnz).
    ///
    /// The vendor's routines are left out: they come with a library that may not be there when the plan is carried out.
    ///
    /// # Errors
    /// As [`Advisor::advise`]; [`DeviceError::Infeasible`] if the profile's device can hold `a` in no format.
    ///
    /// # Panics
    /// Never: one plan is asked for.
    pub fn plan<T: Scalar>(&self, a: &Csr<T>, objective: &Objective) -> Result<Plan, Error> {
        Ok(self.plans(a, objective, NonZeroUsize::MIN)?.swap_remove(0))
    }

    /// The plans that are predicted to be the best, best first, at most `most` and at least one: to time
    /// them in turn with [`contest`](crate::run::contest).
    ///
    /// # Errors
    /// As [`Advisor::plan`].
    pub fn plans<T: Scalar>(
        &self,
        a: &Csr<T>,
        objective: &Objective,
        most: NonZeroUsize,
    ) -> Result<Vec<Plan>, Error> {
        let advice = self.advise(&Features::of(a), T::DTYPE, objective)?;
        let plans = advice.plans(a.nrows(), most);
        if !plans.is_empty() {
            return Ok(plans);
        }
        Err(match advice.refused.into_iter().next().map(|refused| refused.why) {
            Some(Why::Infeasible(reason)) => DeviceError::Infeasible(reason).into(),
            _ => Error::Lacking {
                profile: self.profile().place(),
                missing: Missing::Model { model: advice.model, dtype: T::DTYPE },
            },
        })
    }
}

impl Advice {
    /// Candidates without the vendor's routines, best first.
    pub fn ours(&self) -> impl Iterator<Item = &Advised> {
        self.ranked.iter().filter(|advised| !advised.candidate.kernel.is_vendors())
    }

    /// Why nothing of ours is ranked: what takes the least memory does not fit, or else why the first is not possible.
    pub fn why_nothing(&self) -> String {
        let ours = self.refused.iter().filter(|refused| !refused.candidate.kernel.is_vendors());
        let least = ours.clone().filter_map(|refused| match &refused.why {
            Why::Infeasible(why @ Infeasible::DoesNotFit { need, .. }) => Some((*need, why.to_string())),
            _ => None,
        });
        let first = || ours.clone().next().map(|refused| refused.why.to_string());
        least.min().map(|(_, why)| why).or_else(first).unwrap_or_default()
    }

    /// The plans of its first candidates for the matrix of `nrows` rows that it is about, best first, at most `most`: none if
    /// nothing but routines of the vendor's is ranked.
    pub fn plans(&self, nrows: usize, most: NonZeroUsize) -> Vec<Plan> {
        let whole = |best: &Advised| {
            Plan::whole(nrows, best.candidate, Some(best.prediction.time)).chosen_for(self.kind)
        };
        self.ours().take(most.get()).map(whole).collect()
    }
}
