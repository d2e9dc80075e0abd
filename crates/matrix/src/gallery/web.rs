//! Web graphs: pages in the order of their addresses, most links within a host, the rest to well-known hosts.

use super::generator::{Generator, Parameter, Size};
use super::power_law::mean_length;

pub(super) const WEB: Generator = Generator {
    name: "web",
    summary: "blocks of hosts and columns of hubs: web crawls",
    parameters: &[
        Parameter::dimension("n", 200_000, "pages"),
        Parameter::dimension("host", 60, "pages a host"),
        Parameter::dimension("links", 4, "fewest links of a page, before repeated links are merged"),
        Parameter::real("inside", 0.8, 0.0, 1.0, "share of the links that stay within the host"),
        Parameter::SEED,
    ],
    size: |arguments| {
        let n = arguments.whole("n");
        let mean = mean_length(arguments.whole("links"), EXPONENT, n);
        Size { nrows: n.into(), ncols: n.into(), nnz: (n as f64 * mean) as u128 }
    },
    rows: |arguments| {
        let (n, host, links) = (arguments.whole("n"), arguments.whole("host"), arguments.whole("links"));
        let inside = arguments.real("inside");
        Box::new(move |number, rng, row| {
            let first = number / host * host;
            for _ in 0..rng.power_law(links.min(n), EXPONENT, n) {
                let col = if rng.chance(inside) {
                    first + rng.below(host.min(n - first))
                } else {
                    // The front page of a host, the best known most often.
                    let hosts = n.div_ceil(host);
                    ((hosts as f64 * rng.unit().powi(4)) as u64).min(hosts - 1) * host
                };
                row.push(col, rng.value());
            }
        })
    },
};

/// Exponent of the number of links of a page: Broder et al., WWW 2000.
const EXPONENT: f64 = 2.72;
