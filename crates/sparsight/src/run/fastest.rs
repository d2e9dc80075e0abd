//! Candidates run one after another, each telling what to run next, until another run would cost more than it may gain.
//!
//! ```text
//! Advice -> the first candidate, run -> what the others may be expected to take now -> the one that may gain most, run -> ...
//!        -> the fastest, prepared
//! ```
//! What a time says of the others: [`Conditioned`](sparsight_model::Conditioned).

use super::measured::checked;
use super::plan::check_kind;
use super::trial::{Next, Trial, Tries};
use super::{MeasuredPartition, Plan, Prepared};
use crate::advise::Advised;
use crate::bench::{Bench, RightAnswer};
use crate::{Advice, Error};
use sparsight_device::timing::{measure, took};
use sparsight_device::{Device, DeviceError, Partition, Product, random_x_for};
use sparsight_kernels::Candidate;
use sparsight_matrix::{Csr, Infeasible, Scalar, Seconds};
use sparsight_model::{NextRun, Prediction};

/// A candidate that was run.
#[derive(Debug)]
#[non_exhaustive]
pub struct TriedRun {
    /// The candidate.
    pub candidate: Candidate,
    /// Expected time before the run, of what the advice is ranked by: a product or an iteration.
    pub expected: Prediction,
    /// Measured time, or why it could not be run.
    pub outcome: Result<MeasuredPartition, Error>,
}

/// The fastest of those that were run, ready for products.
#[non_exhaustive]
pub struct Fastest<T: Scalar> {
    /// It.
    pub plan: Plan,
    /// The matrix as planned, on the device.
    pub prepared: Prepared<T>,
    /// Runs in order, with those that failed; empty if trying was not worth it, so that the first of the ranking was taken
    /// without a run.
    pub runs: Vec<TriedRun>,
    /// Expected gain of another run; `None` if every candidate was run, or could not be.
    pub left: Option<NextRun>,
}

impl<T: Scalar> Fastest<T> {
    /// Measured time of the choice; `None` if it was not run.
    pub fn measured(&self) -> Option<&MeasuredPartition> {
        let chosen = self.plan.partition().parts().first().map(|(_, candidate)| candidate);
        let run = self.runs.iter().find(|run| Some(&run.candidate) == chosen);
        run.and_then(|run| run.outcome.as_ref().ok())
    }
}

