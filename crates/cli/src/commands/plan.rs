//! `sparsight plan`: the optimal partition, beside the best single candidate.

use crate::args::ModelFlags;
use crate::context::Context;
use crate::device_choice::{OpenDevice, ProfileFlags};
use crate::failure::{Exit, Failure};
use crate::json::{CandidateJson, DeviceJson, Document, MatrixJson, PredictionJson};
use crate::matrix_source::MatrixSource;
use crate::printer::BOLD;
use crate::table::Table;
use crate::text::{between, candidate, counted, grouped, heading, percent, shape};
use serde::Serialize;
use sparsight::device::Device;
use sparsight::device::timing::StoppingRule;
use sparsight::kernels::{Candidate, Execution, Format, catalogue_on, feasible};
use sparsight::matrix::{Csr, Dtype, Scalar, Seconds};
use sparsight::{
    Advisor, Bench, MeasuredPartition, Part, PartitionObjective, Partitioning, Plan as Runnable, Profile,
    Strategy, contest,
};
use std::num::NonZeroUsize;
use std::str::FromStr;

/// The optimal partition: row blocks, a format, kernel and block size for each, and the predicted total
///
/// Rows are cut into strips, and neighbouring strips are put together in the way that takes least time in all (Guo, Wang
/// and Chen 2014). Without --run the times are predicted and nothing is run.
#[derive(Debug, clap::Args)]
pub(crate) struct Plan {
    /// Matrices: files, folders or gallery:NAME[,key=value...]
    #[arg(required = true)]
    paths: Vec<String>,
    #[command(flatten)]
    profile: ProfileFlags,
    #[command(flatten)]
    model: ModelFlags,
    /// How the parts are run: sequential (one launch after another), fused (parts share one launch and so a block size; not
    /// with coo and hyb) or both
    #[arg(long, value_name = "HOW", default_value = "both")]
    execution: Executions,
    /// Most strips that the rows are cut into [default: strips of as many rows as are worked on at one moment with a warp a
    /// row, or a multiple of that: at most 1500 strips with strip models, 48 with learned ones]
    #[arg(long, value_name = "N", value_parser = strips)]
    strips: Option<NonZeroUsize>,
    /// Formats to choose from, such as csr,ell,coo,hyb (the paper's) or sell/c32/s1024 [default: all]
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    formats: Vec<FormatName>,
    /// Run each plan on the device here, in turn with the best single candidate and the routines of the vendor's library
    #[arg(long)]
    run: bool,
}

/// Most strips that can be asked for: 8.4 million blocks, of 8 bytes in each of six tables. Chosen.
const MOST_STRIPS: usize = 4096;

fn strips(text: &str) -> Result<NonZeroUsize, String> {
    let count: Option<NonZeroUsize> =
        text.parse().ok().filter(|count: &NonZeroUsize| count.get() <= MOST_STRIPS);
    count.ok_or_else(|| format!("'{text}' is no number of strips from 1 to {MOST_STRIPS}"))
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

/// A format, with its shape (`sell/c32/s1024`) or without (`sell`).
#[derive(Debug, Clone)]
struct FormatName(String);

impl FormatName {
    fn names(&self, format: Format) -> bool {
        self.0 == format.name() || self.0 == format.to_string()
    }
}

impl FromStr for FormatName {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let name = Self(text.to_owned());
        if Format::ALL.into_iter().any(|format| name.names(format)) {
            return Ok(name);
        }
        let known: Vec<String> = Format::ALL.iter().map(ToString::to_string).collect();
        Err(format!("unknown format '{text}': {}", known.join(", ")))
    }
}

#[derive(Serialize)]
struct PlansJson {
    device: DeviceJson,
    dtype: Dtype,
    placement: sparsight::model::PlacementRule,
    row_length: sparsight::model::RowLengthRule,
    matrices: Vec<PlanJson>,
}

