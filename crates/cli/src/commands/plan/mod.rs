//! `sparsight plan`: the optimal partition, beside the best single candidate.

mod measured;
mod print;

use crate::args::{ModelFlags, catalogued, names, products};
use crate::context::{Context, command_as_typed, with_scalar};
use crate::device_choice::ProfileFlags;
use crate::failure::{Exit, Failure};
use crate::many::one_by_one;
use crate::matrix_source::{MatrixSource, matrices};
use crate::output_file;
use crate::reordering::OrderFlags;
use crate::report::{Page, Reported};
use crate::text::{counted, pairs};
use crate::values::ValuesFlag;
use measured::{measure, records, tried};
use print::print;
use sparsight::advise::Advised;
use sparsight::answer::{
    AdviceProvenance, MeasuredPlan, NextRunAnswer, PlanAnswer, PlannedMatrix, PlannedPart, Structure,
};
use sparsight::bench::Noise;
use sparsight::calibrate::OpenDevice;
use sparsight::kernels::{Candidate, Execution, Format, every_candidate_on};
use sparsight::matrix::{Csr, Dtype, Narrowing, Scalar, Seconds};
use sparsight::models::ModelName;
use sparsight::partition::{Part, PartitionObjective, Partitioning, Strategy};
use sparsight::profile::ProfileFolder;
use sparsight::records::{CutPart, CutRecord, Journal};
use sparsight::run::Tries;
use sparsight::{Advisor, Objective, Profile};
use std::collections::BTreeSet;
use std::num::{NonZeroU64, NonZeroUsize};
use std::path::PathBuf;
use std::str::FromStr;

/// Predict the optimal partition of a matrix into row blocks
///
/// Each block has a format, a kernel and a block size of its own.
///
/// Rows are cut into strips, and neighbouring strips are put together in the way that takes least time in all (Guo, Wang
/// and Chen 2014). Without --run the times are predicted and nothing is run. The vendor's routines take no part. What a cut
/// takes was learned from cuts that were run, where the profile holds such; on an H200 hardly any gains more than the error of
/// the prediction: measure with --run before you rely on one. No gain is claimed for cuts of more than 20 million non-zeros: of
/// 47 matrices that were cut on an H200 or an H100 two gained over 3 %.
#[derive(Debug, clap::Args)]
#[allow(clippy::struct_excessive_bools)] // Flags of a command line.
pub(crate) struct Plan {
    #[arg(required = true, help = matrices!(""))]
    paths: Vec<String>,
    #[command(flatten)]
    profile: ProfileFlags,
    #[command(flatten)]
    model: ModelFlags,
    #[command(flatten)]
    order: OrderFlags,
    /// Plan products with A^T, too, as a separate matrix called NAME+transpose
    #[arg(long, conflicts_with = "record")]
    transpose: bool,
    /// Execution of the parts: sequential (one launch after another), fused (parts share one launch and so a block size; not
    /// with coo, csr-segmented and hyb) or both
    #[arg(long, value_name = "HOW", default_value = "both")]
    execution: Executions,
    /// Most strips that the rows are cut into [default: strips of as many rows as are worked on at one moment with a warp a
    /// row, or a multiple of that: at most 1500 strips with strip models, 48 with learned ones]
    #[arg(long, value_name = "N", value_parser = strips, allow_negative_numbers = true)]
    strips: Option<NonZeroUsize>,
    /// Formats to choose from, such as csr,ell,coo,hyb (the paper's) or "sell c32 s1024" [default: all]
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = format)]
    formats: Vec<String>,
    /// Run each plan on the device here, in turn with the best single candidate and the routines of the vendor's library
    #[arg(long)]
    run: bool,
    /// Run N single candidates, not only the first: each measured time corrects the predictions of the others, and the one with the
    /// largest expected gain runs next. auto: while the expected gain of a run exceeds its cost, over the products of --iterations
    #[arg(long = "try", value_name = "N|auto", default_value = "1", requires = "run")]
    tried: TryFlag,
    /// Products y = A x to come, for --try auto
    #[arg(long, value_name = "N", value_parser = products, allow_negative_numbers = true, requires = "run")]
    iterations: Option<NonZeroU64>,
    #[command(flatten)]
    pub(crate) values: ValuesFlag,
    /// Cut even without a gain: the best partition into at least two parts, if there are two strips
    #[arg(long)]
    cut: bool,
    /// Also write a page with pictures of the plan of one matrix: one HTML file, without scripts (docs/report.md)
    #[arg(long, value_name = "FILE", conflicts_with_all = ["transpose", "record"])]
    report: Option<PathBuf>,
    /// Add the cuts that were run to cuts.jsonl of the profile, which must be a folder: from 40 cuts of one model and
    /// execution on, `lab fit` learns the cost of cutting. Recorded cuts are not run again, so that the same command continues
    /// a run that was stopped; after `lab fit` other cuts may be the best, and the same command adds these
    #[arg(long, requires_all = ["run", "cut", "profile"], conflicts_with_all = ["placement", "row_length"])]
    record: bool,
}

