//! `sparsight lab transfer`: predicted times on a device with few measurements.

use crate::args::KernelFlags;
use crate::context::Context;
use crate::csv::{CANDIDATE, CsvFlag, Layout};
use crate::failure::{Exit, Failure};
use crate::many::{show, structures};
use crate::matrix_source::{MatrixSource, matrices};
use crate::table::Table;
use crate::text::{self, BOLD, described};
use clap::ValueEnum;
use sparsight::answer::MatrixSummary;
use sparsight::device::timing::Caches;
use sparsight::kernels::feasible;
use sparsight::matrix::{Dtype, Features, Limits};
use sparsight::model::Floor;
use sparsight::profile::ProfiledDevice;
use sparsight::records::CorpusRecord;
use sparsight_lab::answer::{TransferAnswer, TransferManyAnswer, TransferOutcome, TransferredCandidate};
use sparsight_lab::transfer::{CrossArchitecture, Reference, TransferBy, TransferProfile, has_size_of};

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
/// no respect, below the time on the reference. Nothing is carried over between GPUs and processors: nothing was measured of that.
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

impl Transfer {
    pub(crate) fn run(&self, context: &Context) -> Result<Exit, Failure> {
        let dtype = context.dtype();
        let sources = MatrixSource::batch(&self.paths, &context.printer)?;
        let (reference, target) = (Reference::find(&self.from)?, TransferProfile::find(&self.to)?);
        reference.reaches(&target)?;
        let by = match self.model {
            TransferModel::Rescaling => TransferBy::Rescaling(reference.rescaling(&target)?),
            TransferModel::GuoWang2013 => TransferBy::GuoWang2013,
        };
        self.kernels.note_value_types(&[dtype], &context.printer);
        let (mut matrices, mut counts) = (Vec::new(), Vec::new());
        let looked = structures(&sources, context, |source, features| {
            let measured = self.measured(&reference, source, dtype, &features, context);
            let across = reference.to(&target, measured);
            let (transferred, refused) = self.candidates(&across, &by, &features, dtype)?;
            counts.push(transferred.len());
            let transferred = transferred.into_iter().take(context.top_in_json());
            let matrix = MatrixSummary::of(source.title(), &features);
            matrices.push(TransferAnswer::of(matrix, &across, &by, transferred.chain(refused).collect()));
            Ok(())
        })?;
        let has_times = counts.iter().all(|count| *count > 0);
        let out = &context.printer;
        let text = |matrices: &[TransferAnswer]| {
            let devices = [&reference.profile.device, &target.device];
            let print = |(answer, count): (_, &usize)| print(answer, *count, (devices, &by), dtype, context);
            out.apart(matrices.iter().zip(&counts), print)
        };
        let many = |matrices| TransferManyAnswer { matrices };
        show(matrices, &sources, self.csv.csv.then_some(&TABLE), many, (out, text))?;
        looked.exit(has_times, "looked at")
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

    /// The candidates asked for that have a time, best first, and the others.
    ///
    /// # Errors
    /// The first reason, if none of the candidates that fit can be transferred.
    fn candidates(
        &self,
        across: &CrossArchitecture<'_>,
        by: &TransferBy,
        features: &Features,
        dtype: Dtype,
    ) -> Result<(Vec<TransferredCandidate>, Vec<TransferredCandidate>), Failure> {
        let facts = &across.target.device.facts;
        let limits = Limits::with_memory(facts.memory_bytes);
        let (mut carried, mut refused, mut first) = (Vec::new(), Vec::new(), None);
        for candidate in self.kernels.candidates(facts.kind, dtype)? {
            if let Err(why) = feasible(&candidate, features, &limits) {
                refused.push(TransferredCandidate::refused(candidate, why.to_string()));
                continue;
            }
            match across.carry(by, &candidate, features) {
                Ok(time) => carried.push((candidate, time)),
                Err(why) => {
                    refused.push(TransferredCandidate::refused(candidate, why.to_string()));
                    first.get_or_insert(why);
                }
            }
        }
        if let (true, Some(why)) = (carried.is_empty(), first) {
            return Err(why.into());
        }
        carried.sort_by(|(one, a), (other, b)| a.time.0.total_cmp(&b.time.0).then(one.cmp(other)));
        let transferred = carried.into_iter().map(|(one, time)| TransferredCandidate::of(one, time));
        Ok((transferred.collect(), refused))
    }
}

/// `count`: candidates with a time, of which the answer holds the first.
fn print(
    answer: &TransferAnswer,
    count: usize,
    ([from, to], by): ([&ProfiledDevice; 2], &TransferBy),
    dtype: Dtype,
    context: &Context,
) -> Result<(), Failure> {
    let out = &context.printer;
    out.line(text::title(&answer.matrix))?;
    out.line(format_args!(
        "{BOLD}{}{BOLD:#}   {dtype}   profile of {}, transferred from {} of {} by {by}{}",
        described(&to.facts),
        to.provenance.date,
        described(&from.facts),
        from.provenance.date,
        text::assumed(to)
    ))?;
    out.line("")?;
    out.line(table(&answer.candidates, *by == TransferBy::GuoWang2013, context.top()))?;
    let hidden = count.saturating_sub(context.top());
    if hidden > 0 {
        out.line(format_args!("{hidden} more: `--top {count}`"))?;
    }
    let refused = answer.candidates.iter().filter_map(|one| match &one.outcome {
        TransferOutcome::Refused { infeasible } => Some((&one.candidate, infeasible)),
        TransferOutcome::Time(_) => None,
    });
    let refused: Vec<_> = refused.collect();
    for alike in refused.chunk_by(|a, b| a.0.kernel == b.0.kernel) {
        let (candidate, why) = &alike[0];
        let more =
            if alike.len() > 1 { format!(" (and {} like it)", alike.len() - 1) } else { String::new() };
        out.line(format_args!("not possible: {}{more}: {why}", text::words(candidate.id.kernel)))?;
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
            if from.facts.is_of_one_architecture(&to.facts) {
                return Ok(());
            }
            let held = text::held_elsewhere(rescaling.matrices);
            out.line(format_args!("of another architecture: intervals are wider{held}"))
        }
    }
}

