//! Every feasible candidate on one matrix: checked against the reference, then timed.
//!
//! `noise.rs` tells a quiet machine from a busy one, on which times are not to be trusted.

mod noise;

pub use noise::Noise;

use crate::records::{ClockRecord, CorpusRecord, Measured, Outcome, recorded};
use sparsight_device::timing::{Caches, StoppingRule, Timing, measure};
use sparsight_device::{Device, DeviceError, LoadRequest, OwnRequest, check, check_product, random_x_for};
use sparsight_kernels::{Candidate, DeviceFacts, Format, Kernel, LaunchCost, OwnKernel, feasible};
use sparsight_matrix::{Csr, Dtype, Features, Narrowing, Reference, Scalar, Seconds, reference};
use std::collections::HashMap;
use std::sync::OnceLock;

/// Conditions of a measurement.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bench {
    /// Stopping rule.
    pub rule: StoppingRule,
    /// Warm or cold.
    pub caches: Caches,
    /// Seed of x.
    pub seed: u64,
    /// A candidate whose first product takes more than this many times the least time so far on the same matrix is
    /// hopeless: it is recorded with that one time. `None`: every candidate is measured to the end.
    pub hopeless: Option<f64>,
}

/// [`Bench::hopeless`] for a corpus. Chosen: a choice that is wrong by a factor of 8 is as bad
/// as one by 8.5, and single first products are within some percent of the median. On the corpus that the shipped profile
/// was learned from, this is one candidate in seven; COO, which goes first, was at most 5.3 times as slow as the best,
/// so what is hopeless is known early.
pub const HOPELESS: f64 = 8.0;

impl Bench {
    /// Conditions under which every corpus is measured.
    pub fn of_a_corpus(seed: u64) -> Self {
        Self { rule: StoppingRule::BRISK, caches: Caches::Warm, seed, hopeless: Some(HOPELESS) }
    }
}

impl Default for Bench {
    fn default() -> Self {
        Self { rule: StoppingRule::CAREFUL, caches: Caches::Warm, seed: 1, hopeless: None }
    }
}

/// Runs `candidates` on `a`; candidates that cannot be held, fail or compute a wrong y, and routines of a library that is
/// not here, are recorded with the reason. What devices of this kind never have ([`Kernel::runs_on`]) is left out. `each` is told every result as soon as it is known and may stop the run by returning an error.
///
/// Those likely to be good run first, so that [`Bench::hopeless`] has something to compare with; the record lists
/// all in the order of `candidates`. One format at a time is converted and held. In
/// mixed precision y is held to the product of the rounded matrix; where candidates are in it and in `T`, too, the record must not be kept:
/// its results are of two types.
///
/// # Errors
/// Errors of `each`, or a failure of the device that concerns no single candidate.
pub fn bench<T: Scalar>(
    device: &dyn Device<T>,
    (name, a): (&str, &Csr<T>),
    features: &Features,
    candidates: &[Candidate],
    how: &Bench,
    each: impl FnMut(&Measured) -> Result<(), DeviceError>,
) -> Result<CorpusRecord, DeviceError> {
    let x = random_x_for(a, how.seed)?;
    let right = RightAnswer::new(a, &x);
    Ok(bench_held_to(&right, device, name, features, candidates, how, each)?.record)
}

/// Measured outcomes and the cost of preparing them.
pub(crate) struct Benched {
    pub(crate) record: CorpusRecord,
    pub(crate) prepared: Seconds,
}

/// What every product costs on a GPU whose rates were measured.
fn launch_of(facts: &DeviceFacts) -> Option<LaunchCost> {
    Some(facts.launch_cost()).filter(|cost| facts.kind.is_gpu() && cost.launch_s.0 > 0.0)
}

