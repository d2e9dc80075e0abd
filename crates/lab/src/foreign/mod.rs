//! Times of other people's kernels on several GPUs, carried from one of them to another, and judged.
//!
//! ```text
//! table (gpu, matrix, format: time)
//!   every ordered pair of GPUs of a group -> matrices drawn by a seed -> each method -> times of all others | against the measured ones
//!   the least carried time of a matrix -> choice;   the least T_ref -> choice                               | against the best measured one
//!   errors on pairs without the target -> interval                                                          | coverage on the target
//! ```
//! `equations.rs` has the methods of few numbers, `learned.rs` the one that learns from the other GPUs of the table, with
//! `quantities.rs` as what it sees of a matrix and `neighbours.rs` as what matrices alike show. A format is a name: nothing here knows what its kernel does.

mod equations;
mod learned;
mod neighbours;
mod quantities;
mod table;

pub use equations::ForeignMethod;
pub use table::{ForeignFacts, ForeignGpu, ForeignMatrix, ForeignTable};

use learned::{Learned, PairEquation};
use neighbours::Neighbours;
use quantities::quantities;
use rayon::prelude::*;
use serde::Serialize;
use serde_with::skip_serializing_none;
use sparsight_matrix::gallery::mix;
use sparsight_model::Rescaling;
use sparsight_model::accuracy::quantile;
use std::collections::BTreeMap;

/// Share of times that intervals are to hold.
const HELD: f64 = 0.9;
/// Share of the logarithm of the reference's time in the order by which `learned` chooses: noise between formats favours one whose carried
/// time is too short. Chosen.
const REFERENCE_SHARE: f64 = 0.2;
/// Errors, in units of the spread, that stand for those of a pair.
const ORDER_STATISTICS: usize = 1000;
/// Upper ends of the size classes, in non-zeros.
const SIZES: [(f64, &str); 4] =
    [(1e4, "below 1e4"), (1e5, "1e4 to 1e5"), (1e6, "1e5 to 1e6"), (f64::INFINITY, "from 1e6")];

/// What is drawn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForeignDraws {
    /// Numbers of matrices measured on both GPUs; with 0 of them nothing is drawn.
    pub matrices: Vec<usize>,
    /// Draws of each number.
    pub draws: usize,
    /// Seed of the draws.
    pub seed: u64,
}

/// A table judged.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ForeignEvaluation {
    /// Errors of a method on a pair: over all formats, of each, and of each size class over all formats.
    pub errors: Vec<ForeignError>,
    /// Choices of a format.
    pub choices: Vec<ForeignChoice>,
    /// Coverage of the intervals around learned and calibrated times.
    pub coverage: Vec<ForeignCoverage>,
}

/// Errors `|carried - measured| / measured` over matrices not drawn; means over the draws.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ForeignError {
    /// GPU that the times come from.
    pub from: String,
    /// GPU that they are carried to.
    pub to: String,
    /// Number of drawn matrices.
    pub matrices: usize,
    /// Method.
    pub method: ForeignMethod,
    /// Format, if of one.
    pub format: Option<String>,
    /// Size class by non-zeros, if of one.
    pub size: Option<&'static str>,
    /// Median error.
    pub median: f64,
    /// Mean error.
    pub mean: f64,
    /// Times judged in a draw.
    pub times: usize,
}

/// The time of the best format over that of the chosen one, over matrices not drawn; means over matrices and draws.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ForeignChoice {
    /// GPU that the times come from.
    pub from: String,
    /// GPU that is chosen for.
    pub to: String,
    /// Number of drawn matrices.
    pub matrices: usize,
    /// Method whose least time is chosen, of `learned` the least `T^0.8 T_ref^0.2`; `unchanged` chooses the reference's best.
    pub method: ForeignMethod,
    /// Mean of best / chosen.
    pub best_over_chosen: f64,
}

/// Share of measured times inside 90 % intervals around carried ones. Of `learned` their width follows from errors on pairs without the target
/// (the equations behind these pairs may have been taught by pairs with it); of `calibrated` it is the product's.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ForeignCoverage {
    /// GPU that is left out, and asked about.
    pub to: String,
    /// Number of drawn matrices.
    pub matrices: usize,
    /// `learned` or `calibrated`.
    pub method: ForeignMethod,
    /// Share of the times inside.
    pub inside: f64,
    /// Geometric mean of high / low.
    pub high_over_low: f64,
}

