//! `sparsight transfer`: the time of a matrix on a device that was hardly measured.

use crate::args::KernelFlags;
use crate::context::Context;
use crate::device_choice::described;
use crate::failure::{Exit, Failure};
use crate::json::{CandidateJson, DeviceJson, Document, MatrixJson};
use crate::matrix_source::MatrixSource;
use crate::printer::BOLD;
use crate::table::Table;
use crate::text::{self, shape};
use serde::Serialize;
use sparsight::device::timing::Caches;
use sparsight::kernels::{Candidate, feasible};
use sparsight::matrix::{Dtype, Features, Limits, Seconds};
use sparsight::model::transfer::Transferred;
use sparsight::profile::{ProfileFolder, TransferProfile};
use sparsight::records::CorpusRecord;
use sparsight::{CrossArchitecture, Error, Profile, ReferenceOrigin};
use std::path::Path;

/// Predicted time on a device that has only a quick profile, from the time on one that is well known
///
/// The time on the reference is the one measured, if its profile is a folder whose corpus holds the matrix by name, else what
/// its models predict. `sparsight profile --quick` makes the profile of the target in some seconds.
#[derive(Debug, clap::Args)]
pub(crate) struct Transfer {
    /// The matrix: a file or gallery:NAME[,key=value...]
    path: String,
    /// Profile of the device that is well known, by name or folder
    #[arg(long, value_name = "NAME|DIR", default_value = "nvidia-h200")]
    from: String,
    /// Profile of the device that is asked about, by name or folder; a quick one is enough
    #[arg(long, value_name = "NAME|DIR")]
    to: String,
    #[command(flatten)]
    kernels: KernelFlags,
}

#[derive(Serialize)]
struct TransferJson {
    matrix: MatrixJson,
    reference: DeviceJson,
    target: DeviceJson,
    /// Best first, then those that are not possible.
    candidates: Vec<TransferredJson>,
}

#[derive(Serialize)]
struct TransferredJson {
    #[serde(flatten)]
    candidate: CandidateJson,
    #[serde(flatten)]
    answer: AnswerJson,
}

#[derive(Serialize)]
#[serde(untagged)]
enum AnswerJson {
    Time {
        predicted_s: Seconds,
        reference_s: Seconds,
        /// `measured`, or the model that predicts it.
        reference_origin: String,
        relative_performance: f64,
        init_reference_s: Seconds,
        init_target_s: Seconds,
        at_launch_cost: bool,
    },
    Refused {
        infeasible: String,
    },
}

/// A candidate that was transferred.
struct Answer {
    candidate: Candidate,
    transferred: Transferred,
    origin: ReferenceOrigin,
}

/// What is known of both devices.
struct Known {
    reference: TransferProfile,
    models: Option<Profile>,
    measured: Option<CorpusRecord>,
    target: TransferProfile,
}

impl Transfer {
    pub(crate) fn run(&self, context: &Context) -> Result<Exit, Failure> {
        let dtype = context.dtype();
        let source = MatrixSource::named(&self.path)?;
        let (reference, target) = (TransferProfile::find(&self.from)?, TransferProfile::find(&self.to)?);
        let features = match dtype {
            Dtype::F32 => Features::of(&source.load::<f32>(context)?),
            Dtype::F64 => Features::of(&source.load::<f64>(context)?),
        };
        let models = match Profile::find(&self.from) {
            Ok(profile) => Some(profile),
            // A profile that was never fitted may still have measured this matrix.
            Err(Error::Lacking { .. }) => None,
            Err(error) => return Err(error.into()),
        };
        let measured = self.measured(&source, dtype, &features, context)?;
        let known = Known { reference, models, measured, target };
        let (answers, refused) = self.answers(&known, &features, dtype)?;
        if context.printer.is_json() {
            let time = |answer: &Answer| TransferredJson {
                candidate: answer.candidate.into(),
                answer: AnswerJson::from(answer),
            };
            let not = |(candidate, why): &(Candidate, String)| TransferredJson {
                candidate: (*candidate).into(),
                answer: AnswerJson::Refused { infeasible: why.clone() },
            };
            let body = TransferJson {
                matrix: MatrixJson::new(source.title(), &features),
                reference: DeviceJson::of(&known.reference.name, &known.reference.device),
                target: DeviceJson::of(&known.target.name, &known.target.device),
                candidates: answers
                    .iter()
                    .map(time)
                    .take(context.top_in_json())
                    .chain(refused.iter().map(not))
                    .collect(),
            };
            context.printer.object(&Document::new("sparsight/transfer/1", body))?;
        } else {
            print(context, &source.title(), &known, &features, dtype, &answers, &refused)?;
        }
        Ok(Exit::Done)
    }