/// [`bench()`] of the matrix that `right` is of.
pub(crate) fn bench_held_to<T: Scalar>(
    right: &RightAnswer<'_, T>,
    device: &dyn Device<T>,
    name: &str,
    features: &Features,
    candidates: &[Candidate],
    how: &Bench,
    mut each: impl FnMut(&Measured) -> Result<(), DeviceError>,
) -> Result<Benched, DeviceError> {
    let (a, x) = (right.a(), right.x());
    let mut prepared = Seconds(0.0);
    let dtype = common_dtype(candidates, T::DTYPE);
    let mut record = CorpusRecord::new(name, dtype, how.caches, features.clone());
    record.launch = launch_of(device.facts());
    let mut timings = Vec::new();
    let mut keep = |record: &mut CorpusRecord, measured: Measured| {
        each(&measured)?;
        record.results.push(measured);
        Ok::<(), DeviceError>(())
    };
    let (mut rule, kind) = (how.rule, device.facts().kind);
    let stored = [T::DTYPE, Dtype::Mixed];
    for (format, dtype) in likely_good_first().flat_map(|format| stored.map(|dtype| (format, dtype))) {
        let mut ours = Vec::new();
        let is_one = |c: &&Candidate| (c.format(), c.dtype) == (format, dtype) && c.kernel.runs_on(kind);
        for &id in candidates.iter().filter(is_one) {
            match device.runs(id.kernel) {
                Ok(()) => ours.push(id),
                Err(reason) => keep(&mut record, Measured { id, outcome: refused(&reason)? })?,
            }
        }
        ours.sort_by(|a, b| mismatch(a.kernel, features).total_cmp(&mismatch(b.kernel, features)));
        let Some(first) = ours.first() else { continue };
        let loaded = match feasible(first, features, &device.limits()) {
            Ok(_) => device.operand(a, format, dtype),
            Err(reason) => Err(reason.into()),
        };
        let mut operand = match loaded {
            Ok(operand) => operand,
            Err(reason) => {
                let outcome = refused(&reason)?;
                for id in ours {
                    keep(&mut record, Measured { id, outcome: outcome.clone() })?;
                }
                continue;
            }
        };
        operand.set_x(x)?;
        prepared.0 += operand.preparation().total().0;
        if dtype == record.dtype {
            record.preparation.insert(format, operand.preparation().into());
        }
        for id in ours {
            let timed = one(operand.as_mut(), &id, right.of(dtype), &rule, how.caches);
            let (outcome, timing) =
                timed.or_else(|reason| Ok::<_, DeviceError>((refused(&reason)?, None)))?;
            timings.extend(timing);
            if let (Outcome::Time { time_s, .. }, Some(factor)) = (&outcome, how.hopeless) {
                rule.hopeless = Seconds(rule.hopeless.0.min(factor * time_s.0));
            }
            if let Some(time) = operand.preprocess(id.kernel) {
                record.preprocess.insert(id.kernel, recorded(time));
            }
            keep(&mut record, Measured { id, outcome })?;
        }
    }
    let places: HashMap<&Candidate, usize> = candidates.iter().zip(0..).collect();
    record.results.sort_by_key(|measured| places[&measured.id]);
    record.clock = ClockRecord::of(&timings);
    record.far = timings.iter().map(|timing| timing.far).sum();
    Ok(Benched { record, prepared })
}

/// Extra time of a first run beside the product. Chosen, far above what was seen: a hopeless product that takes longer than
/// this is not even run a second time.
const COLD_RUN: Seconds = Seconds(5e-3);

/// Formats in measuring order: first those that no row length slows down, whose time is never far from the best.
fn likely_good_first() -> impl Iterator<Item = Format> {
    let is_steady = |format: &Format| format.family().is_steady;
    Format::all().filter(is_steady).chain(Format::all().filter(move |format| !is_steady(format)))
}

/// Distance of the threads per row from the mean row length, as a logarithm.
fn mismatch(kernel: Kernel, features: &Features) -> f64 {
    let threads = f64::from(kernel.threads_per_row().unwrap_or(1));
    (threads / features.row_mean().max(1.0)).ln().abs()
}