#[derive(Serialize)]
struct PlanJson {
    matrix: MatrixJson,
    model: String,
    strips: usize,
    strip_rows: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    single: Option<PartJson>,
    strategies: Vec<StrategyJson>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    measured: Vec<MeasuredJson>,
}

#[derive(Serialize)]
struct MeasuredJson {
    /// `single`, `sequential` or `fused`, else the id of a routine of the vendor's.
    what: String,
    /// A candidate, or the parts.
    plan: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    time_s: Option<Seconds>,
    #[serde(skip_serializing_if = "Option::is_none")]
    spread: Option<f64>,
    /// Conversion, preprocessing and upload.
    #[serde(skip_serializing_if = "Option::is_none")]
    preparation_s: Option<Seconds>,
    #[serde(skip_serializing_if = "Option::is_none")]
    failed: Option<String>,
}

#[derive(Serialize)]
struct StrategyJson {
    execution: Execution,
    predicted_s: Seconds,
    /// Share of the best single candidate's time that is saved.
    gain: f64,
    parts: Vec<PartJson>,
}

#[derive(Serialize)]
struct PartJson {
    /// First, and the one behind the last, counted from 0.
    strips: [usize; 2],
    rows: [u64; 2],
    nnz: u64,
    #[serde(flatten)]
    candidate: CandidateJson,
    model: String,
    #[serde(flatten)]
    prediction: PredictionJson,
}

impl Plan {
    pub(crate) fn run(&self, context: &Context) -> Result<Exit, Failure> {
        match context.dtype() {
            Dtype::F32 => self.run_as::<f32>(context),
            Dtype::F64 => self.run_as::<f64>(context),
        }
    }

    fn run_as<T: Scalar>(&self, context: &Context) -> Result<Exit, Failure> {
        let sources = MatrixSource::batch(&self.paths)?;
        let profile = self.profile.resolve(context, T::DTYPE)?;
        let device = if self.run { Some(self.profile.open(&profile)?) } else { None };
        context.interrupt.listen();
        let bar = context.printer.progress(sources.len() as u64, "planning");
        let mut planned = Vec::new();
        let mut ended = Ok(());
        for (done, source) in (0..).zip(&sources) {
            bar.at(done, source.title());
            ended = context.interrupt.check().and_then(|()| {
                planned.push(self.one::<T>(source, &profile, device.as_ref(), context)?);
                Ok(())
            });
            if ended.is_err() {
                break;
            }
        }
        drop(bar);
        if context.printer.is_json() {
            self.print_json(&planned, &profile, context)?;
        } else {
            for (at, one) in planned.iter().enumerate() {
                if at > 0 {
                    context.printer.line("")?;
                }
                print(one, &profile, context)?;
            }
        }
        ended.map_err(|failure| failure.keeping(|| "what was planned is shown above".to_owned()))?;
        let failed = |one: &Planned| {
            one.partitioning.strategies.is_empty() || one.measured.iter().any(|m| m.outcome.is_err())
        };
        Ok(if planned.iter().any(failed) { Exit::No } else { Exit::Done })
    }

    fn one<T: Scalar>(
        &self,
        source: &MatrixSource,
        profile: &Profile,
        device: Option<&OpenDevice>,
        context: &Context,
    ) -> Result<Planned, Failure> {
        let matrix = source.load::<T>(context)?;
        let wanted =
            |c: &Candidate| self.formats.is_empty() || self.formats.iter().any(|name| name.names(c.format()));
        // What is planned is ours; the vendor's library is what a plan is held against.
        let ours = catalogue_on(profile.device.facts.kind, T::DTYPE).filter(|c| !c.kernel.is_vendors());
        let candidates: Vec<Candidate> = ours.filter(wanted).collect();
        let objective = PartitionObjective {
            model: self.model.model,
            placement: self.model.placement,
            row_length: self.model.row_length,
            strips: self.strips,
            executions: self.execution.0.clone(),
        };
        let partitioning = Advisor::new(profile).partition(&matrix, &candidates, &objective)?;
        let measured = match device {
            Some(device) => measure(&matrix, &partitioning, device.of(), context)?,
            None => Vec::new(),
        };
        Ok(Planned { title: source.title(), partitioning, measured })
    }