/// What is known of one pair and number of matrices.
#[derive(Debug)]
struct JudgedPair {
    errors: Vec<ForeignError>,
    choices: Vec<ForeignChoice>,
    /// `|ln(measured / carried)|` in units of the spread: order statistics; and the geometric mean spread.
    spread: Option<(Vec<f64>, f64)>,
    /// Of the product's intervals: times, those inside, and the sum of ln(high / low) over the draws and their number.
    product: (usize, usize, f64, usize),
    to: usize,
    from: usize,
    matrices: usize,
}

/// Judges all ordered pairs of GPUs (positions in the table) within each of `groups`. The learned method is taught by all GPUs of the table,
/// pairs with the target left out.
pub fn evaluate_foreign(
    table: &ForeignTable,
    groups: &[Vec<usize>],
    draws: &ForeignDraws,
) -> ForeignEvaluation {
    let seen: Vec<_> = table.gpus.par_iter().map(|gpu| quantities(table, gpu)).collect();
    let neighbours: Vec<_> = seen.iter().map(|one| Neighbours::of(one, table.formats.len())).collect();
    let gpus = 0..table.gpus.len();
    let ordered = |of: &[usize]| -> Vec<(usize, usize)> {
        let pairs = of.iter().flat_map(|&from| of.iter().map(move |&to| (from, to)));
        pairs.filter(|(from, to)| from != to).collect()
    };
    let fitted = |(from, to): (usize, usize)| {
        let times = table.gpus[from].times.iter().zip(&table.gpus[to].times);
        let logs: Vec<f64> = times.map(|(known, time)| (time / known).ln()).collect();
        Some(((from, to), PairEquation::fit(&seen[from], &neighbours[from], &logs, table.formats.len())?))
    };
    let equations: BTreeMap<_, _> =
        ordered(&gpus.collect::<Vec<_>>()).into_par_iter().filter_map(fitted).collect();
    let asked: Vec<_> = groups.iter().flat_map(|group| ordered(group)).collect();
    let judge = |&(from, to): &(usize, usize)| {
        let others = equations.iter().filter(|((a, b), _)| *a != to && *b != to);
        let others: Vec<_> = others.map(|((a, _), equation)| (*a == from, equation)).collect();
        let learned = Learned::of(&seen[from], &table.gpus[from].times, &others);
        let each = draws.matrices.iter();
        each.map(|&count| judged(table, (from, to), learned.as_ref(), count, draws)).collect::<Vec<_>>()
    };
    let judged: Vec<JudgedPair> = asked.par_iter().map(judge).flatten_iter().collect();
    ForeignEvaluation {
        coverage: coverage(table, &judged),
        choices: judged.iter().flat_map(|pair| pair.choices.clone()).collect(),
        errors: judged.into_iter().flat_map(|pair| pair.errors).collect(),
    }
}

/// `count` of the matrices that both have times of, one of each of as many classes of sizes; draw number `draw`.
fn drawn(
    table: &ForeignTable,
    (from, to): (usize, usize),
    count: usize,
    seed: u64,
    draw: usize,
) -> Vec<usize> {
    let formats = table.formats.len();
    let on_both = |matrix: &usize| {
        let places = table.at(*matrix, 0)..table.at(*matrix, formats);
        places.clone().any(|at| (table.gpus[from].times[at] + table.gpus[to].times[at]).is_finite())
    };
    let mut all: Vec<usize> = (0..table.matrices.len()).filter(on_both).collect();
    all.sort_by(|a, b| table.matrices[*a].nnz.total_cmp(&table.matrices[*b].nnz).then(a.cmp(b)));
    let count = count.min(all.len());
    let of_class = |class: usize| {
        let (first, end) = (class * all.len() / count, (class + 1) * all.len() / count);
        let random = mix(seed ^ mix(draw as u64) ^ mix(!(class as u64)));
        all[first + (random % (end - first) as u64) as usize]
    };
    (0..count).map(of_class).collect()
}

