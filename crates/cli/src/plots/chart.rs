//! A figure as data, and its drawing: axes with a legend beside them, so that no text covers a point.

use crate::svg::{Anchor, Svg};
use std::fmt::Write;

/// Colours of Okabe and Ito 2008, which stay apart for colour-blind readers.
pub(super) const COLOURS: [&str; 8] =
    ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#000000", "#785ef0"];

/// Colour of guide lines.
pub(super) const GREY: &str = "#6e6e6e";

/// Shape of a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Marker {
    /// Filled and half transparent, for clouds.
    Dot,
    /// Outline of a circle.
    Ring,
    Cross,
    Triangle,
}

/// A figure.
#[derive(Debug)]
pub(super) struct Chart {
    pub(super) title: String,
    pub(super) x: Axis,
    pub(super) y: Axis,
    /// Drawn in this order, and named in the legend.
    pub(super) series: Vec<Series>,
    /// Lines of text below the legend.
    pub(super) notes: &'static [&'static str],
}

/// An axis.
#[derive(Debug, Clone)]
pub(super) struct Axis {
    /// Quantity and unit.
    pub(super) label: String,
    pub(super) from: f64,
    pub(super) to: f64,
    pub(super) logarithmic: bool,
}

/// Points, a line through other points, or both.
#[derive(Debug, Default)]
pub(super) struct Series {
    pub(super) name: String,
    pub(super) colour: &'static str,
    /// `None` for points without a marker.
    pub(super) marker: Option<Marker>,
    pub(super) dashed: bool,
    /// Width of the line, pixels.
    pub(super) width: u32,
    pub(super) points: Vec<(f64, f64)>,
    pub(super) line: Vec<(f64, f64)>,
}

impl Axis {
    /// Logarithmic, around all positive `values`, a little wider.
    pub(super) fn logarithmic(label: &str, values: impl IntoIterator<Item = f64>) -> Self {
        let usable = values.into_iter().filter(|v| v.is_finite() && *v > 0.0);
        let (low, high) = usable.fold((f64::INFINITY, 0.0_f64), |(l, h), v| (l.min(v), h.max(v)));
        let (low, high) = if low <= high { (low, high) } else { (1.0, 10.0) };
        let margin = (high / low).powf(0.04).max(1.1);
        Self { label: label.to_owned(), from: low / margin, to: high * margin, logarithmic: true }
    }

    /// Values with a number: powers of ten, with 2 and 5 between them on a short axis; tenths on a linear one.
    fn ticks(&self) -> Vec<f64> {
        if !self.logarithmic {
            return (0..=10).map(|k| self.from + (self.to - self.from) * f64::from(k) / 10.0).collect();
        }
        let steps: &[f64] = if self.to / self.from < 2e3 { &[1.0, 2.0, 5.0] } else { &[1.0] };
        let decades = self.from.log10().floor() as i32..=self.to.log10().ceil() as i32;
        let ticks = decades.flat_map(|d| steps.iter().map(move |s| s * 10_f64.powi(d)));
        ticks.filter(|t| (self.from..=self.to).contains(t)).collect()
    }

    /// Place of a value between the places of both ends.
    fn at(&self, value: f64, (begin, end): (f64, f64)) -> f64 {
        let place = if self.logarithmic {
            (value / self.from).ln() / (self.to / self.from).ln()
        } else {
            (value - self.from) / (self.to - self.from)
        };
        begin + place * (end - begin)
    }
}

