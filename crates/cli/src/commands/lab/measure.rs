//! `sparsight lab measure`: bench of a corpus, added to a profile.

use crate::args::KernelFlags;
use crate::budget::{Budget, Spending, of_all_sizes};
use crate::context::Context;
use crate::device_choice::{DeviceName, runnable};
use crate::failure::{Exit, Failure};
use crate::matrix_source::{MatrixSource, matrices};
use crate::profiling;
use crate::shard::Shard;
use crate::text::{counted, matrices};
use crate::values::ValuesFlag;
use rayon::prelude::*;
use sparsight::bench::{Bench, Noise};
use sparsight::kernels::Candidate;
use sparsight::matrix::{Csr, Dtype, Features};
use sparsight::profile::ProfileFolder;
use sparsight::records::{CorpusRecord, Journal, Outcome};
use sparsight_lab::answer::{MeasureAnswer, UnreadableMatrix};
use std::collections::{HashMap, HashSet};
use std::path::PathBuf;

/// Measure a corpus of matrices, and add it to a profile
///
/// Matrices that the folder holds are skipped: the same command continues a run that was stopped, one that was killed
/// loses the current matrix, and new kernels are added to a corpus that was measured without them. Candidates 8 times slower than the best are run once.
#[derive(Debug, clap::Args)]
pub(crate) struct Measure {
    #[arg(required = true, help = matrices!(""))]
    paths: Vec<String>,
    /// Device of this machine: cpu, cuda[:N], or cuda[:N]/smM for M of its multiprocessors
    #[arg(long, value_name = "DEVICE", default_value = "cuda:0")]
    device: DeviceName,
    /// Folder of the profile
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
    /// Measure one share of the matrices: N runs with 1/N to N/N, each into its own folder, measure every matrix exactly
    /// once
    #[arg(long, value_name = "I/N")]
    shard: Option<Shard>,
    /// Stop after so long, such as 90s, 8min or 1h: matrices of all sizes in turn, none that would outlast it. The same command
    /// continues with the rest
    #[arg(long, value_name = "TIME")]
    budget: Option<Budget>,
    /// Measure nothing and open no device: recompute the features of the matrices that the folder holds, as after an update
    /// with more features
    #[arg(long, conflicts_with_all = ["device", "budget", "kernels", "blocks", "values", "dtype"])]
    features_only: bool,
    #[command(flatten)]
    kernels: KernelFlags,
    #[command(flatten)]
    pub(crate) values: ValuesFlag,
}

/// A matrix of which the folder does not hold every candidate.
struct Task {
    source: MatrixSource,
    name: String,
    missing: Vec<(Dtype, Vec<Candidate>)>,
}

impl Task {
    /// Fixed cost of a matrix whatever its size, in non-zeros. Chosen, of the size that the corpus of the shipped profile
    /// took: it only says how much time is left.
    const AT_LEAST: u64 = 2_000_000;

    /// Time it will take, in non-zeros.
    fn work(&self) -> u64 {
        self.missing.len() as u64 * (Self::AT_LEAST + self.source.expected_nnz())
    }
}

