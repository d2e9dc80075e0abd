//! Times carried from one GPU to another by what other GPUs taught, and a few matrices.
//!
//! ```text
//! of each other pair p and format f     ln(T_to / T_from) = w_pf q             q: quantities; all matrices, robust, ridge
//! with what neighbours show             e_pf = w_pf q + shown_pf                      `neighbours.rs`
//! mean and spread over the pairs        mu_f = mean e_pf,   z = (e_pf - mu_f) sqrt(share of p);   pairs from the same reference count more
//! of the pair asked about               ln(T / T_ref) = mu_f + a z + a0 + g_f(v)        v: the seven quantities that are multiplied
//!                                       a, a0 normal around 0; g a Gaussian process: conditioned on the few matrices, robust
//! residual of a matrix and format       e_m + e_mf: an error that all formats of a matrix share counts once
//! covariance of g_f(v), g_h(u)          sum over two kernels (s^2 + o^2 [f = h]) exp(-d^2 / 2 l^2)
//!                                       wide: d over all seven;   near: over t and b alone
//! carried                               T^0.85 T_plain^0.15, where the few give the plain equation of the format
//! ```
//! So the equation of a pair is a combination of those of other pairs, which ten matrices can give: the form is learned, and so is what
//! formats have in common. What no other pair shows, a bend of this one alone, is g: near the measured matrices it follows them, far from them
//! it is 0 (Rasmussen and Williams 2006, chapter 2). No pair that the target takes part in is among the others. The plain equation errs
//! otherwise, so a mean of both errs less.
//!
//! Of many measured times, g is carried by some of them, evenly taken (subset of regressors: there, section 8.3.1); of ten matrices by all.

use super::neighbours::Neighbours;
use super::quantities::{CORE, QUANTITIES, core};
use nalgebra::{DMatrix, DVector};

/// Ridge of a pair's own equation, as a share of each quantity's mean square. Chosen.
const RIDGE: f64 = 1e-4;
/// Rounds in which measurements far off get less weight, and how many standard deviations are far.
const ROUNDS: usize = 4;
const FAR: f64 = 1.5;
const FAR_OF_FEW: f64 = 1.0;
/// Standard deviations at which what a neighbour shows is cut.
const FAR_NEIGHBOUR: f64 = 3.0;
/// Fewest matrices from which an equation of a format is fitted, over the numbers in it.
const MATRICES_A_QUANTITY: usize = 2;
/// How often a pair from the reference itself counts. Chosen.
const FROM_REFERENCE: f64 = 8.0;
/// Standard deviations of g that formats share and of each alone, and the length over which it changes: of the wide and the near kernel.
/// Chosen.
const WIDE: Kernel = Kernel { shared: 0.11, own: 0.17, length: 3.0 };
const NEAR: Kernel = Kernel { shared: 0.08, own: 0.09, length: 0.8 };
/// Standard deviation of what all formats of a matrix share and nothing tells. Chosen.
const OF_MATRIX: f64 = 0.07;
/// Quantities of the near kernel, the first of all: t and b.
const OF_NEAR: usize = 2;
/// Most measured times that carry g: as many as ten matrices have in fifteen formats.
const CENTRES: usize = 150;
/// What is added to the variance of g at a centre, so that equal ones can be told apart.
const JITTER: f64 = 1e-6;
/// Share of the logarithm of the plain equation's time. Chosen.
const PLAIN_SHARE: f64 = 0.15;
/// Measurements that the spread of the others counts as, beside what the few show.
const SPREAD_COUNTS: f64 = 40.0;

/// Normal deviation of the median absolute value.
const DEVIATION_OF_MEDIAN: f64 = 1.4826;

/// A part of the covariance of g.
struct Kernel {
    shared: f64,
    own: f64,
    length: f64,
}

impl Kernel {
    /// Covariance of two places at the square of a distance.
    fn at(&self, distance2: f64, same_format: bool) -> f64 {
        let own = if same_format { self.own.powi(2) } else { 0.0 };
        (self.shared.powi(2) + own) * (-0.5 * distance2 / self.length.powi(2)).exp()
    }
}

/// Equation of one pair of GPUs, a format after another.
#[derive(Debug, Clone)]
pub(super) struct PairEquation {
    weights: Vec<[f64; QUANTITIES]>,
    /// What is left, as neighbours show it, at all matrices and formats; `NaN` of a format that too few were measured in.
    shown: Vec<f64>,
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
    pub(super) fn fit(
        quantities: &[[f64; QUANTITIES]],
        neighbours: &Neighbours,
        logs: &[f64],
        formats: usize,
    ) -> Option<Self> {
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
        let residual = |at: usize| match &fitted[at % formats] {
            Some((weights, spread)) => (logs[at] - dot(weights, &quantities[at]))
                .clamp(-FAR_NEIGHBOUR * spread, FAR_NEIGHBOUR * spread),
            None => f64::NAN,
        };
        let left: Vec<f64> = (0..logs.len()).map(residual).collect();
        let shown =
            |at: usize| fitted[at % formats].map_or(f64::NAN, |_| neighbours.shown(at, |other| left[other]));
        let shown = (0..logs.len()).map(shown).collect();
        Some(Self {
            weights,
            shown,
            spread: fitted.iter().map(|one| one.map(|(_, spread)| spread)).collect(),
        })
    }
}

