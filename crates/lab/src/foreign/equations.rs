//! Equations with few numbers that carry the times of one format from one GPU to another.
//!
//! ```text
//! unchanged     T = T_ref
//! by-rates      T = T_ref c_ref / c                                   c: rate of memory
//! rescaling     T = m T_ref c_ref / c + (1 - m) T_ref                 m = max(0, bytes - 0.6 L2) / (c_ref T_ref), of the smaller L2
//! one-factor    T = f T_ref                                           f: median over all formats
//! affine        T = c0 + c1 T_ref
//! plain         T = c0 + c1 T_ref + c2 bytes
//! calibrated    T = w1 l T_ref L / L_ref + w2 m T_ref c_ref / c + w3 (1 - l - m) T_ref        l = L_ref / T_ref
//! ```
//! `rescaling` is that of the product ([`Rescaling`]) without the parts whose facts no data sheet states. `affine` has the form of Guo and
//! Wang 2013: their two numbers follow from benchmark matrices, which a foreign table does not hold; here both are fitted. `affine` and
//! `plain` are least squares of relative errors without negative numbers, for each format by itself.
//!
//! `calibrated` is the product's rescaling of a calibrated GPU, w drawn towards 1 as there, with a launch L taken for the shortest time of
//! the GPU in the table, and without the number of multiprocessors; on no matrix at all, of a data sheet. Its interval is the product's, too:
//! the spread of each drawn matrix when the others give the w, or what facts leave open between architectures.

use super::table::{ForeignGpu, ForeignTable};
use serde::Serialize;
use sparsight_matrix::display_as_serialized;
use sparsight_model::accuracy::quantile;
use sparsight_model::{Rescaling, fit_non_negative};

/// A way to carry a time over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ForeignMethod {
    /// The time on the reference.
    Unchanged,
    /// Times the ratio of the memory rates; from facts alone.
    ByRates,
    /// The share of memory beyond the caches times the ratio of the rates; from facts alone.
    Rescaling,
    /// Times one factor.
    OneFactor,
    /// A straight line for each format.
    Affine,
    /// A straight line and the bytes, for each format.
    Plain,
    /// The product's rescaling, its weights fitted to the matrices measured on both.
    Calibrated,
    /// What other GPUs taught, drawn to the matrices measured on both: `learned.rs`.
    Learned,
}

impl ForeignMethod {
    /// Those that need nothing but a time on the reference, facts and the matrices measured on both.
    pub(super) const EQUATIONS: [Self; 6] =
        [Self::Unchanged, Self::ByRates, Self::Rescaling, Self::OneFactor, Self::Affine, Self::Plain];
}

display_as_serialized!(ForeignMethod);

