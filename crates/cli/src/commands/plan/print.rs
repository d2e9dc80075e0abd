//! The answer of `plan` for people.

use super::measured::{IN_F32, Measured};
use super::{Planned, is_single};
use crate::context::Context;
use crate::failure::Failure;
use crate::table::Table;
use crate::text::{BOLD, assumed, between, candidate, counted, grouped, heading, percent, shape, words};
use crate::values::what_it_changes;
use sparsight::Profile;
use sparsight::answer::PlannedMatrix;
use sparsight::matrix::{Bytes, Seconds};
use sparsight::model::NextRun;
use sparsight::partition::{Part, Strategy};
use sparsight::run::MeasuredPartition;

pub(super) fn print(planned: &Planned, profile: &Profile, context: &Context) -> Result<(), Failure> {
    let Planned { title, partitioning: plan, measured, next, .. } = planned;
    let out = &context.printer;
    out.line(format_args!("{BOLD}{title}{BOLD:#}   {}", shape(&plan.features)))?;
    let assumed = assumed(&profile.device);
    out.line(format_args!("{}   model {}{assumed}", heading(profile, context.dtype()), plan.model))?;
    out.line(format_args!(
        "{} of {}",
        counted(plan.strips as u64, "strip"),
        counted(plan.rows_per_strip, "row")
    ))?;
    let Some(Strategy { single, .. }) = plan.strategies.first() else {
        out.line("")?;
        return out.line("No candidate is possible.");
    };
    let time = single.prediction.time;
    out.line("")?;
    out.line(format_args!("{BOLD}best single{BOLD:#}   {}   {time}", candidate(&single.candidate)))?;
    if let Some(part) = &planned.mixed {
        let gain = 1.0 - part.prediction.time.0 / time.0;
        out.line(format_args!(
            "{BOLD}{IN_F32}{BOLD:#}   {}   {}, {} {} than the best single",
            candidate(&part.candidate),
            part.prediction.time,
            percent(gain.abs()),
            if gain < 0.0 { "more" } else { "less" }
        ))?;
    }
    if let Some(narrowing) = &planned.narrowing {
        out.line(format_args!("  {}", what_it_changes(narrowing)))?;
    }
    for strategy in &plan.strategies {
        out.line("")?;
        let parts = strategy.parts.len();
        let (execution, predicted) = (strategy.execution, strategy.predicted);
        let parts_in_words = counted(parts as u64, "part");
        let (low, high) = strategy.interval;
        out.line(format_args!(
            "{BOLD}{execution}{BOLD:#}   {parts_in_words}   {predicted}, 90 % between {}   {}",
            between(low, high),
            gained(strategy)
        ))?;
        out.line(table(&strategy.parts[..parts.min(context.top())]))?;
        if parts > context.top() {
            out.line(format_args!(
                "  {} more: `--top {parts}`",
                counted((parts - context.top()) as u64, "part")
            ))?;
        }
    }
    if plan.strategies.iter().any(|strategy| strategy.parts.len() > 1) {
        out.line("")?;
        for strategy in plan.strategies.iter().filter(|strategy| strategy.parts.len() > 1) {
            out.line(added_up(strategy))?;
        }
    }
    if !measured.is_empty() {
        out.line(format_args!("\n{}", measured_table(measured)))?;
    }
    if let Some(NextRun { candidate: next, gain }) = next {
        out.line(format_args!(
            "  to run one more, {}, may be expected to gain {gain} a product",
            candidate(next)
        ))?;
    }
    out.line(format_args!("\n{BOLD}{}{BOLD:#}", PlannedMatrix::from(planned).verdict.text))
}

/// Time of a matrix and its transpose together, each with its best single candidate.
pub(super) fn print_pair(a: &Planned, transposed: &Planned, context: &Context) -> Result<(), Failure> {
    let best = |planned: &Planned| planned.partitioning.strategies.first().map(|s| s.single.clone());
    let (Some(one), Some(other)) = (best(a), best(transposed)) else { return Ok(()) };
    let time = Seconds(one.prediction.time.0 + other.prediction.time.0);
    let memory = Bytes(memory(a).0 + memory(transposed).0);
    let title = &a.title;
    context.printer.line(format_args!(
        "\n{BOLD}A and A^T{BOLD:#}   {title}   {} and {}: {time} for a product with each, {memory} on the device",
        candidate(&one.candidate),
        candidate(&other.candidate)
    ))
}

