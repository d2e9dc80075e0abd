//! Arrows: a diagonal, and first rows and columns that are full.

use super::generator::{Generator, Parameter, Size};

pub(super) const ARROW: Generator = Generator {
    name: "arrow",
    summary: "diagonal with full first rows and columns: bordered systems, bundle adjustment",
    parameters: &[
        Parameter::dimension("n", 200_000, "rows"),
        Parameter::dimension("width", 2, "full rows and full columns"),
        Parameter::SEED,
    ],
    size: |arguments| {
        let n = u128::from(arguments.whole("n"));
        let width = u128::from(arguments.whole("width")).min(n);
        Size { nrows: n, ncols: n, nnz: width * n + (n - width) * (width + 1) }
    },
    rows: |arguments| {
        let (n, width) = (arguments.whole("n"), arguments.whole("width"));
        Box::new(move |number, rng, row| {
            let full = if number < width { n } else { width };
            row.fill(0..full, rng);
            if number >= full {
                row.push(number, rng.value());
            }
        })
    },
};
