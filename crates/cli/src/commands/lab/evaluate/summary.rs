//! Summary of `lab evaluate`.

use super::tables::{Titled, choices_by};
use crate::failure::Failure;
use crate::table::{Table, cell_or};
use crate::text::{BOLD, candidate, described, matrices, percent, words};
use sparsight::Profile;
use sparsight::models::ModelName;
use sparsight_lab::evaluate::{AccuracyRow, Baseline, ChoiceRow, Chooser, Evaluation, Scope};

/// The scopes of which there are choices.
const SCOPES: [Scope; 2] = [Scope::All, Scope::BeyondLaunch];

/// Summary in at most twenty lines: errors of times, quality of the choice, and the choices of others.
pub(super) fn print(evaluation: &Evaluation, profile: &Profile, out: &Titled<'_>) -> Result<(), Failure> {
    let Evaluation { overall, choices, matrices: counts, trained_on, .. } = evaluation;
    let device = described(&profile.device.facts);
    let has_errors = |model| overall.iter().any(|row| row.model == model);
    let first = [ModelName::Best, profile.strip_model()].into_iter().find(|model| has_errors(*model));
    let Some(model) = first.or(overall.first().map(|row| row.model)) else {
        out.line(format!("{BOLD}{device}{BOLD:#}: no model has a time for any of these matrices"))?;
        return trained_on_all(evaluation, out);
    };
    let left_out =
        trained_on.get(&model).map(|count| format!(", without {} that it was trained on", matrices(*count)));
    out.line(format!("{BOLD}{device}{BOLD:#}   model {model}{}", left_out.unwrap_or_default()))?;
    out.line("")?;
    let mut rows = Vec::new();
    for (&dtype, &(_, beyond)) in counts {
        for scope in SCOPES {
            let is_it = |row: &&AccuracyRow<()>| (row.model, row.dtype, row.scope) == (model, dtype, scope);
            let errors = overall.iter().find(is_it);
            let by_model = |row: &&ChoiceRow| {
                let chose = matches!(row.chooser, Chooser::Model { model: by, .. } if by == model);
                chose && (row.dtype, row.scope) == (dtype, scope)
            };
            let choice = choices.iter().find(by_model);
            if errors.is_none() && choice.is_none() {
                continue;
            }
            let which = match (scope, choice) {
                (Scope::All, Some(row)) => format!("all {}", row.quality.count),
                (_, Some(row)) => format!("{} beyond twice the launch cost", row.quality.count),
                (Scope::All, None) => "all".to_owned(),
                (_, None) => format!("{beyond} beyond twice the launch cost"),
            };
            rows.push((dtype, which, errors, choice));
        }
    }
    let error = |row: Option<&AccuracyRow<()>>, of: fn(&AccuracyRow<()>) -> Option<f64>| {
        cell_or("-", row.and_then(of).map(percent))
    };
    let choice = |row: Option<&ChoiceRow>, of: fn(&ChoiceRow) -> String| cell_or("-", row.map(of));
    out.line(Table::of(
        rows,
        [
            ("<", &|(dtype, ..)| dtype.to_string()),
            ("<matrices", &|(_, which, ..)| which.clone()),
            ("mean error", &|(_, _, row, _)| error(*row, |row| Some(row.error.mean))),
            ("median", &|(_, _, row, _)| error(*row, |row| Some(row.error.median))),
            ("in the 90 % interval", &|(_, _, row, _)| error(*row, |row| row.covered)),
            ("best / chosen", &|(.., row)| choice(*row, |r| format!("{:.3}", 1.0 / r.quality.mean_ratio))),
            ("within 5 %", &|(.., row)| choice(*row, |r| percent(r.quality.within_5_percent))),
            ("worst choice", &|(.., row)| {
                choice(*row, |r| format!("{:.2} times the best", r.quality.worst_ratio))
            }),
        ],
    ))?;
    let others: Vec<String> =
        choices_by(choices, |row| row.scope == Scope::All && matches!(row.chooser, Chooser::Baseline(_)))
            .iter()
            .map(|(name, rows)| {
                let ratios: Vec<String> = rows
                    .iter()
                    .map(|row| format!("{:.3} ({})", 1.0 / row.quality.mean_ratio, row.dtype))
                    .collect();
                format!("  {name}: {}", ratios.join(", "))
            })
            .collect();
    if !others.is_empty() {
        out.line("\nBest / chosen without a model:")?;
        others.iter().try_for_each(|line| out.line(line))?;
    }
    out.line(
        "\nmean error: of |predicted - measured| / measured; best / chosen: geometric mean of the best measured time \
         over that of the candidate ranked first, 1 is perfect",
    )?;
    out.line("`--full`: every kernel and model, the worst matrices; `--kernel NAME` and `--model NAME`: those alone")
}

fn trained_on_all(evaluation: &Evaluation, out: &Titled<'_>) -> Result<(), Failure> {
    for (model, &count) in &evaluation.trained_on {
        let count = matrices(count);
        out.line(format!("{model}: not evaluated, it was trained on all of these matrices ({count})"))?;
    }
    Ok(())
}

/// Name of a rule without a model: of the best fixed choice, which differs by value type, without the candidate.
pub(super) fn name_of(row: &ChoiceRow) -> String {
    match row.chooser {
        Chooser::Baseline(Baseline::BestSingle(one)) => {
            format!("always {}, known only afterwards", candidate(&one))
        }
        chooser => words(chooser),
    }
}
