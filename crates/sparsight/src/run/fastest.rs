//! Candidates run one after another, each telling what to run next, until another run would cost more than it may gain.
//!
//! ```text
//! Advice -> the first candidate, run -> what the others may be expected to take now -> the one that may gain most, run -> ...
//!        -> the fastest, prepared
//! ```
//! What a time says of the others: [`Conditioned`].

use super::measured::checked;
use super::{MeasuredPartition, Plan, Prepared};
use crate::{Advice, Advised, Bench, Error};
use sparsight_device::timing::measure;
use sparsight_device::{Device, DeviceError, Partition, Product, random_x};
use sparsight_kernels::Candidate;
use sparsight_matrix::{Csr, Reference, Scalar, Seconds, reference};
use sparsight_model::{Conditioned, NextRun, Prediction};
use std::num::NonZeroUsize;
use std::time::Instant;

/// How many candidates to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tries {
    /// So many, if there are as many; of one alone it is known which is the fastest without a run.
    Count(NonZeroUsize),
    /// As many as are worth it for so many products to come: before each run, what it may be expected to gain over all of them is held
    /// against what preparing and running it costs. None but the first where nothing is; not even the first, if there is no other.
    WorthIt {
        /// y = A x to come.
        products: u64,
    },
}

/// What trying a candidate takes beside its preparation before one was tried. Chosen: that of a small matrix on an H200 whose kernels
/// were compiled before.
const FIRST_TRY: Seconds = Seconds(5e-3);

/// A candidate that was run.
#[derive(Debug)]
pub struct TriedRun {
    /// Which.
    pub candidate: Candidate,
    /// What was expected of it before it was run.
    pub expected: Prediction,
    /// What it took, or why it could not be run.
    pub outcome: Result<MeasuredPartition, Error>,
}

/// The fastest of those that were run, ready for products.
pub struct Fastest<T: Scalar> {
    /// It.
    pub plan: Plan,
    /// The matrix as planned, on the device.
    pub prepared: Prepared<T>,
    /// What was run, in order; nothing where trying was not worth it, so that the first of the ranking was taken unseen.
    pub runs: Vec<TriedRun>,
    /// What another run might have gained; `None` if every candidate was run.
    pub left: Option<NextRun>,
}

impl<T: Scalar> Fastest<T> {
    /// What the chosen one took; `None` if it was taken unseen.
    pub fn measured(&self) -> Option<&MeasuredPartition> {
        let chosen = self.plan.partition().parts().first().map(|(_, candidate)| candidate);
        let run = self.runs.iter().find(|run| Some(&run.candidate) == chosen);
        run.and_then(|run| run.outcome.as_ref().ok())
    }
}

