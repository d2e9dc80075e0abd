//! Scale-free graphs: lengths of rows and popularity of columns both follow power laws.

use super::generator::{Generator, Parameter, Size};
use super::random::Rng;

pub(super) const POWER_LAW: Generator = Generator {
    name: "power-law",
    summary: "scale-free graph, a few rows very long: social networks, citations",
    parameters: &[
        Parameter::dimension("n", 200_000, "rows"),
        Parameter::dimension("degree", 3, "shortest row, before repeated links are merged"),
        Parameter::real("exponent", 2.3, 1.1, 20.0, "how fast long rows become rare"),
        Parameter::SEED,
    ],
    size: |arguments| {
        let (n, degree) = (arguments.whole("n"), arguments.whole("degree"));
        let mean = mean_length(degree, arguments.real("exponent"), n);
        Size { nrows: n.into(), ncols: n.into(), nnz: (n as f64 * mean) as u128 }
    },
    rows: |arguments| {
        let (n, degree) = (arguments.whole("n"), arguments.whole("degree"));
        let exponent = arguments.real("exponent");
        Box::new(move |_, rng, row| {
            for _ in 0..rng.power_law(degree.min(n), exponent, n) {
                let col = popular(rng, n);
                row.push(col, rng.value());
            }
        })
    },
};

/// A column, the one of rank r drawn with density r^(-2/3), ranks scattered over all columns.
fn popular(rng: &mut Rng, n: u64) -> u64 {
    let rank = (n as f64 * rng.unit().powi(3)) as u64;
    // A prime beyond nearly every n: ranks stay apart.
    rank.min(n - 1) * 2_654_435_761 % n
}

/// Mean of [`Rng::power_law`], roundings aside: `E min(L, max)` with `P(L > l) = (min / l)^(exponent - 1)`.
pub(super) fn mean_length(min: u64, exponent: f64, max: u64) -> f64 {
    let (least, most, alpha) = (min.min(max) as f64, max as f64, exponent - 1.0);
    // The integral of P(L > l) from 0 to max; its limit at alpha = 1 is a logarithm.
    let tail = if (alpha - 1.0).abs() < 1e-6 {
        least * (most / least).ln()
    } else {
        least / (alpha - 1.0) * (1.0 - (least / most).powf(alpha - 1.0))
    };
    least + tail
}