/// Times of all matrices and formats on `to`, carried from `from`, by what the matrices `drawn` took on both; `None` where facts are
/// missing. `NaN` where the reference has no time or no drawn matrix has one of the format.
pub(super) fn carried(
    method: ForeignMethod,
    table: &ForeignTable,
    [from, to]: [&ForeignGpu; 2],
    drawn: &[usize],
) -> Option<Vec<f64>> {
    let formats = table.formats.len();
    let of_times = |time: &dyn Fn(f64) -> f64| from.times.iter().map(|known| time(*known)).collect();
    let on_both = |format: usize| {
        let pairs = drawn.iter().map(move |&matrix| (matrix, table.at(matrix, format)));
        pairs
            .map(|(matrix, at)| (matrix, from.times[at], to.times[at]))
            .filter(|(_, known, time)| known.is_finite() && time.is_finite())
    };
    let by_format = |fitted: &dyn Fn(usize) -> Option<[f64; 3]>| {
        let all: Vec<_> = (0..formats).map(|format| fitted(format).unwrap_or([f64::NAN; 3])).collect();
        let time = |at: usize| {
            let [c0, c1, c2] = all[at % formats];
            c0 + c1 * from.times[at] + c2 * table.matrices[at / formats].bytes()
        };
        (0..from.times.len()).map(time).collect()
    };
    Some(match method {
        ForeignMethod::Unchanged => from.times.clone(),
        ForeignMethod::ByRates => {
            let ratio = from.facts?.memory_bytes_per_s / to.facts?.memory_bytes_per_s;
            of_times(&|known| known * ratio)
        }
        ForeignMethod::Rescaling => {
            let (here, there) = (from.facts?, to.facts?);
            let kept = Rescaling::KEPT_OF_L2 * here.l2_bytes.min(there.l2_bytes);
            let time = |(at, known): (usize, &f64)| {
                let beyond = (table.matrices[at / formats].bytes() - kept).max(0.0);
                let memory = (beyond / here.memory_bytes_per_s).min(*known);
                known + memory * (here.memory_bytes_per_s / there.memory_bytes_per_s - 1.0)
            };
            from.times.iter().enumerate().map(time).collect()
        }
        ForeignMethod::OneFactor => {
            let mut ratios: Vec<f64> = (0..formats)
                .flat_map(|format| on_both(format).map(|(_, known, time)| time / known))
                .collect();
            ratios.sort_by(f64::total_cmp);
            let factor = quantile(&ratios, 0.5).unwrap_or(f64::NAN);
            of_times(&|known| known * factor)
        }
        ForeignMethod::Affine => by_format(&|format| {
            let samples = on_both(format).map(|(_, known, time)| ([1e-6, known], time));
            fit_non_negative(samples).map(|[c0, c1]| [1e-6 * c0, c1, 0.0])
        }),
        ForeignMethod::Plain => by_format(&|format| {
            // In units in which all three sums are alike.
            let bytes = |matrix: usize| 1e-12 * table.matrices[matrix].bytes();
            let samples = on_both(format).map(|(matrix, known, time)| ([1e-6, known, bytes(matrix)], time));
            fit_non_negative(samples).map(|[c0, c1, c2]| [1e-6 * c0, c1, 1e-12 * c2])
        }),
        ForeignMethod::Calibrated | ForeignMethod::Learned => return None,
    })
}

/// Times as by `calibrated`, and the standard deviation of their logarithms that the product would state. `None` where facts are missing.
pub(super) fn calibrated(
    table: &ForeignTable,
    [from, to]: [&ForeignGpu; 2],
    drawn: &[usize],
) -> Option<(Vec<f64>, f64)> {
    let (formats, here, there) = (table.formats.len(), from.facts?, to.facts?);
    let [launch_here, launch_there] = [from, to].map(shortest);
    let kept = Rescaling::KEPT_OF_L2 * here.l2_bytes.min(there.l2_bytes);
    // Shares of the time, each rescaled by the facts.
    let parts = |at: usize| {
        let known = from.times[at];
        let launch = (launch_here / known).min(1.0);
        let beyond = (table.matrices[at / formats].bytes() - kept).max(0.0);
        let memory = (beyond / here.memory_bytes_per_s / known).min(1.0 - launch);
        [
            launch * launch_there / launch_here,
            memory * here.memory_bytes_per_s / there.memory_bytes_per_s,
            1.0 - launch - memory,
        ]
    };
    let of_matrix = |matrix: usize| {
        let places = table.at(matrix, 0)..table.at(matrix, formats);
        let ratios =
            places.map(|at| (at, to.times[at] / from.times[at])).filter(|(_, ratio)| ratio.is_finite());
        ratios.map(|(at, ratio)| (parts(at), ratio)).collect::<Vec<_>>()
    };
    let samples: Vec<Vec<([f64; 3], f64)>> = drawn.iter().map(|&matrix| of_matrix(matrix)).collect();
    let rescaling = Rescaling::of_parts(&samples, Rescaling::BETWEEN_ARCHITECTURES);
    let carry =
        |at: usize| from.times[at] * parts(at).iter().zip(rescaling.weights).map(|(p, w)| p * w).sum::<f64>();
    Some(((0..from.times.len()).map(carry).collect(), rescaling.log_sd))
}

/// The shortest time of a GPU, which stands for a launch.
fn shortest(gpu: &ForeignGpu) -> f64 {
    gpu.times.iter().copied().filter(|time| time.is_finite()).fold(f64::INFINITY, f64::min)
}
