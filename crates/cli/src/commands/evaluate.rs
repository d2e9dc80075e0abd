//! `sparsight evaluate`: the papers' tables.

use crate::args::placement;
use crate::context::Context;
use crate::device_choice::described;
use crate::failure::{Exit, Failure};
use crate::json::{DeviceJson, Document};
use crate::name_prefixes::NamePrefixes;
use crate::printer::BOLD;
use crate::table::Table;
use crate::text::{matrices, percent};
use serde::Serialize;
use sparsight::matrix::{Dtype, Seconds};
use sparsight::model::accuracy::Accuracy;
use sparsight::model::{ChoiceQuality, PlacementRule, RowLengthRule};
use sparsight::profile::ProfileFolder;
use sparsight::records::CorpusRecord;
use sparsight::{AccuracyRow, ChoiceRow, Evaluation, Miss, Profile, Scope, evaluate};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The papers' table: how far each model is off on each kernel, over the matrices of a profile's corpus
#[derive(Debug, clap::Args)]
pub(crate) struct Evaluate {
    /// Folder of the profile
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Matrices to evaluate on, by the start of their names, such as e/,f/ [default: all]
    #[arg(long, value_name = "PREFIXES", value_delimiter = ',')]
    test: Vec<String>,
    /// Benchmark matrices that stand for the columns: banded, strewn, blend, or several
    #[arg(long, value_name = "RULES", value_delimiter = ',', default_value = "blend", value_parser = placement)]
    placement: Vec<PlacementRule>,
    /// Statistic that stands for the row lengths, in strip models: paper, mode, max, mean, median, p5, p25, p75, p90, p95,
    /// p99, or several
    #[arg(long, value_name = "STATISTICS", value_delimiter = ',', default_value = "paper")]
    row_length: Vec<RowLengthRule>,
    /// Worst predicted matrices to name for each model and kernel
    #[arg(long, value_name = "N", default_value_t = 3)]
    worst: usize,
    /// Tables in Markdown
    #[arg(long, conflicts_with = "json")]
    markdown: bool,
}

#[derive(Serialize)]
struct EvaluateJson {
    device: DeviceJson,
    test: Vec<String>,
    matrices: Vec<MatricesJson>,
    /// Matrices left out of a model's errors since it was trained on them.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    trained_on: BTreeMap<String, usize>,
    errors: Vec<ErrorJson>,
    /// Measured time of the first-ranked candidate against the best measured one.
    choices: Vec<ChoiceJson>,
    worst: Vec<MissJson>,
}

#[derive(Serialize)]
struct MatricesJson {
    dtype: Dtype,
    all: usize,
    beyond_launch: usize,
}

#[derive(Serialize)]
struct ErrorJson {
    kernel: String,
    model: String,
    placement: PlacementRule,
    row_length: RowLengthRule,
    dtype: Dtype,
    scope: &'static str,
    #[serde(flatten)]
    error: Accuracy,
    /// Of matrices that took no part in the calibration of the intervals.
    covered: Option<f64>,
}

#[derive(Serialize)]
struct ChoiceJson {
    model: String,
    placement: PlacementRule,
    row_length: RowLengthRule,
    dtype: Dtype,
    scope: &'static str,
    #[serde(flatten)]
    quality: ChoiceQuality,
}

#[derive(Serialize)]
struct MissJson {
    matrix: String,
    kernel: String,
    model: String,
    dtype: Dtype,
    predicted_s: Seconds,
    measured_s: Seconds,
    error: f64,
}

