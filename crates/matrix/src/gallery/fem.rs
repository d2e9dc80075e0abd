//! Finite elements: a dense block of the unknowns for every pair of nodes that share an element.
//!
//! Values are symmetric and random, the diagonal is the length of the row, so the matrix is positive definite.

use super::generator::{Arguments, Generator, Parameter, Size};
use super::grid::{Grid, Numbering};
use super::random::{Rng, symmetric_value};
use super::rows::{Row, RowMaker};

pub(super) const FEM: Generator = Generator {
    name: "fem",
    summary: "hexahedra on a cube, blocks of unknowns: structural mechanics",
    parameters: &[
        Parameter::dimension("n", 24, "nodes a side; n^3 nodes"),
        Parameter::count("unknowns", 3, 1, 64, "unknowns a node: the side of a block"),
        Parameter::SHUFFLE,
        Parameter::SEED,
    ],
    size: |arguments| {
        let (n, unknowns) = (u128::from(arguments.whole("n")), u128::from(arguments.whole("unknowns")));
        let nrows = n.pow(3) * unknowns;
        Size { nrows, ncols: nrows, nnz: (3 * n - 2).pow(3) * unknowns * unknowns }
    },
    rows: |arguments| {
        let grid = Grid { n: [arguments.whole("n"); 3] };
        mesh(arguments, grid, move |node, nodes| grid.around(node, |near, _| nodes.push(near)))
    },
};

pub(super) const TRIMESH: Generator = Generator {
    name: "trimesh",
    summary: "triangles with random diagonals on a square, blocks of unknowns: plane stress, shells",
    parameters: &[
        Parameter::dimension("n", 300, "nodes a side; n^2 nodes"),
        Parameter::count("unknowns", 2, 1, 64, "unknowns a node: the side of a block"),
        Parameter::SHUFFLE,
        Parameter::SEED,
    ],
    size: |arguments| {
        let (n, unknowns) = (u128::from(arguments.whole("n")), u128::from(arguments.whole("unknowns")));
        let nrows = n * n * unknowns;
        // Nodes, both ends of the edges of the grid, both ends of one diagonal a square.
        let pairs = n * n + 4 * n * (n - 1) + 2 * (n - 1) * (n - 1);
        Size { nrows, ncols: nrows, nnz: pairs * unknowns * unknowns }
    },
    rows: |arguments| {
        let (n, seed) = (arguments.whole("n"), arguments.whole("seed"));
        let grid = Grid { n: [n, n, 1] };
        // Whether the diagonal of the square with this lower corner rises.
        let rises = move |x: u64, y: u64| Rng::new(!seed, y * n + x).bits() >> 63 == 0;
        mesh(arguments, grid, move |node, nodes| {
            let [x, y, _] = grid.coordinates(node);
            grid.around(node, |near, steps| {
                let [x2, y2, _] = grid.coordinates(near);
                if steps < 2 || rises(x.min(x2), y.min(y2)) == ((x2 > x) == (y2 > y)) {
                    nodes.push(near);
                }
            });
        })
    },
};

/// Blocks for the nodes that `neighbours` lists for each node, itself included.
fn mesh(
    arguments: &Arguments,
    grid: Grid,
    neighbours: impl Fn(u64, &mut Vec<u64>) + Send + Sync + 'static,
) -> RowMaker {
    let (unknowns, seed) = (arguments.whole("unknowns"), arguments.whole("seed"));
    let numbering = Numbering::new(arguments.whole("shuffle") == 1, seed, grid.n.iter().product());
    Box::new(move |number: u64, _: &mut Rng, row: &mut Row| {
        // 27 neighbours at most.
        let mut nodes = Vec::with_capacity(27);
        neighbours(numbering.point(number / unknowns), &mut nodes);
        let length = nodes.len() as u64 * unknowns;
        for node in nodes {
            for unknown in 0..unknowns {
                let col = numbering.number(node) * unknowns + unknown;
                row.push(col, if col == number { length as f64 } else { symmetric_value(seed, number, col) });
            }
        }
    })
}
