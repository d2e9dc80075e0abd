//! The present implementation by name, where it is not the vendor's CSR: `--from`.

use crate::advise::{Advised, RunNow, RunNowKind, Why};
use crate::{Advice, Advisor, Error, Objective, Profile};
use sparsight_device::cpu::Cpu;
use sparsight_kernels::{DeviceFacts, Selection};
use sparsight_matrix::{Dtype, Features, Seconds};
use std::fmt;
use std::str::FromStr;

/// Name of the present implementation: `cusparse-csr`, `scipy`, any kernel or candidate.
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

/// Displays the name as it is typed.
impl fmt::Display for RunNowName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Scipy => f.write_str("scipy"),
            Self::Selected(selection) => selection.fmt(f),
        }
    }
}

impl Advice {
    /// The present implementation of that name: its fastest candidate, for one product or, as ranked, for all `products`.
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
        let hint = if self.ranked.iter().any(Advised::is_vendors_csr) { NAMES } else { OUR_NAMES };
        Err(Error::NotRunNow { name: selection.to_string(), why, hint })
    }
}

const NAMES: &str = "name a kernel or candidate of the ranking, such as cusparse-csr, csr-vector or \"csr-vector t8 b256\", or scipy";

/// The same where no CSR of the vendor's is ranked, as on a processor.
const OUR_NAMES: &str =
    "name a kernel or candidate of the ranking, such as csr-scalar or \"csr-scalar b256\", or scipy";

/// Our CSR with one thread stands for scipy's, which is the same loop over rows.
fn scipy(profile: &Profile, features: &Features, dtype: Dtype) -> Result<RunNow, Error> {
    let unknown = |why: String| Error::NotRunNow {
        name: "scipy".to_owned(),
        why,
        hint: "`sparsight advise MATRIX --device cpu --jobs 1` calibrates one thread of this processor, once",
    };
    let is_one = |facts: &DeviceFacts| !facts.kind.is_gpu() && facts.multiprocessors == 1;
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

#[cfg(test)]
mod tests {
    use super::*;
    use sparsight_matrix::{Csr, gallery::Recipe};

    fn advised(recipe: &str, products: Option<u64>) -> (Profile, Features, Advice) {
        let a: Csr<f64> = recipe.parse::<Recipe>().unwrap().generate().unwrap();
        let (profile, features) = (Profile::shipped("nvidia-h200").unwrap(), Features::of(&a));
        let objective = Objective { products, ..Objective::default() };
        let advice = Advisor::new(&profile).advise(&features, Dtype::F64, &objective).unwrap();
        (profile, features, advice)
    }

    #[test]
    fn a_break_even_is_the_least_number_of_products_that_takes_no_longer() {
        let (_, _, advice) = advised("fem,n=24", None);
        let now = advice.run_now.unwrap();
        assert_eq!(now.kind, RunNowKind::VendorsCsr);
        assert!(now.is(advice.verdict(None).unwrap().vendors_csr.unwrap().candidate));
        for one in advice.ranked.iter().filter(|one| !now.is(one.candidate)) {
            let takes_no_longer = |products: u64| {
                products == u64::MAX || one.cost(Some(products)) <= now.cost(Some(products)).0 * (1.0 + 1e-12)
            };
            match one.pays_off_after {
                Some(0) => assert!(takes_no_longer(1)),
                Some(products) => {
                    assert!(takes_no_longer(products) && !takes_no_longer(products - 1), "{one:?}");
                }
                None => assert!(one.prediction.time >= now.time, "{one:?}"),
            }
        }
    }

    #[test]
    fn the_break_even_sentence_names_the_present_implementation() {
        let (profile, features, mut advice) = advised("fem,n=24", None);
        let said = advice.verdict(None).unwrap().break_even().unwrap();
        assert!(
            said.starts_with("Against cuSPARSE's CSR converting pays from ")
                && said.ends_with(" products on.")
        );
        let best = advice.ranked[0].candidate;
        let mut from = |name: &str| {
            let name: RunNowName = name.parse().unwrap();
            let now = advice.run_now_by(&name, (&profile, &features, Dtype::F64), None)?;
            advice.count_from(Some(now));
            Ok::<_, Error>((now, advice.verdict(None).unwrap().break_even().unwrap()))
        };
        assert_eq!(from("cusparse-csr").unwrap().0.kind, RunNowKind::VendorsCsr);
        let (scalar, said) = from("csr-scalar").unwrap();
        assert_eq!(scalar.candidate.kernel.name(), "csr-scalar");
        assert!(
            said.starts_with(&format!("Against {} converting pays", scalar.candidate.in_words())),
            "{said}"
        );
        let (one, _) = from("csr-vector t8 b128").unwrap();
        assert_eq!(one.candidate.to_string(), "csr-vector/t8/b128/f64");
        let (now, said) = from(&best.to_string()).unwrap();
        assert!(now.is(best) && said == "It is what is run now: nothing to convert.", "{said}");
        let refused = from("bsr b4").unwrap_err();
        assert!(
            refused.to_string().ends_with("blocks would be more than 25 % padding, the limit"),
            "{refused}"
        );
        assert!(refused.hint().is_some());
        assert!("csr".parse::<RunNowName>().unwrap_err().ends_with("nor scipy"));
        advice.ranked.retain(|one| !one.candidate.kernel.is_vendors());
        let of = (&profile, &features, Dtype::F64);
        let hint = advice.run_now_by(&"cusparse-csr".parse().unwrap(), of, None).unwrap_err().hint().unwrap();
        assert!(hint.contains("such as csr-scalar") && !hint.contains("cusparse"), "{hint}");
    }

    #[test]
    fn csr_as_the_answer_needs_no_conversion() {
        let (_, _, advice) = advised("banded,n=20000", Some(2));
        let said = advice.verdict(Some(2)).unwrap().break_even().unwrap();
        assert_eq!(said, "It reads CSR as it is: nothing to convert.");
    }

    #[test]
    fn plain_csr_is_the_present_implementation_without_a_time_of_cusparse() {
        let (_, _, mut advice) = advised("fem,n=24", None);
        advice.ranked.retain(|one| !one.candidate.kernel.is_vendors());
        let plain = advice.fastest(Advised::is_plain_csr, None).unwrap();
        advice.count_from(Some(plain.as_run_now(RunNowKind::WithoutVendors)));
        let said = advice.verdict(None).unwrap().break_even().unwrap();
        let begin =
            "Against the best plain CSR (the profile has no time of cuSPARSE's CSR) converting pays from ";
        assert!(said.starts_with(begin), "{said}");
    }
}
