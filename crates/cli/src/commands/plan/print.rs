//! The answer of `plan` for people.

use super::measured::IN_F32;
use crate::context::Context;
use crate::failure::Failure;
use crate::table::{Table, cell_or};
use crate::text::{
    BOLD, assumed, between, candidate, counted, grouped, heading, not_possible, percent, title, words,
};
use crate::values::what_it_changes;
use sparsight::Profile;
use sparsight::answer::{MeasuredPlan, NextRunAnswer, PlannedMatrix, PlannedPart, PlannedStrategy};
use sparsight::matrix::Seconds;
use sparsight::partition::MOST_CUT;

pub(super) fn print(plan: &PlannedMatrix, profile: &Profile, context: &Context) -> Result<(), Failure> {
    let out = &context.printer;
    out.line(title(&plan.matrix))?;
    let assumed = assumed(&profile.device);
    out.line(format_args!("{}   model {}{assumed}", heading(profile, context.dtype()), plan.model))?;
    if plan.matrix.nnz == 0 && plan.measured.is_empty() && plan.single.is_some() {
        return out.line(format_args!("\n{BOLD}{}{BOLD:#}", plan.verdict.text));
    }
    out.line(format_args!(
        "{} of {}",
        counted(plan.strips as u64, "strip"),
        counted(plan.strip_rows, "row")
    ))?;
    out.line("")?;
    let Some(single) = &plan.single else {
        out.line(&plan.verdict.text)?;
        let reasons = plan.candidates.iter().map(|one| (one.infeasible.clone(), words(one.candidate.format)));
        return not_possible(reasons).map_or(Ok(()), |reasons| out.line(format_args!("  {reasons}")));
    };
    let time = single.prediction.time;
    out.line(format_args!("{BOLD}best single{BOLD:#}   {}   {time}", candidate(&single.candidate.id)))?;
    if let Some(part) = &plan.mixed {
        let gain = 1.0 - part.prediction.time.0 / time.0;
        out.line(format_args!(
            "{BOLD}{IN_F32}{BOLD:#}   {}   {}, {} {} than the best single",
            candidate(&part.candidate.id),
            part.prediction.time,
            percent(gain.abs()),
            if gain < 0.0 { "more" } else { "less" }
        ))?;
    }
    if let Some(narrowing) = &plan.narrowing {
        out.line(format_args!("  {}", what_it_changes(narrowing)))?;
    }
    for strategy in &plan.strategies {
        out.line("")?;
        let PlannedStrategy { execution, predicted_s, low_s, high_s, parts, .. } = strategy;
        out.line(format_args!(
            "{BOLD}{execution}{BOLD:#}   {}   {predicted_s}, 90 % between {}   {}",
            counted(parts.len() as u64, "part"),
            between(*low_s, *high_s),
            gained(strategy, single)
        ))?;
        out.line(table(&parts[..parts.len().min(context.top())]))?;
        if parts.len() > context.top() {
            let more = counted((parts.len() - context.top()) as u64, "part");
            out.line(format_args!("  {more} more: `--top {}`", parts.len()))?;
        }
    }
    if plan.strategies.iter().any(|strategy| strategy.parts.len() > 1) {
        out.line("")?;
        for strategy in plan.strategies.iter().filter(|strategy| strategy.parts.len() > 1) {
            out.line(added_up(strategy))?;
        }
    }
    if !plan.measured.is_empty() {
        out.line(format_args!("\n{}", measured_table(plan)))?;
    }
    if let Some(NextRunAnswer { candidate: next, gain_s }) = &plan.next_run {
        out.line(format_args!(
            "  to run one more, {}, may be expected to gain {gain_s} a product",
            candidate(&next.id)
        ))?;
    }
    out.line(format_args!("\n{BOLD}{}{BOLD:#}", plan.verdict.text))
}

fn measured_table(planned: &PlannedMatrix) -> Table {
    let mut table = Table::new(&["<measured in turn", "<plan", "predicted", "time", "spread", "prepared in"]);
    for MeasuredPlan { what, plan, predicted_s, time_s, spread, preparation_s, failed, .. } in
        &planned.measured
    {
        let strategy = planned.strategies.iter().find(|strategy| strategy.execution.to_string() == *what);
        let plan = match (plan.parse(), strategy) {
            (Ok(single), _) => candidate(&single),
            (Err(_), strategy) => counted(strategy.map_or(0, |cut| cut.parts.len()) as u64, "part"),
        };
        let mut cells = vec![words(what), plan, cell_or("-", *predicted_s)];
        match failed {
            Some(why) => cells.push(why.clone()),
            None => cells.extend([
                cell_or("-", *time_s),
                percent(spread.unwrap_or(0.0)),
                cell_or("-", *preparation_s),
            ]),
        }
        table.row(cells);
    }
    table
}

/// The law by which the times of the parts add up to that of the product.
fn added_up(strategy: &PlannedStrategy) -> String {
    let PlannedStrategy { execution, cost, .. } = strategy;
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
fn gained(strategy: &PlannedStrategy, single: &PlannedPart) -> String {
    let PlannedStrategy { parts, gain, .. } = strategy;
    match (&parts[..], *gain) {
        ([part], _) if part.candidate == single.candidate => "the best single".to_owned(),
        ([_, _, ..], _) if single.nnz > MOST_CUT => "such cuts hardly ever gain".to_owned(),
        (_, gain) if gain < 0.0 => format!("{} more than the best single", percent(-gain)),
        (_, gain) if strategy.high_s >= single.prediction.time => {
            format!("{} less than the best single, which is within the error", percent(gain))
        }
        (_, gain) => format!("{} less than the best single", percent(gain)),
    }
}

fn table(parts: &[PlannedPart]) -> Table {
    let rows = |from: u64, to: u64| match to - from {
        0 => "none".to_owned(),
        _ => format!("{} to {}", grouped(from), grouped(to - 1)),
    };
    Table::of(
        (1..).zip(parts),
        [
            ("", &|(at, _): &(usize, _)| at.to_string()),
            // As the paper writes it: strips from 1, both ends included.
            ("<strips", &|(_, PlannedPart { strips: [from, to], .. })| match to - from {
                0 => "none".to_owned(),
                _ => format!("[{}, {}]", grouped(*from as u64 + 1), grouped(*to as u64)),
            }),
            ("<rows from 0", &|(_, part)| rows(part.rows[0], part.rows[1])),
            ("non-zeros", &|(_, part)| grouped(part.nnz)),
            ("<candidate", &|(_, part)| candidate(&part.candidate.id)),
            ("predicted", &|(_, part)| part.prediction.time.to_string()),
            ("90 % between", &|(_, part)| between(part.prediction.low, part.prediction.high)),
        ],
    )
}
