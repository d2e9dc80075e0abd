//! Dense blocks along the diagonal.

use super::generator::{Generator, Parameter, Size};

pub(super) const BLOCK_DIAGONAL: Generator = Generator {
    name: "block-diagonal",
    summary: "dense blocks along the diagonal: independent systems, preconditioners",
    parameters: &[
        Parameter::dimension("n", 200_000, "rows"),
        Parameter::dimension("block", 16, "rows of a block; the last one may be smaller"),
        Parameter::SEED,
    ],
    size: |arguments| {
        let [n, block] = ["n", "block"].map(|name| u128::from(arguments.whole(name)));
        Size { nrows: n, ncols: n, nnz: n / block * block * block + (n % block).pow(2) }
    },
    rows: |arguments| {
        let [n, block] = ["n", "block"].map(|name| arguments.whole(name));
        Box::new(move |number, rng, row| {
            let first = number / block * block;
            row.fill(first..(first + block).min(n), rng);
        })
    },
};