/// Sums of the draws.
#[derive(Debug, Default, Clone, Copy)]
struct Sums {
    median: f64,
    mean: f64,
    times: usize,
    draws: usize,
}

impl Sums {
    fn add(&mut self, mut errors: Vec<f64>) {
        errors.sort_by(f64::total_cmp);
        let Some(median) = quantile(&errors, 0.5) else { return };
        self.median += median;
        self.mean += errors.iter().sum::<f64>() / errors.len() as f64;
        self.times = errors.len();
        self.draws += 1;
    }
}

/// Scope of a row: all, a format, a size class.
type Scope = (Option<usize>, Option<usize>);

fn judged(
    table: &ForeignTable,
    (from, to): (usize, usize),
    learned: Option<&Learned>,
    count: usize,
    draws: &ForeignDraws,
) -> JudgedPair {
    let (here, there) = (&table.gpus[from], &table.gpus[to]);
    let formats = table.formats.len();
    let mut sums: BTreeMap<(Scope, ForeignMethod), Sums> = BTreeMap::new();
    let mut chosen: BTreeMap<ForeignMethod, (f64, usize)> = BTreeMap::new();
    let (mut ratios, mut spreads) = (Vec::new(), (0.0, 0_usize));
    let mut product = (0, 0, 0.0, 0);
    for draw in 0..if count == 0 { 1 } else { draws.draws } {
        let few = drawn(table, (from, to), count, draws.seed, draw);
        let mut left = vec![true; table.matrices.len()];
        for &matrix in &few {
            left[matrix] = false;
        }
        let judged = |at: &usize| left[at / formats] && (here.times[*at] + there.times[*at]).is_finite();
        let places: Vec<usize> = (0..here.times.len()).filter(judged).collect();
        let mut ways: Vec<_> = ForeignMethod::EQUATIONS
            .into_iter()
            .filter_map(|method| Some((method, equations::carried(method, table, [here, there], &few)?)))
            .collect();
        if let Some((times, log_sd)) = equations::calibrated(table, [here, there], &few) {
            let width = Rescaling::NINETY_PERCENT * log_sd;
            let off = places.iter().map(|&at| (there.times[at] / times[at]).ln().abs());
            let known: Vec<f64> = off.filter(|off| off.is_finite()).collect();
            product.0 += known.len();
            product.1 += known.iter().filter(|off| **off <= width).count();
            (product.2, product.3) = (product.2 + 2.0 * width, product.3 + 1);
            ways.push((ForeignMethod::Calibrated, times));
        }
        if let Some(learned) = learned {
            let plain = equations::carried(ForeignMethod::Plain, table, [here, there], &few);
            let carried = learned.carry(&there.times, &few, &plain.expect("needs no facts"));
            for &at in &places {
                let spread = carried.spread[at % formats];
                ratios.push((there.times[at] / carried.times[at]).ln().abs() / spread);
                spreads = (spreads.0 + spread, spreads.1 + 1);
            }
            ways.push((ForeignMethod::Learned, carried.times));
        }
        for (method, times) in ways {
            let mut by_scope: BTreeMap<Scope, Vec<f64>> = BTreeMap::new();
            for &at in places.iter().filter(|&&at| times[at].is_finite()) {
                let error = (times[at] / there.times[at] - 1.0).abs();
                let nnz = table.matrices[at / formats].nnz;
                let size = SIZES.iter().position(|(end, _)| nnz < *end);
                for scope in [(None, None), (Some(at % formats), None), (None, size)] {
                    by_scope.entry(scope).or_default().push(error);
                }
            }
            for (scope, errors) in by_scope {
                sums.entry((scope, method)).or_default().add(errors);
            }
            for of_one in places.chunk_by(|a, b| a / formats == b / formats).filter(|all| all.len() > 1) {
                let order = |at: usize| match method {
                    ForeignMethod::Learned => {
                        times[at].ln() + REFERENCE_SHARE * (here.times[at] / times[at]).ln()
                    }
                    _ => times[at],
                };
                let known = of_one.iter().filter(|&&at| times[at].is_finite());
                let Some(&least) = known.min_by(|a, b| order(**a).total_cmp(&order(**b))) else { continue };
                let best = of_one.iter().map(|&at| there.times[at]).fold(f64::INFINITY, f64::min);
                let sum = chosen.entry(method).or_default();
                *sum = (sum.0 + best / there.times[least], sum.1 + 1);
            }
        }
    }
    let names = || (here.name.clone(), there.name.clone());
    let error = |((scope, method), sum): ((Scope, ForeignMethod), Sums)| {
        let (from, to) = names();
        let (format, size) = (scope.0.map(|at| table.formats[at].clone()), scope.1.map(|at| SIZES[at].1));
        let [median, mean] = [sum.median, sum.mean].map(|total| total / sum.draws as f64);
        ForeignError { from, to, matrices: count, method, format, size, median, mean, times: sum.times }
    };
    let choice = |(method, (sum, matrices)): (ForeignMethod, (f64, usize))| {
        let (from, to) = names();
        ForeignChoice { from, to, matrices: count, method, best_over_chosen: sum / matrices as f64 }
    };
    ratios.retain(|ratio| ratio.is_finite());
    ratios.sort_by(f64::total_cmp);
    let statistic = |i: usize| quantile(&ratios, (i as f64 + 0.5) / ORDER_STATISTICS as f64);
    let statistics: Option<Vec<f64>> = (0..ORDER_STATISTICS).map(statistic).collect();
    JudgedPair {
        errors: sums.into_iter().map(error).collect(),
        choices: chosen.into_iter().map(choice).collect(),
        spread: statistics.map(|all| (all, spreads.0 / spreads.1 as f64)),
        product,
        from,
        to,
        matrices: count,
    }
}