fn one<T: Scalar>(
    operand: &mut (dyn sparsight_device::Operand<T> + '_),
    id: &Candidate,
    expected: &Reference,
    rule: &StoppingRule,
    caches: Caches,
) -> Result<(Outcome, Option<Timing>), DeviceError> {
    let first = check(operand, id, expected)?;
    if caches == Caches::Warm && first.0 > rule.hopeless.0.max(COLD_RUN.0) {
        return Ok((Outcome::once(first), None));
    }
    let timing = measure(|products| operand.batch(id, products, caches), rule)?;
    Ok((Outcome::time(&timing), Some(timing)))
}

/// Runs a user's kernel on `a`, once for each of its block sizes: checked like a candidate, and timed by the same
/// rule. The results stand in the order of [`OwnKernel::blocks`].
///
/// # Errors
/// [`DeviceError::Compile`], [`DeviceError::OwnKernel`], [`DeviceError::CannotRun`] and an interruption; what else goes wrong is a
/// result.
///
/// # Safety
/// As [`OwnRequest::new`].
pub unsafe fn bench_own<T: Scalar>(
    device: &dyn Device<T>,
    a: &Csr<T>,
    kernel: &OwnKernel,
    how: &Bench,
) -> Result<Vec<MeasuredOwn>, DeviceError> {
    use DeviceError::{CannotRun, Compile, OwnKernel};
    let x = random_x_for(a, how.seed)?;
    let right = RightAnswer::new(a, &x);
    let mut results = Vec::new();
    for &block in kernel.blocks() {
        let one = || -> Result<Timing, DeviceError> {
            // SAFETY: as the caller promises.
            let request = unsafe { OwnRequest::new(a, kernel, block) };
            let product = device.load(LoadRequest::Own(request))?;
            check_product(product.as_ref(), kernel.name(), &x, right.of(T::DTYPE))?;
            measure(|products| product.batch(products, how.caches), &how.rule)
        };
        let outcome = match one() {
            Ok(timing) => Outcome::time(&timing),
            Err(error @ (Compile { .. } | OwnKernel(_) | CannotRun { .. })) => return Err(error),
            Err(reason) => refused(&reason)?,
        };
        results.push(MeasuredOwn { kernel: kernel.clone(), block, outcome });
    }
    Ok(results)
}

/// Outcome of a user's kernel with one block size.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct MeasuredOwn {
    /// The kernel.
    pub kernel: OwnKernel,
    /// Threads a block.
    pub block: u32,
    /// Measured time, or why there is none.
    pub outcome: Outcome,
}

/// A reason as a result; an interruption stays an error.
fn refused(reason: &DeviceError) -> Result<Outcome, DeviceError> {
    match reason {
        DeviceError::Interrupted => Err(DeviceError::Interrupted),
        DeviceError::Infeasible(infeasible) => Ok(Outcome::Infeasible { infeasible: infeasible.clone() }),
        other => Ok(Outcome::Failed { failed: other.to_string() }),
    }
}

/// A x on the host, of the matrix as it is and as it is in mixed precision: each computed once, when it is first asked for.
pub(crate) struct RightAnswer<'a, T> {
    a: &'a Csr<T>,
    x: &'a [T],
    exact: OnceLock<Reference>,
    rounded: OnceLock<Reference>,
}

impl<'a, T: Scalar> RightAnswer<'a, T> {
    pub(crate) fn new(a: &'a Csr<T>, x: &'a [T]) -> Self {
        Self { a, x, exact: OnceLock::new(), rounded: OnceLock::new() }
    }

    pub(crate) fn a(&self) -> &'a Csr<T> {
        self.a
    }

    pub(crate) fn x(&self) -> &'a [T] {
        self.x
    }

    /// The reference for candidates that are computed in `dtype`.
    pub(crate) fn of(&self, dtype: Dtype) -> &Reference {
        match dtype {
            Dtype::Mixed => self.rounded.get_or_init(|| reference(&Narrowing::rounded(self.a), self.x)),
            Dtype::F32 | Dtype::F64 => self.exact.get_or_init(|| reference(self.a, self.x)),
        }
    }
}

/// The value type of all candidates; `otherwise` where they differ, or if there are none.
pub(crate) fn common_dtype(candidates: &[Candidate], otherwise: Dtype) -> Dtype {
    let first = candidates.first().map_or(otherwise, |candidate| candidate.dtype);
    if candidates.iter().all(|candidate| candidate.dtype == first) { first } else { otherwise }
}
