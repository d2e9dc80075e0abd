//! Measuring beside advice: the first choice, what it is compared with, and what may still be better.

use super::trial::{Next, Trial, Tries};
use crate::Advice;
use crate::advise::Advised;
use crate::bench::{Bench, Benched, RightAnswer, bench_held_to};
use crate::records::{ClockRecord, Measured, Outcome};
use sparsight_device::timing::took;
use sparsight_device::{Device, DeviceError, random_x_for};
use sparsight_kernels::Candidate;
use sparsight_matrix::{Csr, Features, Scalar, Seconds};
use sparsight_model::{Conditioned, NextRun};
use std::collections::BTreeMap;

/// Measured candidates and the expectation for the rest.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Verified {
    /// Outcome of each candidate that was run.
    pub measured: BTreeMap<Candidate, Outcome>,
    /// All candidates, as far as what was measured tells.
    pub expected: Conditioned,
    /// Expected gain of another run; `None` if all were run.
    pub next: Option<NextRun>,
    /// Clock of the device during the measurement; `None` where it does not say.
    pub clock: Option<ClockRecord>,
    /// Samples that were far from the median of theirs.
    pub far: u32,
}

impl Verified {
    /// Candidates measured with nothing known of the clock, samples or another run.
    pub fn new(measured: BTreeMap<Candidate, Outcome>, expected: Conditioned) -> Self {
        Self { measured, expected, next: None, clock: None, far: 0 }
    }
}

/// Measures the first of `advice`, the candidates of plain CSR and of the vendor's that its verdict compares it with, and then, as
/// [`fastest`](crate::fastest) does, those that may gain most: until `tries` of all were timed, or as long as it is worth it for the products to come. Routines
/// of the vendor's take part where its library is here. `each` is told every result, and may stop the run by returning an error.
///
/// # Errors
/// As [`bench`](crate::bench::bench()).
pub fn verify<T: Scalar>(
    device: &dyn Device<T>,
    (name, a): (&str, &Csr<T>),
    features: &Features,
    advice: &Advice,
    tries: Tries,
    how: &Bench,
    mut each: impl FnMut(&Measured) -> Result<(), DeviceError>,
) -> Result<Verified, DeviceError> {
    let runs_here = |one: &&Advised| device.runs(one.candidate.kernel).is_ok();
    let ranked: Vec<&Advised> = advice.ranked.iter().filter(runs_here).collect();
    let mut trial = Trial::of(&ranked, tries, None);
    let mut measured = BTreeMap::new();
    let (mut clock, mut far) = (None, 0);
    let (all, products) = match tries {
        Tries::Count(count) => (count.get() >= ranked.len(), None),
        Tries::WorthIt { products } => (false, Some(products)),
    };
    // Together: what shares a format is converted once.
    let mut candidates: Vec<Candidate> =
        ranked.iter().take(if all { ranked.len() } else { 1 }).map(|one| one.candidate).collect();
    let compared = advice.verdict(products).map(|verdict| [verdict.plain_csr, verdict.vendors_csr]);
    for csr in compared.into_iter().flatten().flatten().filter(runs_here) {
        if !candidates.contains(&csr.candidate) {
            candidates.push(csr.candidate);
        }
    }
    let x = random_x_for(a, how.seed)?;
    let right = RightAnswer::new(a, &x);
    let next = loop {
        // Computed once for all of them, and charged to none.
        for candidate in &candidates {
            right.of(candidate.dtype);
        }
        let (benched, Seconds(all)) =
            took(|| bench_held_to(&right, device, name, features, &candidates, how, &mut each));
        let Benched { record, prepared } = benched?;
        let spent = (all - prepared.0) / record.results.len().max(1) as f64;
        clock = record.clock.into_iter().chain(clock).reduce(ClockRecord::and);
        far += record.far;
        for Measured { id, outcome } in record.results {
            match &outcome {
                Outcome::Time { time_s, .. } => trial.took(&id, *time_s, Seconds(spent)),
                Outcome::Infeasible { infeasible } => trial.failed(&id, Some(infeasible), Seconds(spent)),
                Outcome::Failed { .. } => trial.failed(&id, None, Seconds(spent)),
            }
            measured.insert(id, outcome);
        }
        match trial.next() {
            Next::Run(candidate) => candidates = vec![candidate],
            Next::Stop(next) => break next,
        }
    };
    Ok(Verified { measured, expected: trial.conditioned, next, clock, far })
}
