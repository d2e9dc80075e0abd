//! Linear programs: more columns than rows, a staircase of stages, a few dense rows and columns.

use super::generator::{Generator, Parameter, Size};

pub(super) const LP: Generator = Generator {
    name: "lp",
    summary: "rectangular staircase with a few dense rows and columns: linear programs",
    parameters: &[
        Parameter::dimension("rows", 40_000, "constraints"),
        Parameter::dimension("cols", 120_000, "variables"),
        Parameter::dimension("row", 8, "non-zeros of an ordinary row"),
        Parameter::count("dense_rows", 3, 0, 1000, "rows that are dense, the first ones"),
        Parameter::count("dense_cols", 3, 0, 1000, "columns that are dense, the last ones"),
        Parameter::real("dense", 0.3, 0.0, 1.0, "share of a dense row or column that is not zero"),
        Parameter::SEED,
    ],
    size: |arguments| {
        let [nrows, ncols, row] = ["rows", "cols", "row"].map(|name| u128::from(arguments.whole(name)));
        let dense = arguments.real("dense");
        let dense_rows = u128::from(arguments.whole("dense_rows")).min(nrows);
        let dense_cols = u128::from(arguments.whole("dense_cols")).min(ncols);
        let dense = dense * (dense_rows * ncols + dense_cols * nrows) as f64;
        Size { nrows, ncols, nnz: nrows * row.min(ncols) + dense as u128 }
    },
    rows: |arguments| {
        let (nrows, ncols, length) =
            (arguments.whole("rows"), arguments.whole("cols"), arguments.whole("row"));
        let (dense_rows, dense_cols) = (arguments.whole("dense_rows"), arguments.whole("dense_cols"));
        let dense = arguments.real("dense");
        Box::new(move |number, rng, row| {
            if number < dense_rows {
                for col in 0..ncols {
                    if rng.chance(dense) {
                        row.push(col, rng.value());
                    }
                }
                return;
            }
            // The stage's own variables, and one in eight from anywhere.
            let stage = (4 * length).min(ncols);
            let first = number * (ncols - stage) / nrows;
            for k in 0..length.min(ncols) {
                let col = if k % 8 == 7 { rng.below(ncols) } else { first + rng.below(stage) };
                row.push(col, rng.value());
            }
            for col in ncols.saturating_sub(dense_cols)..ncols {
                if rng.chance(dense) {
                    row.push(col, rng.value());
                }
            }
        })
    },
};
