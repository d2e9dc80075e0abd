//! `sparsight predict`: one model's predictions with the numbers that went into them.

use crate::args::{KernelFlags, ModelFlags};
use crate::context::Context;
use crate::device_choice::ProfileFlags;
use crate::failure::{Exit, Failure};
use crate::matrix_source::MatrixSource;
use crate::printer::{BOLD, DIM, Printer};
use crate::text::{between, counted, heading, shape};
use sparsight::answer::{MatrixSummary, PredictAnswer, PredictedCandidate, PredictedTerm};
use sparsight::matrix::{Bytes, Dtype, Features, Limits, Seconds};
use sparsight::{Advisor, ModelName};

/// One model's predicted time for each candidate asked for, with the numbers that went into it
#[derive(Debug, clap::Args)]
pub(crate) struct Predict {
    /// The matrix: a file or gallery:NAME[,key=value...]
    path: String,
    #[command(flatten)]
    profile: ProfileFlags,
    #[command(flatten)]
    model: ModelFlags,
    #[command(flatten)]
    kernels: KernelFlags,
}

impl Predict {
    pub(crate) fn run(&self, context: &Context) -> Result<Exit, Failure> {
        let dtype = context.dtype();
        let source = MatrixSource::named(&self.path)?;
        let profile = self.profile.resolve(context, dtype)?;
        let features = match dtype {
            Dtype::F32 => Features::of(&source.load::<f32>(context)?),
            Dtype::F64 | Dtype::Mixed => Features::of(&source.load::<f64>(context)?),
        };
        let (model, facts) = (self.model.model(), &profile.device.facts);
        let ModelFlags { placement, row_length, .. } = self.model;
        let predictor = Advisor::new(&profile).predictor(model, placement, row_length)?;
        let limits = Limits::with_memory(facts.memory_bytes);
        let mut candidates = self.kernels.candidates(facts.kind, dtype)?;
        let left_out = candidates.len().saturating_sub(context.top_in_json());
        candidates.truncate(context.top_in_json());
        let predicted =
            candidates.into_iter().map(|c| PredictedCandidate::of(&predictor, c, &features, &limits));
        let answer = PredictAnswer {
            matrix: MatrixSummary::of(source.title(), &features),
            device: (&profile).into(),
            model,
            placement,
            row_length,
            candidates: predicted.collect(),
        };
        context.printer.answer(&answer, || {
            let out = &context.printer;
            out.line(format_args!("{BOLD}{}{BOLD:#}   {}", source.title(), shape(&features)))?;
            out.line(format_args!("{}   model {model}", heading(&profile, dtype)))?;
            for one in &answer.candidates {
                out.line("")?;
                print_one(out, model, one)?;
            }
            if left_out > 0 {
                let (more, all) = (counted(left_out as u64, "candidate"), answer.candidates.len() + left_out);
                out.line(format_args!("\n{more} more: `--top {all}`"))?;
            }
            Ok(())
        })?;
        Ok(Exit::Done)
    }
}

fn print_one(out: &Printer, asked: ModelName, one: &PredictedCandidate) -> Result<(), Failure> {
    let candidate = one.candidate.id;
    let (Some(model), Some(p)) = (one.model, &one.prediction) else {
        let why = one.infeasible.as_deref().unwrap_or_default();
        return out.line(format_args!("{BOLD}{candidate}{BOLD:#}  not possible: {why}"));
    };
    let by = if model == asked { String::new() } else { format!("  by {model}") };
    let between = between(p.low_s, p.high_s);
    out.line(format_args!("{BOLD}{candidate}{BOLD:#}  {}  90 % between {between}{by}", p.predicted_s))?;
    let mut parts: Vec<&str> = one.terms.iter().map(|term| term.part).collect();
    parts.dedup();
    for part in parts {
        let numbers: Vec<String> = one.terms.iter().filter(|term| term.part == part).map(number).collect();
        let label = if part.is_empty() { "together" } else { part };
        out.line(format_args!("  {DIM}{label:<17}{DIM:#} {}", numbers.join("   ")))?;
    }
    for e in &p.extrapolates {
        out.line(format_args!(
            "  {} = {} is outside the measured {} to {}",
            e.quantity, e.value, e.from, e.to
        ))?;
    }
    Ok(())
}

/// `E(p) = 3.21 us`.
fn number(term: &PredictedTerm) -> String {
    let PredictedTerm { name, value, unit, .. } = *term;
    match unit {
        "s" => format!("{name} = {}", Seconds(value)),
        "B" => format!("{name} = {}", Bytes(value as u64)),
        _ if value.fract() == 0.0 => format!("{name} = {value}"),
        _ => format!("{name} = {value:.3}"),
    }
}
