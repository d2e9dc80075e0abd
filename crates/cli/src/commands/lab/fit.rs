//! `sparsight lab fit`: fits every model to a profile.

use crate::context::Context;
use crate::failure::{Exit, Failure};
use crate::name_prefixes::NamePrefixes;
use crate::printer::Printer;
use crate::profiling;
use crate::table::{Columns, Table, cell_or};
use crate::text::{counted, matrices, percent, words};
use sparsight::kernels::Kernel;
use sparsight::models::ModelName;
use sparsight::profile::{Models, ProfileFolder};
use sparsight_lab::answer::{FitAnswer, LearnedErrors};
use std::collections::BTreeSet;
use std::path::PathBuf;

/// Fit every model to the measurements of a profile
#[derive(Debug, clap::Args)]
pub(crate) struct Fit {
    /// Folder of the profile
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Matrices of the corpus to learn from, by the start of their names, such as a/,b/; +a/ selects matrices derived
    /// from those of a/ [default: all]
    #[arg(long, value_name = "PREFIXES", value_delimiter = ',')]
    train: Vec<String>,
    /// Folder of another GPU's profile: times of matrices that this device did not measure are carried over from it and
    /// learned from as well; may be given several times
    #[arg(long, value_name = "DIR")]
    with: Vec<PathBuf>,
    /// Learned models to leave out, of boosting, linear and neighbours
    #[arg(long, value_name = "MODELS", value_delimiter = ',', value_parser = learned)]
    without: Vec<ModelName>,
    /// Also write the whole profile into one file NAME.tar.gz for others, with numbers in place of the names of matrices
    #[arg(long, value_name = "FILE")]
    share: Option<PathBuf>,
}

fn learned(text: &str) -> Result<ModelName, String> {
    let learned = |model: &ModelName| model.is_learned() && *model != ModelName::Best;
    text.parse()
        .ok()
        .filter(learned)
        .ok_or_else(|| format!("'{text}' is none of boosting, linear, neighbours"))
}

impl Fit {
    pub(crate) fn run(&self, context: &Context) -> Result<Exit, Failure> {
        let folder = ProfileFolder::open(&self.folder)?;
        let train = NamePrefixes::new(&self.train);
        let corpus = folder.measured()?;
        let names: BTreeSet<&str> =
            corpus.iter().map(|r| r.matrix.as_str()).filter(|name| train.accept(name)).collect();
        if names.is_empty() && !self.train.is_empty() {
            let text = format!("no matrix of the corpus begins with {}", self.train.join(" or "));
            return Err(Failure::input(text).hinted(NamePrefixes::hint(&corpus)));
        }
        let accepts = |name: &str| train.accept(name);
        let others = self.with.iter().map(|path| ProfileFolder::open(path)).collect::<Result<Vec<_>, _>>()?;
        let fitted = profiling::fit_and_write(
            &folder,
            &others,
            (&self.train, accepts),
            &self.without,
            &context.printer,
        )?;
        let older: BTreeSet<&str> =
            corpus.iter().filter(|r| r.features.loads().is_none()).map(|r| r.matrix.as_str()).collect();
        let older = older.intersection(&names).count();
        let answer = FitAnswer::of(self.folder.clone(), &fitted)?;
        context.printer.answer(&answer, || print(&answer, &fitted.models, older, &context.printer))?;
        if let Some(path) = &self.share {
            profiling::share(&folder, path, &context.printer)?;
        }
        Ok(Exit::Done)
    }
}

/// `older`: matrices that models could not learn from.
fn print(answer: &FitAnswer, models: &Models, older: usize, out: &Printer) -> Result<(), Failure> {
    out.line(Table::of(
        &answer.models,
        [
            ("<model", &|f| f.model.to_owned()),
            ("<type", &|f| f.dtype.to_string()),
            ("candidates", &|f| f.candidates.to_string()),
            ("benchmarks", &|f| f.observations.to_string()),
            ("~without a fit", &|f| f.unfitted.join(", ")),
        ],
    ))?;
    let from = match answer.trained_on {
        0 => "the benchmark matrices alone".to_owned(),
        count => format!("{} of the corpus", matrices(count)),
    };
    out.line(format_args!("intervals from {from}"))?;
    if older > 0 {
        out.line(format_args!(
            "learned models leave {} out: recorded before features said where the non-zeros lie and what loads touch; \
             `sparsight lab measure MATRIX... --features-only -o {}` adds that",
            matrices(older),
            answer.folder.display()
        ))?;
    }
    for LearnedErrors { model, matrices: count, held_out, .. } in &answer.learned {
        out.line(format_args!(
            "{model} learned from {}; held out, its median error is {} and its first choice within 5 % of the best \
             for {} of them",
            matrices(*count),
            percent(held_out.error.median),
            percent(held_out.choice.within_5_percent)
        ))?;
    }
    if let Some(comparison) = models.comparison()? {
        out.line(format_args!(
            "best compares the candidates of {}; held out, its first choice is within 5 % of the best for {} of them",
            matrices(comparison.matrices()),
            percent(comparison.choice().within_5_percent)
        ))?;
    }
    if let Some(preparation) = &models.index.preparation {
        let costs = || preparation.formats.values().chain(preparation.on_device.values());
        let medians = || costs().map(|cost| cost.error.median);
        out.line(format_args!(
            "conversion and upload of {} formats on the host, {} on the device: median errors from {} to {}",
            preparation.formats.len(),
            preparation.on_device.len(),
            percent(medians().fold(f64::INFINITY, f64::min)),
            percent(medians().fold(0.0, f64::max))
        ))?;
    }
    for (model, costs) in &answer.cutting {
        for (execution, cost) in costs {
            let Some(learned) = &cost.learned else { continue };
            out.line(format_args!(
                "{} by {model}, {execution}: took {:.2} times the sum of what was predicted for their parts; learned \
                 with a median error of {}",
                counted(learned.error.count as u64, "cut"),
                learned.over_sums,
                percent(learned.error.median)
            ))?;
        }
    }
    if !answer.learned.is_empty() {
        out.line("")?;
        out.line(errors(&answer.learned))?;
        out.line("numbers: mean |ln(predicted / measured)| of held-out matrices; the least answers")?;
    }
    Ok(())
}

/// Kernel by kernel the errors of the learned models side by side, and which of them is least.
fn errors(learned: &[LearnedErrors]) -> Table {
    let of = |l: &LearnedErrors, kernel: &str| l.log_errors.get(kernel).copied();
    let best = |kernel: String| {
        let known = learned.iter().filter_map(|l| Some((l.model, of(l, &kernel)?)));
        let (best, _) = known.min_by(|a, b| a.1.total_cmp(&b.1))?;
        Some((kernel, best))
    };
    let kernels = Kernel::all().map(|kernel| kernel.to_string()).filter_map(best);
    let mut columns = Columns::of(kernels).with([("<kernel", &|(kernel, _)| words(kernel))]);
    for l in learned {
        columns = columns
            .with([(l.model, &|(kernel, _)| cell_or("-", of(l, kernel).map(|error| format!("{error:.3}"))))]);
    }
    columns.with([("<best", &|(_, best)| (*best).to_owned())]).table()
}
