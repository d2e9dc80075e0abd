//! Times carried from one GPU to another by what other GPUs taught, and a few matrices.
//!
//! ```text
//! of each other pair p and format f     ln(T_to / T_from) = w_pf q             q: quantities; all matrices, robust, ridge
//! mean and spread over the pairs        mu_f = mean w_pf,   z = (w_pf - mu_f) q sqrt(share of p);   pairs from the same reference count more
//! of the pair asked about               ln(T / T_ref) = mu_f q + a z + a0 + a_f + a1 ln(T_ref / 20 us)
//!                                       a, a0, a_f, a1 normal around 0: ridge over the few matrices, robust
//! carried                               T^0.7 T_plain^0.3, where the few give the plain equation of the format
//! ```
//! So the equation of a pair is a combination of those of other pairs, which ten matrices can give: the form is learned, and so is what
//! formats have in common. No pair that the target takes part in is among the others. The plain equation errs otherwise, so a mean of both errs less.

use super::quantities::QUANTITIES;
use nalgebra::{DMatrix, DVector};

/// Ridge of a pair's own equation, as a share of each quantity's mean square. Chosen.
const RIDGE: f64 = 1e-4;
/// Rounds in which measurements far off get less weight, and how many standard deviations are far.
const ROUNDS: usize = 4;
const FAR: f64 = 1.5;
const FAR_OF_FEW: f64 = 2.0;
/// Fewest matrices from which an equation of a format is fitted, over the numbers in it.
const MATRICES_A_QUANTITY: usize = 2;
/// Prior standard deviations of the pair asked about: of `a0`, `a_f` and `a1`; those of a are 1. Chosen.
const PRIOR: [f64; 3] = [1.0, 0.08, 0.05];
/// A time at which `a1` changes nothing, seconds. Chosen: a middling one of small matrices.
const MIDDLING_S: f64 = 20e-6;
/// How often a pair from the reference itself counts. Chosen.
const FROM_REFERENCE: f64 = 4.0;
/// Share of the logarithm of the plain equation's time. Chosen.
const PLAIN_SHARE: f64 = 0.3;
/// Measurements that the spread of the others counts as, beside what the few show.
const SPREAD_COUNTS: f64 = 40.0;

/// Normal deviation of the median absolute value.
const DEVIATION_OF_MEDIAN: f64 = 1.4826;

/// Equation of one pair of GPUs, a format after another.
#[derive(Debug, Clone)]
pub(super) struct PairEquation {
    weights: Vec<[f64; QUANTITIES]>,
    /// Standard deviation of ln(measured / equation), by the median; `None` where too few were measured.
    spread: Vec<Option<f64>>,
}

/// Solution of a symmetric positive definite system; zeros if it is not.
fn solved(products: DMatrix<f64>, sums: &DVector<f64>) -> DVector<f64> {
    products.cholesky().map_or_else(|| DVector::zeros(sums.len()), |factor| factor.solve(sums))
}

fn median_absolute(residuals: &[f64]) -> f64 {
    let mut sizes: Vec<f64> = residuals.iter().map(|r| r.abs()).collect();
    let at = sizes.len() / 2;
    *sizes.select_nth_unstable_by(at, f64::total_cmp).1
}

impl PairEquation {
    /// Fits to `logs`, `ln(T_to / T_from)` of all matrices and formats, where they are finite. `None` if no format has enough.
    pub(super) fn fit(quantities: &[[f64; QUANTITIES]], logs: &[f64], formats: usize) -> Option<Self> {
        let one = |format: usize| {
            let taken = (format..logs.len()).step_by(formats);
            let taken: Vec<usize> = taken
                .filter(|&at| logs[at].is_finite() && quantities[at].iter().all(|v| v.is_finite()))
                .collect();
            (taken.len() >= MATRICES_A_QUANTITY * QUANTITIES).then(|| fit_format(quantities, logs, &taken))
        };
        let fitted: Vec<_> = (0..formats).map(one).collect();
        let known: Vec<_> = fitted.iter().flatten().collect();
        if known.is_empty() {
            return None;
        }
        // Of a format that one of the two does not have: as the others.
        let mean = std::array::from_fn(|i| known.iter().map(|(w, _)| w[i]).sum::<f64>() / known.len() as f64);
        let weights = fitted.iter().map(|one| one.map_or(mean, |(weights, _)| weights)).collect();
        Some(Self { weights, spread: fitted.iter().map(|one| one.map(|(_, spread)| spread)).collect() })
    }
}

fn fit_format(quantities: &[[f64; QUANTITIES]], logs: &[f64], taken: &[usize]) -> ([f64; QUANTITIES], f64) {
    let mut weight = vec![1.0; taken.len()];
    let mut best = ([0.0; QUANTITIES], 0.0);
    for _ in 0..ROUNDS {
        let rows = DMatrix::from_fn(taken.len(), QUANTITIES, |i, k| quantities[taken[i]][k]);
        let mut weighted = rows.clone();
        weighted.row_iter_mut().zip(&weight).for_each(|(mut row, w)| row *= *w);
        let mut products = rows.tr_mul(&weighted);
        for k in 1..QUANTITIES {
            let mean_square = rows.column(k).norm_squared();
            products[(k, k)] += RIDGE * mean_square + f64::MIN_POSITIVE;
        }
        products[(0, 0)] += 1e-6;
        let measured = DVector::from_iterator(taken.len(), taken.iter().map(|&at| logs[at]));
        let x = solved(products, &weighted.tr_mul(&measured));
        let residuals = (measured - rows * &x).as_slice().to_vec();
        let spread = (DEVIATION_OF_MEDIAN * median_absolute(&residuals)).max(1e-6);
        best = (std::array::from_fn(|k| x[k]), spread);
        let far = FAR * spread;
        weight = residuals.iter().map(|r| 1.0 / (r.abs() / far).max(1.0)).collect();
    }
    best
}

