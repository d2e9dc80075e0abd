//! Choice of a plan for this machine's processor, whatever a plan was made for: from its calibration, else CSR as it is.

use super::Plan;
use crate::advise::{Advised, Refused, Why};
use crate::calibrate::calibration_candidates;
use crate::model_name::ModelName;
use crate::{Advice, Advisor, Error, Objective, Profile};
use sparsight_kernels::{Candidate, DeviceFacts, DeviceKind, compulsory_bytes, feasible, useful_bytes};
use sparsight_matrix::{Bytes, Csr, Dtype, Features, Limits, Scalar, Seconds};
use sparsight_model::Prediction;
use std::num::NonZeroUsize;

/// Bytes per second from and to memory that a processor is taken to have. Assumed: what one core of a current one copies.
const ASSUMED_RATE: f64 = 1e10;

/// Factor by which a product may be faster or slower than by that rate. Assumed: a matrix in the first cache, many cores, and x
/// gathered from memory are within it.
const UNSURE: f64 = 8.0;

impl Advice {
    /// Candidates for this machine's processor, with the facts `cpu`: from `calibration` if that is one which knows `dtype`
    /// ([`Profile::of_calibrated_cpu`]), else CSR as it is first, and after it one block size of each kernel by the bytes that it
    /// moves. Those times are assumed and their intervals span a factor of 64; [`Advised::model`] is [`ModelName::Best`] there, for want
    /// of one. Nothing is measured.
    ///
    /// # Errors
    /// As [`Advisor::advise`].
    pub fn for_processor(
        cpu: &DeviceFacts,
        calibration: Option<&Profile>,
        features: &Features,
        dtype: Dtype,
        objective: &Objective,
    ) -> Result<Self, Error> {
        match calibration.filter(|profile| profile.was_calibrated_in(dtype)) {
            Some(profile) => Advisor::new(profile).advise(features, dtype, objective),
            None => Ok(Self::for_unknown_processor(cpu, features, dtype)),
        }
    }

    fn for_unknown_processor(cpu: &DeviceFacts, features: &Features, dtype: Dtype) -> Self {
        let plain = Candidate::on_an_unknown_cpu(dtype);
        let limits = match cpu.memory_bytes {
            Bytes(0) => Limits::NONE,
            bytes => Limits::with_memory(bytes),
        };
        let mut advice = Self::new(DeviceKind::Cpu, ModelName::Best, features);
        for candidate in calibration_candidates(DeviceKind::Cpu, dtype) {
            match feasible(&candidate, features, &limits) {
                Ok(memory) => advice.ranked.push(assumed(candidate, memory, features)),
                Err(reason) => {
                    advice.refused.push(Refused { candidate, why: Why::Infeasible(reason) });
                }
            }
        }
        advice.ranked.sort_by(|a, b| {
            let place = |one: &Advised| (one.candidate != plain, one.prediction.time.0);
            let (a_place, b_place) = (place(a), place(b));
            a_place
                .0
                .cmp(&b_place.0)
                .then(a_place.1.total_cmp(&b_place.1))
                .then(a.candidate.cmp(&b.candidate))
        });
        advice
    }
}

fn assumed(candidate: Candidate, memory: Bytes, features: &Features) -> Advised {
    // Never 0, as no product is.
    let time = (1 + compulsory_bytes(&candidate, features).0) as f64 / ASSUMED_RATE;
    Advised {
        candidate,
        prediction: Prediction {
            time: Seconds(time),
            low: Seconds(time / UNSURE),
            high: Seconds(time * UNSURE),
            extrapolates: Vec::new(),
        },
        model: ModelName::Best,
        bytes: useful_bytes(candidate.format(), candidate.dtype, features),
        memory,
        bandwidth_fraction: None,
        preparation: None,
        pays_off_after: None,
        iteration: None,
    }
}

