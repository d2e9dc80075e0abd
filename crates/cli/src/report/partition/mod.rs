//! Page of a plan: the gain of a cut, and the rows of the matrix with the kernel of each part.

mod parts;
mod strip;
mod times;

use super::reported::{ReportedPart, ReportedPlan, ReportedPlans, ReportedStrategy};
use super::row_lengths::{self, Teams};
use super::{Page, Panel, provenance, remark, roles, spy, verdict};
use crate::text::{counted, percent};
use sparsight::kernels::Execution;
use sparsight::partition::MOST_CUT;
use strip::Colours;

pub(super) fn page(plans: &ReportedPlans) -> Page {
    let plan = &plans.plan;
    let colours = Colours::of(plan);
    let mut panels: Vec<Panel> =
        cut(plan).filter_map(|strategy| strip::panel(plan, strategy, &colours)).collect();
    panels.extend(times::panel(plan));
    panels.extend(best(plan).map(parts::panel));
    if let Some(structure) = &plan.structure {
        panels.extend(spy::panel(&plan.matrix, &structure.spy));
        let picture = row_lengths::picture(&structure.row_lengths, &Teams::default());
        let caption = row_lengths::caption(&plan.matrix);
        panels.extend(picture.map(|picture| row_lengths::panel_of(picture, &caption)));
    }
    panels.push(provenance::panel(&plans.device, plans.provenance.as_ref(), None));
    Page::put_together(&plan.matrix.name, &header(plans), &panels)
}

/// Panel of the best cut, for the page of advice.
pub(super) fn panel(plan: &ReportedPlan) -> Option<Panel> {
    let (single, best) = (plan.single.as_ref()?, best(plan)?);
    let mut panel = strip::panel(plan, best, &Colours::of(plan))?;
    panel.body += &remark(&match Gain::of(plan, single, best) {
        Gain::Unknown => format!("No gain is claimed: {HARDLY_GAINS} {MEASURE}"),
        Gain::Lost(share) => format!("Leave it whole: the best cut takes {share} more. {MEASURE}"),
        Gain::Unsure(share) => {
            format!("The best cut takes {share} less, which is within the error of the prediction. {MEASURE}")
        }
        Gain::Sure(share) => format!("Cut so, a product takes {share} less. {MEASURE}"),
    });
    Some(panel)
}

const HARDLY_GAINS: &str =
    "of 47 matrices of 20 to 53 million non-zeros cut on an H200 or an H100 two gained over 3 %.";

const MEASURE: &str = "`sparsight plan --cut --run` measures both.";

/// Strategies of more than one part.
fn cut(plan: &ReportedPlan) -> impl Iterator<Item = &ReportedStrategy> {
    plan.strategies.iter().filter(|strategy| strategy.parts.len() > 1)
}

/// The fastest strategy of more than one part.
fn best(plan: &ReportedPlan) -> Option<&ReportedStrategy> {
    cut(plan).min_by(|a, b| a.time().predicted.0.total_cmp(&b.time().predicted.0))
}

/// Gain of a cut over the whole matrix: the share of its time, in words.
enum Gain {
    /// The cut takes this much longer, or as long.
    Lost(String),
    /// The cut takes this much less, within the error of the prediction.
    Unsure(String),
    /// The cut takes this much less.
    Sure(String),
    /// The matrix is so large that hardly any cut gains.
    Unknown,
}

impl Gain {
    fn of(plan: &ReportedPlan, single: &ReportedPart, best: &ReportedStrategy) -> Self {
        let gain = 1.0 - best.time().predicted.0 / single.time().predicted.0;
        match gain {
            _ if plan.matrix.nnz > MOST_CUT => Self::Unknown,
            _ if gain <= 0.0 => Self::Lost(percent(-gain)),
            _ if best.time().high >= single.time().predicted => Self::Unsure(percent(gain)),
            _ => Self::Sure(percent(gain)),
        }
    }
}

/// `3 parts, a launch each`.
fn in_words(strategy: &ReportedStrategy) -> String {
    let parts = counted(strategy.parts.len() as u64, "part");
    match strategy.execution {
        Execution::Sequential => format!("{parts}, a launch each"),
        Execution::Fused => format!("{parts} in one launch"),
    }
}

fn header(plans: &ReportedPlans) -> String {
    let plan = &plans.plan;
    let device = format!("{}, {}", plans.device.name, plans.dtype);
    let Some(single) = &plan.single else {
        return verdict::top(&plan.matrix, &device, "No candidate is possible.", std::iter::empty());
    };
    let (whole, alone) = (roles::name_of(&single.id), verdict::a_product(single.time()));
    let leave = format!("Leave it whole, in {whole}: {alone}.");
    let cut = best(plan).map(|best| (best, in_words(best), Gain::of(plan, single, best)));
    let (words, sentence) = match cut {
        None => (leave, "Nothing is gained by cutting the rows into parts.".to_owned()),
        Some((_, parts, Gain::Unknown)) => {
            (leave, format!("Cut into {parts}, no gain is claimed: {HARDLY_GAINS}"))
        }
        Some((best, parts, Gain::Lost(share))) => {
            (leave, format!("Cut into {parts}, it takes {}: {share} more.", best.time().predicted))
        }
        Some((best, parts, Gain::Unsure(share))) => (
            format!("Whole it is about as fast, in {whole}: {alone}."),
            format!(
                "Cut into {parts}, it takes {}: {share} less, which is within the error of the prediction. \
                 `sparsight plan --run` measures both.",
                verdict::a_product(best.time())
            ),
        ),
        Some((best, parts, Gain::Sure(share))) => (
            format!("Cut it into {parts}: {}.", verdict::a_product(best.time())),
            format!("Whole, in {whole}, it takes {}: the parts take {share} less.", single.time().predicted),
        ),
    };
    verdict::top(&plan.matrix, &device, &words, std::iter::once(sentence).chain(measured(plan)))
}

/// The fastest measured plan, in words.
fn measured(plan: &ReportedPlan) -> Option<String> {
    let timed = || plan.measured().iter().filter_map(|run| Some((run, run.time_s?)));
    let (fastest, time) = timed().min_by(|a, b| a.1.0.total_cmp(&b.1.0))?;
    let called = times::called(plan, fastest);
    Some(format!("Measured: of {} the fastest is {called}, {time}.", timed().count()))
}
