//! What is run now, by name, where it is not the vendor's CSR: `--from`.

use crate::{Advice, Advised, Advisor, Error, Objective, Profile, RunNow, RunNowKind, Why};
use sparsight_device::cpu::Cpu;
use sparsight_kernels::{DeviceFacts, DeviceKind, Selection};
use sparsight_matrix::{Dtype, Features, Seconds};
use std::fmt;
use std::str::FromStr;

/// What is run now, as it is named: `cusparse-csr`, `scipy`, any kernel or candidate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunNowName {
    /// CSR of scipy, one thread of the processor here.
    Scipy,
    /// The fastest of these candidates.
    Selected(Selection),
}

impl FromStr for RunNowName {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        match text.trim() {
            "scipy" => Ok(Self::Scipy),
            other => other.parse().map(Self::Selected).map_err(|error| format!("{error}, nor scipy")),
        }
    }
}

/// As it is typed.
impl fmt::Display for RunNowName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Scipy => f.write_str("scipy"),
            Self::Selected(selection) => selection.fmt(f),
        }
    }
}

impl Advice {
    /// What is run now by that name: of its candidates the one that takes least, one product or, as ranked, all `products`.
    /// `profile` and `features` are those that the advice was given for.
    ///
    /// # Errors
    /// [`Error::NotRunNow`] if none of them is ranked; for scipy, if one thread of the processor here was not calibrated.
    pub fn run_now_by(
        &self,
        now: &RunNowName,
        (profile, features, dtype): (&Profile, &Features, Dtype),
        products: Option<u64>,
    ) -> Result<RunNow, Error> {
        let RunNowName::Selected(selection) = now else { return scipy(profile, features, dtype) };
        if let Some(found) = self.fastest(|one| selection.selects(&one.candidate), products) {
            let vendors = self.fastest(Advised::is_vendors_csr, products);
            let is_vendors = vendors.is_some_and(|vendors| vendors.candidate == found.candidate);
            let kind = if is_vendors { RunNowKind::VendorsCsr } else { RunNowKind::Named };
            return Ok(found.as_run_now(kind));
        }
        let refused = self.refused.iter().find(|refused| selection.selects(&refused.candidate));
        let why = match refused.map(|refused| &refused.why) {
            Some(Why::Infeasible(why)) => why.to_string(),
            Some(Why::NoModel(_) | Why::Unmeasured(_)) => {
                format!("the profile {} holds no time of it", profile.name)
            }
            None => format!("it is not ranked for {}", profile.device.facts.described()),
        };
        Err(Error::NotRunNow { name: selection.to_string(), why, hint: NAMES })
    }
}

const NAMES: &str = "name a kernel or candidate of the ranking, such as cusparse-csr, csr-vector or \"csr-vector t8 b256\", or scipy";

/// Our CSR with one thread stands for scipy's, which is the same loop over rows.
fn scipy(profile: &Profile, features: &Features, dtype: Dtype) -> Result<RunNow, Error> {
    let unknown = |why: String| Error::NotRunNow {
        name: "scipy".to_owned(),
        why,
        hint: "`sparsight advise MATRIX --device cpu --jobs 1` calibrates one thread of this processor, once",
    };
    let is_one = |facts: &DeviceFacts| facts.kind == DeviceKind::Cpu && facts.multiprocessors == 1;
    let calibrated;
    let one_thread = if is_one(&profile.device.facts) {
        profile
    } else {
        let here = DeviceFacts { multiprocessors: 1, ..Cpu::new().facts().clone() };
        let known = Profile::of_calibrated_cpu(&here, dtype);
        calibrated = known.ok_or_else(|| {
            unknown(
                "the speed of its CSR is not known, since one thread of this processor was not calibrated"
                    .to_owned(),
            )
        })?;
        &calibrated
    };
    let advice = Advisor::new(one_thread).advise(features, dtype, &Objective::default())?;
    let csr = advice.fastest(Advised::is_plain_csr, None);
    let csr = csr.ok_or_else(|| unknown(format!("the profile {} holds no time of CSR", one_thread.name)))?;
    Ok(RunNow { preparation: Some(Seconds(0.0)), ..csr.as_run_now(RunNowKind::Scipy) })
}
