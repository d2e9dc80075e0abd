//! Picture of the pattern in few cells, each as dark as it is full.
//!
//! ```text
//! x . . . . x            #  .  +        a cell holds its share of the rows and columns, and its density is
//! . x . . . .     ->     .  #  .        non-zeros / (rows x columns) of it: cells of different size compare
//! ```
//! Deliberately absent: colours and shades, which belong to the program that draws.

use crate::{Csr, Scalar};
use rayon::prelude::*;

/// Densities of the cells of a grid over a matrix.
#[derive(Debug, Clone, PartialEq)]
pub struct Spy {
    rows: usize,
    columns: usize,
    densities: Vec<f64>,
}

impl Spy {
    /// Levels of density, the empty cell among them: what a digit to the base of 36 says.
    pub const LEVELS: u32 = 36;

    /// Densities of `a` in `rows` times `columns` cells, at most as many as it has rows and columns. O(nnz), in parallel.
    pub fn of<T: Scalar>(a: &Csr<T>, rows: usize, columns: usize) -> Self {
        let (rows, columns) = (rows.min(a.nrows()), columns.min(a.ncols()));
        let densities = (0..rows).into_par_iter().flat_map_iter(|r| densities(a, (r, rows), columns));
        Self { rows, columns, densities: densities.collect() }
    }

    /// Computes [`Spy::of`] with `most` cells along the longer side and along the other as many as the shape requires, but at least
    /// a quarter of `most`, so that the picture is visible.
    pub fn shaped<T: Scalar>(a: &Csr<T>, most: usize) -> Self {
        let longer = a.nrows().max(a.ncols()).max(1);
        let along = |length: usize| {
            let scaled = (length as f64 * most.min(longer) as f64 / longer as f64).round() as usize;
            scaled.max(most / 4)
        };
        Self::of(a, along(a.nrows()), along(a.ncols()))
    }

    /// Cells in a column of the grid.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Cells in a row of the grid.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Non-zeros over places of the densest cell; 0 without non-zeros.
    pub fn densest(&self) -> f64 {
        self.densities.iter().copied().fold(0.0, f64::max)
    }

    /// The grid from the top, a row at a time: 0 of a cell without non-zeros, 35 of the densest and of those more than half as
    /// dense, and one less for each halving, down to 1.
    pub fn levels(&self) -> impl Iterator<Item = Vec<u32>> {
        let densest = self.densest();
        let level = move |&density: &f64| {
            let halvings = std::iter::successors(Some(densest / 2.0), |limit| Some(limit / 2.0));
            let halvings = halvings.take(Self::LEVELS as usize - 2).take_while(|&limit| density <= limit);
            if density > 0.0 { Self::LEVELS - 1 - halvings.count() as u32 } else { 0 }
        };
        self.densities.chunks(self.columns.max(1)).map(move |row| row.iter().map(level).collect())
    }
}

/// Densities of one row of the grid.
fn densities<T: Scalar>(a: &Csr<T>, (row, rows): (usize, usize), columns: usize) -> Vec<f64> {
    let (first, behind) = (begin(row, rows, a.nrows()), begin(row + 1, rows, a.nrows()));
    let ends: Vec<usize> = (1..=columns).map(|c| begin(c, columns, a.ncols())).collect();
    let mut counts = vec![0_u64; columns];
    for bounds in a.row_ptr()[first..=behind].windows(2) {
        let mut cell = 0;
        // Columns increase within a row.
        for &column in &a.col_idx()[bounds[0] as usize..bounds[1] as usize] {
            while column as usize >= ends[cell] {
                cell += 1;
            }
            counts[cell] += 1;
        }
    }
    let width = |c: usize| ends[c] - begin(c, columns, a.ncols());
    let density = |(c, count)| count as f64 / ((behind - first) as f64 * width(c) as f64);
    counts.into_iter().enumerate().map(density).collect()
}

/// The first of `length` rows or columns in a cell, of so many.
fn begin(cell: usize, cells: usize, length: usize) -> usize {
    (cell as u128 * length as u128).div_ceil(cells as u128) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gallery::Recipe;

    #[test]
    fn a_small_matrix_is_drawn_as_worked_by_hand() {
        // Two by three cells over 3 x 6: rows 0 and 1, then 2; columns by twos.
        let a = Csr::try_new(3, 6, vec![0, 3, 4, 5], vec![0, 1, 5, 1, 4], vec![1.0; 5]).unwrap();
        let spy = Spy::of(&a, 2, 3);
        assert_eq!((spy.rows(), spy.columns(), spy.densest()), (2, 3, 0.75));
        assert_eq!(spy.levels().collect::<Vec<_>>(), [[35, 0, 34], [0, 0, 35]], "3/4 0 1/4; 0 0 1/2");
        assert_eq!(Spy::of(&a, 99, 99).rows(), 3, "no more cells than rows");
    }

    #[test]
    fn every_non_zero_is_in_one_cell_whatever_the_grid() {
        let a: Csr<f32> = "random,rows=301,cols=173,row=7".parse::<Recipe>().unwrap().generate().unwrap();
        for (rows, columns) in [(1, 1), (128, 128), (300, 172), (301, 173), (7, 150)] {
            let spy = Spy::of(&a, rows, columns);
            let size = |cell, cells, length| begin(cell + 1, cells, length) - begin(cell, cells, length);
            let places = (0..rows).flat_map(|r| (0..columns).map(move |c| (r, c)));
            let places = places.map(|(r, c)| (size(r, rows, 301) * size(c, columns, 173)) as f64);
            let sum: f64 = places.zip(&spy.densities).map(|(places, density)| places * density).sum();
            assert!((sum - a.nnz() as f64).abs() < 1e-6, "{rows} x {columns}: {sum}");
        }
    }

    #[test]
    fn the_longer_side_has_most_cells_and_the_other_one_is_seen() {
        let shape = |nrows: usize, ncols: usize| {
            let a = Csr::<f32>::try_new(nrows, ncols, vec![0; nrows + 1], vec![], vec![]).unwrap();
            let spy = Spy::shaped(&a, 128);
            (spy.rows(), spy.columns(), spy.densest())
        };
        assert_eq!(shape(1000, 1000), (128, 128, 0.0));
        assert_eq!(shape(1000, 500), (128, 64, 0.0));
        assert_eq!(shape(40, 100_000), (32, 128, 0.0));
        assert_eq!(shape(5, 3), (5, 3, 0.0));
        assert_eq!(shape(0, 0), (0, 0, 0.0));
    }
}