/// What other pairs teach of a reference's times.
#[derive(Debug)]
pub(super) struct Learned {
    formats: usize,
    /// `ln T_ref + mu q`.
    mean: Vec<f64>,
    /// z and what else the few matrices decide on, scaled by its prior.
    along: DMatrix<f64>,
    spread: Vec<f64>,
}

/// Times carried over.
#[derive(Debug)]
pub(super) struct CarriedTimes {
    /// Seconds.
    pub(super) times: Vec<f64>,
    /// Standard deviation of ln(measured / carried) of each format, before it is calibrated.
    pub(super) spread: Vec<f64>,
}

impl Learned {
    /// From the equations of `others`, none of which the target takes part in; `None` without any.
    /// With each whether it is from the same reference.
    pub(super) fn of(
        quantities: &[[f64; QUANTITIES]],
        known: &[f64],
        others: &[(bool, &PairEquation)],
    ) -> Option<Self> {
        let (formats, pairs) = (others.first()?.1.weights.len(), others.len());
        let count = |(from, _): &(bool, &PairEquation)| if *from { FROM_REFERENCE } else { 1.0 };
        let total: f64 = others.iter().map(count).sum();
        let shares: Vec<f64> = others.iter().map(|one| count(one) / total).collect();
        let mean_of = |format: usize| -> [f64; QUANTITIES] {
            std::array::from_fn(|k| {
                others.iter().zip(&shares).map(|((_, one), share)| share * one.weights[format][k]).sum()
            })
        };
        let mu: Vec<_> = (0..formats).map(mean_of).collect();
        let dot =
            |a: &[f64; QUANTITIES], b: &[f64; QUANTITIES]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let mean: Vec<f64> =
            (0..known.len()).map(|at| known[at].ln() + dot(&mu[at % formats], &quantities[at])).collect();
        let center: Vec<f64> = mean.iter().zip(known).map(|(mean, known)| mean - known.ln()).collect();
        let along = DMatrix::from_fn(known.len(), pairs + formats + 2, |at, k| {
            let format = at % formats;
            match k.checked_sub(pairs) {
                None => shares[k].sqrt() * (dot(&others[k].1.weights[format], &quantities[at]) - center[at]),
                Some(0) => PRIOR[0],
                Some(1) => PRIOR[2] * (known[at] / MIDDLING_S).ln(),
                Some(own) => PRIOR[1] * f64::from(u8::from(own - 2 == format)),
            }
        });
        let spread = |format: usize| {
            let mut all: Vec<f64> = others.iter().filter_map(|(_, one)| one.spread[format]).collect();
            all.sort_by(f64::total_cmp);
            sparsight_model::accuracy::quantile(&all, 0.5).unwrap_or(f64::NAN)
        };
        let spread: Vec<f64> = (0..formats).map(spread).collect();
        Some(Self { formats, mean, along, spread })
    }

    /// The times on the target, from `measured` there of the matrices `drawn` and those by the `plain` equation; with no matrices by what the
    /// others have in common.
    pub(super) fn carry(&self, measured: &[f64], drawn: &[usize], plain: &[f64]) -> CarriedTimes {
        let places = drawn.iter().flat_map(|matrix| matrix * self.formats..(matrix + 1) * self.formats);
        let known: Vec<usize> =
            places.filter(|&at| measured[at].is_finite() && self.mean[at].is_finite()).collect();
        let columns = self.along.ncols();
        let rows = DMatrix::from_fn(known.len(), columns, |i, k| self.along[(known[i], k)]);
        let logs =
            DVector::from_iterator(known.len(), known.iter().map(|&at| measured[at].ln() - self.mean[at]));
        let spread: Vec<f64> = known.iter().map(|at| self.spread[at % self.formats]).collect();
        let mut x = DVector::zeros(columns);
        let mut residuals = logs.clone();
        for _ in 0..ROUNDS {
            let weight = |i: usize| {
                let far = (residuals[i].abs() / (FAR_OF_FEW * spread[i])).max(1.0);
                1.0 / (far * spread[i] * spread[i])
            };
            // In the first round the mean alone was tried: nothing is far yet.
            let first = x.iter().all(|v| *v == 0.0);
            let weights: Vec<f64> = (0..known.len())
                .map(|i| if first { 1.0 / (spread[i] * spread[i]) } else { weight(i) })
                .collect();
            let mut weighted = rows.clone();
            weighted.row_iter_mut().zip(&weights).for_each(|(mut row, w)| row *= *w);
            let products = rows.tr_mul(&weighted) + DMatrix::identity(columns, columns);
            x = solved(products, &weighted.tr_mul(&logs));
            residuals = &logs - &rows * &x;
        }
        let carried = &self.along * x;
        let time = |((mean, more), plain): ((&f64, &f64), &f64)| {
            let log = mean + more;
            let other = if plain.is_finite() && *plain > 0.0 { plain.ln() } else { log };
            (log + PLAIN_SHARE * (other - log)).exp()
        };
        let times = self.mean.iter().zip(&carried).zip(plain).map(time).collect();
        let seen: f64 = residuals.iter().zip(&spread).map(|(r, s)| (r / s).powi(2).min(9.0)).sum();
        let wider = ((SPREAD_COUNTS + seen) / (SPREAD_COUNTS + known.len() as f64)).sqrt();
        CarriedTimes { times, spread: self.spread.iter().map(|s| s * wider).collect() }
    }
}