fn dot(a: &[f64; QUANTITIES], b: &[f64; QUANTITIES]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
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

/// The normal numbers of variance 1 that `logs` tell of the columns of `rows`, and what they leave: least squares in which those far off count
/// less. A residual has the standard deviation `spread` and, shared by each `of_matrix` rows in turn, that of a matrix.
fn conditioned(
    rows: &DMatrix<f64>,
    logs: &DVector<f64>,
    spread: &[f64],
    of_matrix: &[usize],
) -> (DVector<f64>, DVector<f64>) {
    let (columns, variance) = (rows.ncols(), OF_MATRIX.powi(2));
    let mut weights: Vec<f64> = spread.iter().map(|s| s.powi(-2)).collect();
    let (mut x, mut residuals) = (DVector::zeros(columns), logs.clone());
    for _ in 0..ROUNDS {
        // Woodbury: the precision of the rows of a matrix is diag(w) - c w w', c = variance / (1 + variance sum of w).
        let mut first = 0;
        let each = of_matrix.iter().map(|count| {
            let all = first..first + count;
            first += count;
            (all.clone(), variance / (1.0 + variance * weights[all].iter().sum::<f64>()))
        });
        let each: Vec<_> = each.collect();
        let mut weighted = rows.clone();
        weighted.row_iter_mut().zip(&weights).for_each(|(mut row, w)| row *= *w);
        let mut products = rows.tr_mul(&weighted) + DMatrix::identity(columns, columns);
        let mut sums = weighted.tr_mul(logs);
        for (all, c) in &each {
            let of_one = weighted.rows_range(all.clone()).row_sum().transpose();
            let log: f64 = all.clone().map(|i| weights[i] * logs[i]).sum();
            products.ger(-c, &of_one, &of_one, 1.0);
            sums.axpy(-c * log, &of_one, 1.0);
        }
        x = solved(products, &sums);
        residuals = logs - rows * &x;
        for (all, c) in each {
            let shared = c * all.clone().map(|i| weights[i] * residuals[i]).sum::<f64>();
            all.for_each(|i| residuals[i] -= shared);
        }
        let weight = |(r, s): (&f64, &f64)| 1.0 / ((r.abs() / (FAR_OF_FEW * s)).max(1.0) * s * s);
        weights = residuals.iter().zip(spread).map(weight).collect();
    }
    (x, residuals)
}

/// What other pairs teach of a reference's times.
#[derive(Debug)]
pub(super) struct Learned {
    formats: usize,
    /// `ln T_ref + mu q`.
    mean: Vec<f64>,
    /// z, and 1 for a0.
    along: DMatrix<f64>,
    /// v.
    inputs: Vec<[f64; CORE]>,
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
        // Stands for what neighbours show of a pair that has none: the mean over the pairs from the reference.
        let on_the_mean = |at: usize| {
            let shown = others.iter().filter(|(from, _)| *from).map(|(_, one)| one.shown[at]);
            let known: Vec<f64> = shown.filter(|shown| shown.is_finite()).collect();
            known.iter().sum::<f64>() / known.len().max(1) as f64
        };
        let of_place = |at: usize| {
            let mean = on_the_mean(at);
            let of_pair = |(from, one): &(bool, &PairEquation)| {
                let shown = if *from && one.shown[at].is_finite() { one.shown[at] } else { mean };
                dot(&one.weights[at % formats], &quantities[at]) + shown
            };
            others.iter().map(of_pair).collect::<Vec<f64>>()
        };
        let fields: Vec<Vec<f64>> = (0..known.len()).map(of_place).collect();
        let center: Vec<f64> =
            fields.iter().map(|all| all.iter().zip(&shares).map(|(f, s)| f * s).sum()).collect();
        let mean = center.iter().zip(known).map(|(center, known)| center + known.ln()).collect();
        let along = DMatrix::from_fn(known.len(), pairs + 1, |at, k| {
            fields[at].get(k).map_or(1.0, |field| shares[k].sqrt() * (field - center[at]))
        });
        let inputs = quantities.iter().map(core).collect();
        let spread = |format: usize| {
            let mut all: Vec<f64> = others.iter().filter_map(|(_, one)| one.spread[format]).collect();
            all.sort_by(f64::total_cmp);
            sparsight_model::accuracy::quantile(&all, 0.5).unwrap_or(f64::NAN)
        };
        let spread: Vec<f64> = (0..formats).map(spread).collect();
        Some(Self { formats, mean, along, inputs, spread })
    }

    /// Covariance of g at two places.
    fn covariance(&self, a: usize, b: usize) -> f64 {
        let same_format = a % self.formats == b % self.formats;
        let distance2: [f64; CORE] = std::array::from_fn(|k| (self.inputs[a][k] - self.inputs[b][k]).powi(2));
        let near = distance2[..OF_NEAR].iter().sum();
        let all = near + distance2[OF_NEAR..].iter().sum::<f64>();
        WIDE.at(all, same_format) + NEAR.at(near, same_format)
    }

    /// The times on the target, from `measured` there of the matrices `drawn` and those by the `plain` equation; with no matrices by what the
    /// others have in common.
    pub(super) fn carry(&self, measured: &[f64], drawn: &[usize], plain: &[f64]) -> CarriedTimes {
        let places = drawn.iter().flat_map(|matrix| matrix * self.formats..(matrix + 1) * self.formats);
        let known: Vec<usize> = places
            .filter(|&at| (measured[at] + self.mean[at] + self.spread[at % self.formats]).is_finite())
            .collect();
        // Format by format, so that each has its share.
        let mut by_format = known.clone();
        by_format.sort_by_key(|at| at % self.formats);
        let count = known.len().min(CENTRES);
        let centres: Vec<usize> = (0..count).map(|k| by_format[k * known.len() / count]).collect();
        let between =
            |a: &[usize], b: &[usize]| DMatrix::from_fn(a.len(), b.len(), |i, k| self.covariance(a[i], b[k]));
        // With g = k(., centres) R^-T x and R R^T the covariance of the centres, x is normal with a variance of 1, as a and a0 are.
        let own = between(&centres, &centres) + JITTER * DMatrix::identity(centres.len(), centres.len());
        let root = own.cholesky().expect("a covariance with something added is positive definite").unpack();
        let of_g = root.solve_lower_triangular(&between(&centres, &known)).expect("no zero on its diagonal");
        let pairs = self.along.ncols();
        let rows = DMatrix::from_fn(known.len(), pairs + centres.len(), |i, k| match k.checked_sub(pairs) {
            None => self.along[(known[i], k)],
            Some(centre) => of_g[(centre, i)],
        });
        let logs =
            DVector::from_iterator(known.len(), known.iter().map(|&at| measured[at].ln() - self.mean[at]));
        let spread: Vec<f64> = known.iter().map(|at| self.spread[at % self.formats]).collect();
        let of_matrix: Vec<usize> =
            known.chunk_by(|a, b| a / self.formats == b / self.formats).map(<[_]>::len).collect();
        let (x, residuals) = conditioned(&rows, &logs, &spread, &of_matrix);
        let g =
            root.tr_solve_lower_triangular(&x.rows(pairs, centres.len())).expect("no zero on its diagonal");
        let combined = &self.along * x.rows(0, pairs);
        let time = |((at, mean), (more, plain)): ((usize, &f64), (&f64, &f64))| {
            let own = centres.iter().zip(g.iter()).map(|(centre, g)| g * self.covariance(at, *centre));
            let log = mean + more + own.sum::<f64>();
            let other = if plain.is_finite() && *plain > 0.0 { plain.ln() } else { log };
            (log + PLAIN_SHARE * (other - log)).exp()
        };
        let times = self.mean.iter().enumerate().zip(combined.iter().zip(plain)).map(time).collect();
        let seen: f64 = residuals.iter().zip(&spread).map(|(r, s)| (r / s).powi(2).min(9.0)).sum();
        let wider = ((SPREAD_COUNTS + seen) / (SPREAD_COUNTS + known.len() as f64)).sqrt();
        CarriedTimes { times, spread: self.spread.iter().map(|s| s * wider).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::super::quantities::of_time;
    use super::*;

    #[test]
    fn a_bend_of_the_target_alone_is_followed_near_the_measured_matrices() {
        let quantities: Vec<_> = (0..9).map(|matrix| of_time(f64::from(matrix) / 2.0)).collect();
        let flat = PairEquation {
            weights: vec![[0.0; QUANTITIES]],
            shown: vec![0.0; quantities.len()],
            spread: vec![Some(0.02)],
        };
        let known = vec![1e-5; quantities.len()];
        let learned = Learned::of(&quantities, &known, &[(true, &flat), (false, &flat)]).unwrap();
        // A third slower from the matrix 6 on.
        let measured: Vec<f64> = (0..9).map(|matrix| if matrix < 6 { 1e-5 } else { 1.35e-5 }).collect();
        let carried = learned.carry(&measured, &[0, 2, 4, 6, 8], &[f64::NAN; 9]);
        for matrix in [1, 3, 7] {
            let error = (carried.times[matrix] / measured[matrix] - 1.0).abs();
            assert!(error < 0.08, "{matrix}: {error}");
        }
    }
}
