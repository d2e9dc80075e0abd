//! A matrix in short, and its structure as it is drawn: how long its rows are, and where its non-zeros lie.

use serde::{Deserialize, Serialize};
use sparsight_matrix::{Csr, Features, LengthBin, RowLengths, Scalar, Spy};

/// A matrix in short.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MatrixSummary {
    /// Name: that of its file, or the recipe of the gallery as it was written.
    pub name: String,
    /// Rows.
    pub nrows: u64,
    /// Columns.
    pub ncols: u64,
    /// Stored non-zeros.
    pub nnz: u64,
    /// Mean row length, non-zeros; 0 without rows.
    #[serde(default)]
    pub row_mean: f64,
    /// Shortest row, non-zeros.
    pub row_min: u64,
    /// Longest row, non-zeros.
    pub row_max: u64,
}

impl MatrixSummary {
    /// Summary of the matrix called `name` with these features.
    pub fn of(name: impl Into<String>, features: &Features) -> Self {
        let Features { nrows, ncols, nnz, row_min, row_max, .. } = *features;
        Self { name: name.into(), nrows, ncols, nnz, row_mean: features.row_mean(), row_min, row_max }
    }
}

/// Row lengths and positions of the non-zeros.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Structure {
    /// Rows by length, shortest first, without lengths that no row has.
    pub row_lengths: Vec<LengthBin>,
    /// The matrix as a picture.
    pub spy: SpyCells,
}

/// Densities of the cells of a grid over the matrix.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SpyCells {
    /// Non-zeros over places of the densest cell; 0 without non-zeros.
    #[serde(default)]
    pub densest: f64,
    /// The grid from the top, a row a text, a letter a cell: `.` without non-zeros, `z` the densest and those more than half as
    /// dense, then `y`, and so on to `a` and from `9` to `1`, each for half the density.
    pub cells: Vec<String>,
}

impl Structure {
    /// Cells along the longer side. Chosen: what is drawn a few pixels large.
    pub const CELLS: usize = 128;

    /// Structure of `a`. O(nnz), in parallel.
    pub fn of<T: Scalar>(a: &Csr<T>) -> Self {
        Self { row_lengths: RowLengths::of(a).binned(), spy: (&Spy::shaped(a, Self::CELLS)).into() }
    }
}

impl From<&Spy> for SpyCells {
    fn from(spy: &Spy) -> Self {
        let letter = |level: u32| match level {
            0 => '.',
            level => char::from_digit(level, Spy::LEVELS).expect("a level is a digit"),
        };
        let cells = spy.levels().map(|row| row.into_iter().map(letter).collect()).collect();
        Self { densest: spy.densest(), cells }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_structure_of_a_small_matrix_is_the_one_drawn_by_hand() {
        let a = Csr::try_new(3, 4, vec![0, 1, 1, 4], vec![0, 0, 2, 3], vec![1.0; 4]).unwrap();
        let Structure { row_lengths, spy } = Structure::of(&a);
        let rows: Vec<_> = row_lengths.iter().map(|bin| (bin.from, bin.to, bin.rows)).collect();
        assert_eq!(rows, [(0, 0, 1), (1, 1, 1), (3, 3, 1)]);
        assert_eq!((spy.densest, spy.cells), (1.0, vec!["z...".into(), "....".into(), "z.zz".into()]));
    }
}
