//! Every entry there: what sparse formats cost when nothing is sparse.

use super::generator::{Generator, Parameter, Size};

pub(super) const DENSE: Generator = Generator {
    name: "dense",
    summary: "every entry not zero: the upper bound of what a sparse format reaches",
    parameters: &[
        Parameter::dimension("rows", 2_000, "rows"),
        Parameter::dimension("cols", 2_000, "columns"),
        Parameter::SEED,
    ],
    size: |arguments| {
        let [nrows, ncols] = ["rows", "cols"].map(|name| u128::from(arguments.whole(name)));
        Size { nrows, ncols, nnz: nrows * ncols }
    },
    rows: |arguments| {
        let ncols = arguments.whole("cols");
        Box::new(move |_, rng, row| {
            row.fill(0..ncols, rng);
        })
    },
};
