//! Why a product takes as long as it does, in one sentence: what about the matrix costs how much.
//!
//! ```text
//! cost = time of what is recommended for the matrix - time of what is recommended for the matrix without it
//! ```
//! Both are predictions. Looking at a second matrix takes as long as looking at the first, so it is done once at most: for what
//! can cost most, which is estimated from the features of the matrix at hand ([`Suspect`]). Where nothing can cost more than is
//! said, it is not done at all. What needs no second matrix (launch, upload, what a file says) is compared at once.
//!
//! A reason is given if it costs more than [`LEAST`], and no more than [`MOST`] are.

mod reason;
mod suspects;

pub use reason::{Before, Reason};

use crate::{Advice, Advised, Advisor, Objective, TIE};
use sparsight_kernels::DeviceKind;
use sparsight_matrix::{Csr, Dtype, Features, Scalar, Seconds};
use suspects::Suspect;

/// Share of the time that a reason costs at least. Derived: a prediction is off by about [`TIE`], so the difference of two says
/// nothing below twice that.
const LEAST: f64 = 2.0 * TIE;

/// Reasons that are given at most, those that cost most. Chosen: a sentence or two are read.
const MOST: usize = 2;

/// What takes at least so much of the time dominates it. Chosen: the larger half.
const HALF: f64 = 0.5;

/// What is known of a matrix beside the pattern that is predicted for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Told {
    /// Its values are those that were stored: zeros among them can be counted.
    pub has_values: bool,
    /// The stored values are complex.
    pub is_complex: bool,
    /// Entries that stood on places already taken.
    pub duplicates: u64,
    /// An order was chosen by the caller: no other one is tried.
    pub is_reordered: bool,
}

/// What is asked about.
pub(crate) struct Case<'a, T> {
    a: &'a Csr<T>,
    features: &'a Features,
    used: &'a Advised,
    told: Told,
    dtype: Dtype,
}

impl Advisor<'_> {
    /// Why a product with `a` takes as long as `advice` says, which was given for its `features`, the value type and the objective: at
    /// most two reasons, what costs most first. Looks at one more matrix at most: O(nnz).
    pub fn reasons<T: Scalar>(
        &self,
        a: &Csr<T>,
        told: Told,
        (features, advice): (&Features, &Advice),
        (dtype, objective): (Dtype, &Objective),
    ) -> Vec<Reason> {
        let Some(verdict) = advice.verdict(objective.products).filter(|_| !advice.is_empty) else {
            return Vec::new();
        };
        let used = verdict.recommended();
        let case = Case { a, features, used, told, dtype };
        let (facts, time, products) =
            (&self.profile().device.facts, used.prediction.time, objective.products);
        let in_all = products.map_or(time, |products| used.in_all(products));
        // Of a product, as a share of all that is counted.
        let share = |cost_s: f64| cost_s * products.unwrap_or(1) as f64 / in_all.0;
        let mut found: Vec<(f64, Reason)> = Vec::new();
        if told.is_complex {
            found.push((f64::INFINITY, Reason::Complex { bytes_factor: case.complex_factor() }));
        }
        let factor = case.duplicates_factor();
        if factor > 1.0 + LEAST {
            found.push((
                factor - 1.0,
                Reason::Duplicates { duplicates: told.duplicates, bytes_factor: factor },
            ));
        }
        let launch = share(facts.launch_s.0);
        if facts.kind == DeviceKind::Cuda && launch >= HALF {
            found.push((launch, Reason::Launch { cost_s: facts.launch_s, of_s: time }));
        }
        if let (Some(products), Some(cost_s)) = (products, used.preparation) {
            let share = cost_s.0 / in_all.0;
            let of = match (facts.kind, used.candidate.format().is_csr()) {
                (DeviceKind::Cpu, _) => Before::Conversion,
                (DeviceKind::Cuda, true) => Before::Upload,
                (DeviceKind::Cuda, false) => Before::ConversionAndUpload,
            };
            if share >= HALF {
                found.push((share, Reason::Upload { of, products, cost_s, of_s: in_all }));
            }
        }
        let suspects = Suspect::all(&case, facts).into_iter().filter(|(most, _)| share(*most) > LEAST);
        if let Some((_, suspect)) = suspects.max_by(|a, b| a.0.total_cmp(&b.0)) {
            let predicted = |features: &Features| -> Option<Seconds> {
                let advice = self.advise(features, dtype, objective).ok()?;
                Some(advice.verdict(products)?.recommended().prediction.time)
            };
            let reason = suspect.without(&case).and_then(|without| {
                let cost_s = Seconds(time.0 - predicted(&without)?.0);
                Some((share(cost_s.0), suspect.reason(&case, &without, cost_s)))
            });
            found.extend(reason.filter(|(share, _)| *share > LEAST));
        }
        found.sort_by(|a, b| b.0.total_cmp(&a.0));
        found.truncate(MOST);
        found.into_iter().map(|(_, reason)| reason).collect()
    }
}

impl<T: Scalar> Case<'_, T> {
    /// Imaginary parts are as many bytes as real ones.
    fn complex_factor(&self) -> f64 {
        let Features { nrows, ncols, nnz, .. } = *self.features;
        let values = self.used.candidate.dtype.bytes() * nnz + self.dtype.bytes() * (nrows + ncols);
        1.0 + values as f64 / self.used.bytes.0.max(1) as f64
    }

    /// A duplicate is a column and a value.
    fn duplicates_factor(&self) -> f64 {
        let more = self.told.duplicates * (4 + self.used.candidate.dtype.bytes());
        1.0 + more as f64 / self.used.bytes.0.max(1) as f64
    }
}
