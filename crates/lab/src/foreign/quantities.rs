//! What a ratio of times of one matrix in one format may depend on.
//!
//! ```text
//! 1, t, s(t), b, s(b), m, s(m), n, s(n)    t: ln of the time beside a short one of that format there, b: of bytes, m: of the mean row,
//!                                          n: of the rows; s: hinges, rounded
//! d, l, s(longest), r, min(r, 1)           d: dispersion of the row lengths, l: ln(longest / mean), r: ln of the time beside the best format's
//! products of any two of t, b, n, m, d, l, r, cut and scaled to be about 1
//! ```
//! Regimes (launch, caches, memory) are the hinges in t and b: a bend is where other GPUs have one, not at a threshold.

use super::table::{ForeignGpu, ForeignTable};
use sparsight_model::accuracy::quantile;

/// Those that are multiplied with each other.
pub(super) const CORE: usize = 7;
/// Numbers of one matrix in one format.
pub(super) const QUANTITIES: usize = SIMPLE + CORE * (CORE + 1) / 2;
/// Those before the products.
const SIMPLE: usize = 26;
/// How far a hinge is rounded, in natural logarithms. Chosen.
const ROUNDED: f64 = 0.7;
/// Share of the times of a format on a GPU that are below a short one.
const SHORT: f64 = 0.02;

fn hinge(value: f64, from: f64) -> f64 {
    let z = (value - from) / ROUNDED;
    ROUNDED * (z.max(0.0) + (-z.abs()).exp().ln_1p())
}

/// The quantities of all matrices and formats with the times of `gpu`; without a time they are `NaN`. O(times).
pub(super) fn quantities(table: &ForeignTable, gpu: &ForeignGpu) -> Vec<[f64; QUANTITIES]> {
    let formats = table.formats.len();
    let short = |format: usize| {
        let times = gpu.times.iter().skip(format).step_by(formats).copied();
        let mut times: Vec<f64> = times.filter(|time| time.is_finite()).collect();
        times.sort_by(f64::total_cmp);
        quantile(&times, SHORT).unwrap_or(f64::NAN)
    };
    let short: Vec<f64> = (0..formats).map(short).collect();
    let of_matrix = |(matrix, times): (usize, &[f64])| {
        let best = times.iter().copied().fold(f64::INFINITY, f64::min);
        let of_format = |(format, time): (usize, &f64)| {
            of(&table.matrices[matrix], (time / short[format]).ln(), (time / best).ln())
        };
        times.iter().enumerate().map(of_format).collect::<Vec<_>>()
    };
    gpu.times.chunks(formats).enumerate().flat_map(of_matrix).collect()
}

/// Quantities of a matrix with `t` and `r`.
fn of(matrix: &super::table::ForeignMatrix, t: f64, r: f64) -> [f64; QUANTITIES] {
    let (b, n, m) = (matrix.bytes().ln(), matrix.nrows.ln(), matrix.row_mean().ln());
    let d = (matrix.row_variance / matrix.row_mean().powi(2)).ln_1p();
    let (longest, l) = (matrix.row_max.ln(), matrix.row_max.ln() - m);
    let plain: [&[f64]; 11] = [
        &[1.0, t],
        &[0.3, 1.0, 2.0, 3.5].map(|from| hinge(t, from)),
        &[b - 14.0],
        &[2e5_f64, 2e6, 1e7, 5e7].map(|from| hinge(b, from.ln())),
        &[m - 2.0],
        &[1.0, 3.0].map(|from| hinge(m, from)),
        &[n - 9.0],
        &[7.0, 9.0, 11.0, 13.0].map(|from| hinge(n, from)),
        &[d, l],
        &[4.0, 6.0, 8.0].map(|from| hinge(longest, from)),
        &[r, r.min(1.0)],
    ];
    let mut all = [0.0; QUANTITIES];
    all.iter_mut().zip(plain.into_iter().flatten()).for_each(|(place, value)| *place = *value);
    let core = core(&all);
    let products = (0..CORE).flat_map(|i| (i..CORE).map(move |k| core[i] * core[k]));
    all.iter_mut().skip(SIMPLE).zip(products).for_each(|(place, value)| *place = value);
    all
}

/// t, b, n, m, d, l and r, cut and scaled to be about 1.
pub(super) fn core(all: &[f64; QUANTITIES]) -> [f64; CORE] {
    let [t, b, m, n, d, l, r] = [1, 6, 11, 14, 19, 20, 24].map(|at| all[at]);
    let r = if r.is_nan() { r } else { r.min(2.0) };
    [t - 1.0, b / 2.0, (n - 0.5) / 2.0, m, d.min(3.0), l.min(4.0) - 1.0, r]
}

/// Quantities of which all but t are 0, for tests.
#[cfg(test)]
pub(super) fn of_time(t: f64) -> [f64; QUANTITIES] {
    let mut all = [0.0; QUANTITIES];
    all[1] = t;
    all
}
