//! Columns anywhere, each as likely as any other: no structure to profit from.

use super::generator::{Arguments, Generator, Parameter, Size};
use super::rows::RowMaker;

pub(super) const RANDOM: Generator = Generator {
    name: "random",
    summary: "columns anywhere, rows of about one length: no structure at all",
    parameters: &[
        Parameter::dimension("rows", 200_000, "rows"),
        Parameter::dimension("cols", 200_000, "columns"),
        Parameter::count("row", 10, 0, u32::MAX as u64, "non-zeros a row on average"),
        Parameter::count("spread", 0, 0, u32::MAX as u64, "lengths lie this far around, at most `row`"),
        Parameter::SEED,
    ],
    size: |arguments| rectangle(arguments, arguments.whole("row")),
    rows: |arguments| {
        let [ncols, length, spread] = ["cols", "row", "spread"].map(|name| arguments.whole(name));
        // Beyond these the mean would not be `row`.
        let spread = spread.min(length).min(ncols.saturating_sub(length));
        Box::new(move |_, rng, row| {
            let length = length - spread + rng.below(2 * spread + 1);
            row.fill(rng.distinct(length, ncols), rng);
        })
    },
};

pub(super) const TALL: Generator = Generator {
    name: "tall",
    summary: "many rows, few columns: least squares, documents by words",
    parameters: &[
        Parameter::dimension("rows", 500_000, "rows"),
        Parameter::dimension("cols", 300, "columns"),
        Parameter::dimension("row", 6, "non-zeros a row"),
        Parameter::SEED,
    ],
    size: |arguments| rectangle(arguments, arguments.whole("row")),
    rows: equal_rows,
};

pub(super) const WIDE: Generator = Generator {
    name: "wide",
    summary: "few long rows over many columns: features, restrictions",
    parameters: &[
        Parameter::dimension("rows", 300, "rows"),
        Parameter::dimension("cols", 500_000, "columns"),
        Parameter::dimension("row", 10_000, "non-zeros a row"),
        Parameter::SEED,
    ],
    size: |arguments| rectangle(arguments, arguments.whole("row")),
    rows: equal_rows,
};

pub(super) const HYPERSPARSE: Generator = Generator {
    name: "hypersparse",
    summary: "most rows empty: one part of a graph cut in many",
    parameters: &[
        Parameter::dimension("n", 1_000_000, "rows"),
        Parameter::real("filled", 0.1, 0.0, 1.0, "share of the rows that are not empty"),
        Parameter::dimension("row", 3, "non-zeros of such a row"),
        Parameter::SEED,
    ],
    size: |arguments| {
        let (n, row) = (arguments.whole("n"), arguments.whole("row"));
        let nnz = arguments.real("filled") * n as f64 * row.min(n) as f64;
        Size { nrows: n.into(), ncols: n.into(), nnz: nnz.round() as u128 }
    },
    rows: |arguments| {
        let [n, length] = ["n", "row"].map(|name| arguments.whole(name));
        let filled = arguments.real("filled");
        Box::new(move |_, rng, row| {
            if rng.chance(filled) {
                row.fill(rng.distinct(length, n), rng);
            }
        })
    },
};

/// `rows x cols` with `length` entries a row.
fn rectangle(arguments: &Arguments, length: u64) -> Size {
    let [nrows, ncols] = ["rows", "cols"].map(|name| u128::from(arguments.whole(name)));
    Size { nrows, ncols, nnz: nrows * u128::from(length).min(ncols) }
}

/// `row` entries in each row.
fn equal_rows(arguments: &Arguments) -> RowMaker {
    let [ncols, length] = ["cols", "row"].map(|name| arguments.whole(name));
    Box::new(move |_, rng, row| {
        row.fill(rng.distinct(length, ncols), rng);
    })
}
