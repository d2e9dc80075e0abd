//! `sparsight bench`: every feasible candidate run, checked and timed.

use crate::args::KernelFlags;
use crate::context::{Context, with_scalar};
use crate::csv::{CANDIDATE, Csv, CsvFlag, Layout};
use crate::device_choice::{DeviceName, runnable};
use crate::earlier_bench::EarlierBench;
use crate::failure::{Exit, Failure};
use crate::matrix_source::{MatrixSource, matrices};
use crate::output_file;
use crate::progress::Progress;
use crate::reordering::OrderFlags;
use crate::table::Table;
use crate::text::{BOLD, candidate, described, of_bandwidth, percent, title, words};
use crate::values::{ValuesFlag, what_it_changes};
use sparsight::answer::{BenchAnswer, BenchedBefore, BenchedKernel, BenchedMatrix, MeasuredOutcome};
use sparsight::bench::{MeasuredOwn, Noise, bench, bench_own};
use sparsight::calibrate::OpenDevice;
use sparsight::device::timing::{Caches, StoppingRule};
use sparsight::device::{Device, DeviceError};
use sparsight::kernels::{Candidate, DeviceFacts, OwnKernel};
use sparsight::matrix::io::read_regular_text;
use sparsight::matrix::{Csr, Dtype, Features, Narrowing, Scalar};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Run, check and time every feasible candidate on a device
#[derive(Debug, clap::Args)]
pub(crate) struct Bench {
    #[arg(required = true, help = matrices!(""))]
    paths: Vec<String>,
    /// Device of this machine: cpu, cuda[:N], or cuda[:N]/smM for M of its multiprocessors [default: cuda:0 if there is one, else cpu]
    #[arg(long, value_name = "DEVICE")]
    device: Option<DeviceName>,
    /// Empty the caches before each product
    #[arg(long)]
    cold: bool,
    #[command(flatten)]
    kernels: KernelFlags,
    #[command(flatten)]
    order: OrderFlags,
    #[command(flatten)]
    pub(crate) values: ValuesFlag,
    #[command(flatten)]
    csv: CsvFlag,
    /// Also write the table of --csv to a file
    #[arg(long, value_name = "FILE")]
    export_csv: Option<PathBuf>,
    /// Also check and time the kernels of a CUDA file of yours (docs/own-kernel.md); may be given several times
    #[arg(long, value_name = "FILE.cu")]
    kernel_file: Vec<PathBuf>,
    /// Compare with an earlier run: an answer of `bench --json`
    #[arg(long, value_name = "FILE")]
    compare: Option<PathBuf>,
    /// Take fewer samples: 2 % spread or 4 ms a candidate instead of 1 % or 0.2 s
    #[arg(long)]
    quick: bool,
}

/// A row a candidate.
const TABLE: Layout = Layout {
    rows: &["matrices", "candidates"],
    outer: &[
        "device=device.name",
        "caches",
        "sm_mhz_least=clock.sm_mhz.0",
        "sm_mhz_most=clock.sm_mhz.1",
        "throttled=clock.throttled",
    ],
    inner: &[
        &CANDIDATE,
        &[
            "measured_s",
            "spread",
            "samples",
            "bandwidth_fraction",
            "own",
            "infeasible",
            "failed",
            "before_s",
            "over_before",
            "beyond_spread",
        ],
    ],
};

/// The measurements so far.
struct Running {
    bar: Progress,
    /// Candidates done.
    done: usize,
    noise: Noise,
    matrices: Vec<BenchedMatrix>,
}

impl Bench {
    pub(crate) fn run(&self, context: &Context) -> Result<Exit, Failure> {
        with_scalar!(context.dtype(), T => self.run_as::<T>(context))
    }

