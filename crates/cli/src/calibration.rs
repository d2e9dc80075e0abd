//! Output of a running calibration: progress, notes and warnings.

use crate::context::Context;
use crate::failure::Failure;
use crate::printer::Printer;
use crate::progress::Progress;
use crate::text::{counted, matrices, shown, words};
use sparsight::calibrate::{
    Benchmarked, CALIBRATION_BUDGET, CALIBRATION_MATRICES, CPU_CALIBRATION_MATRICES, Calibrated,
    CalibrationTarget, Event, Point, calibrated_profile,
};
use sparsight::device::DeviceError;
use sparsight::kernels::{DeviceFacts, DeviceKind, RowLengthDistribution};
use sparsight::matrix::Dtype;
use sparsight::records::BenchmarkRecord;
use sparsight::{Error, Profile};
use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Profile of a device of this machine from its calibration in the cache, measured now if there is none.
pub(crate) fn find_or_measure(
    target: CalibrationTarget,
    dtype: Dtype,
    context: &Context,
) -> Result<Profile, Failure> {
    let is_processor = target == CalibrationTarget::Processor;
    let mut watch = Watch::new(context, is_processor);
    let found =
        calibrated_profile(target, &[dtype], context.seed, false, &mut |event| watch.saw(event, Some(dtype)));
    let profile = found.map_err(|error| refused(error, target, watch.folder.as_deref()))?;
    let Watch { begun, .. } = watch;
    let folder = profile.folder.clone().unwrap_or_default();
    let out = &context.printer;
    let Some(begun) = begun else {
        let device = if is_processor { "processor" } else { "GPU" };
        out.detail(format_args!("calibration of this {device}: {}", folder.display()));
        return Ok(profile);
    };
    let (seconds, folder) = (begun.elapsed().as_secs_f64(), folder.display());
    match &profile.rescaled {
        Some(rescaled) => out.note(format_args!(
            "calibrated in {seconds:.0} s with {} from {}; kept in {folder}",
            matrices(rescaled.rescaling.matrices),
            rescaled.reference.name
        )),
        None if profile.device.provenance.noise.is_some() => out.warning(
            "this calibration answers now and is made again at the next use; `sparsight calibrate --device cpu -o DIR` keeps one however \
             busy the machine is",
        ),
        None => out.note(format_args!("calibrated in {seconds:.0} s; kept in {folder}")),
    }
    Ok(profile)
}

/// The error of a calibration, with what to type.
fn refused(error: Error, target: CalibrationTarget, folder: Option<&Path>) -> Failure {
    match error {
        Error::Uncalibrated { .. } if target == CalibrationTarget::Processor => Failure::input(
            "this processor was not calibrated yet, and SPARSIGHT_CALIBRATE=0 says not to do it now",
        )
        .hinted(
            "`sparsight calibrate --device cpu -o DIR` does it by hand, then `--profile DIR`; or take the profile of a GPU: --device \
             nvidia-h200",
        ),
        Error::Uncalibrated { .. } => Failure::input(format!(
            "{target} has no profile, and SPARSIGHT_CALIBRATE=0 says not to calibrate it now"
        ))
        .hinted(format!(
            "`sparsight calibrate --device {target} -o DIR` does it by hand, then `--profile DIR`; or take that of another GPU, such as \
             `--profile {}`",
            Profile::DEFAULT
        )),
        Error::NoCache => Failure::from(error)
            .hinted("set SPARSIGHT_CACHE to one, or give a profile with --profile"),
        error => Failure::from(error).keeping(|| folder.map(kept).unwrap_or_default()),
    }
}

/// Message about an interrupted calibration in `folder`.
pub(crate) fn kept(folder: &Path) -> String {
    format!("what was measured is kept in {}; the same command goes on", folder.display())
}

/// Progress and messages of one calibration.
pub(crate) struct Watch<'c> {
    context: &'c Context,
    is_processor: bool,
    /// Progress of the benchmark matrices, then of the generated ones.
    bar: Option<(&'static str, Progress)>,
    is_waiting: bool,
    has_measured: bool,
    /// Start of a calibration in the cache.
    begun: Option<Instant>,
    folder: Option<PathBuf>,
}

impl<'c> Watch<'c> {
    pub(crate) fn new(context: &'c Context, is_processor: bool) -> Self {
        let (is_waiting, has_measured) = (false, false);
        Self { context, is_processor, bar: None, is_waiting, has_measured, begun: None, folder: None }
    }

