//! Panel of the non-zeros of a matrix: each cell of a grid as dark as it is dense.

use super::{Panel, remark};
use crate::svg::{Anchor, Svg, WIDTH};
use crate::text::{counted, grouped, percent};
use sparsight::answer::{MatrixSummary, SpyCells};
use sparsight::matrix::Spy;
use std::fmt::Write;

/// Shades, the darkest first, and the least level of each: as many halvings below the densest. Chosen: five can be told apart.
const SHADES: [(&str, u32); 5] = [("d5", 35), ("d4", 34), ("d3", 32), ("d2", 28), ("d1", 1)];
const TOP: f64 = 20.0;
const LEFT: f64 = 20.0;
/// Length of the longer side.
const SIDE: f64 = WIDTH - 2.0 * LEFT;
/// Least length of the shorter side. A cell may be stretched.
const LEAST: f64 = SIDE / 4.0;

pub(super) fn panel(matrix: &MatrixSummary, spy: &SpyCells) -> Option<Panel> {
    let mut body = picture(matrix, spy)?.finish("where the non-zeros of the matrix lie");
    body += &remark(&caption(matrix, spy));
    Some(Panel { id: "spy", title: TITLE, body })
}

pub(super) const TITLE: &str = "Where the non-zeros lie";

/// Number of cells down and across.
fn cells(spy: &SpyCells) -> (usize, usize) {
    (spy.cells.len(), spy.cells.first().map_or(0, String::len))
}

/// Picture; `None` without rows or columns.
pub(super) fn picture(m: &MatrixSummary, spy: &SpyCells) -> Option<Svg> {
    let levels: Vec<Vec<u32>> = spy.cells.iter().map(|row| row.chars().map(level).collect()).collect();
    let (rows, columns) = cells(spy);
    if rows == 0 || columns == 0 {
        return None;
    }
    let longer = m.nrows.max(m.ncols).max(1) as f64;
    let along = |length: u64| (SIDE * length as f64 / longer).max(LEAST);
    let (width, height) = (along(m.ncols), along(m.nrows));
    let left = f64::midpoint(0.0, WIDTH - width);
    let mut svg = Svg::new(TOP + height + 4.0);
    let size = format!("{}, {}", counted(m.nrows, "row"), counted(m.ncols, "column"));
    svg.text("tick", (WIDTH / 2.0, 12.0), Anchor::Middle, &size);
    svg.rect("frame", (left, TOP), (width, height), "");
    let scale = (width / columns as f64, height / rows as f64);
    let mut above = u32::MAX;
    for (class, least) in SHADES {
        let path = runs(&levels, |level| (least..above).contains(&level));
        above = least;
        if !path.is_empty() {
            svg.path(class, (left, TOP), scale, &path);
        }
    }
    Some(svg)
}

/// Meaning of a cell, in words.
pub(super) fn caption(m: &MatrixSummary, spy: &SpyCells) -> String {
    let (rows, columns) = cells(spy);
    let (high, wide) = (m.nrows.div_ceil(rows.max(1) as u64), m.ncols.div_ceil(columns.max(1) as u64));
    match (high, wide) {
        (0 | 1, 0 | 1) => "A cell is one place.".to_owned(),
        _ => format!(
            "A cell covers up to {} x {} places; in the darkest cells {} of the places hold a non-zero.",
            grouped(high),
            grouped(wide),
            percent(spy.densest)
        ),
    }
}

fn level(letter: char) -> u32 {
    letter.to_digit(Spy::LEVELS).unwrap_or(0)
}

/// Path with a rectangle for each run of `wanted` cells in a row, on a grid of cells of size 1.
fn runs(levels: &[Vec<u32>], wanted: impl Fn(u32) -> bool) -> String {
    let mut path = String::new();
    for (y, row) in levels.iter().enumerate() {
        let mut x = 0;
        while x < row.len() {
            let length = row[x..].iter().take_while(|&&level| wanted(level)).count();
            if length > 0 {
                // Writing to a String does not fail.
                let _ = write!(path, "M{x} {y}h{length}v1h-{length}z");
            }
            x += length.max(1);
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbouring_cells_of_one_shade_are_one_area() {
        let levels = [vec![35, 35, 0, 34], vec![0, 0, 0, 3]];
        assert_eq!(runs(&levels, |level| level >= 34), "M0 0h2v1h-2zM3 0h1v1h-1z");
        assert_eq!(runs(&levels, |level| (1..34).contains(&level)), "M3 1h1v1h-1z");
    }
}