    fn run_as<T: Scalar>(&self, context: &Context) -> Result<Exit, Failure> {
        let sources = self.order.of_all(MatrixSource::batch(&self.paths, &context.printer)?);
        let given = self.kernel_file.iter().chain(&self.compare).map(PathBuf::as_path);
        let inputs: Vec<&Path> = sources.iter().filter_map(MatrixSource::file).chain(given).collect();
        output_file::check(self.export_csv.as_deref(), ("the table", "--export-csv"), &inputs)?;
        let own = read_kernels(&self.kernel_file, T::DTYPE)?;
        let before = self.compare.as_deref().map(EarlierBench::read).transpose()?;
        let mut device = self.device.clone().unwrap_or_else(DeviceName::best_here).open()?;
        refuse_cpu(&own, device.facts())?;
        let noise = Noise::before(device.facts().kind);
        device.measure_rates();
        context.interrupt.listen();
        let candidates = self.kernels.candidates(device.facts().kind, T::DTYPE)?;
        let mut candidates = runnable::<T>(&device, candidates, context)?;
        let mixed = self.values.candidates(&candidates, T::DTYPE, device.facts().kind)?;
        let also = (!mixed.is_empty()).then_some(Dtype::Mixed);
        self.kernels
            .note_value_types(&[T::DTYPE].into_iter().chain(also).collect::<Vec<_>>(), &context.printer);
        candidates.extend(mixed);
        let of_own: usize = own.iter().map(|kernel| kernel.blocks().len()).sum();
        let each = candidates.len() + of_own;
        let bar = context.printer.progress((sources.len() * each) as u64, "measuring");
        let mut running = Running { bar, done: 0, noise, matrices: Vec::new() };
        let (mut unreadable, mut stopped) = (0, Ok(()));
        for (index, source) in sources.iter().enumerate() {
            running.done = index * each;
            stopped = match source.load::<T>(context) {
                Ok(matrix) => {
                    let named = (source.title(), &matrix);
                    self.one::<T>(named, &device, (&candidates[..], &own[..]), &mut running, context)
                }
                // Of several the others are measured all the same.
                Err(Failure::Reported { message, .. }) if sources.len() > 1 => {
                    context.printer.skipped(&message);
                    unreadable += 1;
                    Ok(())
                }
                Err(other) => Err(other),
            };
            if stopped.is_err() {
                break;
            }
        }
        let Running { bar, noise, matrices, .. } = running;
        drop(bar);
        if matrices.is_empty() && stopped.is_err() {
            return stopped.map(|()| Exit::Done);
        }
        let any = self.show(matrices, before.as_ref(), device.facts(), T::DTYPE, context)?;
        context.printer.warn_of(&noise);
        stopped.map_err(|failure| failure.keeping(|| "what was measured is shown above".to_owned()))?;
        Ok(if any || unreadable > 0 { Exit::No } else { Exit::Done })
    }

    /// Adds one matrix to what runs; what was measured before an interruption is added, too.
    fn one<T: Scalar>(
        &self,
        (name, matrix): (String, &Csr<T>),
        device: &OpenDevice,
        (candidates, own): (&[Candidate], &[OwnKernel]),
        running: &mut Running,
        context: &Context,
    ) -> Result<(), Failure> {
        let features = Features::of(matrix);
        let rule = if self.quick { StoppingRule::BRISK } else { StoppingRule::CAREFUL };
        let how = sparsight::bench::Bench { rule, caches: self.caches(), seed: context.seed, hopeless: None };
        let Running { bar, done, noise, matrices } = running;
        let mut of_own = Vec::new();
        for kernel in own {
            // First, so that faults of a user's kernel are reported at once.
            of_own.extend(measured_own(device.of(), matrix, kernel, &how)?);
            bar.at((*done + of_own.len()) as u64, format!("{name} {}", kernel.name()));
            if context.interrupt.asked() {
                return Err(DeviceError::Interrupted.into());
            }
        }
        *done += of_own.len();
        let mut results = Vec::new();
        let ended = bench(device.of(), (&name, matrix), &features, candidates, &how, |result| {
            results.push(result.clone());
            bar.at((*done + results.len()) as u64, format!("{name} {}", candidate(&result.id)));
            if context.interrupt.asked() { Err(DeviceError::Interrupted) } else { Ok(()) }
        });
        let clock = ended.as_ref().ok().and_then(|record| record.clock);
        let outcomes = results.iter().map(|measured| &measured.outcome);
        for outcome in outcomes.chain(of_own.iter().map(|own| &own.outcome)) {
            noise.saw(outcome);
        }
        noise.clocked(clock);
        noise.strayed(ended.as_ref().map_or(0, |record| record.far));
        matrices.push(BenchedMatrix {
            narrowing: self.values.asked().then(|| Narrowing::of(matrix)),
            ..BenchedMatrix::of(name, &features, &results, &of_own, clock, device.facts())
        });
        ended.map(|_| ()).map_err(Failure::from)
    }

