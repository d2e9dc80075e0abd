//! Panel of the row lengths, beside the numbers of threads that may share a row.

use super::axis::{Axis, Frame};
use super::labels::Labels;
use super::reported::ReportedAdvice;
use super::roles::Roles;
use super::{Panel, remark};
use crate::svg::{Anchor, Svg, WIDTH, inside};
use crate::text::{counted, grouped};
use sparsight::answer::MatrixSummary;
use sparsight::matrix::LengthBin;
use std::collections::BTreeSet;

const FRAME: Frame = Frame::new(268.0, 38.0, (40.0, WIDTH - 6.0));
/// Width of the bar of the rows without non-zeros, left of the axis.
const EMPTY: f64 = 16.0;
/// Lower end of the axis: half a row, so that a single row has a bar.
const NO_ROW: f64 = 0.5;

/// Numbers of threads that share a row.
#[derive(Debug, Default)]
pub(super) struct Teams {
    /// Thread counts of the ranked kernels, each above 1.
    pub(super) all: BTreeSet<u64>,
    /// Thread count of the best kernel; `None` if it has no fixed number.
    pub(super) best: Option<u64>,
}

pub(super) fn panel(advice: &ReportedAdvice, roles: &Roles<'_>) -> Option<Panel> {
    let ranked = advice.candidates.iter().filter(|one| one.time().is_some());
    let teams = Teams {
        all: ranked.filter_map(|one| one.threads_per_row).filter(|team| *team > 1).collect(),
        best: roles.best.and_then(|best| best.threads_per_row),
    };
    let kernel = match teams.best {
        Some(1) => "The best kernel gives each row one thread.".to_owned(),
        Some(team) => format!("The best kernel gives each row {team} threads."),
        None => "The best kernel gives no fixed number of threads to a row.".to_owned(),
    };
    let picture = picture(&advice.structure.as_ref()?.row_lengths, &teams)?;
    Some(panel_of(picture, &format!("{} {kernel}", caption(&advice.matrix))))
}

/// Panel of a picture.
pub(super) fn panel_of(picture: Svg, caption: &str) -> Panel {
    let body = picture.finish("number of rows by their length") + &remark(caption);
    Panel { id: "row-lengths", title: TITLE, body }
}

pub(super) const TITLE: &str = "Row lengths";

/// Picture; `None` without rows.
pub(super) fn picture(lengths: &[LengthBin], teams: &Teams) -> Option<Svg> {
    let most = lengths.iter().map(|bin| bin.rows).max()?;
    let has_empty = lengths[0].from == 0;
    let begin = if has_empty { FRAME.x.0 + EMPTY + 8.0 } else { FRAME.x.0 };
    let longest = lengths.last().map_or(0, |bin| bin.to).max(teams.all.last().copied().unwrap_or(0));
    let x = Axis { values: (0.5, 1.25 * longest.max(8) as f64), places: (begin, FRAME.x.1) };
    let y = Axis { values: (NO_ROW, most as f64 * 1.5), places: FRAME.y };

    let mut svg = Svg::new(FRAME.height);
    y.draw_lines(&mut svg, FRAME.x, 5, "");
    let mut labels = Labels::default();
    for team in teams.all.iter().rev() {
        let at = x.at(*team as f64);
        let (line, text) = if Some(*team) == teams.best { ("mark", "best") } else { ("team", "tick") };
        svg.line(line, (at, FRAME.y.1 - 4.0), (at, FRAME.y.0));
        labels.place(
            &mut svg,
            text,
            (at, FRAME.y.1 - 8.0),
            Anchor::Middle,
            &team.to_string(),
            (FRAME.y.1 - 8.0, FRAME.y.1 - 8.0),
        );
    }
    if !teams.all.is_empty() {
        svg.text("tick", (FRAME.x.1, 12.0), Anchor::End, "threads that may share a row");
    }
    svg.text("tick", (FRAME.x.0 - 6.0, 12.0), Anchor::End, "rows");
    for &LengthBin { from, to, rows } in lengths {
        let (left, right) = match from {
            0 => (FRAME.x.0 + 4.0, FRAME.x.0 + EMPTY),
            _ => (x.at(from as f64 - 0.5), x.at(to as f64 + 0.5)),
        };
        let top = y.at(rows as f64);
        let says = format!("{}, {}", range(from, to), counted(rows, "row"));
        svg.rect("bar", (left + 0.5, top), ((right - left - 1.0).max(1.5), FRAME.y.0 - top), &says);
    }
    if has_empty {
        svg.text("tick", (FRAME.x.0 + f64::midpoint(4.0, EMPTY), FRAME.y.0 + 16.0), Anchor::Middle, "0");
    }
    for tick in x.ticks(5) {
        let (at, said) = (x.at(tick.value()), tick.said(""));
        svg.text("tick", (inside(at, &said), FRAME.y.0 + 16.0), Anchor::Middle, &said);
    }
    svg.text(
        "tick",
        (f64::midpoint(FRAME.x.0, FRAME.x.1), FRAME.height - 4.0),
        Anchor::Middle,
        "non-zeros of a row",
    );
    Some(svg)
}

/// `4 to 7 non-zeros`.
fn range(from: u64, to: u64) -> String {
    if from == to {
        counted(from, "non-zero")
    } else {
        format!("{} to {}", grouped(from), counted(to, "non-zero"))
    }
}

/// Mean row length, in words.
pub(super) fn caption(m: &MatrixSummary) -> String {
    let (least, most) = (grouped(m.row_min), grouped(m.row_max));
    format!("{:.1} non-zeros in a row, from {least} to {most}.", m.row_mean)
}
