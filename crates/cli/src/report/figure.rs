//! The pictures of a matrix as one SVG file: `info --svg`.
//!
//! ```text
//! name, shape
//! where the non-zeros lie   |   row lengths
//! caption                   |   caption
//! ```
//! It is drawn as on the page, in the light colours, without variables of style sheets, which programs that print or edit pictures do not
//! read.

use super::row_lengths::{self, Teams};
use super::{PICTURES, STYLE, spy};
use crate::svg::{Anchor, Svg, WIDTH, cut, lines};
use crate::text::{counted, grouped};
use sparsight::answer::{MatrixSummary, Structure};

const MARGIN: f64 = 20.0;
/// Gap between the pictures.
const GAP: f64 = 36.0;
/// Height of a line of text.
const LINE: f64 = 18.0;
const ALL: f64 = 2.0 * (MARGIN + WIDTH) + GAP;

/// Content of the SVG file.
pub(crate) fn figure(matrix: &MatrixSummary, structure: &Structure) -> String {
    let shape =
        format!("{} x {}, {}", grouped(matrix.nrows), grouped(matrix.ncols), counted(matrix.nnz, "non-zero"));
    let mut svg = Svg::new(0.0);
    svg.text("title", (MARGIN, MARGIN + 12.0), Anchor::Start, &cut(&matrix.name, ALL - 2.0 * MARGIN));
    svg.text("tick", (MARGIN, MARGIN + 12.0 + LINE), Anchor::Start, &shape);
    let top = MARGIN + 12.0 + 3.5 * LINE;
    let columns = [
        (spy::TITLE, spy::picture(matrix, &structure.spy), spy::caption(matrix, &structure.spy)),
        (
            row_lengths::TITLE,
            row_lengths::picture(&structure.row_lengths, &Teams::default()),
            row_lengths::caption(matrix),
        ),
    ];
    let mut bottom = top;
    for (at, (title, picture, caption)) in (0_u8..).zip(columns) {
        let left = MARGIN + f64::from(at) * (WIDTH + GAP);
        svg.text("title", (left, top), Anchor::Start, title);
        let Some(picture) = picture else {
            svg.text("tick", (left, top + LINE), Anchor::Start, "Nothing is there.");
            bottom = bottom.max(top + LINE);
            continue;
        };
        svg.put((left, top + 12.0), &picture);
        let mut under = top + 12.0 + picture.height() + LINE;
        for line in lines(&caption, WIDTH) {
            svg.text("tick", (left, under), Anchor::Start, &line);
            bottom = bottom.max(under);
            under += LINE;
        }
    }
    svg.document((ALL, bottom + MARGIN), &with_colours(PICTURES), colour("card"), &matrix.name)
}

/// Value of a colour of the style in the light scheme.
fn colour(name: &str) -> &'static str {
    let behind = STYLE.split_once(&format!("--{name}: ")).map(|(_, behind)| behind);
    behind.and_then(|behind| behind.split_once(';')).map(|(colour, _)| colour).expect("a colour of the style")
}

/// Style with values in place of the names of colours.
fn with_colours(style: &str) -> String {
    let mut parts = style.split("var(--");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (name, rest) = part.split_once(')').expect("a variable ends");
        out += colour(name);
        out += rest;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_numbers_and_the_light_ones() {
        assert_eq!(
            with_colours(".a { fill: var(--ink); } .b { fill: none; }"),
            ".a { fill: #22252a; } .b { fill: none; }"
        );
        assert!(!with_colours(PICTURES).contains("var("));
    }
}