    fn print_json(&self, planned: &[Planned], profile: &Profile, context: &Context) -> Result<(), Failure> {
        let top = context.top_in_json();
        let strategy = |strategy: &Strategy| StrategyJson {
            execution: strategy.execution,
            predicted_s: strategy.predicted,
            gain: strategy.gain(),
            parts: strategy.parts.iter().take(top).map(PartJson::from).collect(),
        };
        let one = |Planned { title, partitioning, measured }: &Planned| PlanJson {
            matrix: MatrixJson::new(title.clone(), &partitioning.features),
            model: partitioning.model.to_string(),
            strips: partitioning.strips,
            strip_rows: partitioning.rows_a_strip,
            single: partitioning.strategies.first().map(|strategy| (&strategy.single).into()),
            strategies: partitioning.strategies.iter().map(strategy).collect(),
            measured: measured.iter().map(MeasuredJson::from).collect(),
        };
        let body = PlansJson {
            device: DeviceJson::profiled(profile),
            dtype: context.dtype(),
            placement: self.model.placement,
            row_length: self.model.row_length,
            matrices: planned.iter().map(one).collect(),
        };
        context.printer.object(&Document::new("sparsight/plan/1", body))
    }
}

/// What was found for one matrix.
struct Planned {
    title: String,
    partitioning: Partitioning,
    /// Nothing without `--run`.
    measured: Vec<Measured>,
}

/// A plan that was run.
struct Measured {
    what: String,
    plan: Runnable,
    outcome: Result<MeasuredPartition, String>,
}

/// The best single candidate, every strategy that cuts, and the routines of the vendor's library, timed in turn.
fn measure<T: Scalar>(
    matrix: &Csr<T>,
    partitioning: &Partitioning,
    device: &dyn Device<T>,
    context: &Context,
) -> Result<Vec<Measured>, Failure> {
    let whole = |candidate| Runnable::whole(matrix.nrows(), candidate, None);
    let mut plans = Vec::new();
    if let Some(Strategy { single, .. }) = partitioning.strategies.first() {
        plans.push(("single".to_owned(), whole(single.candidate)));
    }
    for strategy in partitioning.strategies.iter().filter(|strategy| !is_single(strategy)) {
        plans.push((strategy.execution.to_string(), Runnable::of(strategy)?));
    }
    let vendors = catalogue_on(device.facts().kind, T::DTYPE).filter(|c| {
        let fits = feasible(c, &partitioning.features, &device.limits()).is_ok();
        c.kernel.is_vendors() && fits && device.runs(c.kernel).is_ok()
    });
    plans.extend(vendors.map(|candidate| (candidate.kernel.to_string(), whole(candidate))));
    let how = Bench { rule: StoppingRule::BRISK, seed: context.seed, ..Bench::default() };
    let (names, plans): (Vec<String>, Vec<Runnable>) = plans.into_iter().unzip();
    let outcomes = contest(device, matrix, &plans, &how);
    let measured = names.into_iter().zip(plans).zip(outcomes);
    Ok(measured
        .map(|((what, plan), outcome)| Measured { what, plan, outcome: outcome.map_err(|e| e.to_string()) })
        .collect())
}

impl From<&Measured> for MeasuredJson {
    fn from(Measured { what, plan, outcome }: &Measured) -> Self {
        let known = outcome.as_ref().ok();
        let preparation = known.map(|known| known.preparation);
        Self {
            what: what.clone(),
            plan: plan.to_string(),
            time_s: known.map(|known| known.timing.time),
            spread: known.map(|known| known.timing.spread),
            preparation_s: preparation.map(|took| Seconds(took.convert.0 + took.upload.0)),
            failed: outcome.as_ref().err().cloned(),
        }
    }
}