/// Most strips that can be asked for: 8.4 million blocks, of 8 bytes in each of six tables. Chosen.
const MOST_STRIPS: usize = 4096;

fn strips(text: &str) -> Result<NonZeroUsize, String> {
    let count: Option<NonZeroUsize> =
        text.parse().ok().filter(|count: &NonZeroUsize| count.get() <= MOST_STRIPS);
    count.ok_or_else(|| format!("'{text}' is not a number of strips from 1 to {MOST_STRIPS}"))
}

/// Number of single candidates to run.
#[derive(Debug, Clone, Copy)]
enum TryFlag {
    Count(NonZeroUsize),
    Auto,
}

impl FromStr for TryFlag {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "auto" => Ok(Self::Auto),
            _ => text
                .parse()
                .map(Self::Count)
                .map_err(|_| format!("'{text}' is neither a number of candidates nor auto")),
        }
    }
}

/// `sequential`, `fused` or `both`.
#[derive(Debug, Clone)]
struct Executions(Vec<Execution>);

impl FromStr for Executions {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        if text == "both" {
            return Ok(Self(Execution::ALL.to_vec()));
        }
        text.parse().map(|one| Self(vec![one])).map_err(|why: String| format!("{why}, or both"))
    }
}

/// A format, with its shape (`sell c32 s1024`, `sell/c32/s1024`) or without (`sell`).
fn format(text: &str) -> Result<String, String> {
    catalogued("format", text, Format::all(), Format::name)
}

impl Plan {
    pub(crate) fn run(&self, context: &Context) -> Result<Exit, Failure> {
        with_scalar!(context.dtype(), T => self.run_as::<T>(context))
    }

    fn run_as<T: Scalar>(&self, context: &Context) -> Result<Exit, Failure> {
        let mut sources = self.order.of_all(MatrixSource::batch(&self.paths, &context.printer)?);
        output_file::check(self.report.as_deref(), ("the page", "--report"), &self.profile.inputs(&sources))?;
        if self.transpose {
            sources = sources.into_iter().flat_map(|a| [a.clone(), a.transposed()]).collect();
        }
        if self.report.is_some() && sources.len() != 1 {
            return Err(Failure::one_matrix("--report", sources.len()));
        }
        let is_drawn = sources.len() == 1 && (self.report.is_some() || context.printer.is_json());
        let tries = self.tries()?;
        let mut cuts = if self.record { Some(Cuts::of(self.profile.folder()?)?) } else { None };
        let profile = self.profile.resolve(context, T::DTYPE)?;
        let is_mixed = self.values.mixed(T::DTYPE, profile.device.facts.kind)?;
        let mut run = if self.run {
            let device = self.profile.open(&profile)?;
            let noise = Noise::before(device.facts().kind);
            Some(Running { device, tries, noise })
        } else {
            None
        };
        let profile = self.profile.at_hand(profile, run.as_ref().map(|run| &run.device), context);
        let mut matrices = Vec::new();
        let load = |source: &MatrixSource| {
            if self.run || is_mixed { source.load::<T>(context) } else { source.load_places(context) }
        };
        let mut looked = one_by_one(&sources, "planning", context, load, |at, matrix| {
            let structure = is_drawn.then(|| Structure::of(&matrix));
            let narrowing = is_mixed.then(|| Narrowing::of(&matrix));
            let asked = (run.as_mut(), cuts.as_mut(), narrowing);
            let one = self.one(&sources[at], &matrix, &profile, asked, context)?;
            matrices.extend(one.map(|one| PlannedMatrix { structure, ..one }));
            Ok(())
        });
        if matrices.is_empty() {
            looked = looked.unless_ended()?;
        }
        let whole = PlanAnswer {
            device: (&profile).into(),
            dtype: T::DTYPE,
            placement: self.model.placement,
            row_length: self.model.row_length,
            provenance: AdviceProvenance::from(&profile)
                .with_command(command_as_typed(), sparsight::device::timing::today()),
            matrices,
        };
        let answer = whole.clone().shortened(context.top_in_json());
        let planned = &whole.matrices;
        // Before stdout is written to, whose reader may go away; an error comes behind the answer.
        let page = self.report.as_ref().filter(|_| !planned.is_empty());
        let page = page.map(|file| Page::of(&Reported::from(&answer)).write(file));
        context.printer.answer(&answer, || {
            context.printer.apart(planned, |one| print(one, &profile, context))?;
            let best = |one: &PlannedMatrix| {
                let single = one.single.as_ref()?;
                Some((single.candidate.id, single.prediction.time, one.memory_bytes?))
            };
            let all = planned.iter().filter(|_| self.transpose).map(|one| (&one.matrix, best(one)));
            pairs(all).iter().try_for_each(|pair| context.printer.line(pair))?;
            let Some(Cuts { folder, added, known, .. }) = &cuts else { return Ok(()) };
            let (path, added) = (folder.path().join("cuts.jsonl"), counted(*added, "cut"));
            context.printer.line(format_args!("{added} added to {}, {known} known before", path.display()))
        })?;
        if let Some(Running { noise, .. }) = &run {
            context.printer.warn_of(noise);
        }
        page.transpose()?;
        if let (Some(file), false) = (&self.report, planned.is_empty()) {
            context.printer.note(format_args!("the page is {}", file.display()));
        }
        let is_good = |one: &PlannedMatrix| {
            !one.strategies.is_empty() && one.measured.iter().all(|run| run.failed.is_none())
        };
        looked.exit(planned.iter().all(is_good), "planned")
    }

