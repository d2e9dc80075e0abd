//! Filling a profile folder: what `profile`, `measure` and the coarse profile of a CPU have in common.

use crate::budget::Spending;
use crate::context::Context;
use crate::device_choice::OpenDevice;
use crate::failure::Failure;
use crate::output_file;
use crate::printer::Printer;
use crate::text::{counted, described, words};
use sparsight::Error;
use sparsight::answer::ProfileAnswer;
use sparsight::bench::Noise;
use sparsight::bench::{Bench, bench};
use sparsight::calibrate::{Fitted, Grid, Point, Step, instrument, measure_conversion};
use sparsight::device::DeviceError;
use sparsight::kernels::{Candidate, Format, RowLengthDistribution};
use sparsight::matrix::{Csr, Dtype, Features, Scalar};
use sparsight::models::ModelName;
use sparsight::profile::{GridName, ProfileFolder, ProfiledDevice};
use sparsight::records::{BenchmarkOutcome, BenchmarkRecord, CorpusRecord};
use sparsight_lab::{shared, write_fitted};
use std::path::Path;
use std::time::{Duration, Instant};

/// Writes the device into a folder that holds none, and what it takes to convert to formats that an older folder does
/// not know; refuses a folder that holds another device. `grid`: the benchmark matrices that are asked for, if any.
pub(crate) fn begin(
    folder: &ProfileFolder,
    device: &mut OpenDevice,
    grid: Option<GridName>,
    context: &Context,
) -> Result<(), Failure> {
    if let Some(mut known) = folder.known_device(device.facts())? {
        device.convert_as(&known);
        return complete(folder, device, &mut known, grid);
    }
    context
        .printer
        .note(format_args!("measuring the bandwidth and the launch cost of {}", described(device.facts())));
    device.measure_rates();
    context.printer.detail("measuring conversions between formats");
    let converts_from_nnz = device.measure_conversion_threshold()?;
    let conversion = measure_conversion(device.of::<f64>())?.into_iter().collect();
    let grid = grid.unwrap_or_default();
    folder.write_device(&ProfiledDevice { conversion, converts_from_nnz, ..now_here(device, grid) })?;
    Ok(())
}

/// A device as it was opened, without what conversions take.
pub(crate) fn now_here(device: &OpenDevice, grid: GridName) -> ProfiledDevice {
    ProfiledDevice::now(device.facts().clone(), grid, device.cusparse(), rayon::current_num_threads())
}

/// Adds to a folder of this device what it lacks: the cost of converting to formats that are younger than the folder, from which
/// size on the device converts, and a larger grid.
fn complete(
    folder: &ProfileFolder,
    device: &mut OpenDevice,
    known: &mut ProfiledDevice,
    grid: Option<GridName>,
) -> Result<(), Failure> {
    let before = (known.conversion.len(), known.grid, known.converts_from_nnz);
    if known.converts_from_nnz.is_none() {
        known.converts_from_nnz = device.measure_conversion_threshold()?;
    }
    if Format::all().any(|format| !known.conversion.contains_key(&format)) {
        for (format, cost) in measure_conversion(device.of::<f64>())? {
            known.conversion.entry(format).or_insert(cost);
        }
    }
    if let Some(grid) = grid {
        // A folder without any benchmark matrix, of `measure`, is of no grid yet.
        let none = folder.benchmark()?.records().is_empty();
        known.grid = if none { grid } else { known.grid.max(grid) };
    }
    if (known.conversion.len(), known.grid, known.converts_from_nnz) != before {
        folder.write_device(known)?;
    }
    Ok(())
}

/// Result of a run of the benchmark matrices.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Instrumented {
    /// Points of the grid.
    pub(crate) points: usize,
    /// Points measured by this run.
    pub(crate) measured: usize,
    /// Points of this run that are beyond the memory bound.
    pub(crate) beyond: usize,
    /// Points of this run that failed.
    pub(crate) failed: usize,
    /// Points left for another run, since the budget was spent.
    pub(crate) left: usize,
}

impl Instrumented {
    /// The answer about the profile in `output`, for the device of its folder.
    pub(crate) fn answer(self, output: &Path, known: &ProfiledDevice, dtypes: Vec<Dtype>) -> ProfileAnswer {
        ProfileAnswer {
            device: (&known.facts).into(),
            folder: output.to_owned(),
            grid: known.grid,
            points: self.points,
            measured: self.measured,
            beyond_bound: self.beyond,
            failed: self.failed,
            left: self.left,
            dtypes,
            matrices: None,
        }
    }
}

