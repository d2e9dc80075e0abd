//! `sparsight predict`: one model's predictions with the numbers that went into them.

use crate::args::{KernelFlags, ModelFlags};
use crate::context::Context;
use crate::device_choice::ProfileFlags;
use crate::failure::{Exit, Failure};
use crate::json::{CandidateJson, DeviceJson, Document, MatrixJson, PredictionJson};
use crate::matrix_source::MatrixSource;
use crate::printer::{BOLD, DIM};
use crate::text::{between, heading, shape};
use serde::Serialize;
use sparsight::kernels::{Candidate, feasible};
use sparsight::matrix::{Bytes, Dtype, Features, Limits, Seconds};
use sparsight::model::{Model, Prediction, Term};
use sparsight::{Advisor, ModelName, Profile};

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

#[derive(Serialize)]
struct PredictJson {
    matrix: MatrixJson,
    device: DeviceJson,
    model: String,
    placement: sparsight::model::PlacementRule,
    row_length: sparsight::model::RowLengthRule,
    candidates: Vec<PredictedJson>,
}

#[derive(Serialize)]
struct PredictedJson {
    #[serde(flatten)]
    candidate: CandidateJson,
    /// The model that answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    #[serde(flatten)]
    prediction: Option<PredictionJson>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    terms: Vec<TermJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    infeasible: Option<String>,
}

#[derive(Serialize)]
struct TermJson {
    part: &'static str,
    name: &'static str,
    value: f64,
    unit: &'static str,
}

/// A candidate, and its prediction or why there is none.
type Predicted = (Candidate, Result<Answer, String>);

/// The model that answered, what it predicts and why.
type Answer = (ModelName, Prediction, Vec<Term>);

impl Predict {
    pub(crate) fn run(&self, context: &Context) -> Result<Exit, Failure> {
        let dtype = context.dtype();
        let source = MatrixSource::named(&self.path)?;
        let profile = self.profile.resolve(context, dtype)?;
        let features = match dtype {
            Dtype::F32 => Features::of(&source.load::<f32>(context)?),
            Dtype::F64 => Features::of(&source.load::<f64>(context)?),
        };
        let model = self.model.model();
        let predicted = self.predict(&profile, model, &features, dtype)?;
        if context.printer.is_json() {
            let body = PredictJson {
                matrix: MatrixJson::new(source.title(), &features),
                device: DeviceJson::profiled(&profile),
                model: model.to_string(),
                placement: self.model.placement,
                row_length: self.model.row_length,
                candidates: predicted.into_iter().map(PredictedJson::from).collect(),
            };
            context.printer.object(&Document::new("sparsight/predict/1", body))?;
        } else {
            let out = &context.printer;
            out.line(format_args!("{BOLD}{}{BOLD:#}   {}", source.title(), shape(&features)))?;
            out.line(format_args!("{}   model {model}", heading(&profile, dtype)))?;
            for (candidate, prediction) in &predicted {
                out.line("")?;
                print_one(context, model, candidate, prediction)?;
            }
        }
        Ok(Exit::Done)
    }

    fn predict(
        &self,
        profile: &Profile,
        model: ModelName,
        features: &Features,
        dtype: Dtype,
    ) -> Result<Vec<Predicted>, Failure> {
        let predictor =
            Advisor::new(profile).predictor(model, self.model.placement, self.model.row_length)?;
        let limits = Limits::with_memory(profile.device.facts.memory_bytes);
        let one = |candidate: &Candidate| -> Result<Answer, String> {
            feasible(candidate, features, &limits).map_err(|why| why.to_string())?;
            let (model, prediction) = predictor.answer(candidate, features).map_err(|why| why.to_string())?;
            let terms = predictor.explain(candidate, features).map_err(|why| why.to_string())?;
            Ok((model, prediction, terms))
        };
        let candidates = self.kernels.candidates(profile.device.facts.kind, dtype)?.into_iter();
        Ok(candidates.map(|candidate| (candidate, one(&candidate))).collect())
    }
}

fn print_one(
    context: &Context,
    asked: ModelName,
    candidate: &Candidate,
    prediction: &Result<Answer, String>,
) -> Result<(), Failure> {
    let out = &context.printer;
    let (model, p, terms) = match prediction {
        Ok(found) => found,
        Err(why) => return out.line(format_args!("{BOLD}{candidate}{BOLD:#}  not possible: {why}")),
    };
    let by = if *model == asked { String::new() } else { format!("  by {model}") };
    let between = between(p.low, p.high);
    out.line(format_args!("{BOLD}{candidate}{BOLD:#}  {}  90 % between {between}{by}", p.time))?;
    let mut parts: Vec<&str> = terms.iter().map(|term| term.part).collect();
    parts.dedup();
    for part in parts {
        let numbers: Vec<String> = terms.iter().filter(|term| term.part == part).map(number).collect();
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
fn number(term: &Term) -> String {
    let Term { name, value, unit, .. } = *term;
    match unit {
        "s" => format!("{name} = {}", Seconds(value)),
        "B" => format!("{name} = {}", Bytes(value as u64)),
        _ if value.fract() == 0.0 => format!("{name} = {value}"),
        _ => format!("{name} = {value:.3}"),
    }
}

impl From<Predicted> for PredictedJson {
    fn from((candidate, prediction): Predicted) -> Self {
        let candidate = candidate.into();
        match prediction {
            Ok((model, prediction, terms)) => {
                let json = |Term { part, name, value, unit }| TermJson { part, name, value, unit };
                let terms = terms.into_iter().map(json).collect();
                let (model, prediction) = (Some(model.to_string()), Some((&prediction).into()));
                Self { candidate, model, prediction, terms, infeasible: None }
            }
            Err(why) => {
                Self { candidate, model: None, prediction: None, terms: Vec::new(), infeasible: Some(why) }
            }
        }
    }
}