    /// `None` if all of it was recorded before.
    fn one<T: Scalar>(
        &self,
        source: &MatrixSource,
        matrix: &Csr<T>,
        profile: &Profile,
        (run, mut cuts, narrowing): (Option<&mut Running>, Option<&mut Cuts>, Option<Narrowing>),
        context: &Context,
    ) -> Result<Option<PlannedMatrix>, Failure> {
        let is_asked = |format: Format| self.formats.iter().any(|name| names(name, format.name(), format));
        let wanted = |c: &Candidate| self.formats.is_empty() || is_asked(c.format());
        // What is planned is ours; the vendor's library is what a plan is held against.
        // Retired shapes where they are named.
        let kind = profile.device.facts.kind;
        let is_named = |c: &Candidate| self.formats.contains(&c.format().to_string());
        let ranked: BTreeSet<Candidate> = profile.candidates(T::DTYPE).collect();
        let is_ranked = |c: &Candidate| ranked.contains(c) || c.kernel.is_retired() && is_named(c);
        let ours = every_candidate_on(kind, T::DTYPE).filter(|c| !c.kernel.is_vendors()).filter(is_ranked);
        let candidates: Vec<Candidate> = ours.filter(wanted).collect();
        if self.execution.0 == [Execution::Fused] && !candidates.iter().any(|c| c.kernel.shares_a_launch()) {
            let text = "none of these formats can share one launch with others";
            return Err(Failure::input(text).hinted("use --execution sequential, or other --formats"));
        }
        let objective = PartitionObjective {
            model: self.model.model,
            placement: self.model.placement,
            row_length: self.model.row_length,
            strips: self.strips,
            executions: self.execution.0.clone(),
            cut_always: self.cut,
        };
        let mut partitioning = Advisor::new(profile).partition(matrix, &candidates, &objective)?;
        let name = source.record_name();
        if let Some(cuts) = cuts.as_deref_mut() {
            let model = partitioning.model;
            let planned = partitioning.strategies.len();
            partitioning.strategies.retain(|strategy| !cuts.has(&name, T::DTYPE, model, strategy));
            if planned > 0 && partitioning.strategies.is_empty() {
                return Ok(None);
            }
        }
        let mixed = match narrowing {
            Some(Narrowing { too_large: 0, .. }) => self.mixed(profile, &partitioning, &wanted)?,
            _ => None,
        };
        let mut planned = PlannedMatrix {
            mixed: mixed.as_ref().map(PlannedPart::from),
            narrowing,
            ..PlannedMatrix::of(source.title(), &partitioning)
        };
        let Some(Running { device, tries, noise }) = run else { return Ok(Some(planned)) };
        let device = device.of();
        let single = partitioning.strategies.first().map(|s| (s.single.candidate, s.single.prediction.time));
        let mut singles: Vec<(Candidate, Seconds)> = single.into_iter().collect();
        if *tries != Tries::Count(NonZeroUsize::MIN) {
            let objective = self.model.objective(None);
            let mut advice = Advisor::new(profile).advise(&partitioning.features, T::DTYPE, &objective)?;
            advice.ranked.retain(|advised| candidates.contains(&advised.candidate));
            let (tried, next) = tried(matrix, &advice, *tries, device, context)?;
            let others = tried.into_iter().filter(|(one, _)| Some(*one) != single.map(|(first, _)| first));
            singles.extend(others);
            planned.next_run = next.as_ref().map(NextRunAnswer::from);
        }
        let mixed = mixed.as_ref().map(|part| (part.candidate, part.prediction.time));
        let measured = measure(matrix, &partitioning, (&singles, mixed), device, context)?;
        measured.iter().filter_map(|m| m.outcome.as_ref().ok()).for_each(|ran| noise.took(&ran.timing));
        if let Some(cuts) = cuts {
            for record in records(&name, matrix, &partitioning, &measured, device, context) {
                cuts.journal.append(record)?;
                cuts.journal.sync()?;
                cuts.added += 1;
            }
        }
        let runs = measured.iter().map(|m| MeasuredPlan::of(&m.what, &m.plan, &m.outcome));
        Ok(Some(planned.with_measured(runs.collect())))
    }