    fn caches(&self) -> Caches {
        if self.cold { Caches::Cold } else { Caches::Warm }
    }

    /// Returns whether a candidate failed.
    fn show(
        &self,
        matrices: Vec<BenchedMatrix>,
        before: Option<&EarlierBench>,
        facts: &DeviceFacts,
        dtype: Dtype,
        context: &Context,
    ) -> Result<bool, Failure> {
        let mut answer = BenchAnswer { device: facts.into(), dtype, caches: self.caches(), matrices };
        if let Some(before) = before {
            before.put_beside(&mut answer, context);
        }
        let failed = |outcome: &MeasuredOutcome| matches!(outcome, MeasuredOutcome::Failed { .. });
        let any = answer.matrices.iter().flat_map(|m| &m.candidates).any(|c| failed(&c.outcome));
        let whole = answer.clone();
        let answer = answer.shortened(context.top_in_json());
        // Before stdout is written to, whose reader may go away; an error comes behind the answer.
        let exported = self.export_csv.as_ref().map(|path| {
            let mut table = Csv::new(&TABLE);
            table.add(&answer);
            output_file::write(path, table.into_text().as_bytes())
        });
        context.printer.answer(&answer, || {
            if self.csv.csv {
                return context.printer.csv(&TABLE, std::slice::from_ref(&answer));
            }
            let warmth = if self.cold { "cold" } else { "warm" };
            let heading = format!("{BOLD}{}{BOLD:#}   {dtype}   {warmth}", described(facts));
            let each = |measured| show_one(measured, before.is_some(), &heading, context);
            context.printer.apart(&whole.matrices, each)
        })?;
        exported.transpose()?;
        Ok(any)
    }
}

/// `faster` or `slower`, where that is beyond the spread.
fn change(before: BenchedBefore) -> &'static str {
    match before {
        BenchedBefore { beyond_spread: false, .. } => "",
        BenchedBefore { over_before, .. } if over_before < 1.0 => "faster",
        _ => "slower",
    }
}

/// Name in tables: `csr-vector t8 b256`, `my.cu b128`.
fn name(kernel: &BenchedKernel) -> String {
    match kernel {
        BenchedKernel::Ours(named) => candidate(&named.id),
        BenchedKernel::Own(own) => format!("{} b{}", own.kernel, own.block),
    }
}

