//! `sparsight lab transfer`: predicted times on a device with few measurements.

use crate::args::KernelFlags;
use crate::context::Context;
use crate::csv::{CANDIDATE, CsvFlag, Layout};
use crate::failure::{Exit, Failure};
use crate::many::structures;
use crate::matrix_source::{MatrixSource, matrices};
use crate::table::Table;
use crate::text::{self, BOLD, described, shape};
use clap::ValueEnum;
use sparsight::answer::MatrixSummary;
use sparsight::device::timing::Caches;
use sparsight::kernels::{Candidate, feasible};
use sparsight::matrix::{Dtype, Features, Limits};
use sparsight::model::Floor;
use sparsight::records::CorpusRecord;
use sparsight_lab::answer::{TransferAnswer, TransferManyAnswer, TransferredCandidate};
use sparsight_lab::papers::guo_wang_2013::Relative;
use sparsight_lab::transfer::{
    CarriedTime, CrossArchitecture, Reference, TransferBy, TransferProfile, has_size_of,
};

/// Method of a transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum TransferModel {
    /// Part by part, as launch, copy rate, cache and size of both devices say; what measures best
    Rescaling,
    /// The equation of Guo and Wang 2013, by benchmark matrices of both devices
    #[value(name = "guo-wang-2013")]
    GuoWang2013,
}

/// Carry times over from a well measured device to another one
///
/// The time on the reference is the measured one if its profile is a folder whose corpus holds the matrix by name, else the
/// prediction of its models. The target needs device.json or a data sheet; matrices that both devices measured
/// (`sparsight calibrate`) improve the result. No time is below a launch, below what memory takes, or, where the target is better in
/// no respect, below the time on the reference.
#[derive(Debug, clap::Args)]
pub(crate) struct Transfer {
    #[arg(required = true, help = matrices!(""))]
    paths: Vec<String>,
    /// Profile of the reference device, by name or folder
    #[arg(long, value_name = "NAME|DIR", default_value = "nvidia-h200")]
    from: String,
    /// Target device: a profile by name or folder, or a data sheet my-gpu.toml
    #[arg(long, value_name = "NAME|DIR|TOML")]
    to: String,
    /// Method of the transfer; guo-wang-2013 needs benchmark matrices of both devices (`sparsight lab profile --budget 1min`)
    #[arg(long, value_name = "MODEL", value_enum, default_value_t = TransferModel::Rescaling)]
    model: TransferModel,
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
            "low_s",
            "high_s",
            "reference_s",
            "reference_origin",
            "floor",
            "relative_performance",
            "init_reference_s",
            "init_target_s",
            "infeasible",
        ],
    ],
};

/// A candidate that was transferred.
#[derive(Debug)]
struct Answer {
    candidate: Candidate,
    carried: CarriedTime,
}

/// All candidates.
#[derive(Debug, Default)]
struct Answers {
    /// Best first.
    transferred: Vec<Answer>,
    /// Candidates without a time, with the reason.
    refused: Vec<(Candidate, String)>,
}

