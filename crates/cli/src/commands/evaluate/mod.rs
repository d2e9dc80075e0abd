//! `sparsight evaluate`: the papers' tables and figures.

mod tables;
mod transfer;

use crate::args::placement;
use crate::context::Context;
use crate::failure::{Exit, Failure};
use crate::name_prefixes::NamePrefixes;
use crate::plots;
use clap::ValueEnum;
use sparsight::answer::EvaluateAnswer;
use sparsight::model::{PlacementRule, RowLengthRule};
use sparsight::profile::ProfileFolder;
use sparsight::records::CorpusRecord;
use sparsight::{Profile, evaluate};
use std::path::PathBuf;
use tables::{Tables, Titled};

/// The papers' table: how far each model is off on each kernel, over the matrices of a profile's corpus
///
/// With `--from` it is the transfer from another device that is held against the corpus, beside the times on
/// that device scaled by what is known of both; DIR then needs no models, a quick profile with a corpus is enough.
#[derive(Debug, clap::Args)]
pub(crate) struct Evaluate {
    /// Folder of the profile
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Evaluate the transfer from this profile, by name or folder. The time there is the one measured, if its corpus
    /// holds the matrix by name, else what its models predict
    #[arg(long, value_name = "NAME|DIR", conflicts_with_all = ["placement", "row_length", "plots"])]
    from: Option<String>,
    /// Matrices to evaluate on, by the start of their names, such as e/,f/; +e/ stands for what was derived from those of e/
    /// [default: all]
    #[arg(long, value_name = "PREFIXES", value_delimiter = ',')]
    test: Vec<String>,
    /// Benchmark matrices that stand for the columns: banded, strewn, blend, or several
    #[arg(long, value_name = "RULES", value_delimiter = ',', default_value = "blend", value_parser = placement)]
    placement: Vec<PlacementRule>,
    /// Statistic that stands for the row lengths, in strip models: paper, mode, max, mean, median, p5, p25, p75, p90, p95,
    /// p99, or several
    #[arg(long, value_name = "STATISTICS", value_delimiter = ',', default_value = "paper")]
    row_length: Vec<RowLengthRule>,
    /// Rows of the error tables: one a kernel, or one a format over all of its kernels
    #[arg(long, value_name = "GROUP", default_value = "kernel")]
    by: Group,
    /// Worst predicted matrices to name for each model and kernel
    #[arg(long, value_name = "N", default_value_t = 3)]
    worst: usize,
    /// Tables in Markdown
    #[arg(long, conflicts_with = "json")]
    markdown: bool,
    /// Folder to draw into, as SVG: predicted against measured times, the fits of the strip models, what choosing costs
    #[arg(long, value_name = "OUT")]
    plots: Option<PathBuf>,
}

/// Over what an error is taken.
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
        let profile = Profile::load(&self.folder)?;
        let folder = ProfileFolder::open(&self.folder)?;
        let corpus = self.corpus(&folder, context)?;
        let evaluation = evaluate(&profile, &corpus, &self.placement, &self.row_length, self.worst)?;
        let written = match &self.plots {
            None => Vec::new(),
            Some(out) => {
                let benchmark = folder.benchmark()?.into_records();
                plots::write(out, &plots::all(&profile, &evaluation, &benchmark, &context.dtypes())?)?
            }
        };
        let answer = EvaluateAnswer::of(&profile, self.test.clone(), &evaluation, written);
        context.printer.answer(&answer, || {
            Tables { evaluation: &evaluation, by: self.by, out: self.output(context) }.print(&profile)?;
            let Some(folder) = &self.plots else { return Ok(()) };
            context.printer.line(format!("{} plots in {}", answer.plots.len(), folder.display()))
        })?;
        Ok(Exit::Done)
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