/// `beside`: with the times of an earlier run.
fn show_one(measured: &BenchedMatrix, beside: bool, heading: &str, context: &Context) -> Result<(), Failure> {
    let out = &context.printer;
    out.line(title(&measured.matrix))?;
    out.line(heading)?;
    out.line("")?;
    let mut columns = vec!["", "<candidate", "measured", "spread", "samples", "GFLOP/s", "of bandwidth"];
    if beside {
        columns.extend(["before", "now / before", "<"]);
    }
    let mut table = Table::new(&columns);
    let flops = 2.0 * measured.matrix.nnz as f64;
    let (mut timed, mut rows) = (0, 0);
    let mut failed = Vec::new();
    let mut impossible = BTreeSet::new();
    for c in &measured.candidates {
        match &c.outcome {
            MeasuredOutcome::Time { measured_s, spread, samples } => {
                timed += 1;
                // The user's own kernel is always shown, whatever its rank.
                if timed > context.top() && matches!(c.candidate, BenchedKernel::Ours(_)) {
                    continue;
                }
                rows += 1;
                let mut cells = vec![
                    timed.to_string(),
                    name(&c.candidate),
                    measured_s.to_string(),
                    percent(*spread),
                    samples.to_string(),
                    format!("{:.2}", flops / measured_s.0 / 1e9),
                    of_bandwidth(c.bandwidth_fraction),
                ];
                if let Some(before) = c.before {
                    cells.extend([before.before_s.to_string(), format!("{:.2}", before.over_before)]);
                    cells.push(change(before).to_owned());
                }
                table.row(cells);
            }
            MeasuredOutcome::Infeasible { infeasible } | MeasuredOutcome::Unmeasured { infeasible, .. } => {
                impossible.insert(format!("{} ({infeasible})", words(c.candidate.format())));
            }
            MeasuredOutcome::Failed { failed: why } => failed.push(format!("{}: {why}", name(&c.candidate))),
        }
    }
    if rows > 0 {
        out.line(table)?;
        out.line("")?;
    }
    if let Some(narrowing) = &measured.narrowing {
        out.line(format_args!("  {}", what_it_changes(narrowing)))?;
    }
    if timed > rows {
        out.line(format_args!("  {} more: `--top {timed}`", timed - rows))?;
    }
    if !impossible.is_empty() {
        out.line(format_args!("  not possible: {}", impossible.into_iter().collect::<Vec<_>>().join(", ")))?;
    }
    for why in failed {
        out.line(format_args!("  failed: {why}"))?;
    }
    Ok(())
}

/// Kernels of the user's own, read from CUDA files for products in `dtype`. Needs no GPU.
fn read_kernels(paths: &[PathBuf], dtype: Dtype) -> Result<Vec<OwnKernel>, Failure> {
    paths.iter().map(|path| read_kernel(path, dtype)).collect()
}

fn read_kernel(path: &Path, dtype: Dtype) -> Result<OwnKernel, Failure> {
    let text =
        read_regular_text(path).map_err(|error| Failure::input(format!("{}: {error}", path.display())))?;
    let name =
        path.file_name().map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into());
    OwnKernel::read(&name, &text, dtype).map_err(|error| {
        Failure::input(error.to_string()).hinted("docs/own-kernel.md shows such a file, and what it may name")
    })
}

/// Refuses kernels of the user's own on a processor.
fn refuse_cpu(kernels: &[OwnKernel], facts: &DeviceFacts) -> Result<(), Failure> {
    match kernels.first() {
        Some(kernel) if !facts.kind.is_gpu() => {
            let (name, device) = (kernel.name(), &facts.name);
            let text = format!("{name} is a CUDA kernel, which {device} cannot run; its header is valid");
            Err(Failure::device(text).hinted(
                "name a GPU of this machine, --device cuda:0; `sparsight devices` lists what is here",
            ))
        }
        _ => Ok(()),
    }
}

/// Measures a kernel of the user's own on `a`. A fault of its file ends the run.
fn measured_own<T: Scalar>(
    device: &dyn Device<T>,
    a: &Csr<T>,
    kernel: &OwnKernel,
    how: &sparsight::bench::Bench,
) -> Result<Vec<MeasuredOwn>, Failure> {
    // SAFETY: the user's own code in the user's own process, asked for by name; docs/own-kernel.md says that what it writes
    // outside of its arrays is not contained.
    unsafe { bench_own(device, a, kernel, how) }.map_err(|error| match error {
        DeviceError::Compile { log, .. } => {
            Failure::input(format!("{} does not compile:\n{log}", kernel.name()))
        }
        DeviceError::OwnKernel(error) => Failure::input(error.to_string()),
        other => other.into(),
    })
}