impl Transfer {
    pub(crate) fn run(&self, context: &Context) -> Result<Exit, Failure> {
        let dtype = context.dtype();
        let sources = MatrixSource::batch(&self.paths, &context.printer)?;
        let (reference, target) = (Reference::find(&self.from)?, TransferProfile::find(&self.to)?);
        let by = match self.model {
            TransferModel::Rescaling => TransferBy::Rescaling(reference.rescaling(&target)?),
            TransferModel::GuoWang2013 => TransferBy::GuoWang2013,
        };
        self.kernels.note_value_types(&[dtype], &context.printer);
        let (mut matrices, mut found) = (Vec::new(), Vec::new());
        let looked = structures(&sources, context, |source, features| {
            let measured = self.measured(&reference, source, dtype, &features, context);
            let across = reference.to(&target, measured);
            let answers = self.answers(&across, &by, &features, dtype)?;
            let transferred = answers.transferred.iter().take(context.top_in_json());
            let transferred = transferred.map(|a| TransferredCandidate::of(a.candidate, a.carried.clone()));
            let refused = answers.refused.iter().map(|(c, why)| TransferredCandidate::refused(*c, why));
            let matrix = MatrixSummary::of(source.title(), &features);
            matrices.push(TransferAnswer::of(matrix, &across, &by, transferred.chain(refused).collect()));
            found.push((source.title(), across, features, answers));
            Ok(())
        })?;
        let out = &context.printer;
        let text = || {
            for (at, (title, across, features, answers)) in found.iter().enumerate() {
                if at > 0 {
                    out.line("")?;
                }
                print(context, title, (across, &by), features, dtype, answers)?;
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

    /// The reference's measurements of the matrix of this name, if its profile is a folder that holds it.
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
            let same = has_size_of(record, features);
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
        by: &TransferBy,
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
            match across.carry(by, &candidate, features) {
                Ok(carried) => all.transferred.push(Answer { candidate, carried }),
                Err(why) => {
                    all.refused.push((candidate, why.to_string()));
                    first.get_or_insert(why);
                }
            }
        }
        if let (true, Some(why)) = (all.transferred.is_empty(), first) {
            return Err(why.into());
        }
        let time = |answer: &Answer| answer.carried.time.0;
        all.transferred.sort_by(|a, b| time(a).total_cmp(&time(b)).then(a.candidate.cmp(&b.candidate)));
        Ok(all)
    }
}

fn print(
    context: &Context,
    title: &str,
    (across, by): (&CrossArchitecture<'_>, &TransferBy),
    features: &Features,
    dtype: Dtype,
    answers: &Answers,
) -> Result<(), Failure> {
    let (out, Answers { transferred: answers, refused }) = (&context.printer, answers);
    out.line(format_args!("{BOLD}{title}{BOLD:#}   {}", shape(features)))?;
    let (from, to) = (&across.reference.device, &across.target.device);
    out.line(format_args!(
        "{BOLD}{}{BOLD:#}   {dtype}   profile of {}, transferred from {} of {} by {by}{}",
        described(&to.facts),
        to.provenance.date,
        described(&from.facts),
        from.provenance.date,
        text::assumed(to)
    ))?;
    out.line("")?;
    out.line(match by {
        TransferBy::Rescaling(_) => rescaled(answers, context.top()),
        TransferBy::GuoWang2013 => by_equation(answers, context.top()),
    })?;
    let hidden = answers.len().saturating_sub(context.top());
    if hidden > 0 {
        out.line(format_args!("{} more: `--top {}`", hidden, answers.len()))?;
    }
    for alike in refused.chunk_by(|a, b| a.0.kernel.name() == b.0.kernel.name()) {
        let (candidate, why) = &alike[0];
        let more =
            if alike.len() > 1 { format!(" (and {} like it)", alike.len() - 1) } else { String::new() };
        out.line(format_args!("not possible: {}{more}: {why}", text::words(candidate.kernel)))?;
    }
    match by {
        TransferBy::GuoWang2013 => out.line(
            "predicted = T_init target + P (T_ref - T_init ref), without an interval, since none was calibrated; T_ref: time on the \
             reference, T_init: what a product takes before the time grows with the matrix, P: time beyond that on the target over \
             that on the reference",
        ),
        TransferBy::Rescaling(rescaling) => {
            let how = match rescaling.matrices {
                0 => "the facts of both devices alone; `sparsight calibrate` makes it surer".to_owned(),
                many => format!("the facts of both and {many} matrices that both measured"),
            };
            out.line(format_args!("predicted = T_ref, the time on the reference, its launch, memory and rest each rescaled, by {how}"))?;
            if text::are_of_one_family(&from.facts, &to.facts) {
                return Ok(());
            }
            out.line("of another architecture: what was measured between others says nothing of these intervals")
        }
    }
}

fn rescaled(answers: &[Answer], top: usize) -> Table {
    let columns = ["", "<candidate", "predicted", "90 % between", "T_ref", "<T_ref from", "T / T_ref"];
    let mut table = Table::new(&columns);
    for (place, Answer { candidate, carried }) in answers.iter().take(top).enumerate() {
        let [low, high] = [carried.low, carried.high].map(|end| end.unwrap_or(carried.time));
        table.row([
            (place + 1).to_string(),
            text::candidate(candidate),
            time(carried),
            text::between(low, high),
            carried.reference.to_string(),
            carried.origin.to_string(),
            format!("{:.2}", carried.time.0 / carried.reference.0),
        ]);
    }
    table
}

fn by_equation(answers: &[Answer], top: usize) -> Table {
    let columns = ["", "<candidate", "predicted", "T_ref", "<T_ref from", "P", "T_init ref", "T_init target"];
    let mut table = Table::new(&columns);
    for (place, Answer { candidate, carried }) in answers.iter().take(top).enumerate() {
        let of = |what: fn(&Relative) -> String| carried.relative.as_ref().map_or_else(String::new, what);
        table.row([
            (place + 1).to_string(),
            text::candidate(candidate),
            time(carried),
            carried.reference.to_string(),
            carried.origin.to_string(),
            of(|relative| format!("{:.3}", relative.performance())),
            of(|relative| relative.init_reference().to_string()),
            of(|relative| relative.init_target().to_string()),
        ]);
    }
    table
}

/// A time, with the floor to which it was raised.
fn time(carried: &CarriedTime) -> String {
    let floor = match carried.floor {
        None => "",
        Some(Floor::Launch) => " (launch)",
        Some(Floor::Copies) => " (copies)",
        Some(Floor::Smaller) => " (as there)",
    };
    format!("{}{floor}", carried.time)
}
