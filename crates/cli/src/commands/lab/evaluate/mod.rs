//! `sparsight lab evaluate`: the papers' tables and figures.

mod summary;
mod tables;
mod transfer;
mod without;

use crate::args::{kernel, placement};
use crate::context::Context;
use crate::failure::{Exit, Failure};
use crate::name_prefixes::NamePrefixes;
use crate::plots;
use clap::ValueEnum;
use sparsight::Profile;
use sparsight::kernels::Selection;
use sparsight::model::{PlacementRule, RowLengthRule};
use sparsight::models::ModelName;
use sparsight::profile::ProfileFolder;
use sparsight::records::CorpusRecord;
use sparsight_lab::answer::EvaluateAnswer;
use sparsight_lab::evaluate::{ChoiceRow, Chooser, Evaluation, evaluate};
use std::path::PathBuf;
use tables::Titled;

/// Compare predictions and choices with the measured corpus of a profile
///
/// With `--full` the papers' tables: how far each model is off on each kernel; with `--kernel` or `--model` those rows alone.
/// `--by`, `--worst` and `--markdown` shape these tables, and ask for them, too.
/// With `--from`, times carried over from another device are compared with the corpus: by rescaling, by the model of Guo and Wang
/// 2013, and by ratios of the facts of both devices. DIR then needs no models; device.json, transfer.json and a corpus are enough.
#[derive(Debug, clap::Args)]
pub(crate) struct Evaluate {
    /// Folder of the profile
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Evaluate the transfer from this profile, by name or folder. The time there is the one measured, if its corpus
    /// holds the matrix by name, else what its models predict
    #[arg(long, value_name = "NAME|DIR", conflicts_with_all = ["placement", "row_length", "plots", "full", "kernels", "models"])]
    from: Option<String>,
    /// Show every kernel and model, the choices, the vendor's routines and the worst matrices
    #[arg(long)]
    full: bool,
    /// Gain by each kernel family, kernel and block size: the fastest measured time without it over that with it, by
    /// the corpus alone; DIR needs no models
    #[arg(long, conflicts_with_all = ["from", "placement", "row_length", "plots", "full", "kernels", "models", "by", "worst"])]
    without_each: bool,
    /// Rows of the tables for these kernels, such as csr-vector, "csr-vector t8" or ell
    #[arg(long = "kernel", value_name = "NAME", value_delimiter = ',', value_parser = kernel)]
    kernels: Vec<Selection>,
    /// Rows of the tables for these models
    #[arg(long = "model", value_name = "NAME", value_delimiter = ',')]
    models: Vec<ModelName>,
    /// Matrices to evaluate on, by the start of their names, such as e/,f/; +e/ selects matrices derived from those of e/
    /// [default: all]
    #[arg(long, value_name = "PREFIXES", value_delimiter = ',')]
    test: Vec<String>,
    /// Benchmark matrices that represent the columns: banded, scattered, blend, or several
    #[arg(long, value_name = "RULES", value_delimiter = ',', default_value = "blend", value_parser = placement)]
    placement: Vec<PlacementRule>,
    /// Statistic that represents the row lengths, in strip models: paper, mode, max, mean, median, p5, p25, p75, p90, p95,
    /// p99, or several
    #[arg(long, value_name = "STATISTICS", value_delimiter = ',', default_value = "paper")]
    row_length: Vec<RowLengthRule>,
    /// Rows of the error tables: one a kernel, or one a format over all of its kernels [default: kernel]
    #[arg(long, value_name = "GROUP", conflicts_with = "kernels")]
    by: Option<Group>,
    /// Worst predicted matrices to name for each model and kernel [default: 3]
    #[arg(long, value_name = "N")]
    worst: Option<usize>,
    /// Print tables in Markdown
    #[arg(long, conflicts_with = "json")]
    markdown: bool,
    /// Folder for plots as SVG: predicted against measured times, the fits of the strip models, the cost of choices
    #[arg(long, value_name = "OUT")]
    plots: Option<PathBuf>,
}

/// The unit over which an error is averaged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Group {
    /// As Guo, Wang and Chen 2014 count
    Kernel,
    /// As Lehnert et al. 2016 count
    Format,
}

