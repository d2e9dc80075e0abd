//! Saddle points: the optimality conditions of a quadratic program with equality constraints.
//!
//! ```text
//! | H  A^T |    H  n x n, five diagonals, symmetric
//! | A   0  |    A  m x n, `row` random columns a row
//! ```

use super::generator::{Generator, Parameter, Size};
use super::random::{Rng, symmetric_value};
use super::rows::{RowMaker, build};
use crate::Csr;

pub(super) const KKT: Generator = Generator {
    name: "kkt",
    summary: "saddle point [H A^T; A 0], symmetric: constrained optimisation, Stokes flow",
    parameters: &[
        Parameter::dimension("n", 150_000, "variables"),
        Parameter::dimension("m", 50_000, "constraints"),
        Parameter::dimension("row", 5, "variables in a constraint"),
        Parameter::SEED,
    ],
    size: |arguments| {
        let [n, m, row] = ["n", "m", "row"].map(|name| u128::from(arguments.whole(name)));
        Size {
            nrows: n + m,
            ncols: n + m,
            nnz: n + 2 * (n - 1) + 2 * n.saturating_sub(2) + 2 * m * row.min(n),
        }
    },
    rows: |arguments| {
        let [n, m, length, seed] = ["n", "m", "row", "seed"].map(|name| arguments.whole(name));
        let constraint: RowMaker = Box::new(move |number, row| {
            let mut rng = Rng::new(seed, number);
            for col in rng.distinct(length, n) {
                row.push(col.into(), rng.value());
            }
        });
        let a = build::<f64>(m as usize, n as usize, &constraint);
        let transposed = transpose(&a);
        Box::new(move |number, row| {
            if number >= n {
                let (cols, values) = a.row((number - n) as usize);
                cols.iter().zip(values).for_each(|(&col, &value)| row.push(col.into(), value));
                return;
            }
            for col in number.saturating_sub(2)..(number + 3).min(n) {
                row.push(col, if col == number { 5.0 } else { symmetric_value(!seed, number, col) });
            }
            let (cols, values) = transposed.row(number as usize);
            cols.iter().zip(values).for_each(|(&col, &value)| row.push(n + u64::from(col), value));
        })
    },
};

/// `A^T`. O(nnz), rows counted, then dealt out.
fn transpose(a: &Csr<f64>) -> Csr<f64> {
    let mut row_ptr = vec![0_u64; a.ncols() + 1];
    for &col in a.col_idx() {
        row_ptr[col as usize + 1] += 1;
    }
    for i in 1..row_ptr.len() {
        row_ptr[i] += row_ptr[i - 1];
    }
    let mut next = row_ptr.clone();
    let mut col_idx = vec![0; a.nnz()];
    let mut transposed_values = vec![0.0; a.nnz()];
    for row in 0..a.nrows() {
        let (cols, values) = a.row(row);
        for (&col, &value) in cols.iter().zip(values) {
            let at = &mut next[col as usize];
            col_idx[*at as usize] = row as u32;
            transposed_values[*at as usize] = value;
            *at += 1;
        }
    }
    Csr::try_new(a.ncols(), a.nrows(), row_ptr, col_idx, transposed_values)
        .expect("rows are dealt out in increasing order")
}