/// For every target and number of matrices: the intervals that pairs without it call for, and those of the product, and what of the target's
/// they hold.
fn coverage(table: &ForeignTable, judged: &[JudgedPair]) -> Vec<ForeignCoverage> {
    let mut all: Vec<(usize, usize)> = judged.iter().map(|pair| (pair.to, pair.matrices)).collect();
    all.sort_unstable();
    all.dedup();
    let of_target = |(target, matrices): (usize, usize)| {
        let alike = judged.iter().filter(|pair| pair.matrices == matrices);
        let (on_it, others): (Vec<_>, Vec<_>) = alike
            .filter(|pair| pair.from != target)
            .filter_map(|pair| Some((pair.to == target, pair.spread.as_ref()?)))
            .partition(|(is_target, _)| *is_target);
        let mut elsewhere: Vec<f64> = others.iter().flat_map(|(_, (ratios, _))| ratios).copied().collect();
        elsewhere.sort_by(f64::total_cmp);
        let width = quantile(&elsewhere, HELD)?;
        let own = || on_it.iter().flat_map(|(_, (ratios, _))| ratios);
        let inside = own().filter(|ratio| **ratio <= width).count();
        let spread = on_it.iter().map(|(_, (_, spread))| spread).sum::<f64>() / on_it.len() as f64;
        Some(ForeignCoverage {
            to: table.gpus[target].name.clone(),
            matrices,
            method: ForeignMethod::Learned,
            inside: inside as f64 / own().count() as f64,
            high_over_low: (2.0 * width * spread).exp(),
        })
    };
    let of_product = |(target, matrices): (usize, usize)| {
        let on_it = judged.iter().filter(|pair| (pair.to, pair.matrices) == (target, matrices));
        let (times, inside, logs, draws) = on_it.fold((0, 0, 0.0, 0), |sum, pair| {
            let one = pair.product;
            (sum.0 + one.0, sum.1 + one.1, sum.2 + one.2, sum.3 + one.3)
        });
        (times > 0).then(|| ForeignCoverage {
            to: table.gpus[target].name.clone(),
            matrices,
            method: ForeignMethod::Calibrated,
            inside: inside as f64 / times as f64,
            high_over_low: (logs / draws as f64).exp(),
        })
    };
    let learned: Vec<_> = all.iter().copied().filter_map(of_target).collect();
    learned.into_iter().chain(all.into_iter().filter_map(of_product)).collect()
}
