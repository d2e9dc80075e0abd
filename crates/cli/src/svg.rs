//! Pictures in SVG, as text: lines, areas, dots and words. Colours are classes of a style sheet.

use crate::text::shown;
use std::fmt::Write;

/// Side of a text on which its point lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

/// A picture.
#[derive(Debug)]
pub(crate) struct Svg {
    height: f64,
    body: String,
}

/// Width of a picture of the page: a column.
pub(crate) const WIDTH: f64 = 360.0;
/// Size of letters on the page.
pub(crate) const FONT: f64 = 12.0;

/// Estimated largest width of a text: the viewer has the font.
pub(crate) fn text_width(text: &str) -> f64 {
    0.61 * FONT * text.chars().count() as f64
}

/// Middle of a text nearest to `x` at which all of it is visible.
pub(crate) fn inside(x: f64, text: &str) -> f64 {
    let half = text_width(text) / 2.0;
    x.clamp(half, (WIDTH - half).max(half))
}

/// Beginning of a text that fits into `width`.
pub(crate) fn cut(text: &str, width: f64) -> String {
    if text_width(text) <= width {
        return text.to_owned();
    }
    let letters = (width / (0.61 * FONT)) as usize;
    text.chars().take(letters.saturating_sub(1)).chain(std::iter::once('…')).collect()
}

/// Text in lines of at most `width`, cut between words.
pub(crate) fn lines(text: &str, width: f64) -> Vec<String> {
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

/// Text from elsewhere as HTML and SVG show it, without markup.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in shown(text).chars() {
        match letter {
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '"' => out += "&quot;",
            '\'' => out += "&#39;",
            other => out.push(other),
        }
    }
    out
}

impl Svg {
    pub(crate) fn new(height: f64) -> Self {
        Self { height, body: String::new() }
    }

    /// Writing to a String does not fail.
    fn push(&mut self, element: std::fmt::Arguments<'_>) {
        let _ = self.body.write_fmt(element);
        self.body.push('\n');
    }

    pub(crate) fn height(&self) -> f64 {
        self.height
    }

    /// Adds another picture as a part of this one.
    pub(crate) fn put(&mut self, (x, y): (f64, f64), other: &Self) {
        self.push(format_args!("<g transform=\"translate({x:.1} {y:.1})\">\n{}</g>", other.body));
    }

    pub(crate) fn line(&mut self, class: &str, from: (f64, f64), to: (f64, f64)) {
        let ((x1, y1), (x2, y2)) = (from, to);
        self.push(format_args!(
            "<line class=\"{class}\" x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\"/>"
        ));
    }

    /// Adds a line through points.
    pub(crate) fn curve(&mut self, class: &str, points: impl IntoIterator<Item = (f64, f64)>) {
        let points: Vec<String> = points.into_iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        self.push(format_args!("<polyline class=\"{class}\" points=\"{}\"/>", points.join(" ")));
    }

    /// Adds a path in units of `scale` from `(x, y)`.
    pub(crate) fn path(&mut self, class: &str, (x, y): (f64, f64), scale: (f64, f64), path: &str) {
        let (along, down) = scale;
        self.push(format_args!(
            "<path class=\"{class}\" transform=\"translate({x:.1} {y:.1}) scale({along:.4} {down:.4})\" d=\"{path}\"/>"
        ));
    }

    /// Adds an area with a tooltip.
    pub(crate) fn rect(&mut self, class: &str, (x, y): (f64, f64), (width, height): (f64, f64), says: &str) {
        self.push(format_args!(
            "<rect class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\"><title>{}</title></rect>",
            escaped(says)
        ));
    }

    /// Adds a dot with a tooltip.
    pub(crate) fn dot(&mut self, class: &str, (x, y): (f64, f64), radius: f64, says: &str) {
        self.push(format_args!(
            "<circle class=\"{class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius:.1}\"><title>{}</title></circle>",
            escaped(says)
        ));
    }

    /// Adds a dot without a tooltip.
    pub(crate) fn point(&mut self, class: &str, (x, y): (f64, f64), radius: u32) {
        self.push(format_args!("<circle class=\"{class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius}\"/>"));
    }

    pub(crate) fn text(&mut self, class: &str, (x, y): (f64, f64), anchor: Anchor, text: &str) {
        let anchor = match anchor {
            Anchor::Start => "",
            Anchor::Middle => " text-anchor=\"middle\"",
            Anchor::End => " text-anchor=\"end\"",
        };
        let text = escaped(text);
        self.push(format_args!("<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\"{anchor}>{text}</text>"));
    }

    /// Adds text that runs from bottom to top, its middle at a point.
    pub(crate) fn upwards(&mut self, class: &str, (x, y): (f64, f64), text: &str) {
        let text = escaped(text);
        self.push(format_args!(
            "<text class=\"{class}\" text-anchor=\"middle\" transform=\"translate({x:.1} {y:.1}) rotate(-90)\">{text}</text>"
        ));
    }

    /// The picture as a file of its own, on a background and with a label for screen readers.
    pub(crate) fn document(
        self,
        (width, height): (f64, f64),
        style: &str,
        behind: &str,
        label: &str,
    ) -> String {
        let (body, label) = (self.body, escaped(label));
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
             viewBox=\"0 0 {width:.0} {height:.0}\" role=\"img\" aria-label=\"{label}\" \
             font-family=\"system-ui, Roboto, 'Liberation Sans', Arial, sans-serif\">\n<style>\n{style}</style>\n\
             <rect width=\"{width:.0}\" height=\"{height:.0}\" fill=\"{behind}\"/>\n{body}</svg>\n",
        )
    }

    /// The picture as an element of a page, with a label for screen readers.
    pub(crate) fn finish(self, label: &str) -> String {
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

    #[test]
    fn text_from_elsewhere_holds_no_markup() {
        assert_eq!(escaped("<script>\"a\" & 'b'"), "&lt;script&gt;&quot;a&quot; &amp; &#39;b&#39;");
        assert_eq!(escaped("a\u{202e}b\n"), "a\\u{202e}b\\n");
    }
}