impl Evaluate {
    pub(crate) fn run(&self, context: &Context) -> Result<Exit, Failure> {
        if let Some(from) = &self.from {
            return self.transfer(from, context);
        }
        if self.without_each {
            return self.without(context);
        }
        let profile = Profile::load(&self.folder)?;
        let folder = ProfileFolder::open(&self.folder)?;
        let corpus = self.corpus(&folder, context)?;
        let mut evaluation = evaluate(&profile, &corpus, &self.placement, &self.row_length, self.worst())?;
        let written = match &self.plots {
            None => Vec::new(),
            Some(out) => {
                let benchmark = folder.benchmark()?.into_records();
                plots::write(out, &plots::all(&profile, &evaluation, &benchmark, &context.dtypes())?)?
            }
        };
        for name in self.kernels.iter().filter(|name| name.block().is_some() || name.dtype().is_some()) {
            context.printer.note(format_args!(
                "{name}: a row of errors is a kernel, over all of its block sizes; --dtype asks for a value type"
            ));
        }
        let answer = EvaluateAnswer {
            device: (&profile).into(),
            test: self.test.clone(),
            evaluation: evaluation.clone(),
            plots: written,
        };
        self.narrow(&mut evaluation);
        context.printer.answer(&answer, || {
            let out = self.output(context);
            if self.asks_for_tables() {
                tables::print(&evaluation, self.by(), &profile, &out)?;
            } else {
                summary::print(&evaluation, &profile, &out)?;
            }
            let Some(folder) = &self.plots else { return Ok(()) };
            context.printer.line(format!("{} plots in {}", answer.plots.len(), folder.display()))
        })
    }

    fn by(&self) -> Group {
        self.by.unwrap_or(Group::Kernel)
    }

    /// The papers name some.
    fn worst(&self) -> usize {
        self.worst.unwrap_or(3)
    }

    /// Returns whether a flag about tables was given.
    fn asks_for_tables(&self) -> bool {
        let are_some_named = !self.kernels.is_empty() || !self.models.is_empty();
        let is_shaped = self.markdown || self.by.is_some() || self.worst.is_some();
        self.full || are_some_named || is_shaped
    }

    /// Leaves what the tables are to show: with kernels named, errors alone, since choices are between all of them.
    fn narrow(&self, evaluation: &mut Evaluation) {
        let is_model = |model: ModelName| self.models.is_empty() || self.models.contains(&model);
        let is_kernel =
            |kernel| self.kernels.is_empty() || self.kernels.iter().any(|name| name.names(kernel));
        evaluation.rows.retain(|row| is_model(row.model) && is_kernel(row.of));
        evaluation.misses.retain(|miss| is_model(miss.model) && is_kernel(miss.kernel));
        evaluation.wins.retain(|row| is_kernel(row.kernel) && self.models.is_empty());
        evaluation.formats.retain(|row| is_model(row.model));
        if !self.models.is_empty() {
            let of_model =
                |row: &ChoiceRow| matches!(row.chooser, Chooser::Model { model, .. } if is_model(model));
            evaluation.choices.retain(of_model);
        }
        if !self.kernels.is_empty() {
            evaluation.choices.clear();
        }
        if !self.kernels.is_empty() || !is_model(ModelName::Best) {
            evaluation.beside_vendor.clear();
            evaluation.classes.clear();
        }
    }

    /// The records asked for.
    fn corpus(&self, folder: &ProfileFolder, context: &Context) -> Result<Vec<CorpusRecord>, Failure> {
        let all = folder.measured()?;
        let test = NamePrefixes::new(&self.test);
        let dtypes = context.dtypes();
        let wanted = |r: &&CorpusRecord| test.accept(&r.matrix) && dtypes.contains(&r.dtype);
        let corpus: Vec<CorpusRecord> = all.iter().filter(wanted).cloned().collect();
        if corpus.is_empty() {
            let text = format!("{}: no matrix of the corpus to evaluate on", self.folder.display());
            return Err(Failure::input(text).hinted(NamePrefixes::hint(&all)));
        }
        Ok(corpus)
    }

    fn output<'c>(&self, context: &'c Context) -> Titled<'c> {
        Titled { markdown: self.markdown, out: &context.printer }
    }
}
