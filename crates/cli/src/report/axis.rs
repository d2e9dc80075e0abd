//! A logarithmic axis: places of values, and ticks.

use crate::svg::{Anchor, Svg, inside};

/// Least and largest of positive values.
pub(super) fn range(values: impl IntoIterator<Item = f64>) -> (f64, f64) {
    values.into_iter().fold((f64::INFINITY, 0.0), |(low, high), value| (low.min(value), high.max(value)))
}

/// A picture with axes: its height, the left and right end of the horizontal one, and the bottom and top of the other.
pub(super) struct Frame {
    pub(super) height: f64,
    pub(super) x: (f64, f64),
    pub(super) y: (f64, f64),
}

impl Frame {
    /// The horizontal axis stands as far above the lower edge as its ticks and its name need.
    pub(super) const fn new(height: f64, top: f64, x: (f64, f64)) -> Self {
        Self { height, x, y: (height - 36.0, top) }
    }
}

/// Range of values between two places of a picture.
#[derive(Debug, Clone, Copy)]
pub(super) struct Axis {
    pub(super) values: (f64, f64),
    pub(super) places: (f64, f64),
}

impl Axis {
    /// Place of a value; a value beyond an end lies at that end.
    pub(super) fn at(&self, value: f64) -> f64 {
        let ((from, to), (begin, end)) = (self.values, self.places);
        let along = (value / from).ln() / (to / from).ln();
        begin + along.clamp(0.0, 1.0) * (end - begin)
    }

    /// True if a value lies between the ends.
    pub(super) fn holds(&self, value: f64) -> bool {
        (self.values.0..=self.values.1).contains(&value)
    }

    /// Draws lines from `left` to `right` at the ticks of an axis that goes upwards, with labels.
    pub(super) fn draw_lines(&self, svg: &mut Svg, (left, right): (f64, f64), most: usize, unit: &str) {
        for tick in self.ticks(most) {
            let at = self.at(tick.value());
            svg.line("grid", (left, at), (right, at));
            svg.text("tick", (left - 6.0, at + 4.0), Anchor::End, &tick.said(unit));
        }
    }

    /// Draws the grid of a picture in which this axis goes to the right and `y` upwards, with labels and the name of this axis.
    pub(super) fn draw_grid(&self, y: &Self, svg: &mut Svg, [unit, unit_of_y]: [&str; 2], name: &str) {
        let ((left, right), (bottom, top)) = (self.places, y.places);
        for tick in self.ticks(4) {
            let (at, said) = (self.at(tick.value()), tick.said(unit));
            svg.line("grid", (at, top), (at, bottom));
            svg.text("tick", (inside(at, &said), bottom + 16.0), Anchor::Middle, &said);
        }
        y.draw_lines(svg, (left, right), 6, unit_of_y);
        svg.text("tick", (f64::midpoint(left, right), bottom + 32.0), Anchor::Middle, name);
    }

    /// Ticks at powers of ten, at most `most` of them; also at 3 times these on an axis with fewer than two.
    pub(super) fn ticks(&self, most: usize) -> Vec<Tick> {
        let (from, to) = (self.values.0.log10(), self.values.1.log10());
        let (first, last) = (from.ceil() as i32, to.floor() as i32);
        if first < last {
            let step = (last - first) / most as i32 + 1;
            return (first..=last)
                .step_by(step as usize)
                .map(|exponent| Tick { lead: 1, exponent })
                .collect();
        }
        let around = from.floor() as i32..=last;
        let ticks = around.flat_map(|exponent| [1, 3].map(|lead| Tick { lead, exponent }));
        ticks.filter(|tick| self.holds(tick.value())).collect()
    }
}

/// A tick: a value with one digit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Tick {
    lead: u32,
    exponent: i32,
}

impl Tick {
    pub(super) fn value(self) -> f64 {
        f64::from(self.lead) * 10_f64.powi(self.exponent)
    }

    /// Label with a prefix: `10 us`, `3 MB`, `100k`.
    pub(super) fn said(self, unit: &str) -> String {
        const PREFIXES: [&str; 9] = ["n", "u", "m", "", "k", "M", "G", "T", "P"];
        let most = if unit == "s" { 0 } else { 5 };
        let thousands = self.exponent.div_euclid(3).clamp(-3, most);
        let rest = self.exponent - 3 * thousands;
        let number = match rest {
            0.. => format!("{}{}", self.lead, "0".repeat(rest as usize)),
            _ => format!("{}", Self { exponent: rest, ..self }.value()),
        };
        let prefix = PREFIXES[(thousands + 3) as usize];
        let blank = if unit.is_empty() { "" } else { " " };
        format!("{number}{blank}{prefix}{unit}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(values: (f64, f64), most: usize, unit: &str) -> Vec<String> {
        Axis { values, places: (0.0, 1.0) }.ticks(most).into_iter().map(|tick| tick.said(unit)).collect()
    }

    #[test]
    fn a_value_lies_where_its_logarithm_does() {
        let axis = Axis { values: (0.5, 5e6), places: (100.0, 0.0) };
        assert!((axis.at(50.0) - 100.0 * (1.0 - 2.0 / 7.0)).abs() < 1e-9);
        assert_eq!((axis.at(1e-9), axis.at(1e9)), (100.0, 0.0), "at the ends");
    }

    #[test]
    fn numbers_are_few_and_have_prefixes() {
        assert_eq!(said((0.5, 5e6), 7, ""), ["1", "10", "100", "1k", "10k", "100k", "1M"]);
        assert_eq!(said((0.5, 5e6), 4, ""), ["1", "100", "10k", "1M"]);
        assert_eq!(said((14e6, 252e6), 4, "B"), ["30 MB", "100 MB"]);
        assert_eq!(said((2e11, 9e12), 4, "B/s"), ["300 GB/s", "1 TB/s", "3 TB/s"]);
        assert_eq!(said((2e-6, 8e-6), 4, "s"), ["3 us"]);
        assert_eq!(said((2e-8, 2e3), 3, "s"), ["100 ns", "1 ms", "10 s"], "every fourth");
        assert_eq!(said((2e3, 2e4), 3, "s"), ["3000 s", "10000 s"]);
    }
}
