//! Bands around the diagonal, full or with gaps.

use super::generator::{Generator, Parameter, Size};

pub(super) const BANDED: Generator = Generator {
    name: "banded",
    summary: "band around the diagonal, full or with gaps: splines, ordered meshes",
    parameters: &[
        Parameter::dimension("n", 200_000, "rows"),
        Parameter::count("band", 10, 0, u32::MAX as u64, "diagonals on each side"),
        Parameter::real("fill", 1.0, 0.0, 1.0, "share of the band that is not zero, beside the diagonal"),
        Parameter::SEED,
    ],
    size: |arguments| {
        let n = u128::from(arguments.whole("n"));
        let band = u128::from(arguments.whole("band")).min(n - 1);
        // Diagonal d has n - d entries, on either side.
        let beside = 2 * band * n - band * (band + 1);
        Size { nrows: n, ncols: n, nnz: n + (arguments.real("fill") * beside as f64).round() as u128 }
    },
    rows: |arguments| {
        let (n, band) = (arguments.whole("n"), arguments.whole("band"));
        let fill = arguments.real("fill");
        Box::new(move |number, rng, row| {
            for col in number.saturating_sub(band)..(number + band + 1).min(n) {
                if col == number || rng.chance(fill) {
                    row.push(col, rng.value());
                }
            }
        })
    },
};
