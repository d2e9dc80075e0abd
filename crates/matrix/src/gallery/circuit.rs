//! Circuits: a node is wired to a few others, mostly near ones; a few supply rails are wired to thousands.

use super::generator::{Generator, Parameter, Size};
use super::random::Rng;

pub(super) const CIRCUIT: Generator = Generator {
    name: "circuit",
    summary: "2 to 10 a row, a few rows and columns of thousands: circuit simulation",
    parameters: &[
        Parameter::dimension("n", 200_000, "nodes"),
        Parameter::count("rails", 6, 0, 1000, "supply rails: long rows and columns"),
        Parameter::dimension("rail", 5_000, "nodes that a rail is wired to, on average"),
        Parameter::SEED,
    ],
    size: |arguments| {
        let [n, rails, rail] = ["n", "rails", "rail"].map(|name| u128::from(arguments.whole(name)));
        // The diagonal and 1 to 9 wires, 5 on average; rails as rows and as columns.
        Size { nrows: n, ncols: n, nnz: 6 * n + 2 * rails * rail.min(n) }
    },
    rows: |arguments| {
        let (n, seed) = (arguments.whole("n"), arguments.whole("seed"));
        let count = arguments.whole("rails").min(n);
        let rails: Vec<u64> = (0..count).map(|i| (2 * i + 1) * n / (2 * count)).collect();
        let share = arguments.whole("rail") as f64 / n as f64;
        let wired = move |rail: u64, node: u64| Rng::new(!seed ^ rail, node).chance(share);
        Box::new(move |number, rng, row| {
            row.push(number, 10.0);
            for _ in 0..=rng.below(9) {
                // All orders of magnitude of distance are equally likely.
                let distance = (n as f64).powf(rng.unit()) as u64;
                let col = if rng.chance(0.5) { number.saturating_sub(distance) } else { number + distance };
                row.push(col.min(n - 1), rng.value());
            }
            for &rail in &rails {
                if rail == number {
                    row.fill((0..n).filter(|&node| wired(rail, node)), rng);
                } else if wired(rail, number) {
                    row.push(rail, rng.value());
                }
            }
        })
    },
};