    /// What the reference measured of a matrix of this name, if its profile is a folder that holds it.
    fn measured(
        &self,
        source: &MatrixSource,
        dtype: Dtype,
        features: &Features,
        context: &Context,
    ) -> Result<Option<CorpusRecord>, Failure> {
        if !Path::new(&self.from).join("corpus.jsonl").is_file() {
            return Ok(None);
        }
        let name = source.record_name();
        let records = ProfileFolder::open(Path::new(&self.from))?.measured()?.into_iter();
        let mut found = records.filter(|r| (&r.matrix, r.dtype, r.caches) == (&name, dtype, Caches::Warm));
        let size = |f: &Features| (f.nrows, f.ncols, f.nnz);
        Ok(found.next().filter(|record| {
            let same = size(&record.features) == size(features);
            if !same {
                context.printer.note(format_args!(
                    "{}: the corpus holds another matrix called {name}; its times are predicted",
                    self.from
                ));
            }
            same
        }))
    }

    /// Those transferred, best first, and the others with the reason.
    ///
    /// # Errors
    /// The first reason, if none of the candidates that fit can be transferred.
    fn answers(
        &self,
        known: &Known,
        features: &Features,
        dtype: Dtype,
    ) -> Result<(Vec<Answer>, Vec<(Candidate, String)>), Failure> {
        let across = CrossArchitecture {
            reference: &known.reference,
            models: known.models.as_ref(),
            measured: known.measured.as_ref(),
            target: &known.target,
        };
        let limits = Limits::with_memory(known.target.device.facts.memory_bytes);
        let (mut answers, mut refused, mut first) = (Vec::new(), Vec::new(), None);
        for candidate in self.kernels.candidates(dtype) {
            if let Err(why) = feasible(&candidate, features, &limits) {
                refused.push((candidate, why.to_string()));
                continue;
            }
            match across.time(&candidate, features) {
                Ok((transferred, origin)) => answers.push(Answer { candidate, transferred, origin }),
                Err(why) => {
                    refused.push((candidate, why.to_string()));
                    first.get_or_insert(why);
                }
            }
        }
        if let (true, Some(why)) = (answers.is_empty(), first) {
            return Err(why.into());
        }
        let time = |answer: &Answer| answer.transferred.time.0;
        answers.sort_by(|a, b| time(a).total_cmp(&time(b)).then(a.candidate.cmp(&b.candidate)));
        Ok((answers, refused))
    }
}

impl From<&Answer> for AnswerJson {
    fn from(answer: &Answer) -> Self {
        let Transferred { relative, reference, time, at_launch_cost } = answer.transferred;
        Self::Time {
            predicted_s: time,
            reference_s: reference,
            reference_origin: origin(answer.origin),
            relative_performance: relative.performance(),
            init_reference_s: relative.init_reference(),
            init_target_s: relative.init_target(),
            at_launch_cost,
        }
    }
}

fn origin(origin: ReferenceOrigin) -> String {
    match origin {
        ReferenceOrigin::Measured => "measured".to_owned(),
        ReferenceOrigin::Predicted(model) => model.to_string(),
    }
}

fn print(
    context: &Context,
    title: &str,
    known: &Known,
    features: &Features,
    dtype: Dtype,
    answers: &[Answer],
    refused: &[(Candidate, String)],
) -> Result<(), Failure> {
    let out = &context.printer;
    out.line(format_args!("{BOLD}{title}{BOLD:#}   {}", shape(features)))?;
    let (from, to) = (&known.reference.device, &known.target.device);
    out.line(format_args!(
        "{BOLD}{}{BOLD:#}   {dtype}   profile of {}, transferred from {} of {}",
        described(&to.facts),
        to.provenance.date,
        described(&from.facts),
        from.provenance.date
    ))?;
    out.line("")?;
    let columns = ["", "<candidate", "predicted", "T_ref", "<T_ref from", "P", "T_init ref", "T_init target"];
    let mut table = Table::new(&columns);
    for (place, Answer { candidate, transferred, origin: how }) in
        answers.iter().take(context.top()).enumerate()
    {
        let Transferred { relative, reference, time, at_launch_cost } = transferred;
        let floor = if *at_launch_cost { " (launch)" } else { "" };
        table.row([
            (place + 1).to_string(),
            text::candidate(candidate),
            format!("{time}{floor}"),
            reference.to_string(),
            origin(*how),
            format!("{:.3}", relative.performance()),
            relative.init_reference().to_string(),
            relative.init_target().to_string(),
        ]);
    }
    out.line(table)?;
    let hidden = answers.len().saturating_sub(context.top());
    if hidden > 0 {
        out.line(format_args!("{} more: `--top {}`", hidden, answers.len()))?;
    }
    for alike in refused.chunk_by(|a, b| a.0.kernel.name() == b.0.kernel.name()) {
        let (candidate, why) = &alike[0];
        let more =
            if alike.len() > 1 { format!(" (and {} like it)", alike.len() - 1) } else { String::new() };
        out.line(format_args!("not possible: {}{more}: {why}", candidate.kernel))?;
    }
    out.line(
        "predicted = T_init target + P (T_ref - T_init ref); without an interval, since none was calibrated",
    )
}
