//! `sparsight measure`: bench of a corpus, added to a profile.

use crate::args::KernelFlags;
use crate::budget::{Budget, Spending, of_all_sizes};
use crate::context::Context;
use crate::device_choice::{DeviceName, OpenDevice};
use crate::failure::{Exit, Failure};
use crate::matrix_source::MatrixSource;
use crate::profiling;
use crate::shard::Shard;
use crate::text::{counted, matrices, shown};
use rayon::prelude::*;
use sparsight::answer::{MeasureAnswer, UnreadableMatrix};
use sparsight::kernels::Candidate;
use sparsight::matrix::{Dtype, Features};
use sparsight::profile::ProfileFolder;
use sparsight::records::{CorpusRecord, Journal, Outcome};
use std::collections::{HashMap, HashSet};
use std::path::PathBuf;

/// Adds bench results of a corpus to a profile
///
/// What the folder already holds is skipped: a run that was stopped goes on with the same command, one that was killed
/// loses the matrix at hand, and new kernels are added to a corpus that was measured without them. Candidates 8 times slower than the best are run once.
#[derive(Debug, clap::Args)]
pub(crate) struct Measure {
    /// Matrices: files, folders or gallery:NAME[,key=value...]
    #[arg(required = true)]
    paths: Vec<String>,
    /// Device of this machine: cpu, cuda[:N], or cuda[:N]/smM for M of its multiprocessors
    #[arg(long, value_name = "DEVICE", default_value = "cuda:0")]
    device: DeviceName,
    /// Folder of the profile
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
    /// Measure one share of the matrices: of N runs with 1/N to N/N, each into a folder of its own, every matrix is in
    /// exactly one
    #[arg(long, value_name = "I/N")]
    shard: Option<Shard>,
    /// Stop after so long, such as 90s, 8min or 1h: matrices of all sizes in turn, none that would outlast it. The same command
    /// goes on with what is left
    #[arg(long, value_name = "TIME")]
    budget: Option<Budget>,
    #[command(flatten)]
    kernels: KernelFlags,
}

/// A matrix of which the folder does not hold every candidate.
struct Task {
    source: MatrixSource,
    name: String,
    missing: Vec<(Dtype, Vec<Candidate>)>,
}

impl Task {
    /// What a matrix costs whatever its size, in non-zeros. Chosen, of the size that the corpus of the shipped profile
    /// took: it only says how much time is left.
    const AT_LEAST: u64 = 2_000_000;

    /// Time it will take, in non-zeros.
    fn work(&self) -> u64 {
        self.missing.len() as u64 * (Self::AT_LEAST + self.source.expected_nnz())
    }
}

impl Measure {
    /// What is left to do of this shard.
    fn plan(
        &self,
        sources: Vec<MatrixSource>,
        candidates: &[Candidate],
        corpus: &Journal<CorpusRecord>,
        counts: &mut MeasureAnswer,
        context: &Context,
    ) -> Vec<Task> {
        let mut known: HashMap<String, HashSet<Candidate>> = HashMap::new();
        for record in corpus.records() {
            known.entry(record.matrix.clone()).or_default().extend(record.results.iter().map(|m| m.id));
        }
        let mut tasks = Vec::new();
        for source in sources {
            let name = source.record_name();
            if self.shard.is_some_and(|shard| !shard.holds(&name)) {
                counts.elsewhere += 1;
                continue;
            }
            let known = known.entry(name.clone()).or_default();
            let mut missing = Vec::new();
            for dtype in context.dtypes() {
                // Also what stands in the list twice is measured once.
                let new = |c: &&Candidate| c.dtype == dtype && known.insert(**c);
                let new: Vec<Candidate> = candidates.iter().filter(new).copied().collect();
                if new.is_empty() {
                    counts.skipped += 1;
                } else {
                    missing.push((dtype, new));
                }
            }
            if !missing.is_empty() {
                tasks.push(Task { source, name, missing });
            }
        }
        tasks
    }

