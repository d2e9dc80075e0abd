//! `sparsight lab profile`: measures a device.

use crate::args::size;
use crate::budget::{Budget, Spending};
use crate::commands::calibrate;
use crate::context::Context;
use crate::device_choice::DeviceName;
use crate::failure::{Exit, Failure};
use crate::links;
use crate::printer::Printer;
use crate::profiling;
use crate::text::{counted, described, grouped};
use sparsight::answer::ProfileAnswer;
use sparsight::bench::Noise;
use sparsight::calibrate::Grid;
use sparsight::kernels::RowLengthDistribution;
use sparsight::matrix::Bytes;
use sparsight::profile::{GridName, ProfileFolder};
use sparsight_lab::informative_first;
use std::path::PathBuf;

/// Measure a device, and fit every model to it
///
/// Measures the bandwidth, the launch cost and benchmark matrices.
/// Measurements are kept in the folder: the same command continues a run that was stopped.
#[derive(Debug, clap::Args)]
pub(crate) struct Profile {
    /// Device of this machine: cpu, cuda[:N], or cuda[:N]/smM for M of its multiprocessors
    #[arg(long, value_name = "DEVICE", default_value = "cuda:0")]
    device: DeviceName,
    /// Folder to write to, created if absent
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
    /// The same as `sparsight calibrate`, within seconds: a GPU then answers with rescaled predictions for another GPU, a
    /// processor with what it learned from generated matrices; both with wider intervals
    #[arg(long, conflicts_with_all = ["row_lengths", "budget", "max_bytes", "share"])]
    quick: bool,
    /// Measure only exchanges between the GPUs of this machine, within seconds, for `advise --gpus`
    #[arg(long, conflicts_with_all = ["quick", "row_lengths", "budget", "max_bytes", "share", "device"])]
    links: bool,
    /// Stop after this time, such as 90s, 8min or 1h, and fit the finished part: first what `lab transfer` needs, then some of everything.
    /// The same command continues with the rest [default: for cpu 8min, unless --max-bytes says what is wanted]
    #[arg(long, value_name = "TIME")]
    budget: Option<Budget>,
    /// Largest benchmark matrix, such as 2GB [default: the largest that fits; for cpu 1GB]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    max_bytes: Option<Bytes>,
    /// Row lengths of the benchmark matrices, such as constant alone for the models strip and strip-cache
    #[arg(long, value_name = "NAMES", value_delimiter = ',', default_value = "constant,uniform,normal")]
    row_lengths: Vec<RowLengthDistribution>,
    /// Also write the profile into one file NAME.tar.gz for others, with numbers in place of the names of matrices
    #[arg(long, value_name = "FILE")]
    share: Option<PathBuf>,
}

/// A CPU's caches are long left behind by then, and a larger bound takes hours. Chosen.
const CPU_BOUND: Bytes = Bytes(1_000_000_000);

/// Budget of a CPU: as long as a GPU takes for everything. Chosen.
const CPU_BUDGET: Budget = Budget::minutes(8);