/// Runs candidates of `advice` that `device` has, the first of the ranking first, and gives the one with the least time a product,
/// prepared. What was measured tells what to expect of the others ([`Conditioned`]), so the second is the one that may gain most and need
/// not be the second of the ranking. The vendor's routines are left out.
///
/// What it takes: the preparation of each, one product on the host to hold each y to, and what the rule of `how` allows for
/// each: some milliseconds with [`StoppingRule::BRISK`](sparsight_device::timing::StoppingRule::BRISK). At most two are on the device at
/// one time. Of `how`, [`Bench::hopeless`] is not looked at.
///
/// ```
/// use sparsight::matrix::{Features, gallery::Recipe};
/// use sparsight::{Advisor, Bench, Objective, Profile, Tries, fastest};
/// # let cpu = sparsight::device::cpu::Cpu::with_threads(1)?;
/// # use sparsight::device::timing::StoppingRule;
/// # use sparsight::kernels::Dtype;
/// let profile = Profile::shipped("nvidia-h200")?;
/// let a = "stencil2d,n=30".parse::<Recipe>()?.generate::<f64>()?;
/// let objective = Objective { products: Some(1_000_000), ..Objective::default() };
/// let advice = Advisor::new(&profile).advise(&Features::of(&a), Dtype::F64, &objective)?;
/// let how = Bench { rule: StoppingRule::BRISK, ..Bench::default() };
/// # let gpu = cpu;
/// let fastest = fastest(&gpu, &a, &advice, Tries::WorthIt { products: 1_000_000 }, &how)?;
/// let (x, mut y) = (vec![1.0; a.ncols()], vec![0.0; a.nrows()]);
/// fastest.prepared.multiply(&x, &mut y)?;
/// println!("{} after {} runs", fastest.plan, fastest.runs.len());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`Error::Device`]: that of the first candidate if none could be run; [`Error::NothingToRun`] if none of them is possible here.
pub fn fastest<T: Scalar>(
    device: &dyn Device<T>,
    a: &Csr<T>,
    advice: &Advice,
    tries: Tries,
    how: &Bench,
) -> Result<Fastest<T>, Error> {
    let runs_here = |one: &&Advised| {
        let kernel = one.candidate.kernel;
        !kernel.is_vendors() && device.runs(kernel).is_ok()
    };
    let ranked: Vec<&Advised> = advice.ranked.iter().filter(runs_here).collect();
    if ranked.is_empty() {
        return Err(nothing_to_run(device, advice));
    }
    let mut trial = Trial::of(&ranked, tries);
    let x = random_x(a.ncols(), how.seed);
    let mut expected: Option<Reference> = None;
    let mut best: Option<Best<T>> = None;
    let mut runs: Vec<TriedRun> = Vec::new();
    let left = loop {
        let candidate = match trial.next() {
            Next::Run(candidate) => candidate,
            Next::Stop(left) => break left,
        };
        let Some(before) = trial.conditioned.expected(&candidate) else { break None };
        let began = Instant::now();
        let expected = expected.get_or_insert_with(|| reference(a, &x));
        let partition = Partition::whole(a.nrows(), candidate);
        let outcome = run(device, a, &partition, (&x, expected), how);
        let outcome = outcome.map(|(product, measured)| {
            if best.as_ref().is_none_or(|best| measured.timing.time < best.measured.timing.time) {
                best = Some(Best { candidate, product, measured });
            }
            measured
        });
        trial.ended(&candidate, &outcome, Seconds(began.elapsed().as_secs_f64()));
        runs.push(TriedRun { candidate, expected: before, outcome: outcome.map_err(Error::from) });
    };
    let whole = |candidate: Candidate| {
        let predicted = ranked.iter().find(|one| one.candidate == candidate).map(|one| one.prediction.time);
        Plan::whole(a.nrows(), candidate, predicted)
    };
    if let Some(Best { candidate, product, .. }) = best {
        return Ok(Fastest { plan: whole(candidate), prepared: Prepared::new(product), runs, left });
    }
    // Either nothing was worth running, or nothing could be run.
    if let Some(why) = runs.into_iter().find_map(|run| run.outcome.err()) {
        return Err(why);
    }
    let plan = whole(ranked[0].candidate);
    let prepared = plan.prepare(device, a)?;
    Ok(Fastest { plan, prepared, runs: Vec::new(), left })
}

/// The fastest so far.
struct Best<T: Scalar> {
    candidate: Candidate,
    product: Box<dyn Product<T>>,
    measured: MeasuredPartition,
}

fn run<T: Scalar>(
    device: &dyn Device<T>,
    a: &Csr<T>,
    partition: &Partition,
    reference: (&[T], &Reference),
    how: &Bench,
) -> Result<(Box<dyn Product<T>>, MeasuredPartition), DeviceError> {
    let product = checked(device, a, partition, reference)?;
    let timing = measure(|products| product.batch(products, how.caches), &how.rule)?;
    let preparation = product.preparation();
    Ok((product, MeasuredPartition { timing, preparation }))
}

/// Why none of the candidates can be run on `device`.
fn nothing_to_run<T: Scalar>(device: &dyn Device<T>, advice: &Advice) -> Error {
    let refused_here = advice.ranked.iter().find_map(|one| device.runs(one.candidate.kernel).err());
    let refused = || advice.refused.first().map(|refused| refused.why.to_string());
    let why = refused_here.map(|reason| reason.to_string()).or_else(refused);
    Error::NothingToRun { why: why.unwrap_or_else(|| "nothing is ranked".to_owned()) }
}

/// What is known, and what has been spent.
struct Trial<'a> {
    ranked: &'a [&'a Advised],
    conditioned: Conditioned,
    tries: Tries,
    /// Products that were timed.
    timed: usize,
    /// Runs, with those that failed, and what they took beside their preparations.
    ended: u32,
    spent: Seconds,
}

/// What to do.
enum Next {
    Run(Candidate),
    /// Although this is left.
    Stop(Option<NextRun>),
}