    pub(crate) fn run(&self, context: &Context) -> Result<Exit, Failure> {
        let mut spending = self.budget.map(Spending::new);
        let mut counts = MeasureAnswer {
            folder: self.output.clone(),
            shard: self.shard.map(|shard| shard.to_string()),
            ..MeasureAnswer::default()
        };
        let sources = MatrixSource::batch(&self.paths)?;
        let mut device = OpenDevice::open(&self.device)?;
        let folder = ProfileFolder::create(&self.output)?;
        context.interrupt.listen();
        let mut corpus = folder.corpus()?;
        corpus.begin()?;
        profiling::begin(&folder, &mut device, None, context)?;
        let mut candidates = Vec::new();
        for dtype in context.dtypes() {
            candidates.extend(self.kernels.candidates(device.facts().kind, dtype)?);
        }
        let candidates = device.runnable::<f64>(candidates, context)?;
        let mut tasks = self.plan(sources, &candidates, &corpus, &mut counts, context);
        if self.budget.is_some() {
            tasks.sort_by_key(Task::work);
            tasks = of_all_sizes(tasks);
        }
        let bar = context.printer.progress(tasks.iter().map(Task::work).sum(), "matrices");
        let mut done = 0;
        for task in tasks {
            context.interrupt.check().map_err(|f| f.keeping(|| self.kept(&corpus)))?;
            let work = task.work();
            if spending.as_ref().is_some_and(|spending| !spending.has_room(work)) {
                counts.left += 1;
                continue;
            }
            bar.at(done, task.name.clone());
            done += work;
            let Task { source, name, missing } = task;
            let matrix = match source.load::<f64>(context) {
                Ok(matrix) => matrix,
                Err(Failure::Reported { message, .. }) => {
                    context.printer.warning(format_args!("skipped: {message}"));
                    counts.unreadable.push(UnreadableMatrix { matrix: name, why: message });
                    continue;
                }
                Err(other) => return Err(other),
            };
            let features = Features::of(&matrix);
            for (dtype, candidates) in missing {
                if dtype == Dtype::F32 && matrix.values().par_iter().any(|&v| !(v as f32).is_finite()) {
                    let why = "values beyond the range of f32".to_owned();
                    context.printer.warning(format_args!("skipped in f32: {name}: {why}"));
                    counts.unreadable.push(UnreadableMatrix { matrix: name.clone(), why });
                    continue;
                }
                let record = match dtype {
                    Dtype::F32 => profiling::one::<f32>(
                        &device,
                        (&name, &matrix.to_dtype()),
                        &features,
                        &candidates,
                        context,
                    ),
                    Dtype::F64 => {
                        profiling::one::<f64>(&device, (&name, &matrix), &features, &candidates, context)
                    }
                }?;
                counts.measured += 1;
                counts.failing += usize::from(report_failures(&record, context));
                corpus.append(record)?;
                corpus.sync()?;
            }
            if let Some(spending) = &mut spending {
                spending.did(work);
            }
        }
        drop(bar);
        let complete = counts.unreadable.is_empty() && counts.failing == 0;
        context.printer.answer(&counts, || self.print(&counts, &corpus, context))?;
        Ok(if complete { Exit::Done } else { Exit::No })
    }

    fn print(
        &self,
        counts: &MeasureAnswer,
        corpus: &Journal<CorpusRecord>,
        context: &Context,
    ) -> Result<(), Failure> {
        if let Some(shard) = &counts.shard {
            let elsewhere = matrices(counts.elsewhere);
            context.printer.line(format_args!("shard {shard}: {elsewhere} left to the others"))?;
        }
        context.printer.line(format_args!(
            "{} measured, {} known before, {} unreadable; {} holds {}",
            counts.measured,
            counts.skipped,
            counts.unreadable.len(),
            self.output.display(),
            counted(corpus.records().len() as u64, "record"),
        ))?;
        if let Some(budget) = self.budget.filter(|_| counts.left > 0) {
            let left = matrices(counts.left);
            context
                .printer
                .line(format_args!("{left} left, as the {budget} were spent; the same command goes on"))?;
        }
        // Otherwise each was named when it was skipped.
        if context.printer.is_quiet() {
            for UnreadableMatrix { matrix, why } in &counts.unreadable {
                context.printer.line(format_args!("unreadable: {}: {}", shown(matrix), shown(why)))?;
            }
        }
        context.printer.line(format_args!(
            "`sparsight fit {0}` fits the models, `sparsight evaluate {0}` shows their errors",
            self.output.display()
        ))
    }

    fn kept(&self, corpus: &Journal<CorpusRecord>) -> String {
        let records = counted(corpus.records().len() as u64, "record");
        format!("{records} kept in {}; the same command goes on", self.output.display())
    }
}

/// Whether any candidate failed; each is named.
fn report_failures(record: &CorpusRecord, context: &Context) -> bool {
    let mut any = false;
    for measured in &record.results {
        if let Outcome::Failed { failed } = &measured.outcome {
            context.printer.warning(format_args!("{} on {}: {failed}", measured.id, record.matrix));
            any = true;
        }
    }
    any
}
