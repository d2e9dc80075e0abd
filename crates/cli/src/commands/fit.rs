//! `sparsight fit`: fits every model to a profile.

use crate::context::Context;
use crate::failure::{Exit, Failure};
use crate::json::Document;
use crate::name_prefixes::NamePrefixes;
use crate::profiling;
use crate::table::Table;
use crate::text::{counted, matrices, percent};
use serde::Serialize;
use sparsight::kernels::{Execution, Kernel};
use sparsight::matrix::Dtype;
use sparsight::model::{CrossValidation, CutCost, StripModel};
use sparsight::profile::{Learned, ProfileFolder};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// Fits every model to a profile and writes them to it
#[derive(Debug, clap::Args)]
pub(crate) struct Fit {
    /// Folder of the profile
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Matrices of the corpus that may be learned from, by the start of their names, such as a/,b/
    /// [default: all]
    #[arg(long, value_name = "PREFIXES", value_delimiter = ',')]
    train: Vec<String>,
}

#[derive(Serialize)]
struct FitJson {
    folder: PathBuf,
    /// Matrices whose errors calibrate the intervals.
    trained_on: usize,
    models: Vec<FittedJson>,
    /// What cross-validation found of the models that learned from measured matrices.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    learned: Vec<LearnedJson>,
    /// What cutting costs, by model and execution.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    cutting: BTreeMap<String, BTreeMap<Execution, CutCost>>,
}

#[derive(Serialize)]
struct LearnedJson {
    model: &'static str,
    matrices: usize,
    held_out: CrossValidation,
    /// Mean of `|ln(predicted / measured)|` by kernel, by which `best` chooses.
    log_errors: BTreeMap<String, f64>,
}

#[derive(Serialize)]
struct FittedJson {
    model: &'static str,
    dtype: Dtype,
    candidates: usize,
    observations: usize,
    /// Candidates, at some placement, with too few benchmark matrices.
    unfitted: Vec<String>,
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
        let models = profiling::fit_and_write(&folder, &self.train, |name| train.accept(name))?;
        let fitted: Vec<FittedJson> =
            models.strips()?.into_iter().flat_map(|(_, strip)| summary(&strip.model)).collect();
        let learned: Vec<LearnedJson> = models.every_learned()?.into_iter().map(summed_up).collect();
        let trained_on = names.len();
        if context.printer.is_json() {
            let (folder, cutting) = (self.folder.clone(), models.index.cutting);
            let body = FitJson { folder, trained_on, models: fitted, learned, cutting };
            context.printer.object(&Document::new("sparsight/fit/1", body))?;
            return Ok(Exit::Done);
        }
        let mut table = Table::new(&["<model", "<type", "candidates", "benchmarks", "~without a fit"]);
        for f in fitted {
            table.row([
                f.model.to_owned(),
                f.dtype.to_string(),
                f.candidates.to_string(),
                f.observations.to_string(),
                f.unfitted.join(", "),
            ]);
        }
        context.printer.line(table)?;
        let from = match trained_on {
            0 => "the benchmark matrices alone".to_owned(),
            count => format!("{} of the corpus", matrices(count)),
        };
        context.printer.line(format_args!("intervals from {from}"))?;
        let older: BTreeSet<&str> =
            corpus.iter().filter(|r| r.features.locality.is_none()).map(|r| r.matrix.as_str()).collect();
        let older = older.intersection(&names).count();
        if older > 0 {
            context.printer.line(format_args!(
                "learned models leave {} out: recorded before features said where the non-zeros lie",
                matrices(older)
            ))?;
        }
        for LearnedJson { model, matrices: count, held_out, .. } in &learned {
            context.printer.line(format_args!(
                "{model} learned from {}; held out, its median error is {} and its first choice within 5 % of the best \
                 for {} of them",
                matrices(*count),
                percent(held_out.error.median),
                percent(held_out.choice.within_5_percent)
            ))?;
        }
        if let Some(comparison) = models.comparison()? {
            context.printer.line(format_args!(
                "best compares the candidates of {}; held out, its first choice is within 5 % of the best for {} of them",
                matrices(comparison.matrices()),
                percent(comparison.choice().within_5_percent)
            ))?;
        }
        if let Some(preparation) = &models.index.preparation {
            let costs = || preparation.formats.values().chain(preparation.on_device.values());
            let medians = || costs().map(|cost| cost.error.median);
            context.printer.line(format_args!(
                "conversion and upload of {} formats on the host, {} on the device: median errors from {} to {}",
                preparation.formats.len(),
                preparation.on_device.len(),
                percent(medians().fold(f64::INFINITY, f64::min)),
                percent(medians().fold(0.0, f64::max))
            ))?;
        }
        for (model, costs) in &models.index.cutting {
            for (execution, cost) in costs {
                let Some(learned) = &cost.learned else { continue };
                context.printer.line(format_args!(
                    "{} by {model}, {execution}: took {:.2} times the sum of what was predicted for their parts; learned \
                     with a median error of {}",
                    counted(learned.error.count as u64, "cut"),
                    learned.over_sums,
                    percent(learned.error.median)
                ))?;
            }
        }
        if !learned.is_empty() {
            context.printer.line("")?;
            context.printer.line(errors(&learned))?;
            context
                .printer
                .line("numbers: mean |ln(predicted / measured)| of held-out matrices; the least answers")?;
        }
        Ok(Exit::Done)
    }
}

fn summed_up(model: &dyn Learned) -> LearnedJson {
    let errors = model.known().log_errors.into_iter();
    LearnedJson {
        model: model.name(),
        matrices: model.matrices(),
        held_out: *model.cross_validation(),
        log_errors: errors.filter_map(|(kernel, error)| Some((kernel.to_string(), error?))).collect(),
    }
}

/// Kernel by kernel the errors of the learned models side by side, and which of them is least.
fn errors(learned: &[LearnedJson]) -> Table {
    let names = learned.iter().map(|l| l.model);
    let columns: Vec<&str> = std::iter::once("<kernel").chain(names).chain(["<best"]).collect();
    let mut table = Table::new(&columns);
    for kernel in Kernel::ALL.map(|kernel| kernel.to_string()) {
        let of = |l: &LearnedJson| l.log_errors.get(&kernel).copied();
        let least = learned.iter().filter_map(|l| Some((l.model, of(l)?))).min_by(|a, b| a.1.total_cmp(&b.1));
        let Some((best, _)) = least else { continue };
        let cells = learned.iter().map(|l| of(l).map_or_else(|| "-".to_owned(), |e| format!("{e:.3}")));
        table.row(std::iter::once(kernel.clone()).chain(cells).chain([best.to_owned()]));
    }
    table
}

/// One entry a value type that the profile holds.
fn summary(model: &StripModel) -> Vec<FittedJson> {
    let entry = |dtype: Dtype| {
        let fitted: Vec<_> = model.fitted().iter().filter(|f| f.candidate.dtype == dtype).collect();
        let unfitted = model.unfitted().iter().filter(|u| u.candidate.dtype == dtype);
        let candidates: BTreeSet<_> = fitted.iter().map(|f| f.candidate).collect();
        FittedJson {
            model: model.variant().name(),
            dtype,
            candidates: candidates.len(),
            observations: fitted.iter().map(|f| f.observations).sum(),
            unfitted: unfitted
                .map(|u| u.candidate.kernel.to_string())
                .collect::<BTreeSet<_>>()
                .into_iter()
                .collect(),
        }
    };
    let mut entries: Vec<FittedJson> = Dtype::ALL.into_iter().map(entry).collect();
    entries.retain(|e| e.candidates > 0 || !e.unfitted.is_empty());
    entries
}