/// Runs candidates of `advice` that `device` has, the first of the ranking first, and gives the one with the least time a product,
/// prepared; of an advice [by iterations](crate::Advisor::advise_iteration) the one with the least time an iteration, in which the product is
/// measured and the rest predicted. What was measured tells what to expect of the others ([`Conditioned`](sparsight_model::Conditioned)),
/// so the second is the one that may gain most and need not be the second of the ranking. The vendor's routines are left out.
///
/// What it takes: the preparation of each, one product on the host to hold each y to, and what the rule of `how` allows for
/// each: some milliseconds with [`StoppingRule::BRISK`](sparsight_device::timing::StoppingRule::BRISK). At most two are on the device at
/// one time. Of `how`, [`Bench::hopeless`] is not looked at. `each` is told every run as soon as it ended and may stop by returning
/// an error.
///
/// ```
/// use sparsight::matrix::{Dtype, Features, gallery::Recipe};
/// use sparsight::{Advisor, Objective, Profile, bench::Bench, fastest, run::Tries};
/// # let cpu = sparsight::device::cpu::Cpu::with_threads(1)?;
/// # use sparsight::device::timing::StoppingRule;
/// let profile = Profile::shipped("nvidia-h200")?;
/// let a = "stencil2d,n=30".parse::<Recipe>()?.generate::<f64>()?;
/// let objective = Objective { products: Some(1_000_000), ..Objective::default() };
/// let advice = Advisor::new(&profile).advise(&Features::of(&a), Dtype::F64, &objective)?;
/// let how = Bench { rule: StoppingRule::BRISK, ..Bench::default() };
/// # // The processor stands for the GPU.
/// # let (gpu, kind) = (cpu, sparsight::kernels::DeviceKind::Cpu);
/// # let advice = sparsight::Advice { kind, ..advice };
/// let fastest = fastest(&gpu, &a, &advice, Tries::WorthIt { products: 1_000_000 }, &how, |_| Ok(()))?;
/// let (x, mut y) = (vec![1.0; a.ncols()], vec![0.0; a.nrows()]);
/// fastest.prepared.multiply(&x, &mut y)?;
/// println!("{} after {} runs", fastest.plan, fastest.runs.len());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`Error::PlannedForGpu`] on a processor, if the advice is for a GPU; [`Error::Device`]: what `each` returned; that of the first candidate if none could be run; [`Error::NothingToRun`] if none of them is possible here.
pub fn fastest<T: Scalar>(
    device: &dyn Device<T>,
    a: &Csr<T>,
    advice: &Advice,
    tries: Tries,
    how: &Bench,
    mut each: impl FnMut(&TriedRun) -> Result<(), DeviceError>,
) -> Result<Fastest<T>, Error> {
    check_kind(advice.kind, device)?;
    let ranked = runnable(device, advice);
    if ranked.is_empty() {
        return Err(nothing_to_run(device, advice));
    }
    let mut trial = Trial::of(&ranked, tries, advice.iteration.as_ref().map(|by| by.name));
    let x = random_x_for(a, how.seed)?;
    let right = RightAnswer::new(a, &x);
    device.begin_timing();
    let mut best: Option<Best<T>> = None;
    let mut runs: Vec<TriedRun> = Vec::new();
    let left = loop {
        let candidate = match trial.next() {
            Next::Run(candidate) => candidate,
            Next::Stop(left) => break left,
        };
        let Some(before) = trial.conditioned.expected(&candidate) else { break None };
        let partition = Partition::whole(a.nrows(), candidate);
        // Computed once for all of them.
        right.of(candidate.dtype);
        let (mut outcome, Seconds(mut spent)) = took(|| run(device, a, &partition, &right, how));
        if let (Err(DeviceError::Infeasible(Infeasible::DoesNotFit { .. })), Some(held)) =
            (&outcome, &mut best)
            && held.product.take().is_some()
        {
            // It may fit where nothing else is held; the best is prepared again at the end.
            (outcome, Seconds(spent)) = took(|| run(device, a, &partition, &right, how));
        }
        let outcome = outcome.map(|(product, measured)| {
            let time = trial.ranked_by(&candidate, measured.timing.time);
            if best.as_ref().is_none_or(|best| time < best.time) {
                best = Some(Best { candidate, product: Some(product), time });
            }
            measured
        });
        match &outcome {
            Ok(MeasuredPartition { timing, preparation }) => {
                trial.took(&candidate, timing.time, Seconds(spent - preparation.total().0));
            }
            Err(DeviceError::Interrupted) => return Err(DeviceError::Interrupted.into()),
            Err(why) => {
                trial.failed(&candidate, infeasible(why), Seconds(spent));
            }
        }
        let run = TriedRun { candidate, expected: before, outcome: outcome.map_err(Error::from) };
        each(&run)?;
        runs.push(run);
    };
    let whole = |candidate: Candidate| {
        let predicted = ranked.iter().find(|one| one.candidate == candidate).map(|one| one.prediction.time);
        Plan::whole(a.nrows(), candidate, predicted).chosen_for(advice.kind)
    };
    if let Some(Best { candidate, product: Some(product), .. }) = best {
        return Ok(Fastest { plan: whole(candidate), prepared: Prepared::new(product), runs, left });
    }
    // The fastest had to make room for another one: it is prepared again, or, if that fails now, the next fastest.
    let time = |run: &TriedRun| {
        let product = run.outcome.as_ref().ok()?.timing.time;
        Some(trial.ranked_by(&run.candidate, product).0)
    };
    let mut ran: Vec<(f64, Candidate)> =
        runs.iter().filter_map(|run| Some((time(run)?, run.candidate))).collect();
    ran.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut refused = None;
    for (_, candidate) in ran {
        let plan = whole(candidate);
        match plan.prepare(device, a) {
            Ok(prepared) => return Ok(Fastest { plan, prepared, runs, left }),
            Err(why @ Error::Device(DeviceError::Interrupted)) => return Err(why),
            Err(why) => refused = refused.or(Some(why)),
        }
    }
    if let Some(why) = refused {
        return Err(why);
    }
    // Nothing was worth running, or nothing could be run.
    let mut why = runs.iter().find_map(|run| match &run.outcome {
        Err(Error::Device(reason)) => Some(Error::Device(reason.clone())),
        _ => None,
    });
    match first_that_fits(&mut trial, &mut why, |unseen| whole(*unseen).prepare(device, a))? {
        Some((unseen, prepared)) => {
            Ok(Fastest { plan: whole(unseen), prepared, runs, left: trial.left(&unseen) })
        }
        None => Err(why.unwrap_or_else(|| nothing_to_run(device, advice))),
    }
}

/// The candidates of ours that `device` runs, as they are ranked.
pub(super) fn runnable<'a, T: Scalar>(device: &dyn Device<T>, advice: &'a Advice) -> Vec<&'a Advised> {
    let runs_here = |one: &&Advised| {
        let kernel = one.candidate.kernel;
        !kernel.is_vendors() && device.runs(kernel).is_ok()
    };
    advice.ranked.iter().filter(runs_here).collect()
}

