//! Plans run on a device, in turn with the best single candidate and the vendor's library.

use crate::context::Context;
use crate::failure::Failure;
use sparsight::bench::Bench;
use sparsight::device::timing::StoppingRule;
use sparsight::device::{Device, DeviceError};
use sparsight::kernels::{Candidate, Execution, catalogue_on, feasible};
use sparsight::matrix::{Csr, Scalar, Seconds};
use sparsight::model::NextRun;
use sparsight::partition::{Part, Partitioning, Strategy};
use sparsight::records::{CutPart, CutRecord};
use sparsight::run::{MeasuredPartition, Tries, contest, run_partition};
use sparsight::{Advice, Error, Plan, fastest};

/// Name of the candidate that stores values in f32 beside vectors in f64.
pub(super) const IN_F32: &str = "values in f32";

/// A plan that was run.
pub(super) struct Measured {
    pub(super) what: String,
    pub(super) plan: Plan,
    pub(super) outcome: Result<MeasuredPartition, String>,
}

/// A candidate for the whole matrix and what it was predicted to take.
type Predicted = (Candidate, Seconds);

/// The first of the single candidates (`single`, and from the second on `single 2`, ...), every strategy that cuts, the one that
/// stores values in f32 (`values in f32`), and the routines of the vendor's library, timed in turn.
pub(super) fn measure<T: Scalar>(
    matrix: &Csr<T>,
    partitioning: &Partitioning,
    (singles, mixed): (&[Predicted], Option<Predicted>),
    device: &dyn Device<T>,
    context: &Context,
) -> Result<Vec<Measured>, Failure> {
    let whole = |candidate, predicted| Plan::whole(matrix.nrows(), candidate, predicted);
    let place = |at: usize| if at == 1 { "single".to_owned() } else { format!("single {at}") };
    let mut plans: Vec<(String, Plan)> = (1..)
        .zip(singles)
        .map(|(at, &(candidate, time))| (place(at), whole(candidate, Some(time))))
        .collect();
    for strategy in partitioning.strategies.iter().filter(|strategy| !is_single(strategy)) {
        plans.push((strategy.execution.to_string(), Plan::of(strategy)?));
    }
    plans.extend(mixed.map(|(candidate, time)| (IN_F32.to_owned(), whole(candidate, Some(time)))));
    let vendors = catalogue_on(device.facts().kind, T::DTYPE).filter(|c| {
        let fits = feasible(c, &partitioning.features, &device.limits()).is_ok();
        c.kernel.is_vendors() && fits && device.runs(c.kernel).is_ok()
    });
    plans.extend(vendors.map(|candidate| (candidate.kernel.to_string(), whole(candidate, None))));
    let how = how(context);
    let (names, plans): (Vec<String>, Vec<Plan>) = plans.into_iter().unzip();
    let outcomes = contest(device, matrix, &plans, &how);
    let measured = names.into_iter().zip(plans).zip(outcomes);
    Ok(measured
        .map(|((what, plan), outcome)| Measured { what, plan, outcome: outcome.map_err(|e| e.to_string()) })
        .collect())
}

/// Most of those that were tried that are timed again in turn, the fastest. Chosen: what is further behind is not the fastest.
const CONTESTANTS: usize = 8;

/// Runs single candidates to find out which are worth a place in the contest, and what another run may gain. None where none can be run:
/// the contest says why.
pub(super) fn tried<T: Scalar>(
    matrix: &Csr<T>,
    advice: &Advice,
    tries: Tries,
    device: &dyn Device<T>,
    context: &Context,
) -> Result<(Vec<Predicted>, Option<NextRun>), Failure> {
    let each = |_: &_| if context.interrupt.asked() { Err(DeviceError::Interrupted) } else { Ok(()) };
    let fastest = match fastest(device, matrix, advice, tries, &how(context), each) {
        Ok(fastest) => fastest,
        Err(interrupted @ Error::Device(DeviceError::Interrupted)) => return Err(interrupted.into()),
        Err(_) => return Ok((Vec::new(), None)),
    };
    let predicted = |candidate: &Candidate| {
        let advised = advice.ranked.iter().find(|advised| advised.candidate == *candidate)?;
        Some((*candidate, advised.prediction.time))
    };
    // What could not be run is passed over; all that are left are on the device at one time.
    let mut ran: Vec<(Seconds, Candidate)> = fastest
        .runs
        .iter()
        .filter_map(|run| Some((run.outcome.as_ref().ok()?.timing.time, run.candidate)))
        .collect();
    ran.sort_by(|a, b| a.0.0.total_cmp(&b.0.0));
    let runs = ran.iter().take(CONTESTANTS).filter_map(|(_, candidate)| predicted(candidate)).collect();
    Ok((runs, fastest.left.filter(|_| !fastest.runs.is_empty())))
}

fn how(context: &Context) -> Bench {
    Bench { rule: StoppingRule::BRISK, seed: context.seed, ..Bench::default() }
}

/// Records of the strategies that cut and were run: each part is run by itself as well. None where the cut or the
/// best single candidate failed.
pub(super) fn records<T: Scalar>(
    name: &str,
    matrix: &Csr<T>,
    partitioning: &Partitioning,
    measured: &[Measured],
    device: &dyn Device<T>,
    context: &Context,
) -> Vec<CutRecord> {
    let of = |what: &str| {
        let found = measured.iter().find(|one| one.what == what)?;
        found.outcome.as_ref().ok().map(|known| known.timing)
    };
    let part = |part: &Part, time_s: Option<Seconds>| CutPart {
        nrows: part.rows.end - part.rows.start,
        nnz: part.nnz,
        id: part.candidate,
        predicted_s: part.prediction.time,
        time_s,
    };
    let alone = |part: &Part| {
        let rows = matrix.rows(part.rows.start as usize..part.rows.end as usize);
        let whole = [(0..rows.nrows(), part.candidate)];
        let outcome = run_partition(device, &rows, &whole, Execution::Sequential, &how(context));
        outcome.ok().map(|known| known.timing.time)
    };
    let record = |strategy: &Strategy| {
        let timing = of(&strategy.execution.to_string())?;
        let single = part(&strategy.single, Some(of("single")?.time));
        let parts = strategy.parts.iter().map(|one| part(one, alone(one))).collect();
        let (matrix, model) = (name.to_owned(), partitioning.model.to_string());
        let execution = strategy.execution;
        let (time_s, spread) = (timing.time, Some(timing.spread));
        let record = CutRecord { matrix, dtype: T::DTYPE, model, execution, single, parts, time_s, spread };
        Some(record.recorded())
    };
    partitioning.strategies.iter().filter(|strategy| strategy.parts.len() > 1).filter_map(record).collect()
}

/// Returns whether the plan is the best single candidate and nothing else.
fn is_single(strategy: &Strategy) -> bool {
    strategy.parts.len() == 1 && strategy.parts[0].candidate == strategy.single.candidate
}
