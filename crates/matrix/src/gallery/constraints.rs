//! Models written in algebra: one family of constraints after another, each row of a family with as many variables as the next.
//!
//! ```text
//! family 1    rows of 3    row k: columns k + o1, k + o2, ...  with offsets of the family, modulo the columns
//! family 2    rows of 17
//! ...
//! ```
//! Row lengths differ by as much as in a graph, yet the next row is as long as this one, which a processor's branch prediction
//! learns.

use super::generator::{Arguments, Generator, Parameter, Size};
use super::random::Rng;

pub(super) const CONSTRAINTS: Generator = Generator {
    name: "constraints",
    summary: "families of rows of one length, one after another: integer programs, satisfiability",
    parameters: &[
        Parameter::dimension("rows", 60_000, "constraints"),
        Parameter::dimension("cols", 60_000, "variables"),
        Parameter::count("families", 12, 1, 100_000, "families of constraints"),
        Parameter::count(
            "longest",
            30,
            1,
            u32::MAX as u64 - 1,
            "non-zeros of a row at most; short ones are as frequent as long ones",
        ),
        Parameter::SEED,
    ],
    size: |arguments| {
        let [nrows, ncols] = ["rows", "cols"].map(|name| arguments.whole(name));
        let nnz = families(arguments).iter().map(|family| u128::from(family.rows * family.length)).sum();
        Size { nrows: nrows.into(), ncols: ncols.into(), nnz }
    },
    rows: |arguments| {
        let (ncols, seed) = (arguments.whole("cols"), arguments.whole("seed"));
        let families = families(arguments);
        Box::new(move |number, rng, row| {
            let at = families.partition_point(|family| family.first <= number) - 1;
            let family = &families[at];
            let mut offsets = Rng::new(!seed, at as u64);
            for place in 0..family.length {
                // Half of the variables are neighbours, the others lie anywhere, each in the same place for all rows of the family.
                let offset = if place % 2 == 0 { place } else { offsets.below(ncols) };
                row.push((number + offset) % ncols, rng.value());
            }
        })
    },
};

/// Rows of one length.
struct Family {
    first: u64,
    rows: u64,
    length: u64,
}

/// All families, none empty, together all rows. A family's share of the rows and its length follow from the seed.
fn families(arguments: &Arguments) -> Vec<Family> {
    let [rows, cols, count, longest, seed] =
        ["rows", "cols", "families", "longest", "seed"].map(|name| arguments.whole(name));
    let mut rng = Rng::new(seed, u64::MAX);
    let shares: Vec<f64> = (0..count).map(|_| 0.1 + rng.unit()).collect();
    let (whole, mut before, mut first) = (shares.iter().sum::<f64>(), 0.0, 0);
    let mut families = Vec::new();
    for share in shares {
        before += share;
        let end = ((before / whole * rows as f64).round() as u64).min(rows);
        // Lengths of each order of magnitude are as frequent.
        let length = (longest as f64).powf(rng.unit()).round() as u64;
        if end > first {
            families.push(Family { first, rows: end - first, length: length.clamp(1, longest.min(cols)) });
            first = end;
        }
    }
    families
}
