//! `sparsight lab predict`: one model's predictions with the numbers that went into them.

use crate::args::{KernelFlags, ModelFlags};
use crate::context::Context;
use crate::csv::{CANDIDATE, CsvFlag, Layout, PREDICTED};
use crate::device_choice::ProfileFlags;
use crate::failure::{Exit, Failure};
use crate::many::{show, structures};
use crate::matrix_source::{MatrixSource, matrices};
use crate::printer::Printer;
use crate::text::{self, BOLD, DIM, between, counted, heading};
use sparsight::Advisor;
use sparsight::answer::MatrixSummary;
use sparsight::matrix::{Bytes, Limits, Seconds};
use sparsight::model::Term;
use sparsight::models::ModelName;
use sparsight_lab::answer::{PredictAnswer, PredictManyAnswer, PredictedCandidate};

/// Print the predictions of one model, term by term
#[derive(Debug, clap::Args)]
pub(crate) struct Predict {
    #[arg(required = true, help = matrices!(""))]
    paths: Vec<String>,
    #[command(flatten)]
    profile: ProfileFlags,
    #[command(flatten)]
    model: ModelFlags,
    #[command(flatten)]
    kernels: KernelFlags,
    #[command(flatten)]
    csv: CsvFlag,
}

/// A row a candidate; the numbers of the formula are in the JSON answer.
const TABLE: Layout = Layout {
    rows: &["candidates"],
    outer: &["device=device.name", "profile=device.profile", "asked=model"],
    inner: &[&CANDIDATE, &PREDICTED, &["infeasible"]],
};

impl Predict {
    pub(crate) fn run(&self, context: &Context) -> Result<Exit, Failure> {
        let dtype = context.dtype();
        let sources = MatrixSource::batch(&self.paths, &context.printer)?;
        let profile = self.profile.resolve(context, dtype)?;
        let (model, facts) = (self.model.model(), &profile.device.facts);
        let ModelFlags { placement, row_length, .. } = self.model;
        let predictor = Advisor::new(&profile).predictor(model, placement, row_length)?;
        let limits = Limits::with_memory(facts.memory_bytes);
        let mut candidates = self.kernels.candidates(facts.kind, dtype)?;
        self.kernels.note_value_types(&[dtype], &context.printer);
        let left_out = candidates.len().saturating_sub(context.top_in_json());
        candidates.truncate(context.top_in_json());
        let mut matrices = Vec::new();
        let looked = structures(&sources, context, |source, features| {
            let predicted =
                candidates.iter().map(|&c| PredictedCandidate::of(&predictor, c, &features, &limits));
            matrices.push(PredictAnswer {
                matrix: MatrixSummary::of(source.title(), &features),
                device: (&profile).into(),
                model,
                placement,
                row_length,
                candidates: predicted.collect(),
            });
            Ok(())
        })?;
        let has_times = matrices.iter().all(PredictAnswer::has_times);
        let out = &context.printer;
        let text = |answers: &[PredictAnswer]| {
            out.apart(answers, |answer| {
                out.line(text::title(&answer.matrix))?;
                let assumed = text::assumed(&profile.device);
                out.line(format_args!("{}   model {model}{assumed}", heading(&profile, dtype)))?;
                answer.candidates.iter().try_for_each(|one| print_one(out, model, one))
            })?;
            let terms = answers.iter().flat_map(|answer| &answer.candidates).flat_map(|one| &one.terms);
            if terms.into_iter().any(|term| term.name == "S") {
                out.line(format_args!("\n{DIM}{LETTERS}{DIM:#}"))?;
            }
            if left_out > 0 {
                let (more, all) = (counted(left_out as u64, "candidate"), candidates.len() + left_out);
                out.line(format_args!("\n{more} more: `--top {all}`"))?;
            }
            Ok(())
        };
        let many = |matrices| PredictManyAnswer { matrices };
        show(matrices, &sources, self.csv.csv.then_some(&TABLE), many, (out, text))?;
        looked.exit(has_times, "looked at")
    }
}

fn print_one(out: &Printer, asked: ModelName, one: &PredictedCandidate) -> Result<(), Failure> {
    let candidate = text::candidate(&one.candidate.id);
    let (Some(model), Some(p)) = (one.model, &one.prediction) else {
        let why = one.infeasible.as_deref().unwrap_or_default();
        return out.line(format_args!("\n{BOLD}{candidate}{BOLD:#}  not possible: {why}"));
    };
    let by = if model == asked { String::new() } else { format!("  by {model}") };
    let between = between(p.low, p.high);
    out.line(format_args!("\n{BOLD}{candidate}{BOLD:#}  {}  90 % between {between}{by}", p.time))?;
    let mut parts: Vec<&str> = one.terms.iter().map(|term| term.part).collect();
    parts.dedup();
    for part in parts {
        let numbers: Vec<String> = one.terms.iter().filter(|term| term.part == part).map(number).collect();
        let label = if part.is_empty() { "together".to_owned() } else { plain(part) };
        out.line(format_args!("  {DIM}{label:<19}{DIM:#} {}", numbers.join("   ")))?;
    }
    for e in &p.extrapolates {
        out.line(format_args!(
            "  {} = {} is outside the measured {} to {}",
            text::quantity(e.quantity),
            e.value,
            e.from,
            e.to
        ))?;
    }
    Ok(())
}

/// The term that `best` adds where it has compared the nearest candidates in pairs.
const BEST_TERM: &str = "T beside the other candidates";

/// Meaning of the letters of the strip models.
const LETTERS: &str = "S: rows or non-zeros that the device works on at one moment, a strip; I: strips of the matrix; p: row length that stands for \
     all; T: time; E, f, e, g, T_2, p_1: the lines of the model, and where they meet (docs/models.md)";

/// Name for `--placement`; profiles and JSON say strewn.
fn plain(text: &str) -> String {
    text.replace("strewn", "scattered")
}

/// `E(p) = 3.21 us`.
fn number(term: &Term) -> String {
    let Term { name, value, unit, .. } = *term;
    let name = match name {
        BEST_TERM => "T after comparing it with the others".to_owned(),
        name => plain(name),
    };
    match unit {
        "s" => format!("{name} = {}", Seconds(value)),
        "B" => format!("{name} = {}", Bytes(value as u64)),
        _ if value.fract() == 0.0 => format!("{name} = {value}"),
        _ => format!("{name} = {value:.3}"),
    }
}