impl Plan {
    /// Plan for this machine's processor with the facts `cpu`: from its calibration if there is one that knows the value type,
    /// else CSR as it is. Looks at the pattern of `a` once; O(nnz). Nothing is measured.
    ///
    /// ```
    /// use sparsight::{Objective, Plan, device::cpu::Cpu, matrix::gallery::Recipe};
    /// let a = "stencil2d,n=30".parse::<Recipe>()?.generate::<f64>()?;
    /// let cpu = Cpu::new();
    /// let plan = Plan::for_processor(cpu.facts(), &a, &Objective::default())?;
    /// let (x, mut y) = (vec![1.0; a.ncols()], vec![0.0; a.nrows()]);
    /// plan.prepare(&cpu, &a)?.multiply(&x, &mut y)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`Advisor::advise`]; [`Error::NothingToRun`] if there is not the memory.
    pub fn for_processor<T: Scalar>(
        cpu: &DeviceFacts,
        a: &Csr<T>,
        objective: &Objective,
    ) -> Result<Self, Error> {
        let calibration = Profile::of_calibrated_cpu(cpu, T::DTYPE);
        let advice = Advice::for_processor(cpu, calibration.as_ref(), &Features::of(a), T::DTYPE, objective)?;
        let first = advice.plans(a.nrows(), NonZeroUsize::MIN).pop();
        first.ok_or_else(|| Error::NothingToRun { why: advice.why_nothing() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::Bench;
    use crate::fastest;
    use crate::run::Tries;
    use sparsight_device::cpu::Cpu;
    use sparsight_device::timing::StoppingRule;
    use sparsight_matrix::gallery::Recipe;

    #[test]
    fn an_unknown_processor_runs_csr_as_it_is_and_may_try_everything_that_it_has() {
        let cpu = Cpu::with_threads(1).unwrap();
        for recipe in ["stencil2d,n=30", "arrow,n=300", "fem,n=8"] {
            let a = recipe.parse::<Recipe>().unwrap().generate::<f64>().unwrap();
            let objective = Objective::default();
            let features = Features::of(&a);
            let advice = Advice::for_processor(cpu.facts(), None, &features, Dtype::F64, &objective).unwrap();
            assert!(advice.ranked[0].candidate.format().is_csr(), "{}", advice.ranked[0].candidate);
            let all = calibration_candidates(DeviceKind::Cpu, Dtype::F64).len();
            assert_eq!(advice.ranked.len() + advice.refused.len(), all);
            for one in &advice.ranked {
                let Prediction { time, low, high, .. } = one.prediction;
                assert!(0.0 < low.0 && low < time && time < high, "{}", one.candidate);
            }
            let how = Bench { rule: StoppingRule::BRISK, ..Bench::default() };
            let tries = Tries::Count(NonZeroUsize::new(3).unwrap());
            let found = fastest(&cpu, &a, &advice, tries, &how, |_| Ok(())).unwrap();
            assert_eq!((found.runs.len(), found.runs[0].candidate), (3, advice.ranked[0].candidate));
        }
    }

    #[test]
    fn a_gpu_s_plan_is_refused_on_a_processor_with_where_to_get_its_own() {
        let cpu = Cpu::with_threads(1).unwrap();
        let a = "stencil2d,n=30".parse::<Recipe>().unwrap().generate::<f64>().unwrap();
        let profile = Profile::shipped("nvidia-h200").unwrap();
        let (advisor, objective) = (Advisor::new(&profile), Objective::default());
        let plan = advisor.plan(&a, &objective).unwrap();
        let refused = plan.prepare(&cpu, &a).map(drop).unwrap_err();
        assert!(refused.to_string().starts_with("the plan is for a GPU, and this is a processor ("));
        assert!(refused.hint().unwrap().contains("Plan::for_processor"));
        let advice = advisor.advise(&Features::of(&a), Dtype::F64, &objective).unwrap();
        let how = Bench { rule: StoppingRule::BRISK, ..Bench::default() };
        let tries = Tries::Count(NonZeroUsize::MIN);
        let refused = fastest(&cpu, &a, &advice, tries, &how, |_| Ok(())).map(drop).unwrap_err();
        assert!(matches!(refused, Error::PlannedForGpu { .. }));
        let order = sparsight_matrix::Permutation::reverse_cuthill_mckee(&a).unwrap();
        assert!(plan.prepare_reordered(&cpu, &a, &order).is_err());
        // What is chosen by name is run.
        let named = Plan::whole(a.nrows(), "ell/b256/f64".parse().unwrap(), None);
        assert!(named.prepare(&cpu, &a).is_ok());
    }
}
