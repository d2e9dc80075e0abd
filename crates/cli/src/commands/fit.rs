//! `sparsight fit`: fits every model to a profile.

use crate::context::Context;
use crate::failure::{Exit, Failure};
use crate::json::Document;
use crate::name_prefixes::NamePrefixes;
use crate::profiling;
use crate::table::Table;
use crate::text::{matrices, percent};
use serde::Serialize;
use sparsight::matrix::Dtype;
use sparsight::model::StripModel;
use sparsight::profile::ProfileFolder;
use std::collections::BTreeSet;
use std::path::PathBuf;

/// Fits every model to a profile and writes its models.json
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
        let corpus = folder.corpus()?.into_records();
        let names: BTreeSet<&str> =
            corpus.iter().map(|r| r.matrix.as_str()).filter(|name| train.accept(name)).collect();
        if names.is_empty() && !self.train.is_empty() {
            let text = format!("no matrix of the corpus begins with {}", self.train.join(" or "));
            return Err(Failure::input(text).hinted(NamePrefixes::hint(&corpus)));
        }
        let models = profiling::fit_and_write(&folder, |name| train.accept(name))?;
        let fitted: Vec<FittedJson> =
            [&models.strip, &models.strip_cache].into_iter().flat_map(summary).collect();
        let trained_on = names.len();
        if context.printer.is_json() {
            let body = FitJson { folder: self.folder.clone(), trained_on, models: fitted };
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
                "boosting leaves {} out: recorded before features said where the non-zeros lie",
                matrices(older)
            ))?;
        }
        if let Some(boosting) = &models.boosting {
            let held_out = boosting.cross_validation();
            context.printer.line(format_args!(
                "boosting learned from {}; held out, its median error is {} and its first choice within 5 % of the best \
                 for {} of them",
                matrices(boosting.matrices()),
                percent(held_out.error.median),
                percent(held_out.choice.within_5_percent)
            ))?;
        }
        Ok(Exit::Done)
    }
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
