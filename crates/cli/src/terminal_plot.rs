//! A matrix in the terminal: where its non-zeros lie, and how long its rows are, in blocks of Unicode.

use crate::text::grouped;
use sparsight::answer::Structure;
use sparsight::matrix::{Csr, LengthBin, Scalar, Spy};

/// Characters of the longer picture, across. Chosen: beside it fits a margin of 80.
pub(crate) const COLUMNS: usize = 64;
/// Lines of the higher one: a line is about twice as high as a character is wide.
pub(crate) const LINES: usize = 32;

/// The lightest first, and the least level of each: as many halvings below the densest.
const SHADES: [(char, u32); 4] = [('░', 1), ('▒', 26), ('▓', 31), ('█', 34)];
/// Eighths of a character, for the end of a bar.
const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
/// Characters of the longest bar: before it stand lengths, behind it the number of rows. Chosen.
const BAR: f64 = 32.0;

/// A framed picture of the non-zeros, a line for each row of cells.
pub(crate) fn spy<T: Scalar>(a: &Csr<T>) -> Vec<String> {
    let (nrows, ncols) = (a.nrows(), a.ncols());
    if nrows == 0 || ncols == 0 {
        return Vec::new();
    }
    // A small matrix has two characters a column, a large one half as many lines as columns.
    let is_small = nrows <= LINES && ncols <= LINES;
    let scale = (nrows.max(ncols) as f64 / COLUMNS as f64).max(1.0);
    let along = |length: usize, unit: f64| ((length as f64 / (scale * unit)).round() as usize).max(1);
    let spy =
        if is_small { Spy::of(a, nrows, ncols) } else { Spy::of(a, along(nrows, 2.0), along(ncols, 1.0)) };
    let shade =
        |level: u32| SHADES.iter().rev().find(|(_, least)| level >= *least).map_or(' ', |(shade, _)| *shade);
    let wide = if is_small { 2 } else { 1 };
    let rows = spy.levels().map(|row| {
        let cells: String = row.iter().flat_map(|&level| std::iter::repeat_n(shade(level), wide)).collect();
        format!("│{cells}│")
    });
    let edge = "─".repeat(wide * spy.columns());
    let (top, bottom) = (format!("┌{edge}┐"), format!("└{edge}┘"));
    std::iter::once(top).chain(rows.collect::<Vec<_>>()).chain(std::iter::once(bottom)).collect()
}

/// A histogram of row lengths by powers of two.
pub(crate) fn row_lengths(structure: &Structure) -> Vec<String> {
    let mut doublings: Vec<LengthBin> = Vec::new();
    let power = |length: u64| length.checked_ilog2();
    for bin in &structure.row_lengths {
        match doublings.last_mut().filter(|last| power(last.from) == power(bin.from)) {
            Some(last) => (last.to, last.rows) = (bin.to, last.rows + bin.rows),
            None => doublings.push(*bin),
        }
    }
    let most = doublings.iter().map(|bin| bin.rows).max().unwrap_or(1);
    let name = |bin: &LengthBin| match bin.from {
        from if from == bin.to => grouped(from),
        from => format!("{} to {}", grouped(from), grouped(bin.to)),
    };
    let wide = doublings.iter().map(|bin| name(bin).len()).max().unwrap_or(0);
    let line = |bin: &LengthBin| {
        let eighths = (8.0 * BAR * bin.rows as f64 / most as f64).ceil() as usize;
        let bar = format!("{}{}", "█".repeat(eighths / 8), EIGHTHS[eighths % 8]);
        format!("{:>wide$}  {bar} {}", name(bin), grouped(bin.rows))
    };
    doublings.iter().take(LINES).map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use sparsight::matrix::gallery::Recipe;

    fn drawn(recipe: &str) -> (Vec<String>, Vec<String>) {
        let a: Csr<f64> = recipe.parse::<Recipe>().unwrap().generate().unwrap();
        (spy(&a), row_lengths(&Structure::of(&a)))
    }

    #[test]
    fn a_small_matrix_has_a_line_a_row_and_a_large_one_fits() {
        let (spy, lengths) = drawn("arrow,n=5");
        // Two rows and columns, and the diagonal.
        let rows = ["██████████", "██████████", "██████    ", "████  ██  ", "████    ██"]
            .map(|row| format!("│{row}│"));
        assert_eq!(spy[1..6], rows);
        assert_eq!((spy[0].as_str(), spy[6].as_str()), ("┌──────────┐", "└──────────┘"));
        assert_eq!(lengths, [format!("3  {} 3", "█".repeat(32)), format!("5  {}▍ 2", "█".repeat(21))]);
        for recipe in [
            "power-law,n=3000",
            "stencil2d,n=40",
            "random,rows=5000,cols=100,row=3",
            "random,rows=40,cols=9000,row=3",
        ] {
            let (spy, lengths) = drawn(recipe);
            assert!(spy.len() <= LINES + 2 && lengths.len() <= LINES, "{recipe}");
            assert!(spy.iter().all(|line| line.chars().count() <= COLUMNS + 2), "{recipe}");
            assert!(spy[1..spy.len() - 1].iter().any(|line| line.contains('█')), "{recipe}: {spy:?}");
        }
    }
}
