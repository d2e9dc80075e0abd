//! A matrix that lies on the GPU already, prepared there as advised.

use super::fastest::{first_that_fits, nothing_to_run, runnable};
use super::trial::Trial;
use super::{Plan, Prepared, Tries};
use crate::{Advice, Error};
use sparsight_device::{Device, DeviceCsr};
use sparsight_kernels::Candidate;
use sparsight_matrix::Scalar;
use std::num::NonZeroUsize;

impl Advice {
    /// Prepares the matrix that it is about where that lies, with the first of its candidates that `device` can hold beside it; none is run
    /// before. The vendor's routines are left out. [`fastest`](crate::fastest) runs candidates first, and wants the matrix on
    /// the host, where it computes what y has to be.
    ///
    /// # Errors
    /// As [`Plan::prepare_resident`]; [`Error::NothingToRun`] if no candidate is possible.
    pub fn prepare_resident<T: Scalar>(
        &self,
        device: &dyn Device<T>,
        a: DeviceCsr<'_, T>,
    ) -> Result<(Plan, Prepared<T>), Error> {
        let ranked = runnable(device, self);
        let plan = |candidate: &Candidate| {
            let found = ranked.iter().find(|one| one.candidate == *candidate);
            Plan::whole(a.nrows, *candidate, found.map(|one| one.prediction.time))
        };
        let (mut trial, mut why) = (Trial::of(&ranked, Tries::Count(NonZeroUsize::MIN), None), None);
        let fits = first_that_fits(&mut trial, &mut why, |unseen| plan(unseen).prepare_resident(device, a))?;
        match fits {
            Some((candidate, prepared)) => Ok((plan(&candidate), prepared)),
            None => Err(why.unwrap_or_else(|| nothing_to_run(device, self))),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{Advice, Advisor, Error, Objective, Profile};
    use sparsight_device::{DeviceCsr, DeviceError, DeviceIndices, DeviceSlice, cpu::Cpu};
    use sparsight_matrix::{Dtype, Features, gallery::Recipe};

    /// Success is tested on GPUs, from Python: this crate has no emulated GPU.
    #[test]
    fn a_failed_resident_load_is_reported_without_trying_other_candidates() {
        let a = "stencil2d,n=20".parse::<Recipe>().unwrap().generate::<f64>().unwrap();
        let profile = Profile::shipped("nvidia-h200").unwrap();
        let advice =
            Advisor::new(&profile).advise(&Features::of(&a), Dtype::F64, &Objective::default()).unwrap();
        // SAFETY: a processor has no use for addresses.
        let nowhere = unsafe {
            DeviceCsr::<f64> {
                nrows: a.nrows(),
                ncols: a.ncols(),
                row_ptr: DeviceIndices::U64(DeviceSlice::from_raw(0, a.nrows() + 1)),
                col_idx: DeviceIndices::U32(DeviceSlice::from_raw(0, a.nnz())),
                values: DeviceSlice::from_raw(0, a.nnz()),
            }
        };
        let cpu = Cpu::with_threads(1).unwrap();
        let why = |advice: &Advice| advice.prepare_resident(&cpu, nowhere).map(|_| ()).unwrap_err();
        assert!(matches!(why(&advice), Error::Device(DeviceError::NoDeviceVectors)));
        let nothing = Advice { ranked: Vec::new(), ..advice };
        assert!(matches!(why(&nothing), Error::NothingToRun { .. }));
    }
}