impl Profile {
    pub(crate) fn run(&self, context: &Context) -> Result<Exit, Failure> {
        if self.links {
            return links::measure(&self.output, context);
        }
        if self.quick {
            return calibrate::by_hand(&self.device, &self.output, None, context);
        }
        let budget = self.budget();
        let spending = budget.map(Spending::new);
        let mut device = self.device.open()?;
        let folder = ProfileFolder::create(&self.output)?;
        context.interrupt.listen();
        // Whether records can be added is known before the rates are measured.
        folder.benchmark()?.begin()?;
        profiling::begin(&folder, &mut device, Some(GridName::Full), context)?;
        context.interrupt.check().map_err(|f| f.keeping(|| self.kept(0)))?;
        let bound = self.max_bytes.unwrap_or_else(|| {
            let facts = device.facts();
            if facts.kind.is_gpu() { facts.memory_bytes } else { CPU_BOUND }
        });
        let dtypes = context.dtypes();
        let grid = Grid::new(device.facts(), &dtypes, bound).only(&self.row_lengths);
        let grid = if budget.is_some() { informative_first(grid, device.facts()) } else { grid };
        let mut noise = Noise::before(device.facts().kind);
        let run = profiling::run_benchmark(&folder, &device, &grid, spending.as_ref(), &mut noise, context);
        let done = run.map_err(|failure| {
            let kept = folder.benchmark().map_or(0, |journal| journal.records().len());
            failure.keeping(|| self.kept(kept))
        })?;
        if done.measured > 0 {
            context.printer.warn_of(&noise);
        }
        fit(&folder, &context.printer).map_err(|failure| match done.beyond {
            0 => failure,
            beyond => failure.hinted(format!("{beyond} benchmarks are beyond {bound}: raise --max-bytes")),
        })?;
        let known = folder.device()?;
        let answer = ProfileAnswer::of(&done, &self.output, &known, dtypes);
        context.printer.answer(&answer, || {
            let before = answer.points - answer.measured - answer.beyond_bound - answer.failed - answer.left;
            context.printer.line(format_args!(
                "{}: {} measured, {} beyond {bound}, {} failed, {} known before; models fitted",
                described(device.facts()),
                counted(done.measured as u64, "benchmark"),
                grouped(done.beyond as u64),
                grouped(answer.failed as u64),
                grouped(before as u64)
            ))?;
            if let Some(budget) = budget.filter(|_| done.left > 0) {
                context.printer.line(format_args!(
                    "{} left, as the {budget} were spent; the same command continues",
                    counted(done.left as u64, "benchmark")
                ))?;
            }
            self.say_what_it_is_for(context)
        })?;
        if let Some(path) = &self.share {
            profiling::share(&folder, path, &context.printer)?;
        }
        Ok(if answer.failed > 0 { Exit::No } else { Exit::Done })
    }

    /// The requested time limit; without one, that of a CPU, on which all matrices up to [`CPU_BOUND`] take hours.
    fn budget(&self) -> Option<Budget> {
        let is_bounded = self.max_bytes.is_some();
        let of_cpu = || (self.device == DeviceName::CPU && !is_bounded).then_some(CPU_BUDGET);
        self.budget.or_else(of_cpu)
    }

    fn say_what_it_is_for(&self, context: &Context) -> Result<(), Failure> {
        let folder = self.output.display();
        context.printer.line(format_args!(
            "`sparsight advise A.mtx --profile {folder}` uses it, `sparsight lab measure PATHS --device {} -o {folder}` adds \
             real matrices",
            self.device
        ))
    }

    fn kept(&self, points: usize) -> String {
        let folder = self.output.display();
        format!("{} kept in {folder}; the same command continues", counted(points as u64, "benchmark"))
    }
}

/// Fits the models, the parameters of a transfer, and the data of a calibration.
fn fit(folder: &ProfileFolder, printer: &Printer) -> Result<(), Failure> {
    // What a folder was trained on before it is trained on again, and nothing else: matrices kept for testing stay so.
    let (train, before) =
        folder.models().ok().flatten().map(|m| (m.index.train, m.index.trained_on)).unwrap_or_default();
    let trainable = |name: &str| before.is_empty() || before.contains(name);
    profiling::fit_and_write(folder, &[], (&train, trainable), &[], printer).map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::super::{Lab, LabCommand};
    use crate::commands::{Args, Command};
    use clap::Parser;

    #[test]
    fn a_cpu_has_a_default_budget_unless_a_bound_is_given() {
        let budget = |flags: &str| {
            let words =
                ["sparsight", "lab", "profile", "-o", "p"].into_iter().chain(flags.split_whitespace());
            let Command::Lab(Lab { command: LabCommand::Profile(profile) }) = Args::parse_from(words).command
            else {
                unreachable!()
            };
            profile.budget().map(|budget| budget.to_string())
        };
        assert_eq!(budget("--device cpu").as_deref(), Some("8 min"));
        assert_eq!(budget("--device cpu --budget 45s").as_deref(), Some("45 s"));
        for flags in ["--device cpu --max-bytes 4MB", "--device cuda:0"] {
            assert_eq!(budget(flags), None, "{flags}");
        }
    }
}
