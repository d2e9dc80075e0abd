//! The fits of the strip models as the papers draw them: measured benchmark matrices and the fitted lines, over p and
//! over I. One figure a strip model of the profile, kernel, value type and quantity, at blocks of 256.

use super::chart::{Axis, COLOURS, Chart, Marker, Series};
use super::{Plot, in_file_name};
use crate::failure::Failure;
use crate::text::described;
use sparsight::Profile;
use sparsight::kernels::{Candidate, Kernel};
use sparsight::matrix::Dtype;
use sparsight::model::{Along, Bound, FittedLine, Observation, SplitBy};
use sparsight::models::ModelName;
use sparsight::records::BenchmarkRecord;

/// Threads a block of the candidates that are drawn: the middle of the catalogue.
const BLOCK: u32 = 256;

pub(super) fn plots(
    profile: &Profile,
    benchmark: &[BenchmarkRecord],
    dtypes: &[Dtype],
) -> Result<Vec<Plot>, Failure> {
    let facts = &profile.device.facts;
    let observations: Vec<Observation> = benchmark
        .iter()
        .flat_map(BenchmarkRecord::observations)
        .filter(|o| o.candidate.block == BLOCK)
        .collect();
    let mut plots = Vec::new();
    for (model, fits) in profile.strip_models()? {
        for candidate in dtypes
            .iter()
            .flat_map(|&dtype| Kernel::all().map(move |kernel| Candidate { kernel, block: BLOCK, dtype }))
        {
            let lines = fits.lines(facts, &candidate, &observations);
            for along in [Along::RowLength, Along::Strips] {
                let lines: Vec<&FittedLine> = lines.iter().filter(|l| l.along == along).collect();
                if lines.is_empty() {
                    continue;
                }
                let title = format!(
                    "Fit of {model}: {}, {}, {}",
                    crate::text::candidate(&candidate),
                    candidate.dtype,
                    described(facts)
                );
                plots.push(Plot { name: name(model, &candidate, along), chart: chart(title, along, &lines) });
            }
        }
    }
    Ok(plots)
}

/// `fit-csr-vector-t32-f32-over-p`; the name of a model other than the papers' follows.
fn name(model: ModelName, candidate: &Candidate, along: Along) -> String {
    let over = match along {
        Along::RowLength => "p",
        Along::Strips => "I",
    };
    let variant = if model == ModelName::Strip { String::new() } else { format!("-{model}") };
    format!("fit-{}-{}-over-{over}{variant}", in_file_name(candidate.kernel), candidate.dtype)
}

fn chart(title: String, along: Along, lines: &[&FittedLine]) -> Chart {
    let series: Vec<Series> = lines.iter().enumerate().map(|(nth, line)| series(nth, line)).collect();
    let label = match along {
        Along::RowLength => "non-zeros a row, p",
        Along::Strips => "strips, I",
    };
    let all = || series.iter().flat_map(|s| s.points.iter().chain(&s.line));
    let x = Axis::logarithmic(label, all().map(|p| p.0));
    let y = Axis::logarithmic("time of one product (us)", all().map(|p| p.1));
    let notes = &["points: measured benchmark matrices", "lines: fitted, straight on linear axes"];
    Chart { title, x, y, series, notes }
}

fn series(nth: usize, fitted: &FittedLine) -> Series {
    const MARKERS: [Marker; 3] = [Marker::Ring, Marker::Cross, Marker::Triangle];
    let points: Vec<(f64, f64)> = fitted.measured.iter().map(|m| (m.0 as f64, 1e6 * m.1.0)).collect();
    let (from, to) = (points[0].0, points[points.len() - 1].0);
    Series {
        name: legend(fitted),
        colour: COLOURS[nth % COLOURS.len()],
        marker: Some(MARKERS[nth % MARKERS.len()]),
        width: 2,
        line: sampled(from, to).map(|x| (x, 1e6 * fitted.line.at(x))).filter(|p| p.1 > 0.0).collect(),
        points,
        ..Series::default()
    }
}

/// Places on a logarithmic axis, three each doubling: close enough to draw a curve through, and far enough apart that
/// whole pixels do not make it tremble.
fn sampled(from: f64, to: f64) -> impl Iterator<Item = f64> {
    let steps = (3.0 * (to / from).log2()).ceil().max(1.0) as u32;
    (0..=steps).map(move |k| from * (to / from).powf(f64::from(k) / f64::from(steps)))
}

/// `banded, I = 5, p <= 1024`.
fn legend(fitted: &FittedLine) -> String {
    let held = fitted.held.map(|held| match fitted.along {
        Along::RowLength => format!("I = {held}"),
        Along::Strips => format!("p = {held}"),
    });
    let bounds = fitted.bounds.iter().map(|bound| match *bound {
        Bound::UpTo(p) => format!("p <= {p}"),
        Bound::Beyond(p) => format!("p > {p}"),
        Bound::Below(by, border) => format!("{} <= {border}", quantity(by)),
        Bound::Above(by, border) => format!("{} > {border}", quantity(by)),
    });
    let parts = [fitted.placement.name().to_owned()].into_iter().chain(held).chain(bounds);
    parts.collect::<Vec<_>>().join(", ")
}

/// Quantity of a border.
fn quantity(by: SplitBy) -> &'static str {
    match by {
        SplitBy::WorkingSet => "working set",
        SplitBy::X => "x",
    }
}