impl<'a> Trial<'a> {
    fn of(ranked: &'a [&'a Advised], tries: Tries) -> Self {
        let conditioned = Conditioned::new(ranked.iter().map(|one| (one.candidate, one.prediction.clone())));
        Self { ranked, conditioned, tries, timed: 0, ended: 0, spent: Seconds(0.0) }
    }

    /// What trying one takes beside its preparation, seconds.
    fn of_a_run(&self) -> f64 {
        if self.ended == 0 { FIRST_TRY.0 } else { self.spent.0 / f64::from(self.ended) }
    }

    fn next(&self) -> Next {
        let fastest = self.conditioned.fastest().map(|(candidate, _)| candidate);
        let is_possible = |one: &&&Advised| self.conditioned.expected(&one.candidate).is_some();
        // Before anything was timed: the first of the ranking.
        let first = || self.ranked.iter().find(is_possible).map(|one| one.candidate);
        let Some(best) = fastest.or_else(first) else { return Next::Stop(None) };
        let products = match self.tries {
            Tries::Count(_) => 1,
            Tries::WorthIt { products } => products,
        };
        let cost = |candidate: &Candidate| match self.tries {
            Tries::Count(_) => Seconds(0.0),
            Tries::WorthIt { .. } => {
                let own = self.ranked.iter().find(|one| one.candidate == *candidate);
                let preparation = own.and_then(|one| one.preparation).unwrap_or_default();
                Seconds(preparation.0 + self.of_a_run())
            }
        };
        let next = self.conditioned.next(&best, products, cost);
        let goes_on = match self.tries {
            Tries::Count(count) => self.timed < count.get() && count.get() > 1,
            Tries::WorthIt { .. } => next.is_some_and(|NextRun { candidate, gain }| {
                // The first is prepared in any case, but has to be timed before the second says anything.
                let of_the_first = if fastest.is_none() { self.of_a_run() } else { 0.0 };
                products as f64 * gain.0 > cost(&candidate).0 + of_the_first
            }),
        };
        match (goes_on, fastest, next) {
            (true, None, _) => Next::Run(best),
            (true, Some(_), Some(next)) => Next::Run(next.candidate),
            (_, _, next) => Next::Stop(next),
        }
    }

    fn ended(
        &mut self,
        candidate: &Candidate,
        outcome: &Result<MeasuredPartition, DeviceError>,
        took: Seconds,
    ) {
        let mut spent = took.0;
        if let Ok(measured) = outcome {
            self.conditioned.took(candidate, measured.timing.time);
            self.timed += 1;
            spent = (spent - measured.preparation.total().0).max(0.0);
        } else {
            // What does not fit does so with no kernel and no block size.
            let fails = |other: &Candidate| match outcome {
                Err(DeviceError::Infeasible(_)) => other.format() == candidate.format(),
                _ => other == candidate,
            };
            for one in self.ranked.iter().filter(|one| fails(&one.candidate)) {
                self.conditioned.failed(&one.candidate);
            }
        }
        self.spent.0 += spent;
        self.ended += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ModelName, Objective};
    use sparsight_device::Preparation;
    use sparsight_device::timing::{Stopped, Timing};
    use sparsight_matrix::Bytes;

    /// Predicted to take `time_us`, within a quarter, after 1 ms of preparation.
    fn advised(id: &str, time_us: f64) -> Advised {
        let at = |us: f64| Seconds(1e-6 * us);
        Advised {
            candidate: id.parse().unwrap(),
            prediction: Prediction {
                time: at(time_us),
                low: at(time_us / 1.25),
                high: at(time_us * 1.25),
                extrapolates: Vec::new(),
            },
            model: ModelName::Boosting,
            bytes: Bytes(0),
            memory: Bytes(0),
            bandwidth_fraction: None,
            preparation: Some(Seconds(1e-3)),
            pays_off_after: None,
        }
    }

    fn took(time_us: f64) -> MeasuredPartition {
        let timing = Timing {
            time: Seconds(1e-6 * time_us),
            spread: 0.0,
            samples: 5,
            alpha: 1,
            beta: 30,
            stopped: Stopped::Spread,
            sm_mhz: None,
            throttled: 0,
        };
        MeasuredPartition { timing, preparation: Preparation::default() }
    }

    /// Runs until it stops, each taking what `times` says and 4 ms beside.
    fn runs(tries: Tries, times: &[(&str, f64)]) -> (Vec<String>, Option<NextRun>) {
        let ranked: Vec<Advised> =
            [10.0, 10.2, 10.4].iter().zip(times).map(|(t, (id, _))| advised(id, *t)).collect();
        let ranked: Vec<&Advised> = ranked.iter().collect();
        let mut trial = Trial::of(&ranked, tries);
        let mut made: Vec<String> = Vec::new();
        loop {
            match trial.next() {
                Next::Stop(left) => return (made, left),
                Next::Run(candidate) => {
                    let (_, time) = times.iter().find(|(id, _)| candidate.to_string() == *id).unwrap();
                    trial.ended(&candidate, &Ok(took(*time)), Seconds(4e-3));
                    made.push(candidate.to_string());
                }
            }
        }
    }

    const THREE: [(&str, f64); 3] =
        [("csr-vector/t8/b128/f64", 12.0), ("csr-vector/t8/b256/f64", 13.0), ("coo/b128/f64", 9.0)];

    #[test]
    fn trying_is_worth_it_only_where_enough_products_are_to_come() {
        assert_eq!(runs(Tries::WorthIt { products: 100 }, &THREE).0, Vec::<String>::new());
        let (made, left) = runs(Tries::WorthIt { products: 1_000_000 }, &THREE);
        // The first took longer than it was predicted to: what is least related to it may gain most, and what is a block
        // size of it hardly anything afterwards.
        assert_eq!(made, ["csr-vector/t8/b128/f64", "coo/b128/f64"]);
        assert!(left.is_some_and(|left| left.gain.0 < 1e-8), "{left:?}");
        let (all, left) = runs(Tries::WorthIt { products: u64::MAX }, &THREE);
        assert_eq!((all.len(), left), (3, None), "for ever");
    }

    #[test]
    fn so_many_as_are_asked_for_are_run_if_there_are_as_many() {
        for (count, expected) in [(1, 0), (2, 2), (9, 3)] {
            let (made, left) = runs(Tries::Count(NonZeroUsize::new(count).unwrap()), &THREE);
            assert_eq!((made.len(), left.is_some()), (expected, expected < 3));
        }
    }

    #[test]
    fn a_matrix_is_handed_over_prepared_and_right() {
        let cpu = sparsight_device::cpu::Cpu::with_threads(1).unwrap();
        let a =
            "stencil2d,n=20".parse::<sparsight_matrix::gallery::Recipe>().unwrap().generate::<f64>().unwrap();
        let profile = crate::Profile::shipped("nvidia-h200").unwrap();
        let features = sparsight_matrix::Features::of(&a);
        let advice = crate::Advisor::new(&profile)
            .advise(&features, sparsight_matrix::Dtype::F64, &Objective::default())
            .unwrap();
        let how = Bench { rule: sparsight_device::timing::StoppingRule::BRISK, ..Bench::default() };
        for (tries, most) in
            [(Tries::Count(NonZeroUsize::new(3).unwrap()), 3), (Tries::WorthIt { products: 1 }, 0)]
        {
            let fastest = fastest(&cpu, &a, &advice, tries, &how).unwrap();
            assert_eq!(fastest.runs.len(), most);
            assert_eq!(fastest.measured().is_some(), most > 0);
            let least = fastest.runs.iter().map(|run| run.outcome.as_ref().unwrap().timing.time.0);
            let least = least.fold(f64::INFINITY, f64::min);
            assert!(fastest.measured().is_none_or(|chosen| chosen.timing.time.0 <= least));
            let (x, mut y) = (vec![1.0; a.ncols()], vec![f64::NAN; a.nrows()]);
            fastest.prepared.multiply(&x, &mut y).unwrap();
            let sum: f64 = (0..a.nrows()).map(|row| a.row(row).1.iter().sum::<f64>() - y[row]).sum();
            assert!(sum.abs() < 1e-9, "{sum}");
        }
        let nothing = Advice { ranked: Vec::new(), ..advice };
        let why = fastest(&cpu, &a, &nothing, Tries::WorthIt { products: 1 }, &how).map(|_| ()).unwrap_err();
        assert!(why.to_string().starts_with("no candidate is possible: "), "{why}");
    }
}
