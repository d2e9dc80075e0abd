//! A figure as data, and its drawing: axes with a legend beside them, so that no text lies over a point.

use super::marker::Marker;
use plotters::coord::Shift;
use plotters::coord::ranged1d::{DefaultFormatting, KeyPointHint, Ranged};
use plotters::prelude::*;
use std::ops::Range;

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Drawn<T = ()> = Result<T, DrawingAreaErrorKind<std::io::Error>>;

/// Colours of Okabe and Ito 2008, which stay apart for colour-blind readers.
pub(super) const COLOURS: [RGBColor; 8] = [
    RGBColor(0, 114, 178),
    RGBColor(230, 159, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(86, 180, 233),
    RGBColor(213, 94, 0),
    RGBColor(0, 0, 0),
    RGBColor(120, 94, 240),
];

/// Lines that only guide the eye.
pub(super) const GREY: RGBColor = RGBColor(110, 110, 110);

/// A figure.
#[derive(Debug)]
pub(super) struct Chart {
    pub(super) title: String,
    pub(super) x: Axis,
    pub(super) y: Axis,
    /// Drawn in this order, and named in the legend.
    pub(super) series: Vec<Series>,
    /// Said below the legend.
    pub(super) notes: Vec<String>,
}

/// One direction.
#[derive(Debug, Clone)]
pub(super) struct Axis {
    /// Quantity and unit.
    pub(super) label: String,
    pub(super) from: f64,
    pub(super) to: f64,
    pub(super) logarithmic: bool,
}

/// Points, a line through other points, or both.
#[derive(Debug)]
pub(super) struct Series {
    pub(super) name: String,
    pub(super) colour: RGBColor,
    /// `None` if nothing marks the points.
    pub(super) marker: Option<Marker>,
    pub(super) dashed: bool,
    /// Of the line, pixels.
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

    /// Where the axis carries numbers: powers of ten, with 2 and 5 between them on a short one; tenths if linear.
    fn ticks(&self) -> Vec<f64> {
        if !self.logarithmic {
            return (0..=10).map(|k| self.from + (self.to - self.from) * f64::from(k) / 10.0).collect();
        }
        let steps: &[f64] = if self.to / self.from < 2e3 { &[1.0, 2.0, 5.0] } else { &[1.0] };
        let decades = self.from.log10().floor() as i32..=self.to.log10().ceil() as i32;
        let ticks = decades.flat_map(|d| steps.iter().map(move |s| s * 10_f64.powi(d)));
        ticks.filter(|t| (self.from..=self.to).contains(t)).collect()
    }
}

impl Ranged for Axis {
    type FormatOption = DefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, (begin, end): (i32, i32)) -> i32 {
        let place = if self.logarithmic {
            (value / self.from).ln() / (self.to / self.from).ln()
        } else {
            (value - self.from) / (self.to - self.from)
        };
        begin + (place * f64::from(end - begin)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, _: Hint) -> Vec<f64> {
        self.ticks()
    }

    fn range(&self) -> Range<f64> {
        self.from..self.to
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

impl Series {
    fn line_style(&self) -> ShapeStyle {
        self.colour.stroke_width(self.width)
    }
}

/// Pixels of the axes with their numbers; the legend stands beside them.
const PLOT: (u32, u32) = (680, 600);
/// Pixels of a letter of the legend, estimated: SVG leaves the font to the viewer.
const LETTER: f64 = 7.9;
/// Pixels from the left border of the legend to its words, which leave as much behind them.
const SAMPLE: i32 = 44;
const LEGEND_ROW: i32 = 22;
const FONT: &str = "sans-serif";

/// What a viewer takes where nothing is said: a figure of hundreds of points is up to a third smaller without.
const DEFAULTS: [&str; 3] = [" opacity=\"1\"", " stroke=\"none\"", " stroke-width=\"1\""];

impl Chart {
    /// The figure as an SVG document.
    pub(super) fn svg(&self) -> String {
        let mut text = String::new();
        let drawn = self.draw(&SVGBackend::with_string(&mut text, self.size()).into_drawing_area());
        drawn.expect("drawing into memory does not fail");
        DEFAULTS.iter().fold(text, |text, default| text.replace(default, ""))
    }

    /// Wide enough for the longest words of the legend and high enough for all of them.
    fn size(&self) -> (u32, u32) {
        let words = self.series.iter().map(|s| &s.name).chain(&self.notes);
        let longest = words.map(|w| w.chars().count()).max().unwrap_or(0);
        let rows = (self.series.len() + self.notes.len() + 3) as u32;
        let legend = (LETTER * longest as f64) as u32 + 2 * SAMPLE as u32;
        (PLOT.0 + legend, PLOT.1.max(rows * LEGEND_ROW as u32))
    }

    fn draw(&self, root: &Area<'_>) -> Drawn {
        root.fill(&WHITE)?;
        let area = root.margin(8, 0, 0, 0).titled(&self.title, (FONT, 20))?;
        let (plot, legend) = area.split_horizontally(PLOT.0 as i32);
        self.draw_axes(&plot)?;
        self.draw_legend(&legend)?;
        root.present()
    }

    fn draw_axes(&self, plot: &Area<'_>) -> Drawn {
        let mut chart = ChartBuilder::on(plot)
            .margin(12)
            .x_label_area_size(52)
            .y_label_area_size(78)
            .build_cartesian_2d(self.x.clone(), self.y.clone())?;
        chart
            .configure_mesh()
            .x_desc(&self.x.label)
            .y_desc(&self.y.label)
            .x_label_formatter(&|v| number(*v))
            .y_label_formatter(&|v| number(*v))
            .label_style((FONT, 15))
            .axis_desc_style((FONT, 17))
            .bold_line_style(RGBColor(225, 225, 225))
            .light_line_style(TRANSPARENT)
            .draw()?;
        for series in &self.series {
            let (line, style) = (series.line.iter().copied(), series.line_style());
            if series.dashed {
                chart.draw_series(DashedLineSeries::new(line, 6, 4, style))?;
            } else {
                chart.draw_series(LineSeries::new(line, style))?;
            }
            if let Some(marker) = series.marker {
                chart.draw_series(series.points.iter().map(|&at| marker.at(at, series.colour)))?;
            }
        }
        Ok(())
    }

    fn draw_legend(&self, area: &Area<'_>) -> Drawn {
        let mut top = 24;
        for series in &self.series {
            if series.dashed {
                // Two dashes: the sample is too short for more.
                area.draw(&PathElement::new([(8, top), (19, top)], series.line_style()))?;
                area.draw(&PathElement::new([(25, top), (36, top)], series.line_style()))?;
            } else if !series.line.is_empty() {
                area.draw(&PathElement::new([(8, top), (36, top)], series.line_style()))?;
            }
            if let Some(marker) = series.marker {
                area.draw(&marker.at((22, top), series.colour))?;
            }
            area.draw(&Text::new(series.name.clone(), (SAMPLE, top - 6), (FONT, 16).into_font()))?;
            top += LEGEND_ROW;
        }
        top += LEGEND_ROW / 2;
        for note in &self.notes {
            let style = (FONT, 14).into_font().color(&RGBColor(90, 90, 90));
            area.draw(&Text::new(note.clone(), (8, top - 6), style))?;
            top += LEGEND_ROW - 4;
        }
        Ok(())
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
        assert_eq!([1.0, 10.0, 100.0].map(|v| axis.map(&v, (0, 200))), [0, 100, 200]);
        let shares = Axis { label: String::new(), from: 0.0, to: 1.0, logarithmic: false };
        assert_eq!(shares.map(&0.25, (400, 0)), 300, "upwards on the screen");
    }
}