fn print(planned: &Planned, profile: &Profile, context: &Context) -> Result<(), Failure> {
    let Planned { title, partitioning: plan, measured } = planned;
    let out = &context.printer;
    out.line(format_args!("{BOLD}{title}{BOLD:#}   {}", shape(&plan.features)))?;
    out.line(format_args!("{}   model {}", heading(profile, context.dtype()), plan.model))?;
    out.line(format_args!(
        "{} of {}",
        counted(plan.strips as u64, "strip"),
        counted(plan.rows_a_strip, "row")
    ))?;
    let Some(Strategy { single, .. }) = plan.strategies.first() else {
        out.line("")?;
        return out.line("no candidate is possible");
    };
    let time = single.prediction.time;
    out.line("")?;
    out.line(format_args!("{BOLD}best single{BOLD:#}   {}   {time}", candidate(&single.candidate)))?;
    for strategy in &plan.strategies {
        out.line("")?;
        let parts = strategy.parts.len();
        let (execution, predicted) = (strategy.execution, strategy.predicted);
        let parts_in_words = counted(parts as u64, "part");
        out.line(format_args!(
            "{BOLD}{execution}{BOLD:#}   {parts_in_words}   {predicted}   {}",
            gained(strategy)
        ))?;
        out.line(table(&strategy.parts[..parts.min(context.top())]))?;
        if parts > context.top() {
            out.line(format_args!(
                "  {} more: `--top {parts}`",
                counted((parts - context.top()) as u64, "part")
            ))?;
        }
    }
    if measured.is_empty() { Ok(()) } else { out.line(format_args!("\n{}", measured_table(measured))) }
}

fn measured_table(measured: &[Measured]) -> Table {
    let mut table = Table::new(&["<measured in turn", "<plan", "time", "prepared in"]);
    for Measured { what, plan, outcome } in measured {
        let parts = plan.partition().parts();
        let plan = match parts {
            [(_, single)] => candidate(single),
            parts => counted(parts.len() as u64, "part"),
        };
        let [time, took] = match outcome {
            Ok(known) => {
                let took = known.preparation;
                [known.timing.time.to_string(), Seconds(took.convert.0 + took.upload.0).to_string()]
            }
            Err(why) => [why.clone(), String::new()],
        };
        table.row([what.clone(), plan, time, took]);
    }
    table
}

/// Whether it is the best single candidate and nothing else.
fn is_single(strategy: &Strategy) -> bool {
    strategy.parts.len() == 1 && strategy.parts[0].candidate == strategy.single.candidate
}

/// `6.3 % less than the best single`.
fn gained(strategy: &Strategy) -> String {
    let gain = strategy.gain();
    match gain {
        _ if is_single(strategy) => "the best single".to_owned(),
        gain if gain < 0.0 => format!("{} more than the best single", percent(-gain)),
        gain => format!("{} less than the best single", percent(gain)),
    }
}

fn table(parts: &[Part]) -> Table {
    let mut table =
        Table::new(&["", "<strips", "<rows from 0", "non-zeros", "<candidate", "predicted", "90 % between"]);
    for (at, part) in parts.iter().enumerate() {
        let Part { strips, rows, prediction, .. } = part;
        // As the paper writes it: strips from 1, both ends included.
        let strips = format!("[{}, {}]", grouped(strips.start as u64 + 1), grouped(strips.end as u64));
        let rows = if rows.is_empty() {
            "none".to_owned()
        } else {
            format!("{} to {}", grouped(rows.start), grouped(rows.end - 1))
        };
        table.row([
            (at + 1).to_string(),
            strips,
            rows,
            grouped(part.nnz),
            candidate(&part.candidate),
            prediction.time.to_string(),
            between(prediction.low, prediction.high),
        ]);
    }
    table
}

impl From<&Part> for PartJson {
    fn from(part: &Part) -> Self {
        Self {
            strips: [part.strips.start, part.strips.end],
            rows: [part.rows.start, part.rows.end],
            nnz: part.nnz,
            candidate: part.candidate.into(),
            model: part.model.to_string(),
            prediction: (&part.prediction).into(),
        }
    }
}
