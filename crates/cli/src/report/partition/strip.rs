//! Panel of the partition: rows from first to last, the whole matrix on the left, its parts beside it.
//!
//! ```text
//!  whole   cut
//!  ####   ====  sell c32 s1 t1 b128
//!  ####   ====  4.2 us, from row 0
//!  ####   ....- csr-vector t8 b128
//!  ####   ....  7.1 us, from row 640
//! ```
//! The height of a part is its number of rows, its colour its kernel. The slowest parts have labels, as many as fit.

use super::super::reported::{ReportedPart, ReportedPlan, ReportedStrategy};
use super::super::roles::name_of;
use super::super::{Panel, remark};
use super::in_words;
use crate::svg::{Anchor, FONT, Svg, WIDTH, cut};
use crate::text::{counted, grouped, percent};
use sparsight::kernels::Execution;

const TOP: f64 = 20.0;
const HEIGHT: f64 = 330.0;
/// Width of a strip.
const WIDE: f64 = 48.0;
/// Left edge of the parts.
const PARTS: f64 = 60.0;
/// Left edge of labels.
const WORDS: f64 = PARTS + WIDE + 16.0;
/// Height of a label of two lines, with a gap to the next.
const LABEL: f64 = 33.0;
/// Height of a line of the legend.
const LINE: f64 = 17.0;

/// Panel; `None` for a matrix without rows.
pub(super) fn panel(
    plan: &ReportedPlan,
    strategy: &ReportedStrategy,
    colours: &Colours<'_>,
) -> Option<Panel> {
    let single = plan.single.as_ref()?;
    let nrows = Some(plan.matrix.nrows).filter(|nrows| *nrows > 0)? as f64;
    let place = |row: u64| TOP + HEIGHT * row as f64 / nrows;
    let is_here = |kernel: &str| strategy.parts.iter().chain([single]).any(|part| kernel_of(part) == kernel);
    let legend: Vec<_> = colours.all().filter(|(kernel, _)| is_here(kernel)).collect();
    let mut svg = Svg::new(TOP + HEIGHT + 12.0 + LINE * legend.len() as f64);
    svg.text("tick", (WIDE / 2.0, 12.0), Anchor::Middle, "whole");
    svg.text("tick", (PARTS + WIDE / 2.0, 12.0), Anchor::Middle, "cut");
    svg.rect(colours.class(single), (0.0, TOP), (WIDE, HEIGHT), &says(single));
    svg.rect("frame", (PARTS, TOP), (WIDE, HEIGHT), "");
    for part in &strategy.parts {
        let [top, bottom] = part.rows.map(place);
        // A line between neighbours, where there is room for one.
        let height = bottom - top;
        let height = if height > 3.0 { height - 1.0 } else { height };
        svg.rect(colours.class(part), (PARTS, top), (WIDE, height), &says(part));
    }
    let worded = longest(&strategy.parts, (HEIGHT / LABEL) as usize);
    let middles: Vec<f64> =
        worded.iter().map(|part| f64::midpoint(place(part.rows[0]), place(part.rows[1]))).collect();
    let tops = spread(&middles, TOP, TOP + HEIGHT);
    for ((part, middle), top) in worded.iter().zip(&middles).zip(&tops) {
        svg.line("roof", (PARTS + WIDE + 2.0, *middle), (WORDS - 4.0, top + FONT));
        let from = format!("{}, from row {}", part.time().predicted, grouped(part.rows[0]));
        for (line, text) in [(0.0, name_of(&part.id)), (1.0, from)] {
            let class = if line > 0.0 { "tick" } else { "" };
            svg.text(
                class,
                (WORDS, top + FONT - 1.0 + 15.0 * line),
                Anchor::Start,
                &cut(&text, WIDTH - WORDS),
            );
        }
    }
    for (line, (kernel, class)) in (0_u8..).zip(legend) {
        let base = TOP + HEIGHT + 22.0 + LINE * f64::from(line);
        svg.rect(class, (0.0, base - 9.0), (10.0, 10.0), "");
        let text = share(kernel, single, &strategy.parts, nrows);
        svg.text("tick", (18.0, base), Anchor::Start, &cut(&text, WIDTH - 18.0));
    }
    let mut body = svg
        .finish("rows of the matrix from first to last, coloured by the kernel that each part is run with");
    body += &remark(&caption(single, strategy, worded.len(), plan.matrix.nrows));
    let (id, title) = match strategy.execution {
        Execution::Sequential => ("partition-sequential", "The rows in parts, one launch after another"),
        Execution::Fused => ("partition-fused", "The rows in parts, in one launch"),
    };
    Some(Panel { id, title, body })
}

/// Tooltip of a part.
fn says(part: &ReportedPart) -> String {
    let (ReportedPart { rows: [from, to], nnz, id, .. }, time) = (part, part.time());
    let rows = format!("rows {} to {}", grouped(*from), grouped(to.saturating_sub(1)));
    format!("{id}: {}, {rows}, {}", time.predicted, counted(*nnz, "non-zero"))
}

