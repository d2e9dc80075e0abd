//! `sparsight bench`: every feasible candidate run, checked and timed.

use crate::args::KernelFlags;
use crate::context::Context;
use crate::device_choice::{DeviceName, OpenDevice, described};
use crate::failure::{Exit, Failure};
use crate::matrix_source::MatrixSource;
use crate::printer::BOLD;
use crate::progress::Progress;
use crate::reordering::OrderFlags;
use crate::table::Table;
use crate::text::{candidate, of_bandwidth, percent, shape};
use crate::values::ValuesFlag;
use sparsight::answer::{BenchAnswer, BenchedCandidate, BenchedMatrix};
use sparsight::bench;
use sparsight::device::DeviceError;
use sparsight::device::timing::{Caches, StoppingRule};
use sparsight::kernels::{Candidate, DeviceFacts, flops};
use sparsight::matrix::{Dtype, Features, Scalar, Seconds};
use sparsight::records::{ClockRecord, Measured, Outcome};
use std::collections::BTreeSet;

/// Every feasible candidate run on the device, checked against the reference and timed
#[derive(Debug, clap::Args)]
pub(crate) struct Bench {
    /// Matrices: files, folders or gallery:NAME[,key=value...]
    #[arg(required = true)]
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
    values: ValuesFlag,
    /// Fewer samples: 2 % spread or 4 ms a candidate instead of 1 % or 0.2 s
    #[arg(long)]
    quick: bool,
}

/// One matrix and what was measured on it.
struct Benched {
    title: String,
    features: Features,
    /// Fastest first, then what has no time.
    results: Vec<Measured>,
    clock: Option<ClockRecord>,
}

impl Bench {
    pub(crate) fn run(&self, context: &Context) -> Result<Exit, Failure> {
        match context.dtype() {
            Dtype::F32 => self.run_as::<f32>(context),
            Dtype::F64 | Dtype::Mixed => self.run_as::<f64>(context),
        }
    }

    fn run_as<T: Scalar>(&self, context: &Context) -> Result<Exit, Failure> {
        let sources = self.order.of_all(MatrixSource::batch(&self.paths)?);
        let mut device = OpenDevice::open(&self.device.clone().unwrap_or_else(DeviceName::best_here))?;
        device.measure_rates();
        context.interrupt.listen();
        let candidates = self.kernels.candidates(device.facts().kind, T::DTYPE)?;
        let mut candidates = device.runnable::<T>(candidates, context)?;
        candidates.extend(self.values.candidates(&candidates, T::DTYPE, device.facts().kind)?);
        let bar = context.printer.progress((sources.len() * candidates.len()) as u64, "measuring");
        let mut all = Vec::new();
        let mut stopped = Ok(());
        for (index, source) in sources.iter().enumerate() {
            stopped = self.one::<T>(source, &device, &candidates, index, &bar, &mut all, context);
            if stopped.is_err() {
                break;
            }
        }
        drop(bar);
        self.show(&all, device.facts(), T::DTYPE, context)?;
        stopped.map_err(|failure| failure.keeping(|| "what was measured is shown above".to_owned()))?;
        let failed = |m: &Measured| matches!(m.outcome, Outcome::Failed { .. });
        Ok(if all.iter().any(|b: &Benched| b.results.iter().any(failed)) { Exit::No } else { Exit::Done })
    }

    /// Adds one matrix to `all`; what was measured before an interruption is added, too.
    #[expect(clippy::too_many_arguments, reason = "the state of one loop, which has no other name")]
    fn one<T: Scalar>(
        &self,
        source: &MatrixSource,
        device: &OpenDevice,
        candidates: &[Candidate],
        index: usize,
        bar: &Progress,
        all: &mut Vec<Benched>,
        context: &Context,
    ) -> Result<(), Failure> {
        let matrix = source.load::<T>(context)?;
        let features = Features::of(&matrix);
        let rule = if self.quick { StoppingRule::BRISK } else { StoppingRule::CAREFUL };
        let how = sparsight::Bench { rule, caches: self.caches(), seed: context.seed, hopeless: None };
        let mut results = Vec::new();
        let name = source.title();
        let ended = bench(device.of(), (&name, &matrix), &features, candidates, &how, |result| {
            results.push(result.clone());
            bar.at((index * candidates.len() + results.len()) as u64, format!("{name} {}", result.id));
            if context.interrupt.asked() { Err(DeviceError::Interrupted) } else { Ok(()) }
        });
        results.sort_by(|a, b| time(a).total_cmp(&time(b)));
        let clock = ended.as_ref().ok().and_then(|record| record.clock);
        all.push(Benched { title: name, features, results, clock });
        ended.map(|_| ()).map_err(Failure::from)
    }

    fn caches(&self) -> Caches {
        if self.cold { Caches::Cold } else { Caches::Warm }
    }

    fn show(
        &self,
        all: &[Benched],
        facts: &DeviceFacts,
        dtype: Dtype,
        context: &Context,
    ) -> Result<(), Failure> {
        let matrices =
            all.iter().map(|b| BenchedMatrix::of(&b.title, &b.features, &b.results, b.clock, facts));
        let matrices = matrices.collect();
        let answer = BenchAnswer { device: facts.into(), dtype, caches: self.caches(), matrices };
        context.printer.answer(&answer.shortened(context.top_in_json()), || {
            for (index, benched) in all.iter().enumerate() {
                if index > 0 {
                    context.printer.line("")?;
                }
                let warmth = if self.cold { "cold" } else { "warm" };
                let heading = format!("{BOLD}{}{BOLD:#}   {dtype}   {warmth}", described(facts));
                show_one(benched, &heading, facts, context)?;
            }
            Ok(())
        })
    }
}

/// Infinite without a time, so that it sorts behind.
fn time(measured: &Measured) -> f64 {
    if let Outcome::Time { time_s, .. } = measured.outcome { time_s.0 } else { f64::INFINITY }
}

fn show_one(benched: &Benched, heading: &str, facts: &DeviceFacts, context: &Context) -> Result<(), Failure> {
    let out = &context.printer;
    out.line(format_args!("{BOLD}{}{BOLD:#}   {}", benched.title, shape(&benched.features)))?;
    out.line(heading)?;
    out.line("")?;
    let mut table =
        Table::new(&["", "<candidate", "measured", "spread", "samples", "GFLOP/s", "of bandwidth"]);
    let mut rows = 0;
    let mut failed = Vec::new();
    let mut impossible = BTreeSet::new();
    for (rank, m) in benched.results.iter().enumerate() {
        match &m.outcome {
            Outcome::Time { .. } if rank >= context.top() => {}
            Outcome::Time { time_s: Seconds(time), spread, samples } => {
                rows += 1;
                table.row([
                    (rank + 1).to_string(),
                    candidate(&m.id),
                    Seconds(*time).to_string(),
                    percent(*spread),
                    samples.to_string(),
                    format!("{:.2}", flops(&benched.features) as f64 / time / 1e9),
                    of_bandwidth(BenchedCandidate::of(m, &benched.features, facts).bandwidth_fraction),
                ]);
            }
            Outcome::Infeasible { infeasible } => {
                impossible.insert(format!("{} ({infeasible})", m.id.format()));
            }
            Outcome::Failed { failed: why } => failed.push(format!("{}: {why}", m.id)),
        }
    }
    if rows > 0 {
        out.line(table)?;
        out.line("")?;
    }
    let timed = benched.results.iter().filter(|m| time(m).is_finite()).count();
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