impl Measure {
    /// Remaining work of this shard. Of several sources with one name in records the first counts.
    fn plan(
        &self,
        sources: Vec<MatrixSource>,
        (dtypes, candidates): (&[Dtype], &[Candidate]),
        corpus: &Journal<CorpusRecord>,
        counts: &mut MeasureAnswer,
        context: &Context,
    ) -> Vec<Task> {
        let mut met = HashMap::new();
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
            if !is_first((&name, &source), &mut met, counts, context) {
                continue;
            }
            let known = known.entry(name.clone()).or_default();
            let mut missing = Vec::new();
            for &dtype in dtypes {
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

    /// The answer before anything was counted.
    fn counts(&self) -> MeasureAnswer {
        let (folder, shard) = (self.output.clone(), self.shard.map(|shard| shard.to_string()));
        MeasureAnswer { folder, shard, ..MeasureAnswer::default() }
    }

    pub(crate) fn run(&self, context: &Context) -> Result<Exit, Failure> {
        if self.features_only {
            return self.refresh_features(context);
        }
        let mut spending = self.budget.map(Spending::new);
        let mut counts = self.counts();
        let sources = MatrixSource::batch(&self.paths, &context.printer)?;
        let mut device = self.device.open()?;
        let mut dtypes = context.dtypes();
        let double = context.named_dtype().unwrap_or(Dtype::F64);
        if self.values.mixed(double, device.facts().kind)? {
            // It alone, unless the other is named beside it.
            dtypes = context.named_dtype().into_iter().chain([Dtype::Mixed]).collect();
        }
        let folder = ProfileFolder::create(&self.output)?;
        context.interrupt.listen();
        let mut corpus = folder.corpus()?;
        corpus.begin()?;
        profiling::begin(&folder, &mut device, None, context)?;
        self.kernels.note_value_types(&dtypes, &context.printer);
        let mut candidates = Vec::new();
        for &dtype in &dtypes {
            candidates.extend(self.kernels.candidates(device.facts().kind, dtype)?);
        }
        let candidates = runnable::<f64>(&device, candidates, context)?;
        let mut tasks = self.plan(sources, (&dtypes, &candidates), &corpus, &mut counts, context);
        if self.budget.is_some() {
            tasks.sort_by_key(Task::work);
            tasks = of_all_sizes(tasks);
        }
        let (mut noise, how) = (Noise::before(device.facts().kind), Bench::of_a_corpus(context.seed));
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
            let Some(matrix) = load(&source, &name, &mut counts, context)? else { continue };
            let features = Features::of(&matrix);
            if is_another((&name, &features), corpus.records(), &mut counts, context) {
                continue;
            }
            for (dtype, candidates) in missing {
                if dtype.of_values() == Dtype::F32
                    && matrix.values().par_iter().any(|&v| !(v as f32).is_finite())
                {
                    let why = "values beyond the range of f32".to_owned();
                    context.printer.skipped(&format!("{name} in {dtype}: {why}"));
                    counts.unreadable.push(UnreadableMatrix { matrix: name.clone(), why });
                    continue;
                }
                let record = device.bench((&name, &matrix), &features, (dtype, &candidates), &how)?;
                counts.measured += 1;
                noise.recorded(&record);
                counts.failing += usize::from(report_failures(&record, context));
                corpus.append(record)?;
                corpus.sync()?;
            }
            if let Some(spending) = &mut spending {
                spending.did(work);
            }
        }
        drop(bar);
        context.printer.warn_of(&noise);
        self.end(&counts, &corpus, context)
    }

    /// Adds to each record that the folder holds of a matrix its features, if they are other ones today.
    fn refresh_features(&self, context: &Context) -> Result<Exit, Failure> {
        let mut counts = self.counts();
        let sources = MatrixSource::batch(&self.paths, &context.printer)?;
        let folder = ProfileFolder::open(&self.output)?;
        context.interrupt.listen();
        let mut corpus = folder.corpus()?;
        corpus.begin()?;
        let mut known: HashMap<String, Vec<CorpusRecord>> = HashMap::new();
        for record in CorpusRecord::merged(corpus.records().to_vec()) {
            known.entry(record.matrix.clone()).or_default().push(record);
        }
        let mut met = HashMap::new();
        let bar = context.printer.progress(sources.len() as u64, "matrices");
        for (done, source) in sources.into_iter().enumerate() {
            context.interrupt.check().map_err(|f| f.keeping(|| self.kept(&corpus)))?;
            let name = source.record_name();
            bar.at(done as u64, name.clone());
            if self.shard.is_some_and(|shard| !shard.holds(&name)) {
                counts.elsewhere += 1;
                continue;
            }
            let Some(records) = known.get(&name) else {
                counts.unknown += 1;
                continue;
            };
            if !is_first((&name, &source), &mut met, &mut counts, context) {
                continue;
            }
            let Some(matrix) = load(&source, &name, &mut counts, context)? else { continue };
            let features = Features::of(&matrix);
            if is_another((&name, &features), records, &mut counts, context) {
                continue;
            }
            for record in records {
                if record.features == features {
                    counts.skipped += 1;
                    continue;
                }
                counts.renewed += 1;
                corpus.append(record.clone().with_features(features.clone()))?;
            }
        }
        corpus.sync()?;
        drop(bar);
        self.end(&counts, &corpus, context)
    }

    fn end(
        &self,
        counts: &MeasureAnswer,
        corpus: &Journal<CorpusRecord>,
        context: &Context,
    ) -> Result<Exit, Failure> {
        let complete = counts.unreadable.is_empty() && counts.failing == 0;
        context.printer.answer(counts, || self.print(counts, corpus, context))?;
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
        let (did, left) = if self.features_only {
            (format!("features of {} renewed", counts.renewed), format!("{} as they were", counts.skipped))
        } else {
            (format!("{} measured", counts.measured), format!("{} known before", counts.skipped))
        };
        if counts.unknown > 0 {
            let unknown = matrices(counts.unknown);
            context
                .printer
                .line(format_args!("{unknown} not in the folder: nothing was measured of them"))?;
        }
        context.printer.line(format_args!(
            "{did}, {left}, {} left out; {} holds {}",
            counts.unreadable.len(),
            self.output.display(),
            counted(corpus.records().len() as u64, "record"),
        ))?;
        if let Some(budget) = self.budget.filter(|_| counts.left > 0) {
            let left = matrices(counts.left);
            context
                .printer
                .line(format_args!("{left} left, as the {budget} were spent; the same command continues"))?;
        }
        context.printer.line(format_args!(
            "`sparsight lab fit {0}` fits the models, `sparsight lab evaluate {0}` shows their errors",
            self.output.display()
        ))
    }

    fn kept(&self, corpus: &Journal<CorpusRecord>) -> String {
        let records = counted(corpus.records().len() as u64, "record");
        format!("{records} kept in {}; the same command continues", self.output.display())
    }
}

/// The matrix; `None` if it cannot be read, of which a warning is given.
fn load(
    source: &MatrixSource,
    name: &str,
    counts: &mut MeasureAnswer,
    context: &Context,
) -> Result<Option<Csr<f64>>, Failure> {
    match source.load::<f64>(context) {
        Ok(matrix) => Ok(Some(matrix)),
        Err(Failure::Reported { message, .. }) => {
            context.printer.skipped(&message);
            counts.unreadable.push(UnreadableMatrix { matrix: name.to_owned(), why: message });
            Ok(None)
        }
        Err(other) => Err(other),
    }
}

/// Returns whether `source` is the first of this run with its `name` in records. It is passed over if it was met before, and with a warning
/// if another one was.
fn is_first(
    (name, source): (&str, &MatrixSource),
    met: &mut HashMap<String, Option<PathBuf>>,
    counts: &mut MeasureAnswer,
    context: &Context,
) -> bool {
    let place = source.file().map(|path| path.canonicalize().unwrap_or_else(|_| path.to_owned()));
    let Some(first) = met.get(name) else {
        met.insert(name.to_owned(), place);
        return true;
    };
    if *first != place {
        pass_over(name, "another file before it has this folder and name", counts, context);
    }
    false
}

/// Returns whether the matrix called `name` is another one than that of the records with this name, of which a warning is given: its
/// times and theirs would be taken for those of one.
fn is_another(
    (name, features): (&str, &Features),
    records: &[CorpusRecord],
    counts: &mut MeasureAnswer,
    context: &Context,
) -> bool {
    // What records of every version hold, computed in the same way.
    let exact = |f: &Features| (f.nrows, f.ncols, f.nnz, f.row_max, f.row_quantiles, f.hyb, f.bandwidth);
    let another =
        |record: &&CorpusRecord| record.matrix == name && exact(&record.features) != exact(features);
    let Some(record) = records.iter().find(another) else { return false };
    let (nrows, ncols, nnz, .., band) = exact(&record.features);
    let nnz = counted(nnz, "non-zero");
    let why = format!(
        "the folder holds another matrix of this name, {nrows} x {ncols} with {nnz} in a band of {band}"
    );
    pass_over(name, &why, counts, context);
    true
}

/// Warns of a matrix that is not measured, and counts it.
fn pass_over(name: &str, why: &str, counts: &mut MeasureAnswer, context: &Context) {
    context.printer.skipped(&format!("{name}: {why}"));
    counts.unreadable.push(UnreadableMatrix { matrix: name.to_owned(), why: why.to_owned() });
}

/// Warns of each candidate that failed; returns whether any did.
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
