//! `sparsight plan`: the optimal partition, beside the best single candidate.

use crate::args::ModelFlags;
use crate::context::Context;
use crate::device_choice::ProfileFlags;
use crate::failure::{Exit, Failure};
use crate::json::{CandidateJson, DeviceJson, Document, MatrixJson, PredictionJson};
use crate::matrix_source::MatrixSource;
use crate::printer::BOLD;
use crate::table::Table;
use crate::text::{between, candidate, counted, grouped, heading, percent, shape};
use serde::Serialize;
use sparsight::kernels::{Candidate, Execution, Format, catalogue};
use sparsight::matrix::{Dtype, Scalar, Seconds};
use sparsight::{Advisor, Part, PartitionObjective, Partitioning, Profile, Strategy};
use std::num::NonZeroUsize;
use std::str::FromStr;

/// The optimal partition: row blocks, a format, kernel and block size for each, and the predicted total
///
/// Rows are cut into strips, and neighbouring strips are put together in the way that takes least time in all (Guo, Wang
/// and Chen 2014). Nothing is run: the times are predicted.
#[derive(Debug, clap::Args)]
pub(crate) struct Plan {
    /// The matrix: a file or gallery:NAME[,key=value...]
    path: String,
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
struct PlanJson {
    matrix: MatrixJson,
    device: DeviceJson,
    dtype: Dtype,
    model: String,
    placement: sparsight::model::PlacementRule,
    row_length: sparsight::model::RowLengthRule,
    strips: usize,
    strip_rows: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    single: Option<PartJson>,
    strategies: Vec<StrategyJson>,
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
        let source = MatrixSource::named(&self.path)?;
        let profile = self.profile.resolve(context, T::DTYPE)?;
        let matrix = source.load::<T>(context)?;
        let wanted =
            |c: &Candidate| self.formats.is_empty() || self.formats.iter().any(|name| name.names(c.format()));
        let candidates: Vec<Candidate> = catalogue(T::DTYPE).filter(wanted).collect();
        let objective = PartitionObjective {
            model: self.model.model,
            placement: self.model.placement,
            row_length: self.model.row_length,
            strips: self.strips,
            executions: self.execution.0.clone(),
        };
        let plan = Advisor::new(&profile).partition(&matrix, &candidates, &objective)?;
        if context.printer.is_json() {
            self.print_json(&source, &profile, &plan, context)?;
        } else {
            print(&source, &profile, &plan, context)?;
        }
        Ok(if plan.strategies.is_empty() { Exit::No } else { Exit::Done })
    }

    fn print_json(
        &self,
        source: &MatrixSource,
        profile: &Profile,
        plan: &Partitioning,
        context: &Context,
    ) -> Result<(), Failure> {
        let top = context.top_in_json();
        let strategy = |strategy: &Strategy| StrategyJson {
            execution: strategy.execution,
            predicted_s: strategy.predicted,
            gain: strategy.gain(),
            parts: strategy.parts.iter().take(top).map(PartJson::from).collect(),
        };
        let body = PlanJson {
            matrix: MatrixJson::new(source.title(), &plan.features),
            device: DeviceJson::profiled(profile),
            dtype: context.dtype(),
            model: plan.model.to_string(),
            placement: self.model.placement,
            row_length: self.model.row_length,
            strips: plan.strips,
            strip_rows: plan.rows_a_strip,
            single: plan.strategies.first().map(|strategy| (&strategy.single).into()),
            strategies: plan.strategies.iter().map(strategy).collect(),
        };
        context.printer.object(&Document::new("sparsight/plan/1", body))
    }
}

fn print(
    source: &MatrixSource,
    profile: &Profile,
    plan: &Partitioning,
    context: &Context,
) -> Result<(), Failure> {
    let out = &context.printer;
    out.line(format_args!("{BOLD}{}{BOLD:#}   {}", source.title(), shape(&plan.features)))?;
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
    Ok(())
}

/// `6.3 % less than the best single`.
fn gained(strategy: &Strategy) -> String {
    let gain = strategy.gain();
    let is_single = strategy.parts.len() == 1 && strategy.parts[0].candidate == strategy.single.candidate;
    match gain {
        _ if is_single => "the best single".to_owned(),
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
