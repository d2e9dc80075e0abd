//! Saddle points: the optimality conditions of a quadratic program with equality constraints.
//!
//! ```text
//! | H  A^T |    H  n x n, five diagonals, symmetric
//! | A   0  |    A  m x n, `row` random columns a row
//! ```

use super::generator::{Generator, Parameter, Size};
use super::random::symmetric_value;
use super::rows::{RowMaker, build};

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
        let nnz = n + 2 * (n - 1) + 2 * n.saturating_sub(2) + 2 * m * row.min(n);
        Size { nrows: n + m, ncols: n + m, nnz }
    },
    rows: |arguments| {
        let [n, m, length, seed] = ["n", "m", "row", "seed"].map(|name| arguments.whole(name));
        let constraint: RowMaker = Box::new(move |_, rng, row| {
            row.fill(rng.distinct(length, n), rng);
        });
        let a = build::<f64>(m as usize, n as usize, seed, &constraint);
        let transposed = a.transposed_at_once().expect("rows and columns are within the limit for both");
        Box::new(move |number, _, row| {
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
