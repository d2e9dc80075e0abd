//! Filling a profile folder: what `profile`, `measure` and the quick profile of a CPU have in common.

use crate::context::Context;
use crate::device_choice::{OpenDevice, described};
use crate::failure::Failure;
use sparsight::kernels::{Format, RowLengthDistribution};
use sparsight::matrix::Dtype;
use sparsight::profile::{DEVICE_SCHEMA, ProfileFolder, ProfiledDevice, Provenance};
use sparsight::records::{BenchmarkOutcome, BenchmarkRecord};
use sparsight::{Grid, Point, Step, instrument, measure_conversion};

/// Writes the device into a folder that holds none, and what it takes to convert to formats that an older folder does
/// not know; refuses a folder that holds another device.
pub(crate) fn begin(
    folder: &ProfileFolder,
    device: &mut OpenDevice,
    context: &Context,
) -> Result<(), Failure> {
    if folder.has_device() {
        let mut known = folder.device()?;
        if device.is(&known.facts) {
            let before = known.clone();
            // A folder that is older than a format lacks what it takes to convert to it.
            if Format::ALL.iter().any(|format| !known.conversion.contains_key(format)) {
                for (format, cost) in measure_conversion(device.of::<f64>())? {
                    known.conversion.entry(format).or_insert(cost);
                }
            }
            if known.provenance.cusparse.is_empty() {
                known.provenance.cusparse = device.cusparse();
            }
            if known != before {
                folder.write_device(&known)?;
            }
            return Ok(());
        }
        let known = known.facts;
        let path = folder.path().display();
        let text =
            format!("{path} is a profile of {}, not of {}", described(&known), described(device.facts()));
        return Err(Failure::input(text).hinted("give another folder with -o"));
    }
    context
        .printer
        .note(format_args!("measuring the bandwidth and the launch cost of {}", described(device.facts())));
    device.measure_rates();
    context.printer.detail("measuring conversions between formats");
    let conversion = measure_conversion(device.of::<f64>())?.into_iter().collect();
    let facts = device.facts().clone();
    let provenance = Provenance {
        cusparse: device.cusparse(),
        ..Provenance::now(&facts.driver, rayon::current_num_threads())
    };
    folder.write_device(&ProfiledDevice {
        schema: DEVICE_SCHEMA.to_owned(),
        facts,
        conversion,
        provenance,
    })?;
    Ok(())
}

/// What a run of the benchmark matrices did.
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
}

/// Runs the benchmark matrices of `grid` that the folder does not hold yet, with progress.
///
/// # Errors
/// [`Failure::Interrupted`] after Ctrl-C: what was measured is in the folder.
pub(crate) fn run_benchmark(
    folder: &ProfileFolder,
    device: &OpenDevice,
    grid: &Grid,
    context: &Context,
) -> Result<Instrumented, Failure> {
    let mut journal = folder.benchmark()?;
    let known = journal.records().to_vec();
    let mut counts = Instrumented { points: grid.points().len(), ..Instrumented::default() };
    let bar = context.printer.progress(counts.points as u64, "benchmark matrices");
    let mut new = false;
    let mut failures = Vec::new();
    let mut before = 0;
    for part in grid.parts() {
        let step = |step: Step<'_>| {
            bar.at((before + step.done) as u64, named(step.point));
            !context.interrupt.asked()
        };
        let keep = |record: BenchmarkRecord| {
            if !std::mem::replace(&mut new, true) {
                bar.reset();
            }
            match &record.outcome {
                BenchmarkOutcome::Blocks(_) => counts.measured += 1,
                BenchmarkOutcome::Beyond(_) => counts.beyond += 1,
                BenchmarkOutcome::Failed(why) => {
                    counts.failed += 1;
                    let BenchmarkRecord { kernel, dtype, lengths, p, .. } = &record;
                    failures.push(format!("{kernel} {dtype}, {}: {why}", a_row(*p, *lengths)));
                }
            }
            journal.append(record)
        };
        match part.points()[0].dtype {
            Dtype::F32 => instrument::<f32>(device.of(), &part, &known, step, keep),
            Dtype::F64 => instrument::<f64>(device.of(), &part, &known, step, keep),
        }?;
        before += part.points().len();
    }
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

/// Fits the models to what the folder holds and writes them. The corpus that they may learn from is that whose
/// names `trainable` accepts; `train` is recorded as what was asked for.
pub(crate) fn fit_and_write(
    folder: &ProfileFolder,
    train: &[String],
    trainable: impl Fn(&str) -> bool,
) -> Result<sparsight::profile::Models, Failure> {
    let mut models = sparsight::fit(folder, trainable)?;
    models.train = train.to_vec();
    folder.write_models(&models)?;
    Ok(models)
}