/// The best single candidate on the device.
fn memory(planned: &Planned) -> Bytes {
    PlannedMatrix::from(planned).memory_bytes.unwrap_or_default()
}

fn measured_table(measured: &[Measured]) -> Table {
    let mut table = Table::new(&["<measured in turn", "<plan", "predicted", "time", "spread", "prepared in"]);
    for Measured { what, plan, outcome } in measured {
        let (parts, planned) = (plan.partition().parts(), plan.predicted());
        let plan = match parts {
            [(_, single)] => candidate(single),
            parts => counted(parts.len() as u64, "part"),
        };
        let predicted = planned.map_or_else(|| "-".to_owned(), |time| time.to_string());
        let [time, spread, took] = match outcome {
            Ok(known) => {
                let MeasuredPartition { timing, preparation } = known;
                [timing.time.to_string(), percent(timing.spread), preparation.total().to_string()]
            }
            Err(why) => [why.clone(), String::new(), String::new()],
        };
        table.row([words(what), plan, predicted, time, spread, took]);
    }
    table
}

/// The law by which the times of the parts add up to that of the product.
fn added_up(strategy: &Strategy) -> String {
    let Strategy { execution, cost, .. } = strategy;
    let Some(learned) = &cost.learned else {
        return format!(
            "{execution}: what its parts take by themselves{}; what cutting costs is learned by `plan --run --cut \
             --record`, then `lab fit`",
            if cost.shared_s > 0.0 { ", with one launch" } else { "" }
        );
    };
    let mut terms = Vec::new();
    if cost.fixed_s > 0.0 {
        terms.push(Seconds(cost.fixed_s).to_string());
    }
    let beyond =
        if cost.shared_s > 0.0 { format!(" beyond {}", Seconds(cost.shared_s)) } else { String::new() };
    terms.push(format!("{:.2} x what each part takes{beyond}", cost.factor));
    if cost.s_per_part > 0.0 {
        terms.push(format!("{} a part", Seconds(cost.s_per_part)));
    }
    if cost.s_per_byte > 0.0 {
        let (per_mega, cache) = (Seconds(1e6 * cost.s_per_byte), cost.cache_bytes);
        terms.push(format!("{per_mega} for each MB that parts evict from a cache of {cache}"));
    }
    format!(
        "{execution}: {}; learned from {}, half of which it misses by less than {}",
        terms.join(" + "),
        counted(learned.error.count as u64, "cut"),
        percent(learned.error.median)
    )
}

/// `6.3 % less than the best single`.
fn gained(strategy: &Strategy) -> String {
    let gain = strategy.gain();
    match gain {
        _ if is_single(strategy) => "the best single".to_owned(),
        _ if !strategy.is_learned() => "such cuts were not learned from".to_owned(),
        gain if gain < 0.0 => format!("{} more than the best single", percent(-gain)),
        gain if strategy.interval.1 >= strategy.single.prediction.time => {
            format!("{} less than the best single, which is within the error", percent(gain))
        }
        gain => format!("{} less than the best single", percent(gain)),
    }
}

fn table(parts: &[Part]) -> Table {
    let mut table =
        Table::new(&["", "<strips", "<rows from 0", "non-zeros", "<candidate", "predicted", "90 % between"]);
    for (at, part) in parts.iter().enumerate() {
        let Part { strips, rows, prediction, .. } = part;
        // As the paper writes it: strips from 1, both ends included.
        let strips = format!("[{}, {}]", grouped(strips.start as u64 + 1), grouped(strips.end as u64));
        let rows = if rows.is_empty() {
            "none".to_owned()
        } else {
            format!("{} to {}", grouped(rows.start), grouped(rows.end - 1))
        };
        table.row([
            (at + 1).to_string(),
            strips,
            rows,
            grouped(part.nnz),
            candidate(&part.candidate),
            prediction.time.to_string(),
            between(prediction.low, prediction.high),
        ]);
    }
    table
}