/// Prepares the first candidate that is not known to fail, and the next of another format while it cannot be held;
/// `None` if none can. `why` is why the first could not.
///
/// # Errors
/// What went wrong if it is anything else.
pub(super) fn first_that_fits<T: Scalar>(
    trial: &mut Trial<'_>,
    why: &mut Option<Error>,
    mut prepare: impl FnMut(&Candidate) -> Result<Prepared<T>, Error>,
) -> Result<Option<(Candidate, Prepared<T>)>, Error> {
    while let Some(unseen) = trial.first() {
        match prepare(&unseen) {
            Ok(prepared) => return Ok(Some((unseen, prepared))),
            Err(Error::Device(refused)) if infeasible(&refused).is_some() => {
                trial.failed(&unseen, infeasible(&refused), Seconds(0.0));
                why.get_or_insert(refused.into());
            }
            Err(other) => return Err(other),
        }
    }
    Ok(None)
}

/// Why a matrix cannot be held, if that is what went wrong.
fn infeasible(why: &DeviceError) -> Option<&Infeasible> {
    match why {
        DeviceError::Infeasible(infeasible) => Some(infeasible),
        _ => None,
    }
}

/// The fastest so far.
struct Best<T: Scalar> {
    candidate: Candidate,
    /// `None` where it had to make room for another one.
    product: Option<Box<dyn Product<T>>>,
    /// By which it is compared: of a product or an iteration.
    time: Seconds,
}

fn run<T: Scalar>(
    device: &dyn Device<T>,
    a: &Csr<T>,
    partition: &Partition,
    right: &RightAnswer<'_, T>,
    how: &Bench,
) -> Result<(Box<dyn Product<T>>, MeasuredPartition), DeviceError> {
    let product = checked(device, a, partition, right)?;
    let timing = measure(|products| product.batch(products, how.caches), &how.rule)?;
    let preparation = product.preparation();
    Ok((product, MeasuredPartition { timing, preparation }))
}

/// Why none of the candidates can be run on `device`.
pub(super) fn nothing_to_run<T: Scalar>(device: &dyn Device<T>, advice: &Advice) -> Error {
    let refused_here = advice.ranked.iter().find_map(|one| device.runs(one.candidate.kernel).err());
    let refused = || advice.refused.first().map(|refused| refused.why.to_string());
    let why = refused_here.map(|reason| reason.to_string()).or_else(refused);
    Error::NothingToRun { why: why.unwrap_or_else(|| "nothing is ranked".to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Objective;
    use std::num::NonZeroUsize;

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
        // The processor stands for the GPU.
        let advice = Advice { kind: sparsight_kernels::DeviceKind::Cpu, ..advice };
        let how = Bench { rule: sparsight_device::timing::StoppingRule::BRISK, ..Bench::default() };
        for (tries, most) in
            [(Tries::Count(NonZeroUsize::new(3).unwrap()), 3), (Tries::WorthIt { products: 1 }, 0)]
        {
            let fastest = fastest(&cpu, &a, &advice, tries, &how, |_| Ok(())).unwrap();
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
        // The watcher of a run may stop all.
        let mut told = 0;
        let stopped = fastest(&cpu, &a, &advice, Tries::Count(NonZeroUsize::MAX), &how, |_| {
            told += 1;
            if told == 2 { Err(DeviceError::Interrupted) } else { Ok(()) }
        });
        assert!(matches!(stopped, Err(Error::Device(DeviceError::Interrupted))) && told == 2);
        // What cannot be run is passed over, also where nothing is worth a run.
        let mut padded = advice.clone();
        let dia = |one: &&Advised| one.candidate.format().name() == "dia";
        assert!(padded.ranked.iter().any(|one| dia(&one)), "a grid has few diagonals");
        padded.ranked.sort_by_key(|one| !dia(&one));
        let arrow =
            "arrow,n=3000".parse::<sparsight_matrix::gallery::Recipe>().unwrap().generate::<f64>().unwrap();
        for products in [100_000_000, 1] {
            let found =
                fastest(&cpu, &arrow, &padded, Tries::WorthIt { products }, &how, |_| Ok(())).unwrap();
            assert_eq!(found.runs.is_empty(), products == 1);
            assert!(found.runs.first().is_none_or(|run| run.outcome.is_err()));
            assert_ne!(found.plan.partition().parts()[0].1.format().name(), "dia");
        }
        let nothing = Advice { ranked: Vec::new(), ..advice };
        let why = fastest(&cpu, &a, &nothing, Tries::WorthIt { products: 1 }, &how, |_| Ok(()))
            .map(|_| ())
            .unwrap_err();
        assert!(why.to_string().starts_with("no candidate is possible: "), "{why}");
    }
}