/// The `most` slowest parts, from the first row on.
fn longest(parts: &[ReportedPart], most: usize) -> Vec<&ReportedPart> {
    let mut parts: Vec<_> = parts.iter().collect();
    parts.sort_by(|a, b| b.time().predicted.0.total_cmp(&a.time().predicted.0));
    parts.truncate(most);
    parts.sort_by_key(|part| part.rows);
    parts
}

/// Tops of labels between `first` and `last`, as near to the given middles as possible without overlap. All must fit.
fn spread(middles: &[f64], first: f64, last: f64) -> Vec<f64> {
    let mut tops: Vec<f64> = Vec::with_capacity(middles.len());
    for middle in middles {
        let least = tops.last().map_or(first, |above| above + LABEL);
        tops.push((middle - LABEL / 2.0).max(least));
    }
    let mut most = last;
    for top in tops.iter_mut().rev() {
        most -= LABEL;
        *top = top.min(most);
        most = *top;
    }
    tops
}

/// `csr-vector t8: whole; 3 parts, 40.1 % of rows`.
fn share(kernel: &str, single: &ReportedPart, parts: &[ReportedPart], nrows: f64) -> String {
    let its: Vec<_> = parts.iter().filter(|part| kernel_of(part) == kernel).collect();
    let rows: u64 = its.iter().map(|part| part.rows[1] - part.rows[0]).sum();
    let whole = (kernel_of(single) == kernel).then(|| "whole".to_owned());
    let cut = (!its.is_empty())
        .then(|| format!("{}, {} of rows", counted(its.len() as u64, "part"), percent(rows as f64 / nrows)));
    let words: Vec<String> = whole.into_iter().chain(cut).collect();
    format!("{}: {}", kernel.replace('/', " "), words.join("; "))
}

fn caption(single: &ReportedPart, strategy: &ReportedStrategy, worded: usize, nrows: u64) -> String {
    let more = match strategy.parts.len() - worded {
        0 => String::new(),
        more => {
            format!(" Words stand beside those that take longest; {}.", counted(more as u64, "more part"))
        }
    };
    let shortened = match strategy.parts.last().map_or(0, |last| last.rows[1]) {
        end if end < nrows => {
            format!(" The answer was shortened: parts from row {} on are not in it.", grouped(end))
        }
        _ => String::new(),
    };
    format!(
        "Left: the whole matrix in {}, {}. Right: {}, {} together; the time of each is what it takes by itself, a launch \
         included.{more}{shortened}",
        name_of(&single.id),
        single.time().predicted,
        in_words(strategy),
        strategy.time().predicted
    )
}

/// Classes of colours, in the order in which kernels get them; all further kernels share the last.
const CLASSES: [&str; 6] = ["k1", "k2", "k3", "k4", "k5", "plain"];

/// Kernels with their colours.
#[derive(Debug)]
pub(super) struct Colours<'a>(Vec<&'a str>);

impl<'a> Colours<'a> {
    /// The kernel of the whole matrix first, then those of the parts, slowest first.
    pub(super) fn of(plan: &'a ReportedPlan) -> Self {
        let mut parts: Vec<_> = super::cut(plan).flat_map(|strategy| &strategy.parts).collect();
        parts.sort_by(|a, b| b.time().predicted.0.total_cmp(&a.time().predicted.0));
        let mut kernels: Vec<&str> = Vec::new();
        for part in plan.single.iter().chain(parts) {
            if !kernels.contains(&kernel_of(part)) {
                kernels.push(kernel_of(part));
            }
        }
        Self(kernels)
    }

    pub(super) fn class(&self, part: &ReportedPart) -> &'static str {
        let place = self.0.iter().position(|known| *known == kernel_of(part)).unwrap_or(CLASSES.len());
        CLASSES[place.min(CLASSES.len() - 1)]
    }

    /// Kernels with their classes, in this order; of those that share the last class only the first.
    pub(super) fn all(&self) -> impl Iterator<Item = (&'a str, &'static str)> {
        self.0.iter().copied().zip(CLASSES)
    }
}

/// Kernel with its knobs, which has a colour: `csr-vector/t8` of the id `csr-vector/t8/b128/f64`.
fn kernel_of(part: &ReportedPart) -> &str {
    part.id.rsplitn(3, '/').last().unwrap_or(&part.id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_stand_beside_their_parts_and_never_on_one_another() {
        assert_eq!(spread(&[100.0, 200.0], 0.0, 300.0), [100.0 - LABEL / 2.0, 200.0 - LABEL / 2.0]);
        assert_eq!(spread(&[1.0, 2.0, 3.0], 0.0, 300.0), [0.0, LABEL, 2.0 * LABEL]);
        assert_eq!(spread(&[299.0, 300.0], 0.0, 300.0), [300.0 - 2.0 * LABEL, 300.0 - LABEL]);
        assert_eq!(spread(&[0.0, 300.0], 0.0, 2.0 * LABEL), [0.0, LABEL]);
    }
}