    /// Says what happens; an error after Ctrl-C. `dtype`: of the processor's calibration in the cache.
    pub(crate) fn saw(&mut self, event: Event<'_>, dtype: Option<Dtype>) -> Result<(), Error> {
        let out = &self.context.printer;
        match event {
            Event::Waiting if !self.is_waiting => {
                let device = if self.is_processor { "processor" } else { "GPU" };
                out.note(format_args!("another run is calibrating this {device}: waiting for it"));
                self.is_waiting = true;
            }
            Event::SetAside { why, aside } => {
                out.note(format_args!("{why}: set aside, with all that is in it, as {}", aside.display()));
            }
            Event::BusyMachine => {
                out.note("the machine was busy when this processor was calibrated: that is set apart");
            }
            Event::Begins { folder, .. } => {
                (self.begun, self.folder) = (Some(Instant::now()), Some(folder.to_owned()));
            }
            Event::Opened(facts) => {
                out.note(beginning(facts, dtype));
                self.context.interrupt.listen();
            }
            Event::Rates(facts) => out.note(format_args!(
                "measuring the bandwidth and the launch cost of {}",
                shown(&facts.described())
            )),
            Event::Conversions => out.detail("measuring conversions between formats"),
            Event::Benchmark { done, total, point, is_new } => {
                let is_first = is_new && !self.has_measured;
                self.has_measured |= is_new;
                let bar = self.bar("benchmark matrices", total);
                if is_first {
                    bar.reset();
                }
                bar.at(done as u64, named(point));
            }
            Event::Matrix { at, total, name } => {
                let what = if self.is_processor { "matrices" } else { "records" };
                self.bar(what, total).at(at as u64, name);
            }
            Event::Ends(done) => {
                self.bar = None;
                warn(done, &self.context.printer);
                return Ok(());
            }
            _ => {}
        }
        self.context.interrupt.check().map_err(|_| DeviceError::Interrupted.into())
    }

    fn bar(&mut self, what: &'static str, total: usize) -> &Progress {
        if self.bar.as_ref().is_none_or(|(now, _)| *now != what) {
            // The bar before is cleared first.
            self.bar = None;
            self.bar = Some((what, self.context.printer.progress(total as u64, what)));
        }
        &self.bar.as_ref().expect("it was made above").1
    }
}

/// First message: the device and the matrices of the calibration.
fn beginning(facts: &DeviceFacts, dtype: Option<Dtype>) -> String {
    let device = shown(&facts.described());
    match (facts.kind, dtype) {
        (DeviceKind::Cpu, Some(dtype)) => format!(
            "no profile of {device} in {dtype} yet: calibrating with {} generated matrices, once",
            CPU_CALIBRATION_MATRICES.lines().count()
        ),
        _ => format!(
            "no profile of {device}: calibrating with up to {} generated matrices in some {:.0} s, once",
            CALIBRATION_MATRICES.len(),
            CALIBRATION_BUDGET.0
        ),
    }
}

/// Warnings about a calibration that is complete.
fn warn(done: &Calibrated, printer: &Printer) {
    warn_failed(&done.benchmarked, printer);
    printer.warn_not_quiet(done.noise.as_deref());
    warn_implausible(done.implausible, "the profile", printer);
}

/// A warning for each benchmark matrix that failed.
pub(crate) fn warn_failed(done: &Benchmarked, printer: &Printer) {
    for (BenchmarkRecord { kernel, dtype, lengths, p, .. }, why) in &done.failed {
        printer.warning(format_args!("{} {dtype}, {}: {why}", words(kernel), row_length(*p, *lengths)));
    }
}

/// A warning about times that no model learns from.
pub(crate) fn warn_implausible(count: usize, source: impl Display, printer: &Printer) {
    if count > 0 {
        printer.warning(format_args!(
            "{} in {source} that nothing takes, below 10 ns for a product or beyond a day: not learned from",
            counted(count as u64, "time"),
        ));
    }
}

/// `ell f64, 16 a row, I = 4`; `uniform around 16 a row` where lengths are drawn.
fn named(point: &Point) -> String {
    let (p, lengths) = (point.matrix.row_length, point.matrix.lengths);
    format!("{} {}, {}, I = {}", point.kernel, point.dtype, row_length(p, lengths), point.strips)
}

fn row_length(p: u64, lengths: RowLengthDistribution) -> String {
    if lengths.is_drawn() { format!("{lengths} around {p} a row") } else { format!("{p} a row") }
}