impl Evaluate {
    pub(crate) fn run(&self, context: &Context) -> Result<Exit, Failure> {
        let profile = Profile::load(&self.folder)?;
        let all = ProfileFolder::open(&self.folder)?.corpus()?.into_records();
        let test = NamePrefixes::new(&self.test);
        let dtypes = context.dtypes();
        let wanted = |r: &&CorpusRecord| test.accept(&r.matrix) && dtypes.contains(&r.dtype);
        let corpus: Vec<CorpusRecord> = all.iter().filter(wanted).cloned().collect();
        if corpus.is_empty() {
            let text = format!("{}: no matrix of the corpus to evaluate on", self.folder.display());
            return Err(Failure::input(text).hinted(NamePrefixes::hint(&all)));
        }
        let evaluation = evaluate(&profile, &corpus, &self.placement, &self.row_length, self.worst);
        if context.printer.is_json() {
            let body = self.json(&profile, evaluation);
            context.printer.object(&Document::new("sparsight/evaluate/1", body))?;
        } else {
            self.print(&profile, &evaluation, context)?;
        }
        Ok(Exit::Done)
    }

    fn print(&self, profile: &Profile, evaluation: &Evaluation, context: &Context) -> Result<(), Failure> {
        let out = &context.printer;
        let show = |table: &Table| if self.markdown { table.markdown() } else { table.to_string() };
        for (&dtype, &(all, beyond)) in &evaluation.matrices {
            for scope in [Scope::All, Scope::BeyondLaunch, Scope::LikeBenchmarks] {
                let rows = || evaluation.rows.iter().filter(|r| r.dtype == dtype && r.scope == scope);
                if rows().next().is_none() {
                    continue;
                }
                let count = match scope {
                    Scope::All => matrices(all),
                    Scope::BeyondLaunch => {
                        format!("{beyond} of {} beyond twice the launch cost", matrices(all))
                    }
                    Scope::LikeBenchmarks => {
                        "matrices of two strips or more whose longest row is at most twice the mean"
                            .to_owned()
                    }
                };
                let title = format!("{}, {dtype}, {count}", described(&profile.device.facts));
                out.line(if self.markdown {
                    format!("**{title}**\n")
                } else {
                    format!("{BOLD}{title}{BOLD:#}")
                })?;
                out.line(show(&errors(rows())))?;
                out.line("")?;
            }
            let rows: Vec<&ChoiceRow> = evaluation.choices.iter().filter(|r| r.dtype == dtype).collect();
            let title = format!("What the first-ranked candidate costs, {dtype}");
            out.line(if self.markdown {
                format!("**{title}**\n")
            } else {
                format!("{BOLD}{title}{BOLD:#}")
            })?;
            out.line(show(&choices(&rows)))?;
            out.line("")?;
            let misses: Vec<&Miss> = evaluation.misses.iter().filter(|m| m.dtype == dtype).collect();
            if !misses.is_empty() {
                let title = format!("Worst predicted, {dtype}");
                out.line(if self.markdown {
                    format!("**{title}**\n")
                } else {
                    format!("{BOLD}{title}{BOLD:#}")
                })?;
                out.line(show(&worst(&misses)))?;
                out.line("")?;
            }
        }
        for (model, &count) in &evaluation.trained_on {
            let tested = evaluation.rows.iter().any(|r| r.model == *model);
            let count = matrices(count);
            out.line(if tested {
                format!("{model}: without {count} that it was trained on")
            } else {
                format!("{model}: not evaluated, it was trained on all of these matrices ({count})")
            })?;
        }
        out.line("in the 90 % interval: of matrices that the intervals were not calibrated with")?;
        out.line("error: |predicted - measured| / measured over matrices and block sizes")?;
        out.line(
            "best / chosen: geometric mean of the best measured time over that of the first-ranked candidate",
        )
    }

