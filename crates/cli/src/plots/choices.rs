//! Cost of choices: share of the matrices on which the chosen candidate takes at most a given multiple of the best time. One figure a value type, a curve a model and a dashed one for each choice without a model.

use super::Plot;
use super::chart::{Axis, COLOURS, Chart, Series};
use super::scatter::colour;
use crate::text::{candidate, described, matrices, words};
use sparsight::Profile;
use sparsight::models::ModelName;
use sparsight_lab::evaluate::{Baseline, ChoiceRow, Chooser, Evaluation, Scope};

/// End of the axis: a few choices are a thousand times worse.
const LARGEST_RATIO: f64 = 20.0;

pub(super) fn plots(profile: &Profile, evaluation: &Evaluation) -> Vec<Plot> {
    let plot = |&dtype| {
        let rows = evaluation.choices.iter().filter(|r| r.dtype == dtype && r.scope == Scope::All);
        let title = format!("What the first choice costs: {dtype}, {}", described(&profile.device.facts));
        Plot { name: format!("choices-{dtype}"), chart: chart(title, rows) }
    };
    evaluation.matrices.keys().map(plot).collect()
}

fn chart<'r>(title: String, rows: impl Iterator<Item = &'r ChoiceRow>) -> Chart {
    let x = Axis {
        label: "time of the chosen candidate / time of the best".to_owned(),
        from: 1.0,
        to: LARGEST_RATIO,
        logarithmic: true,
    };
    let y = Axis { label: "share of the matrices".to_owned(), from: 0.0, to: 1.0, logarithmic: false };
    // A model at several placements is drawn at the first.
    let mut drawn = Vec::new();
    let first = |r: &&ChoiceRow| {
        let name = r.chooser.to_string();
        let new = !drawn.contains(&name);
        drawn.push(name);
        new
    };
    let series = rows.filter(first).map(series).collect();
    let notes = &[
        "dashed: choices without a model, after runs, recommended",
        "curves end at the right border where",
        "some choices are worse still",
    ];
    Chart { title, x, y, series, notes }
}

fn series(row: &ChoiceRow) -> Series {
    let (colour, dashed) = match row.chooser {
        Chooser::Model { model, .. } => (colour(model), false),
        // Better than what they began with: they are in the table.
        Chooser::Runs(_) | Chooser::Recommended => (colour(ModelName::Best), true),
        Chooser::GuoWang2013 | Chooser::Rescaling => (COLOURS[0], false),
        Chooser::Reference => (COLOURS[1], true),
        Chooser::Baseline(baseline) => {
            let place = match baseline {
                Baseline::CsrByMean => 0,
                Baseline::EllRule => 1,
                Baseline::CsrWarp => 2,
                Baseline::BestSingle(_) => 3,
                Baseline::VendorCsr => 4,
            };
            (COLOURS[(ModelName::all().len() + place) % COLOURS.len()], true)
        }
    };
    let name = match row.chooser {
        Chooser::Baseline(Baseline::BestSingle(c)) => format!("best-single: {}", candidate(&c)),
        chooser => format!("{} ({})", words(chooser), matrices(row.ratios.len())),
    };
    Series { name, colour, dashed, width: 2, line: steps(&row.ratios), ..Series::default() }
}

/// The share of `ratios` (increasing) that are at most x, as a line of steps from 1 to the end of the axis.
fn steps(ratios: &[f64]) -> Vec<(f64, f64)> {
    let share = |count: usize| count as f64 / ratios.len() as f64;
    let within = ratios.partition_point(|r| *r <= LARGEST_RATIO);
    let corners = ratios[..within].iter().enumerate();
    let mut line: Vec<(f64, f64)> = corners
        .flat_map(|(k, &ratio)| [(ratio.max(1.0), share(k)), (ratio.max(1.0), share(k + 1))])
        .collect();
    line.push((LARGEST_RATIO, share(within)));
    line
}

#[cfg(test)]
mod tests {
    use super::steps;

    #[test]
    fn the_curve_rises_by_one_matrix_at_each_ratio_and_ends_at_the_border() {
        let line = steps(&[1.0, 2.0, 2.0, 1000.0]);
        assert_eq!(line.first(), Some(&(1.0, 0.0)));
        let quarters = |x: f64| (4.0 * line.iter().rfind(|p| p.0 <= x).unwrap().1) as u32;
        assert_eq!([1.5, 2.0, 20.0].map(quarters), [1, 3, 3]);
    }
}
