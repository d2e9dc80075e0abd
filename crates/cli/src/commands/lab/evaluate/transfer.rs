//! `sparsight lab evaluate DIR --from PROFILE`: transferred times compared with measured ones.

use super::tables::{Titled, choices, counted};
use super::{Evaluate, Group};
use crate::context::Context;
use crate::failure::{Exit, Failure};
use crate::table::{Columns, Table, cell_or};
use crate::text::{candidate, described, grouped, percent, words};
use sparsight::matrix::Dtype;
use sparsight::profile::ProfileFolder;
use sparsight_lab::answer::EvaluateTransferAnswer;
use sparsight_lab::evaluate::{
    RefusedTimes, Scope, TransferEvaluation, TransferMethod, TransferMiss, TransferRow, evaluate_transfer,
};
use sparsight_lab::transfer::{Reference, ReferenceOrigin, TransferProfile};
use std::fmt::Display;

impl Evaluate {
    /// The transfer from the profile called `from`. The target needs no models.
    pub(super) fn transfer(&self, from: &str, context: &Context) -> Result<Exit, Failure> {
        let target = TransferProfile::load(&self.folder)?;
        let corpus = self.corpus(&ProfileFolder::open(&self.folder)?, context)?;
        let reference = Reference::find(from)?;
        let evaluation = evaluate_transfer(&reference, &target, &corpus, self.worst())?;
        let from = &reference.profile;
        let (reference, test) = (from.into(), self.test.clone());
        let answer = EvaluateTransferAnswer { reference, target: (&target).into(), test, evaluation };
        context
            .printer
            .answer(&answer, || print(&answer.evaluation, [from, &target], self.by(), &self.output(context)))
    }
}

/// Prints all tables of an evaluated transfer. `devices`: reference and target.
fn print(
    evaluation: &TransferEvaluation,
    devices: [&TransferProfile; 2],
    by: Group,
    out: &Titled<'_>,
) -> Result<(), Failure> {
    let TransferEvaluation { rows, formats, choices: chosen, misses, matrices: counts, .. } = evaluation;
    let [from, to] = devices.map(|profile| described(&profile.device.facts));
    for (&dtype, &counts) in counts {
        for scope in [Scope::All, Scope::BeyondLaunch, Scope::LikeBenchmarks] {
            let table = match by {
                Group::Kernel => errors("<kernel", rows, dtype, scope),
                Group::Format => errors("<format", formats, dtype, scope),
            };
            out.table(&format!("{from} to {to}, {dtype}, {}", counted(scope, counts)), &table)?;
        }
        let title = format!("What the chosen candidate costs, {dtype}");
        out.table(&title, &choices(chosen.iter().filter(|r| r.dtype == dtype)))?;
        let title = format!("Worst by guo-wang-2013, {dtype}");
        out.table(&title, &worst(misses.iter().filter(|m| m.candidate.dtype == dtype)))?;
    }
    notes(evaluation, out)
}

fn notes(evaluation: &TransferEvaluation, out: &Titled<'_>) -> Result<(), Failure> {
    let TransferEvaluation { origins, refused, .. } = evaluation;
    let origins = origins.iter().map(|(from, &count)| match from {
        ReferenceOrigin::Measured => format!("{} measured", grouped(count as u64)),
        ReferenceOrigin::Predicted(model) => {
            format!("{} predicted ({model})", grouped(count as u64))
        }
    });
    out.line(format!("T_ref: {}", origins.collect::<Vec<_>>().join(", ")))?;
    for RefusedTimes { kernel, times, why } in refused {
        out.line(format!("{}: {} times not transferred: {why}", words(kernel), grouped(*times as u64)))?;
    }
    let notes = [
        "error: |predicted - measured| / measured over matrices and block sizes; ratio: geometric mean of predicted / measured",
        "rescaling: T_ref, its launch, memory and rest each rescaled, as `transfer` does when nothing is said",
        "guo-wang-2013: the equation of that paper alone; at launch cost: times for which it gives less than a launch",
        "unchanged: T_ref; one-factor: times one ratio for everything, from the matrices of a calibration",
        "by-bandwidth, by-multiprocessors: T_ref times the ratio of the copy bandwidths, of the multiprocessors",
        "the choice of each: the candidate with the least time so carried over; as-on-reference: with the least T_ref",
        "best / chosen: geometric mean of the best measured time over that of the chosen candidate",
        "best-single: the best fixed choice, known only afterwards",
    ];
    notes.iter().try_for_each(|note| out.line(note))
}

/// Group by group, the methods beside each other.
fn errors<G: Ord + Copy + Display>(
    group: &str,
    rows: &[TransferRow<G>],
    dtype: Dtype,
    scope: Scope,
) -> Table {
    let rows: Vec<_> = rows.iter().filter(|r| r.dtype == dtype && r.scope == scope).collect();
    let methods = TransferMethod::ALL.into_iter().filter(|method| rows.iter().any(|r| r.method == *method));
    let groups: Vec<&[&TransferRow<G>]> = rows.chunk_by(|a, b| a.of == b.of).collect();
    let mut columns = Columns::of(groups)
        .with([(group, &|of| words(of[0].of)), ("times", &|of| of[0].error.count.to_string())]);
    for method in methods {
        let cell = |of: &[&TransferRow<G>], text: fn(&TransferRow<G>) -> String| {
            cell_or("-", of.iter().find(|r| r.method == method).map(|r| text(r)))
        };
        let title = format!("{method}: mean");
        columns = columns
            .with([
                (&title, &|of| cell(of, |r| percent(r.error.mean))),
                ("median", &|of| cell(of, |r| percent(r.error.median))),
                ("ratio", &|of| cell(of, |r| format!("{:.2}", r.ratio))),
            ])
            .with_if(
                method == TransferMethod::GuoWang2013,
                [
                    ("90th percentile", &|of| cell(of, |r| percent(r.error.p90))),
                    ("worst", &|of| cell(of, |r| percent(r.error.worst))),
                    ("at launch cost", &|of| cell(of, |r| r.at_launch_cost.to_string())),
                ],
            );
    }
    columns.table()
}

fn worst<'m>(misses: impl Iterator<Item = &'m TransferMiss>) -> Table {
    Table::of(
        misses,
        [
            ("<candidate", &|m| candidate(&m.candidate)),
            ("<matrix", &|m| m.matrix.clone()),
            ("T_ref", &|m| m.reference.to_string()),
            ("predicted", &|m| m.predicted.to_string()),
            ("measured", &|m| m.measured.to_string()),
            ("error", &|m| percent(m.error)),
        ],
    )
}