    fn json(&self, profile: &Profile, evaluation: Evaluation) -> EvaluateJson {
        let trained_on = evaluation.trained_on.into_iter();
        let matrices = evaluation.matrices.into_iter();
        let matrices =
            matrices.map(|(dtype, (all, beyond_launch))| MatricesJson { dtype, all, beyond_launch });
        let errors = evaluation.rows.into_iter().map(|r| ErrorJson {
            kernel: r.kernel.to_string(),
            model: r.model.to_string(),
            placement: r.placement,
            row_length: r.row_length,
            dtype: r.dtype,
            scope: scope(r.scope),
            error: r.error,
            covered: r.covered,
        });
        let choices = evaluation.choices.into_iter().map(|r| ChoiceJson {
            model: r.model.to_string(),
            placement: r.placement,
            row_length: r.row_length,
            dtype: r.dtype,
            scope: scope(r.scope),
            quality: r.quality,
        });
        let worst = evaluation.misses.into_iter().map(|m| MissJson {
            error: m.error(),
            kernel: m.kernel.to_string(),
            model: m.model.to_string(),
            dtype: m.dtype,
            matrix: m.matrix,
            predicted_s: m.predicted,
            measured_s: m.measured,
        });
        EvaluateJson {
            device: DeviceJson::profiled(profile),
            test: self.test.clone(),
            matrices: matrices.collect(),
            trained_on: trained_on.map(|(model, count)| (model.to_string(), count)).collect(),
            errors: errors.collect(),
            choices: choices.collect(),
            worst: worst.collect(),
        }
    }
}

/// Kernel by kernel, the models below each other.
fn errors<'r>(rows: impl Iterator<Item = &'r AccuracyRow>) -> Table {
    let mut rows: Vec<&AccuracyRow> = rows.collect();
    rows.sort_by_key(|r| (r.kernel, r.model));
    let columns = [
        "<kernel",
        "<model",
        "<columns",
        "<row length",
        "times",
        "mean",
        "median",
        "90th percentile",
        "worst",
        "in the 90 % interval",
    ];
    let mut table = Table::new(&columns);
    for r in rows {
        table.row([
            r.kernel.to_string(),
            r.model.to_string(),
            rule(r.placement).to_owned(),
            r.row_length.to_string(),
            r.error.count.to_string(),
            percent(r.error.mean),
            percent(r.error.median),
            percent(r.error.p90),
            percent(r.error.worst),
            r.covered.map_or_else(|| "-".to_owned(), percent),
        ]);
    }
    table
}

/// Model by model: the shares of Lehnert et al. 2016 and the ratios.
fn choices(rows: &[&ChoiceRow]) -> Table {
    let mut table = Table::new(&[
        "<model",
        "<columns",
        "<row length",
        "<matrices",
        "count",
        "within 5 %",
        "5 to 20 %",
        "beyond 20 %",
        "best / chosen",
        "90th percentile of chosen / best",
        "worst",
    ]);
    for r in rows {
        let q = &r.quality;
        table.row([
            r.model.to_string(),
            rule(r.placement).to_owned(),
            r.row_length.to_string(),
            scope(r.scope).to_owned(),
            q.count.to_string(),
            percent(q.within_5_percent),
            percent(q.within_20_percent),
            percent(q.beyond_20_percent),
            format!("{:.3}", 1.0 / q.mean_ratio),
            format!("{:.2}", q.p90_ratio),
            format!("{:.2}", q.worst_ratio),
        ]);
    }
    table
}

fn scope(scope: Scope) -> &'static str {
    match scope {
        Scope::All => "all",
        Scope::BeyondLaunch => "beyond-launch",
        Scope::LikeBenchmarks => "like-benchmarks",
    }
}

fn worst(misses: &[&Miss]) -> Table {
    let mut table = Table::new(&["<kernel", "<model", "<matrix", "predicted", "measured", "error"]);
    for m in misses {
        table.row([
            m.kernel.to_string(),
            m.model.to_string(),
            m.matrix.clone(),
            m.predicted.to_string(),
            m.measured.to_string(),
            percent(m.error()),
        ]);
    }
    table
}

fn rule(placement: PlacementRule) -> &'static str {
    match placement {
        PlacementRule::Banded => "banded",
        PlacementRule::Strewn => "strewn",
        PlacementRule::Blend => "blend",
    }
}
