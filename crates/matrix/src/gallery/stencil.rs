//! Finite differences on regular grids: the Laplacian with zero boundary values.
//!
//! ```text
//! 5 points     -1          9 points  -1 -4 -1      7 points:  6 and -1 along the axes
//!           -1  4 -1                 -4 20 -4     27 points: 26 and -1 for every neighbour
//!              -1                    -1 -4 -1
//! ```

use super::generator::{Arguments, Generator, Parameter, Size};
use super::grid::{Grid, Numbering};
use super::rows::RowMaker;

pub(super) const STENCIL_2D: Generator = Generator {
    name: "stencil2d",
    summary: "Laplacian on a square grid: heat, pressure, images",
    parameters: &[
        Parameter::dimension("n", 700, "points a side; n^2 rows"),
        Parameter::choice("points", &[5, 9], "points of the stencil"),
        Parameter::SHUFFLE,
        Parameter::SEED,
    ],
    size: |arguments| {
        let n = u128::from(arguments.whole("n"));
        let nnz = if arguments.whole("points") == 5 { 5 * n * n - 4 * n } else { (3 * n - 2).pow(2) };
        Size { nrows: n * n, ncols: n * n, nnz }
    },
    rows: |arguments| {
        let n = arguments.whole("n");
        let weights: &[f64] = if arguments.whole("points") == 5 { &[4.0, -1.0] } else { &[20.0, -4.0, -1.0] };
        stencil(arguments, Grid { n: [n, n, 1] }, weights)
    },
};

pub(super) const STENCIL_3D: Generator = Generator {
    name: "stencil3d",
    summary: "Laplacian on a cubic grid: heat, reservoirs, flow",
    parameters: &[
        Parameter::dimension("n", 64, "points a side; n^3 rows"),
        Parameter::choice("points", &[7, 27], "points of the stencil"),
        Parameter::SHUFFLE,
        Parameter::SEED,
    ],
    size: |arguments| {
        let n = u128::from(arguments.whole("n"));
        let nnz = if arguments.whole("points") == 7 { 7 * n.pow(3) - 6 * n * n } else { (3 * n - 2).pow(3) };
        Size { nrows: n.pow(3), ncols: n.pow(3), nnz }
    },
    rows: |arguments| {
        let n = arguments.whole("n");
        let weights: &[f64] =
            if arguments.whole("points") == 7 { &[6.0, -1.0] } else { &[26.0, -1.0, -1.0, -1.0] };
        stencil(arguments, Grid { n: [n; 3] }, weights)
    },
};

/// `weights[s]` for the neighbours that differ in `s` coordinates.
fn stencil(arguments: &Arguments, grid: Grid, weights: &'static [f64]) -> RowMaker {
    let count = grid.n.iter().product();
    let numbering = Numbering::new(arguments.whole("shuffle") == 1, arguments.whole("seed"), count);
    Box::new(move |number, _, row| {
        grid.around(numbering.point(number), |neighbour, steps| {
            if let Some(&weight) = weights.get(steps) {
                row.push(numbering.number(neighbour), weight);
            }
        });
    })
}
