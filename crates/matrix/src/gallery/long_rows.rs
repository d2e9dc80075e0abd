//! A diagonal and a few long rows: the matrix on which one thread per row is worst.

use super::generator::{Generator, Parameter, Size};

pub(super) const LONG_ROWS: Generator = Generator {
    name: "long-rows",
    summary: "diagonal and a few long rows among them: integral constraints, worst case of one thread per row",
    parameters: &[
        Parameter::dimension("n", 300_000, "rows"),
        Parameter::dimension("long", 10, "long rows, evenly spaced"),
        Parameter::dimension("length", 100_000, "non-zeros of a long row, beside the diagonal"),
        Parameter::SEED,
    ],
    size: |arguments| {
        let [n, long, length] = ["n", "long", "length"].map(|name| u128::from(arguments.whole(name)));
        Size { nrows: n, ncols: n, nnz: n + long.min(n) * length.min(n) }
    },
    rows: |arguments| {
        let [n, long, length] = ["n", "long", "length"].map(|name| arguments.whole(name));
        let long = long.min(n);
        Box::new(move |number, rng, row| {
            row.push(number, rng.value());
            // Row i is long if it is the first of one of `long` equal parts.
            if (number * long) % n < long {
                row.fill(rng.distinct(length, n), rng);
            }
        })
    },
};
