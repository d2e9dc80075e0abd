//! Predicted against measured time: one figure a kernel and value type, one point a matrix and model.

use super::chart::{Axis, COLOURS, Chart, GREY, Marker, Series};
use super::{Plot, in_file_name};
use crate::text::described;
use sparsight::Profile;
use sparsight::kernels::Kernel;
use sparsight::matrix::Dtype;
use sparsight::models::ModelName;
use sparsight_lab::evaluate::{Evaluation, PredictedTime};
use std::collections::BTreeMap;

/// The predictions of one figure: by model and matrix the block size that is fastest.
type Points<'e> = BTreeMap<ModelName, BTreeMap<usize, &'e PredictedTime>>;

pub(super) fn plots(profile: &Profile, evaluation: &Evaluation) -> Vec<Plot> {
    let mut figures: BTreeMap<(Kernel, Dtype), Points<'_>> = BTreeMap::new();
    for p in &evaluation.predicted {
        let points = figures.entry((p.candidate.kernel, p.candidate.dtype)).or_default();
        let fastest = points.entry(p.model).or_default().entry(p.matrix).or_insert(p);
        if p.measured < fastest.measured {
            *fastest = p;
        }
    }
    let plot = |((kernel, dtype), points): (_, Points<'_>)| Plot {
        name: format!("predicted-{}-{dtype}", in_file_name(kernel)),
        chart: chart(
            &format!("{}, {dtype}, {}", crate::text::words(kernel), described(&profile.device.facts)),
            &points,
        ),
    };
    figures.into_iter().map(plot).collect()
}

fn chart(title: &str, points: &Points<'_>) -> Chart {
    let microseconds = |p: &&PredictedTime| (1e6 * p.measured.0, 1e6 * p.predicted.0);
    let cloud = |(&model, points): (&ModelName, &BTreeMap<usize, &PredictedTime>)| Series {
        name: format!("{model} ({})", crate::text::matrices(points.len())),
        colour: colour(model),
        marker: Some(Marker::Dot),
        points: points.values().map(microseconds).collect(),
        ..Series::default()
    };
    let clouds: Vec<Series> = points.iter().map(cloud).collect();
    // Both axes alike, so that the diagonal is one.
    let times = || clouds.iter().flat_map(|s| s.points.iter()).flat_map(|p| [p.0, p.1]);
    let x = Axis::logarithmic("measured time (us)", times());
    let y = Axis { label: "predicted time (us)".to_owned(), ..x.clone() };
    let mut series = guides(&x);
    series.extend(clouds);
    let notes = &["one point a matrix, at the block size", "that was measured fastest"];
    Chart { title: format!("Predicted against measured: {title}"), x, y, series, notes }
}

/// The diagonal, and where a prediction is twice or half the measured time.
fn guides(axis: &Axis) -> Vec<Series> {
    let (from, to) = (axis.from, axis.to);
    let guide = |name: &str, width, line| Series {
        name: name.to_owned(),
        colour: GREY,
        width,
        line,
        ..Series::default()
    };
    vec![
        guide("predicted = measured", 2, vec![(from, from), (to, to)]),
        guide("predicted = 2 x measured", 1, vec![(from, 2.0 * from), (to / 2.0, to)]),
        guide("predicted = measured / 2", 1, vec![(2.0 * from, from), (to, to / 2.0)]),
    ]
}

/// Colour of a model, the same in every figure.
pub(super) fn colour(model: ModelName) -> &'static str {
    let place = ModelName::all().iter().position(|m| *m == model).unwrap_or(0);
    COLOURS[place % COLOURS.len()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn no_two_models_share_a_colour() {
        let colours: HashSet<_> = ModelName::all().iter().map(|model| colour(*model)).collect();
        assert_eq!(colours.len(), ModelName::all().len());
    }
}