/// The first `top` times: with the numbers of the equation of 2013, or with an interval.
fn table(candidates: &[TransferredCandidate], by_equation: bool, top: usize) -> Table {
    let mut table = Table::new(if by_equation {
        &["", "<candidate", "predicted", "T_ref", "<T_ref from", "P", "T_init ref", "T_init target"]
    } else {
        &["", "<candidate", "predicted", "90 % between", "T_ref", "<T_ref from", "T / T_ref"]
    });
    for (place, one) in (1..).zip(candidates.iter().take(top)) {
        let TransferOutcome::Time(carried) = &one.outcome else { break };
        let floor = match carried.floor {
            None => "",
            Some(Floor::Launch) => " (launch)",
            Some(Floor::Copies) => " (copies)",
            Some(Floor::Smaller) => " (as there)",
        };
        let mut cells =
            vec![place.to_string(), text::candidate(&one.candidate.id), format!("{}{floor}", carried.time)];
        if !by_equation {
            let [low, high] = [carried.low, carried.high].map(|end| end.unwrap_or(carried.time));
            cells.push(text::between(low, high));
        }
        cells.extend([carried.reference.to_string(), carried.origin.to_string()]);
        match carried.relative {
            Some(of) => {
                cells.push(format!("{:.3}", of.performance()));
                cells.extend([of.init_reference().to_string(), of.init_target().to_string()]);
            }
            None if by_equation => {}
            None => cells.push(format!("{:.2}", carried.time.0 / carried.reference.0)),
        }
        table.row(cells);
    }
    table
}
