//! Panel of the predicted and measured times of one product, whole and cut.

use super::super::reported::{ReportedPlan, ReportedRun};
use super::super::roles::name_of;
use super::super::times::{ROW, Timed, bar, words};
use super::super::{Panel, remark};
use super::{best, cut, in_words};
use crate::svg::Svg;
use sparsight::matrix::Seconds;

/// Largest time over the fastest prediction: longer bars are cut off. Chosen.
const FULL: f64 = 6.0;

/// Panel; `None` if no candidate is possible.
pub(super) fn panel(plan: &ReportedPlan) -> Option<Panel> {
    let single = plan.single.as_ref()?;
    let measured =
        |what: &str| -> Option<Seconds> { plan.measured().iter().find(|run| run.what == what)?.time_s };
    let is_gain = best(plan).is_some_and(|best| best.time().predicted < single.time().predicted);
    let best_cut = best(plan).filter(|_| is_gain).map(|best| best.execution);
    let whole = format!("whole: {}", name_of(&single.id));
    let class = if best_cut.is_none() { "best" } else { "plain" };
    let mut rows = vec![(whole, Some(single.time()), measured("single"), class)];
    for strategy in cut(plan) {
        let class = if Some(strategy.execution) == best_cut { "best" } else { "other" };
        let found = measured(&strategy.execution.to_string());
        rows.push((in_words(strategy), Some(strategy.time()), found, class));
    }
    let is_drawn = |run: &&ReportedRun| {
        run.what == "single" || plan.strategies.iter().any(|one| one.execution.to_string() == run.what)
    };
    for run in plan.measured().iter().filter(|run| !is_drawn(run)) {
        if let Some(found) = run.time_s {
            rows.push((called(plan, run), None, Some(found), "other"));
        }
    }
    let least =
        rows.iter().filter_map(|row| row.1).map(|time| time.predicted.0).fold(f64::INFINITY, f64::min);
    let ends = rows
        .iter()
        .flat_map(|(_, time, found, _)| [time.map(|time| time.high.0), found.map(|found| found.0)]);
    let longest = ends.flatten().fold(least, f64::max).min(FULL * least);
    let mut svg = Svg::new(ROW * rows.len() as f64);
    for (at, (name, time, measured, class)) in (0_u16..).zip(&rows) {
        let timed = Timed { says: name, time: *time, measured: *measured, class };
        let top = ROW * f64::from(at);
        words(&mut svg, top + 13.0, std::iter::once(name), &timed);
        bar(&mut svg, top + 19.0, &timed, longest);
    }
    let mut body = svg.finish("times of one product, whole and cut");
    let dots = if plan.measured().is_empty() { "" } else { " Dot, and the number in its colour: measured." };
    body += &remark(&format!("Bar: predicted. Line over it: where nine of ten times lie.{dots}"));
    for run in plan.measured() {
        if let (None, Some(why)) = (run.time_s, &run.failed) {
            body += &remark(&format!("{} failed: {why}", called(plan, run)));
        }
    }
    Some(Panel { id: "plan-times", title: "One product, whole and cut", body })
}

/// Name of a plan that was run.
pub(super) fn called(plan: &ReportedPlan, run: &ReportedRun) -> String {
    let strategy = plan.strategies.iter().find(|one| one.execution.to_string() == run.what);
    match strategy {
        Some(strategy) => in_words(strategy),
        None if run.what.starts_with("single") => format!("whole: {}", name_of(&run.plan)),
        None => run.what.clone(),
    }
}
