//! `sparsight plan`: the optimal partition, beside the best single candidate.

mod json;
mod measured;
mod print;

use crate::args::{ModelFlags, catalogued, names};
use crate::context::Context;
use crate::device_choice::{OpenDevice, ProfileFlags};
use crate::failure::{Exit, Failure};
use crate::json::{DeviceJson, Document, MatrixJson};
use crate::matrix_source::MatrixSource;
use json::{MeasuredJson, PartJson, PlanJson, PlansJson, StrategyJson};
use measured::{Measured, measure, records};
use print::print;
use sparsight::kernels::{Candidate, Execution, Format, catalogue_on};
use sparsight::matrix::{Dtype, Scalar};
use sparsight::records::{CutRecord, Journal};
use sparsight::{Advisor, ModelName, Objective, PartitionObjective, Partitioning, Profile, Strategy};
use std::num::NonZeroUsize;
use std::str::FromStr;

/// The optimal partition: row blocks, a format, kernel and block size for each, and the predicted total
///
/// Rows are cut into strips, and neighbouring strips are put together in the way that takes least time in all (Guo, Wang
/// and Chen 2014). Without --run the times are predicted and nothing is run. The vendor's routines take no part. What a cut
/// takes was learned from cuts that were run, where the profile holds such; on an H200 hardly any gains more than the error of
/// the prediction: measure with --run before you rely on one.
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
    /// Run the N single candidates that are predicted to be fastest, not only the first: how much choosing by prediction
    /// alone loses
    #[arg(long = "try", value_name = "N", default_value = "1", requires = "run")]
    tried: NonZeroUsize,
    /// Cut also where nothing is gained by it: the best partition into at least two parts
    #[arg(long)]
    cut: bool,
    /// Add what was run to cuts.jsonl of the profile, a folder: from at least 12 cuts of a model `fit` learns what cutting
    /// costs. What it holds is skipped, so that a run that was stopped goes on
    #[arg(long, requires_all = ["run", "cut", "profile"])]
    record: bool,
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
        names(&self.0, format.name(), format)
    }
}

impl FromStr for FormatName {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        catalogued("format", text, &Format::ALL, Format::name).map(Self)
    }
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
        let mut cuts = if self.record { Some(self.profile.folder()?.cuts()?) } else { None };
        context.interrupt.listen();
        let bar = context.printer.progress(sources.len() as u64, "planning");
        let mut planned = Vec::new();
        let mut ended = Ok(());
        for (done, source) in (0..).zip(&sources) {
            bar.at(done, source.title());
            let is_known = |cut: &CutRecord| {
                let model = self.model.model.unwrap_or(ModelName::Best);
                (&cut.matrix, cut.dtype, &cut.model) == (&source.record_name(), T::DTYPE, &model.to_string())
            };
            if cuts.as_ref().is_some_and(|cuts| cuts.records().iter().any(is_known)) {
                continue;
            }
            ended = context.interrupt.check().and_then(|()| {
                planned.push(self.one::<T>(source, &profile, device.as_ref(), cuts.as_mut(), context)?);
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
        cuts: Option<&mut Journal<CutRecord>>,
        context: &Context,
    ) -> Result<Planned, Failure> {
        let matrix = source.load::<T>(context)?;
        let wanted =
            |c: &Candidate| self.formats.is_empty() || self.formats.iter().any(|name| name.names(c.format()));
        // What is planned is ours; the vendor's library is what a plan is held against.
        let ours = catalogue_on(profile.device.facts.kind, T::DTYPE).filter(|c| !c.kernel.is_vendors());
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
        let partitioning = Advisor::new(profile).partition(&matrix, &candidates, &objective)?;
        let measured = match device {
            Some(device) => {
                let single = self.singles(profile, &partitioning, &candidates)?;
                measure(&matrix, &partitioning, &single, device.of(), context)?
            }
            None => Vec::new(),
        };
        if let (Some(device), Some(cuts)) = (device, cuts) {
            let name = source.record_name();
            for record in records(&name, &matrix, &partitioning, &measured, device.of(), context) {
                cuts.append(record)?;
            }
        }
        Ok(Planned { title: source.title(), partitioning, measured })
    }

    /// The single candidates to be run: the best, and as many as are to be tried of those that are ranked next.
    fn singles(
        &self,
        profile: &Profile,
        partitioning: &Partitioning,
        candidates: &[Candidate],
    ) -> Result<Vec<Candidate>, Failure> {
        let Some(Strategy { single, .. }) = partitioning.strategies.first() else { return Ok(Vec::new()) };
        let best = single.candidate;
        let objective = Objective {
            products: None,
            model: self.model.model,
            placement: self.model.placement,
            row_length: self.model.row_length,
        };
        let advice = Advisor::new(profile).advise(&partitioning.features, best.dtype, &objective)?;
        let ranked = advice.ranked.iter().map(|advised| advised.candidate);
        let next = ranked.filter(|candidate| *candidate != best && candidates.contains(candidate));
        Ok(std::iter::once(best).chain(next).take(self.tried.get()).collect())
    }

    fn print_json(&self, planned: &[Planned], profile: &Profile, context: &Context) -> Result<(), Failure> {
        let top = context.top_in_json();
        let strategy = |strategy: &Strategy| StrategyJson {
            execution: strategy.execution,
            predicted_s: strategy.predicted,
            low_s: strategy.interval.0,
            high_s: strategy.interval.1,
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

/// Whether it is the best single candidate and nothing else.
fn is_single(strategy: &Strategy) -> bool {
    strategy.parts.len() == 1 && strategy.parts[0].candidate == strategy.single.candidate
}