    /// The whole matrix in the best candidate that stores its values in f32, among those `wanted`.
    fn mixed(
        &self,
        profile: &Profile,
        partitioning: &Partitioning,
        wanted: &dyn Fn(&Candidate) -> bool,
    ) -> Result<Option<Part>, Failure> {
        let objective = Objective { mixed_precision: true, ..self.model.objective(None) };
        let advice = Advisor::new(profile).advise(&partitioning.features, Dtype::F64, &objective)?;
        let is_ours = |c: &Candidate| c.dtype == Dtype::Mixed && !c.kernel.is_vendors() && wanted(c);
        let best = advice.ranked.into_iter().find(|advised| is_ours(&advised.candidate));
        let features = &partitioning.features;
        Ok(best.map(|Advised { candidate, model, prediction, .. }| Part {
            strips: 0..partitioning.strips,
            rows: 0..features.nrows,
            nnz: features.nnz,
            candidate,
            model,
            prediction,
        }))
    }

    fn tries(&self) -> Result<Tries, Failure> {
        match (self.tried, self.iterations) {
            (TryFlag::Count(_), Some(_)) => Err(Failure::input(
                "--iterations limits the cost of --try auto, and has no other meaning here",
            )
            .hinted("`sparsight advise --iterations` ranks by conversion and all products")),
            (TryFlag::Count(count), None) => Ok(Tries::Count(count)),
            (TryFlag::Auto, Some(products)) => Ok(Tries::WorthIt { products: products.get() }),
            (TryFlag::Auto, None) => {
                Err(Failure::input("--try auto weighs the expected gain of a run against its cost")
                    .hinted("say how many products are to come: --iterations 1e6"))
            }
        }
    }
}

/// The cuts of a profile, and how many of those asked for were added and known.
struct Cuts {
    folder: ProfileFolder,
    journal: Journal<CutRecord>,
    added: u64,
    known: u64,
}

impl Cuts {
    fn of(folder: ProfileFolder) -> Result<Self, Failure> {
        let mut journal = folder.cuts()?;
        journal.begin()?;
        Ok(Self { journal, folder, added: 0, known: 0 })
    }

    /// Returns whether this cut of the matrix was run before, with about the same predictions; counts it if so.
    fn has(&mut self, matrix: &str, dtype: Dtype, model: ModelName, strategy: &Strategy) -> bool {
        let is_same_part = |(known, part): (&CutPart, &Part)| {
            let is_near = (known.predicted_s.0 / part.prediction.time.0 - 1.0).abs() < 0.05;
            known.nrows == part.rows.end - part.rows.start && known.id == part.candidate && is_near
        };
        let is_same = |cut: &CutRecord| {
            let of = (cut.matrix.as_str(), cut.dtype, cut.execution, cut.model.as_str());
            of == (matrix, dtype, strategy.execution, &model.to_string())
                && cut.parts.len() == strategy.parts.len()
                && cut.parts.iter().zip(&strategy.parts).all(is_same_part)
        };
        let is_known = self.journal.records().iter().any(is_same);
        self.known += u64::from(is_known);
        is_known
    }
}

/// The device that plans are run on.
struct Running {
    device: OpenDevice,
    tries: Tries,
    noise: Noise,
}
