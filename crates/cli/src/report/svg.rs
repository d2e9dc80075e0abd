//! A picture in SVG, as text: lines, areas, dots and words. Colours are classes, which the page's style knows.

use super::escaped;
use std::fmt::Write;

/// Where text begins, as seen from its point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// A picture.
#[derive(Debug)]
pub(super) struct Svg {
    height: f64,
    body: String,
}

/// Width of every picture: a column of the page.
pub(super) const WIDTH: f64 = 360.0;
/// Size of letters.
pub(super) const FONT: f64 = 12.0;

/// How wide that text is at most, nearly: the viewer has the font.
pub(super) fn text_width(text: &str) -> f64 {
    0.61 * FONT * text.chars().count() as f64
}

/// Where the middle of a text may stand at most, so that all of it is seen, if it should stand at `x`.
pub(super) fn inside(x: f64, text: &str) -> f64 {
    let half = text_width(text) / 2.0;
    x.clamp(half, (WIDTH - half).max(half))
}

/// As much of a text as fits into `width`.
pub(super) fn cut(text: &str, width: f64) -> String {
    if text_width(text) <= width {
        return text.to_owned();
    }
    let letters = (width / (0.61 * FONT)) as usize;
    text.chars().take(letters.saturating_sub(1)).chain(std::iter::once('…')).collect()
}

/// Text in lines of at most `width`, cut between words.
pub(super) fn lines(text: &str, width: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if text_width(line) + text_width(word) + text_width(" ") <= width => {
                *line += " ";
                *line += word;
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

impl Svg {
    pub(super) fn new(height: f64) -> Self {
        Self { height, body: String::new() }
    }

    /// Writing to a String does not fail.
    fn push(&mut self, element: std::fmt::Arguments<'_>) {
        let _ = self.body.write_fmt(element);
        self.body.push('\n');
    }

    pub(super) fn height(&self) -> f64 {
        self.height
    }

    /// Another picture as a part of this one.
    pub(super) fn put(&mut self, (x, y): (f64, f64), other: &Self) {
        self.push(format_args!("<g transform=\"translate({x:.1} {y:.1})\">\n{}</g>", other.body));
    }

    pub(super) fn line(&mut self, class: &str, from: (f64, f64), to: (f64, f64)) {
        let ((x1, y1), (x2, y2)) = (from, to);
        self.push(format_args!(
            "<line class=\"{class}\" x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\"/>"
        ));
    }

    /// A line through points.
    pub(super) fn curve(&mut self, class: &str, points: impl IntoIterator<Item = (f64, f64)>) {
        let points: Vec<String> = points.into_iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        self.push(format_args!("<polyline class=\"{class}\" points=\"{}\"/>", points.join(" ")));
    }

    /// What a path draws, in units of `scale` from `(x, y)`.
    pub(super) fn path(&mut self, class: &str, (x, y): (f64, f64), scale: (f64, f64), path: &str) {
        let (along, down) = scale;
        self.push(format_args!(
            "<path class=\"{class}\" transform=\"translate({x:.1} {y:.1}) scale({along:.4} {down:.4})\" d=\"{path}\"/>"
        ));
    }

    /// An area, and what a pointer at rest on it is told.
    pub(super) fn rect(&mut self, class: &str, (x, y): (f64, f64), (width, height): (f64, f64), says: &str) {
        self.push(format_args!(
            "<rect class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\"><title>{}</title></rect>",
            escaped(says)
        ));
    }

    /// A dot, likewise.
    pub(super) fn dot(&mut self, class: &str, (x, y): (f64, f64), radius: f64, says: &str) {
        self.push(format_args!(
            "<circle class=\"{class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius:.1}\"><title>{}</title></circle>",
            escaped(says)
        ));
    }

    pub(super) fn text(&mut self, class: &str, (x, y): (f64, f64), anchor: Anchor, text: &str) {
        let anchor = match anchor {
            Anchor::Start => "",
            Anchor::Middle => " text-anchor=\"middle\"",
            Anchor::End => " text-anchor=\"end\"",
        };
        let text = escaped(text);
        self.push(format_args!("<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\"{anchor}>{text}</text>"));
    }

    /// The elements alone.
    pub(super) fn into_body(self) -> String {
        self.body
    }

    /// The element, and what it is called where it cannot be seen.
    pub(super) fn finish(self, label: &str) -> String {
        let (height, body, label) = (self.height, self.body, escaped(label));
        format!(
            "<svg viewBox=\"0 0 {WIDTH} {height:.0}\" role=\"img\" aria-label=\"{label}\">\n{body}</svg>\n"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_cut_between_words_where_a_line_is_full() {
        let width = text_width("one two");
        assert_eq!(lines("one two three", width), ["one two", "three"]);
        assert_eq!(lines("", width), [""]);
        assert_eq!(lines("longer-than-a-line a", width), ["longer-than-a-line", "a"]);
    }
}
