//! R-MAT: every edge falls through a matrix that is cut into quarters again and again.
//!
//! ```text
//! | a  b |    an edge chooses a quarter with these probabilities, then a quarter of it, `scale` times
//! | c  d |
//! ```
//! The probability d is what a, b and c leave of 1. Source: Chakrabarti, Zhan and Faloutsos, SDM 2004; the defaults are those of Graph500.

use super::generator::{Generator, Parameter, Size};
use super::random::Rng;
use rayon::prelude::*;

pub(super) const RMAT: Generator = Generator {
    name: "rmat",
    summary: "recursive graph with communities and hubs: Graph500",
    parameters: &[
        Parameter::count("scale", 17, 0, 31, "2^scale rows"),
        Parameter::dimension("degree", 8, "edges a row on average, before repeated edges are merged"),
        Parameter::real("a", 0.57, 0.0, 1.0, "probability of the upper left quarter"),
        Parameter::real("b", 0.19, 0.0, 1.0, "probability of the upper right quarter"),
        Parameter::real("c", 0.19, 0.0, 1.0, "probability of the lower left quarter"),
        Parameter::SEED,
    ],
    size: |arguments| {
        let n = 1_u128 << arguments.whole("scale");
        Size { nrows: n, ncols: n, nnz: n * u128::from(arguments.whole("degree")) }
    },
    rows: |arguments| {
        let (scale, seed) = (arguments.whole("scale"), arguments.whole("seed"));
        let quarters = [arguments.real("a"), arguments.real("b"), arguments.real("c")];
        let n = 1_u64 << scale;
        let edges = 0..n * arguments.whole("degree");
        let mut edges: Vec<(u32, u32)> =
            edges.into_par_iter().map(|i| edge(&mut Rng::new(seed, i), scale, quarters)).collect();
        edges.par_sort_unstable();
        edges.dedup();
        Box::new(move |number, _, row| {
            let mut rng = Rng::new(!seed, number);
            let first = edges.partition_point(|edge| u64::from(edge.0) < number);
            let of_row = edges[first..].iter().take_while(|edge| u64::from(edge.0) == number);
            row.fill(of_row.map(|edge| edge.1), &mut rng);
        })
    },
};

/// Row and column of an edge.
fn edge(rng: &mut Rng, scale: u64, [a, b, c]: [f64; 3]) -> (u32, u32) {
    let (mut row, mut col) = (0, 0);
    for _ in 0..scale {
        let u = rng.unit();
        let (lower, right) = if u < a {
            (0, 0)
        } else if u < a + b {
            (0, 1)
        } else if u < a + b + c {
            (1, 0)
        } else {
            (1, 1)
        };
        (row, col) = (2 * row + lower, 2 * col + right);
    }
    (row, col)
}