/// `0.5`, `200`, `10,000`: no more digits than the number has.
fn number(value: f64) -> String {
    if value >= 1000.0 {
        return crate::text::grouped(value.round() as u64);
    }
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Pixels of the axes with their numbers; the legend stands beside them.
const PLOT: (f64, f64) = (680.0, 600.0);
/// Left, top, right and bottom edge of the area of the points.
const AREA: [f64; 4] = [90.0, 44.0, 668.0, 536.0];
/// Pixels of a letter of the legend, estimated: SVG leaves the font to the viewer.
const LETTER: f64 = 7.9;
/// Pixels from the left border of the legend to its words, which leave as much behind them.
const SAMPLE: f64 = 44.0;
const LEGEND_ROW: f64 = 22.0;

/// Style of all charts; the colours of the series follow.
const STYLE: &str = "text { fill: #000; font-size: 15px; }
.title { font-size: 20px; }
.label { font-size: 17px; }
.name { font-size: 16px; }
.note { font-size: 14px; fill: #5a5a5a; }
.grid { stroke: #e1e1e1; }
.axis { stroke: #000; }
.line { fill: none; stroke-width: 2; }
.thin { stroke-width: 1; }
.dashed { stroke-dasharray: 6 4; }
.dot { fill-opacity: 0.45; }
";

impl Chart {
    /// The figure as an SVG document.
    pub(super) fn svg(&self) -> String {
        let (width, height) = self.size();
        let mut svg = Svg::new(height);
        svg.text("title", (width / 2.0, 28.0), Anchor::Middle, &self.title);
        self.draw_axes(&mut svg);
        for (class, series) in (0..).zip(&self.series) {
            let place = |&(x, y): &(f64, f64)| self.place(x, y);
            if !series.line.is_empty() {
                svg.curve(&series.line_class(class), series.line.iter().map(place));
            }
            for at in series.points.iter().map(place) {
                series.mark(&mut svg, class, at);
            }
        }
        self.draw_legend(&mut svg);
        let mut style = STYLE.to_owned();
        for (class, Series { colour, .. }) in self.series.iter().enumerate() {
            // Writing to a String does not fail.
            let _ = writeln!(style, ".s{class} {{ stroke: {colour}; }} .f{class} {{ fill: {colour}; }}");
        }
        svg.document((width, height), &style, "#fff", &self.title)
    }

    /// Width and height with room for the legend.
    fn size(&self) -> (f64, f64) {
        let words = self.series.iter().map(|s| s.name.as_str()).chain(self.notes.iter().copied());
        let longest = words.map(|w| w.chars().count()).max().unwrap_or(0);
        let rows = (self.series.len() + self.notes.len() + 3) as f64;
        (PLOT.0 + LETTER * longest as f64 + 2.0 * SAMPLE, PLOT.1.max(rows * LEGEND_ROW))
    }

    fn place(&self, x: f64, y: f64) -> (f64, f64) {
        let [left, top, right, bottom] = AREA;
        (self.x.at(x, (left, right)), self.y.at(y, (bottom, top)))
    }

    fn draw_axes(&self, svg: &mut Svg) {
        let [left, top, right, bottom] = AREA;
        for (value, at) in self.x.ticks().into_iter().map(|value| (value, self.x.at(value, (left, right)))) {
            svg.line("grid", (at, top), (at, bottom));
            svg.text("", (at, bottom + 20.0), Anchor::Middle, &number(value));
        }
        for (value, at) in self.y.ticks().into_iter().map(|value| (value, self.y.at(value, (bottom, top)))) {
            svg.line("grid", (left, at), (right, at));
            svg.text("", (left - 8.0, at + 5.0), Anchor::End, &number(value));
        }
        svg.line("axis", (left, top), (left, bottom));
        svg.line("axis", (left, bottom), (right, bottom));
        svg.text("label", (f64::midpoint(left, right), bottom + 48.0), Anchor::Middle, &self.x.label);
        svg.upwards("label", (22.0, f64::midpoint(top, bottom)), &self.y.label);
    }

    fn draw_legend(&self, svg: &mut Svg) {
        let mut y = 56.0;
        for (class, series) in (0..).zip(&self.series) {
            let at = |x: f64| (PLOT.0 + x, y);
            if !series.line.is_empty() {
                svg.curve(&series.line_class(class), [at(8.0), at(36.0)]);
            }
            series.mark(svg, class, at(22.0));
            svg.text("name", (PLOT.0 + SAMPLE, y + 5.0), Anchor::Start, &series.name);
            y += LEGEND_ROW;
        }
        y += LEGEND_ROW / 2.0;
        for note in self.notes {
            svg.text("note", (PLOT.0 + 8.0, y + 5.0), Anchor::Start, note);
            y += LEGEND_ROW - 4.0;
        }
    }
}

impl Series {
    fn line_class(&self, class: usize) -> String {
        let (dashed, thin) =
            (if self.dashed { " dashed" } else { "" }, if self.width < 2 { " thin" } else { "" });
        format!("line s{class}{dashed}{thin}")
    }

    /// Draws the marker, if there is one.
    fn mark(&self, svg: &mut Svg, class: usize, at: (f64, f64)) {
        let outline = format!("line s{class}");
        match self.marker {
            None => {}
            Some(Marker::Dot) => svg.point(&format!("dot f{class}"), at, 3),
            Some(Marker::Ring) => svg.point(&outline, at, 4),
            Some(Marker::Cross) => svg.path(&outline, at, (1.0, 1.0), "M-4-4L4 4M4-4L-4 4"),
            Some(Marker::Triangle) => svg.path(&outline, at, (1.0, 1.0), "M0-5L4.3 2.5H-4.3z"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_axis_carries_powers_of_ten_and_a_short_one_more() {
        let ticks = |values: [f64; 2]| -> Vec<String> {
            Axis::logarithmic("", values).ticks().into_iter().map(number).collect()
        };
        assert_eq!(ticks([1.0, 50_000.0]), ["1", "10", "100", "1,000", "10,000"]);
        assert_eq!(ticks([0.3, 4.0]), ["0.5", "1", "2"]);
    }

    #[test]
    fn an_axis_without_usable_values_is_still_an_axis() {
        let axis = Axis::logarithmic("", [0.0, f64::NAN]);
        assert!(axis.from > 0.0 && axis.from < axis.to && !axis.ticks().is_empty());
    }

    #[test]
    fn the_ends_of_an_axis_are_the_ends_of_its_pixels() {
        let axis = Axis { label: String::new(), from: 1.0, to: 100.0, logarithmic: true };
        assert_eq!([1.0, 10.0, 100.0].map(|v| axis.at(v, (0.0, 200.0)).round() as i32), [0, 100, 200]);
        let shares = Axis { label: String::new(), from: 0.0, to: 1.0, logarithmic: false };
        assert_eq!(shares.at(0.25, (400.0, 0.0)).round() as i32, 300, "upwards on the screen");
    }
}
