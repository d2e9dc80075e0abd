//! The report at the end: patterns, products, times, and what another format would bring.

use crate::settings::{Mode, Settings};
use crate::totals::{Record, Totals};
use crate::{gpu, patterns};
use serde::Serialize;
use sparsight::kernels::Candidate;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Schema of the JSON report.
const SCHEMA: &str = "sparsight/run/1";
/// Patterns that are listed as text.
const LISTED: usize = 10;

/// The report.
#[derive(Debug, Serialize)]
struct Report {
    schema: &'static str,
    patterns: Vec<PatternReport>,
    products: u64,
    products_by_sparsight: u64,
    /// Of products whose times are known: time that cuSPARSE would have taken less the time taken.
    saved_s: f64,
    /// Reasons why GPUs were left to cuSPARSE.
    left_to_cusparse: Vec<String>,
}

/// A pattern of the report, times in seconds a product.
#[derive(Debug, Serialize)]
struct PatternReport {
    rows: u64,
    columns: u64,
    non_zeros: u64,
    dtype: String,
    products: u64,
    products_by_sparsight: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    cusparse_s: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sparsight_s: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    candidate: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    used: Option<bool>,
    /// Best candidate of all formats, if it is faster than the one that is used; predicted times of both.
    #[serde(skip_serializing_if = "Option::is_none")]
    better: Option<Better>,
    saved_s: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    verified: Option<Verified>,
}

/// A candidate of another format that would be faster.
#[derive(Debug, Serialize)]
struct Better {
    candidate: String,
    predicted_s: f64,
    /// Predicted time of the candidate that is used, or of cuSPARSE.
    in_place_of_s: f64,
}

impl Better {
    /// Predictions are held against predictions: what was measured between two events holds the launch, too.
    fn of(record: &Record) -> Option<Self> {
        let (candidate, time) = record.predicted.first()?;
        let used = |one: &(Candidate, f64)| match record.timed {
            Some((_, own, _, true)) => one.0 == own,
            _ => one.0.kernel.is_vendors(),
        };
        let (_, now) = record.predicted.iter().find(|one| used(one))?;
        (*time < 0.97 * now).then(|| Self {
            candidate: candidate.to_string(),
            predicted_s: *time,
            in_place_of_s: *now,
        })
    }
}

/// Products that were compared.
#[derive(Debug, Serialize)]
struct Verified {
    comparisons: u64,
    /// Largest difference in units of what rounding explains; above 1 is wrong. `null` for one that is no number.
    worst: f64,
}

impl PatternReport {
    fn of(totals: &Totals) -> Self {
        let (products, ours) = totals.products();
        let record = totals.recorded();
        let better = Better::of(&record);
        let Record { timed, verified, worst, .. } = record;
        let saved = timed.map_or(0.0, |(theirs, _, own, _)| (theirs - own) * ours as f64);
        Self {
            rows: totals.key.nrows,
            columns: totals.key.ncols,
            non_zeros: totals.key.nnz,
            dtype: totals.key.dtype().to_string(),
            products,
            products_by_sparsight: ours,
            cusparse_s: timed.map(|(theirs, ..)| theirs),
            sparsight_s: timed.map(|(_, _, own, _)| own),
            candidate: timed.map(|(_, candidate, ..)| candidate.to_string()),
            used: timed.map(|(.., used)| used),
            better,
            saved_s: saved,
            verified: (verified > 0).then_some(Verified { comparisons: verified, worst }),
        }
    }
}

impl Report {
    fn of(totals: &[std::sync::Arc<Totals>]) -> Self {
        let mut patterns: Vec<PatternReport> =
            totals.iter().map(|totals| PatternReport::of(totals)).collect();
        patterns.retain(|pattern| pattern.products > 0);
        patterns.sort_by(|a, b| b.saved_s.total_cmp(&a.saved_s));
        Self {
            schema: SCHEMA,
            products: patterns.iter().map(|pattern| pattern.products).sum(),
            products_by_sparsight: patterns.iter().map(|pattern| pattern.products_by_sparsight).sum(),
            saved_s: patterns.iter().map(|pattern| pattern.saved_s).sum(),
            left_to_cusparse: gpu::left(),
            patterns,
        }
    }

    fn text(&self, mode: Mode) -> String {
        let mut text = String::new();
        let (count, products) = (self.patterns.len(), self.products);
        if products == 0 {
            text += "sparsight: no product that could be replaced was seen (cusparseSpMV of a CSR matrix in f32 or f64)\n";
        } else {
            let _ = writeln!(
                text,
                "sparsight: {count} pattern(s), {products} products, {} of them by sparsight; about {:.1} ms saved",
                self.products_by_sparsight,
                self.saved_s * 1e3
            );
        }
        for why in &self.left_to_cusparse {
            let _ = writeln!(text, "  left to cuSPARSE: {why}");
        }
        for pattern in self.patterns.iter().take(LISTED) {
            text += &pattern.text(mode);
        }
        if count > LISTED {
            let _ =
                writeln!(text, "  ... and {} more: SPARSIGHT_CUSPARSE_REPORT=FILE has all", count - LISTED);
        }
        text
    }
}

impl PatternReport {
    fn text(&self, mode: Mode) -> String {
        let us = |seconds: f64| seconds * 1e6;
        let Self { rows, columns, non_zeros, dtype, products, products_by_sparsight: ours, .. } = self;
        let mut text = format!(
            "  {rows} x {columns}, {non_zeros} non-zeros, {dtype}: {products} products, {ours} by sparsight"
        );
        match (&self.candidate, self.cusparse_s, self.sparsight_s) {
            (Some(candidate), Some(theirs), Some(own)) => {
                let _ = write!(text, "; cuSPARSE {:.2} us, {candidate} {:.2} us", us(theirs), us(own));
            }
            _ if mode == Mode::Report => text += "; too few products to compare",
            _ => {}
        }
        text.push('\n');
        if let Some(Better { candidate, predicted_s, in_place_of_s }) = &self.better {
            let _ = writeln!(
                text,
                "    {candidate} would take {:.2} us in place of {:.2} (both predicted): sparsight.plan(A, device=\"cuda\")",
                us(*predicted_s),
                us(*in_place_of_s)
            );
        }
        if let Some(Verified { comparisons, worst }) = &self.verified {
            let word = if *worst > 1.0 { "WRONG" } else { "right" };
            let _ = writeln!(
                text,
                "    {comparisons} comparisons, largest difference {worst:.3} of what rounding explains: {word}"
            );
        }
        text
    }
}

/// A name with the number of the process in the place of `%p`.
fn with_process(file: &Path) -> PathBuf {
    PathBuf::from(file.to_string_lossy().replace("%p", &std::process::id().to_string()))
}

/// Prints the report, and writes it to the file that was named.
pub(crate) fn print() {
    let settings = Settings::get();
    if !settings.reports() {
        return;
    }
    let report = Report::of(&patterns::totals());
    match &settings.report_file {
        None => eprint!("{}", report.text(settings.mode)),
        Some(file) => {
            let file = &with_process(file);
            let json = serde_json::to_string_pretty(&report).unwrap_or_default() + "\n";
            if let Err(error) = std::fs::write(file, json) {
                eprintln!("sparsight: cannot write the report to {}: {error}", file.display());
                eprint!("{}", report.text(settings.mode));
            }
        }
    }
}