/// Runs the benchmark matrices of `grid` that the folder does not hold yet, with progress, until the budget is spent, if there is
/// one. `noise` sees what was timed.
///
/// # Errors
/// [`Failure::Interrupted`] after Ctrl-C: what was measured is in the folder.
pub(crate) fn run_benchmark(
    folder: &ProfileFolder,
    device: &OpenDevice,
    grid: &Grid,
    budget: Option<&Spending>,
    noise: &mut Noise,
    context: &Context,
) -> Result<Instrumented, Failure> {
    let mut journal = folder.benchmark()?;
    journal.begin()?;
    let mut synced = Instant::now();
    let known = journal.records().to_vec();
    let mut counts = Instrumented { points: grid.points().len(), ..Instrumented::default() };
    let bar = context.printer.progress(counts.points as u64, "benchmark matrices");
    let mut new = false;
    let mut failures = Vec::new();
    let mut before = 0;
    let is_over = || budget.is_some_and(Spending::is_over);
    for part in grid.parts() {
        if is_over() {
            break;
        }
        let mut done = 0;
        let step = |step: Step<'_>| {
            done = step.done;
            bar.at((before + step.done) as u64, named(step.point));
            !context.interrupt.asked() && !is_over()
        };
        let keep = |record: BenchmarkRecord| {
            if !std::mem::replace(&mut new, true) {
                bar.reset();
            }
            match &record.outcome {
                BenchmarkOutcome::Blocks(_) => {
                    counts.measured += 1;
                    noise.benchmarked(&record);
                }
                BenchmarkOutcome::Beyond(_) => counts.beyond += 1,
                BenchmarkOutcome::Failed(why) => {
                    counts.failed += 1;
                    let BenchmarkRecord { kernel, dtype, lengths, p, .. } = &record;
                    failures.push(format!("{} {dtype}, {}: {why}", words(kernel), a_row(*p, *lengths)));
                }
            }
            journal.append(record)?;
            // What was measured in a second is the most that a loss of power takes.
            if synced.elapsed() >= Duration::from_secs(1) {
                journal.sync()?;
                synced = Instant::now();
            }
            Ok(())
        };
        let ran = match part.points()[0].dtype {
            Dtype::F32 => instrument::<f32>(device.of(), &part, &known, step, keep),
            Dtype::F64 | Dtype::Mixed => instrument::<f64>(device.of(), &part, &known, step, keep),
        };
        before += done;
        match ran {
            Err(Error::Device(DeviceError::Interrupted)) if !context.interrupt.asked() => break,
            ran => ran?,
        }
    }
    counts.left = counts.points - before;
    drop(bar);
    for failure in failures {
        context.printer.warning(failure);
    }
    Ok(counts)
}

/// `ell f64, 16 a row, I = 4`; `uniform around 16 a row` where lengths are drawn.
fn named(point: &Point) -> String {
    let (p, lengths) = (point.matrix.row_length, point.matrix.lengths);
    format!("{} {}, {}, I = {}", point.kernel, point.dtype, a_row(p, lengths), point.strips)
}

fn a_row(p: u64, lengths: RowLengthDistribution) -> String {
    if lengths.is_drawn() { format!("{lengths} around {p} a row") } else { format!("{p} a row") }
}

/// `candidates` on one matrix, as every corpus is measured.
pub(crate) fn one<T: Scalar>(
    device: &OpenDevice,
    matrix: (&str, &Csr<T>),
    features: &Features,
    candidates: &[Candidate],
    context: &Context,
) -> Result<CorpusRecord, Failure> {
    let how = Bench::of_a_corpus(context.seed);
    bench(device.of(), matrix, features, candidates, &how, |_| Ok(())).map_err(Failure::from)
}

/// Fits the models to what the folder holds and writes them. The corpus that they may learn from is that whose
/// names `trainable` accepts, and those of `others`, carried over; `train` is recorded as what was asked for.
pub(crate) fn fit_and_write(
    folder: &ProfileFolder,
    others: &[ProfileFolder],
    (train, trainable): (&[String], impl Fn(&str) -> bool),
    without: &[ModelName],
    printer: &Printer,
) -> Result<Fitted, Failure> {
    let mut fitted = sparsight::calibrate::fit(folder, others, trainable)?;
    for &model in without {
        fitted.models.leave_out(model);
    }
    fitted.models.index.train = train.to_vec();
    write_fitted(folder, &fitted)?;
    if fitted.implausible > 0 {
        printer.warning(format_args!(
            "{} in {} that nothing takes, below 10 ns for a product or beyond a day: not learned from",
            counted(fitted.implausible as u64, "time"),
            folder.path().display()
        ));
    }
    Ok(fitted)
}

/// Writes a profile into one file that can be given away ([`shared`]), and says so.
pub(crate) fn share(folder: &ProfileFolder, path: &Path, printer: &Printer) -> Result<(), Failure> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let name = name.strip_suffix(".tar.gz").or_else(|| name.strip_suffix(".tgz")).unwrap_or_default();
    if name.is_empty() {
        let text = format!("{}: the name of a shared profile ends in .tar.gz", path.display());
        return Err(Failure::input(text));
    }
    output_file::write(path, &shared(folder, name)?)?;
    printer.note(format_args!(
        "{} holds the profile with numbers in place of the names of matrices: `tar xzf` it, then `--profile {name}`",
        path.display()
    ));
    Ok(())
}
