//! `sparsight transfer`: the time of a matrix on a device that was hardly measured.

use crate::args::KernelFlags;
use crate::context::Context;
use crate::csv::{CANDIDATE, CsvFlag, Layout};
use crate::device_choice::described;
use crate::failure::{Exit, Failure};
use crate::many::structures;
use crate::matrix_source::MatrixSource;
use crate::printer::BOLD;
use crate::table::Table;
use crate::text::{self, shape};
use sparsight::answer::{MatrixSummary, TransferAnswer, TransferManyAnswer, TransferredCandidate};
use sparsight::device::timing::Caches;
use sparsight::kernels::{Candidate, feasible};
use sparsight::matrix::{Dtype, Features, Limits};
use sparsight::model::transfer::Transferred;
use sparsight::profile::TransferProfile;
use sparsight::records::CorpusRecord;
use sparsight::{CrossArchitecture, Reference, ReferenceOrigin};

/// Predicted time on a device that has only a quick profile, from the time on one that is well known
///
/// The time on the reference is the one measured, if its profile is a folder whose corpus holds the matrix by name, else what
/// its models predict. `sparsight profile --quick` makes the profile of the target in some seconds.
#[derive(Debug, clap::Args)]
pub(crate) struct Transfer {
    /// Matrices: files, folders, - or gallery:NAME[,key=value...]
    #[arg(required = true)]
    paths: Vec<String>,
    /// Profile of the device that is well known, by name or folder
    #[arg(long, value_name = "NAME|DIR", default_value = "nvidia-h200")]
    from: String,
    /// Profile of the device that is asked about, by name or folder; a quick one is enough
    #[arg(long, value_name = "NAME|DIR")]
    to: String,
    #[command(flatten)]
    kernels: KernelFlags,
    #[command(flatten)]
    csv: CsvFlag,
}

/// A row a candidate.
const TABLE: Layout = Layout {
    rows: &["candidates"],
    outer: &["reference=reference.name", "target=target.name"],
    inner: &[
        &CANDIDATE,
        &[
            "predicted_s",
            "reference_s",
            "reference_origin",
            "relative_performance",
            "init_reference_s",
            "init_target_s",
            "at_launch_cost",
            "infeasible",
        ],
    ],
};

/// A candidate that was transferred.
#[derive(Debug)]
struct Answer {
    candidate: Candidate,
    transferred: Transferred,
    origin: ReferenceOrigin,
}

/// All candidates.
#[derive(Debug, Default)]
struct Answers {
    /// Best first.
    transferred: Vec<Answer>,
    /// Those that are not possible or not known, with the reason.
    refused: Vec<(Candidate, String)>,
}

impl Transfer {
    pub(crate) fn run(&self, context: &Context) -> Result<Exit, Failure> {
        let dtype = context.dtype();
        let sources = MatrixSource::batch(&self.paths)?;
        let (reference, target) = (Reference::find(&self.from)?, TransferProfile::find(&self.to)?);
        let (mut matrices, mut found) = (Vec::new(), Vec::new());
        let looked = structures(&sources, context, |source, features| {
            let measured = self.measured(&reference, source, dtype, &features, context);
            let across = reference.to(&target, measured);
            let answers = self.answers(&across, &features, dtype)?;
            let transferred = answers.transferred.iter().take(context.top_in_json());
            let transferred =
                transferred.map(|a| TransferredCandidate::of(a.candidate, &a.transferred, a.origin));
            let refused = answers.refused.iter().map(|(c, why)| TransferredCandidate::refused(*c, why));
            matrices.push(TransferAnswer {
                matrix: MatrixSummary::of(source.title(), &features),
                reference: across.reference.into(),
                target: across.target.into(),
                candidates: transferred.chain(refused).collect(),
            });
            found.push((source.title(), across, features, answers));
            Ok(())
        })?;
        let out = &context.printer;
        let text = || {
            for (at, (title, across, features, answers)) in found.iter().enumerate() {
                if at > 0 {
                    out.line("")?;
                }
                print(context, title, across, features, dtype, answers)?;
            }
            Ok(())
        };
        if self.csv.csv {
            out.csv(&TABLE, &matrices)?;
        } else if let ([answer], [_]) = (&matrices[..], &sources[..]) {
            out.answer(answer, text)?;
        } else {
            out.answer(&TransferManyAnswer { matrices }, text)?;
        }
        looked.exit(true)
    }

    /// What the reference measured of a matrix of this name, if its profile is a folder that holds it.
    fn measured<'r>(
        &self,
        reference: &'r Reference,
        source: &MatrixSource,
        dtype: Dtype,
        features: &Features,
        context: &Context,
    ) -> Option<&'r CorpusRecord> {
        let name = source.record_name();
        reference.named(&name, dtype, Caches::Warm).filter(|record| {
            let same = record.has_size_of(features);
            if !same {
                context.printer.note(format_args!(
                    "{}: the corpus holds another matrix called {name}; its times are predicted",
                    self.from
                ));
            }
            same
        })
    }

    /// Every candidate asked for.
    ///
    /// # Errors
    /// The first reason, if none of the candidates that fit can be transferred.
    fn answers(
        &self,
        across: &CrossArchitecture<'_>,
        features: &Features,
        dtype: Dtype,
    ) -> Result<Answers, Failure> {
        let facts = &across.target.device.facts;
        let limits = Limits::with_memory(facts.memory_bytes);
        let (mut all, mut first) = (Answers::default(), None);
        for candidate in self.kernels.candidates(facts.kind, dtype)? {
            if let Err(why) = feasible(&candidate, features, &limits) {
                all.refused.push((candidate, why.to_string()));
                continue;
            }
            match across.time(&candidate, features) {
                Ok((transferred, origin)) => {
                    all.transferred.push(Answer { candidate, transferred, origin });
                }
                Err(why) => {
                    all.refused.push((candidate, why.to_string()));
                    first.get_or_insert(why);
                }
            }
        }
        if let (true, Some(why)) = (all.transferred.is_empty(), first) {
            return Err(why.into());
        }
        let time = |answer: &Answer| answer.transferred.time.0;
        all.transferred.sort_by(|a, b| time(a).total_cmp(&time(b)).then(a.candidate.cmp(&b.candidate)));
        Ok(all)
    }
}

fn print(
    context: &Context,
    title: &str,
    across: &CrossArchitecture<'_>,
    features: &Features,
    dtype: Dtype,
    answers: &Answers,
) -> Result<(), Failure> {
    let (out, Answers { transferred: answers, refused }) = (&context.printer, answers);
    out.line(format_args!("{BOLD}{title}{BOLD:#}   {}", shape(features)))?;
    let (from, to) = (&across.reference.device, &across.target.device);
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
            how.to_string(),
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
