//! Training: small batches of rows in random order, the rate falling from its most to nothing.

#![expect(clippy::inline_always, reason = "compiled for wider registers as part of the one function that is")]
#![expect(
    clippy::needless_range_loop,
    reason = "loops over iterators are not compiled for several numbers at once"
)]

use super::layers::{FIRST, Layers, SECOND, Sums, add, each, product, smooth};
use crate::random::Random;
use rayon::prelude::*;
use sparsight_matrix::mix;

/// A row to learn from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Row<'a> {
    pub(crate) inputs: &'a [i32],
    pub(crate) class: usize,
    pub(crate) response: f32,
    /// Positive.
    pub(crate) weight: f32,
}

/// Times that all rows are gone through. Chosen by the folds of `fit` on an H200, as are decay, distance and widths
/// (docs/results/h200-learned.md); the rest was fixed beforehand.
const EPOCHS: usize = 70;
/// Rows of a batch; fewer where there are few in all, so that each epoch has some steps.
const BATCH: usize = 1024;
const LEAST_BATCHES: usize = 16;
const RATE: f32 = 3e-3;
const DECAY: f32 = 0.03;
/// Steps in which the rate grows to its most; fewer where there are few in all.
const WARM_UP: usize = 200;
/// Distance from the response up to which the loss is a square, and beyond which it grows with the distance.
const HUBER: f32 = 0.05;
const SEED: u64 = 2015;

/// Decay of the means of gradients and of their squares, and what keeps a step finite (Kingma and Ba's).
const MEAN: f32 = 0.9;
const SQUARE: f32 = 0.999;
const LEAST: f32 = 1e-8;

/// Trained networks, each from other random weights; none if one did not stay finite. `scaled` are the inputs of all rows, one row
/// behind the other.
pub(super) fn nets(rows: &[Row<'_>], scaled: &[f32], classes: usize, nets: usize) -> Vec<Layers> {
    let one = |at: usize| one(rows, scaled, classes, mix(SEED + at as u64)).rounded();
    (0..nets).into_par_iter().map(one).collect::<Option<_>>().unwrap_or_default()
}

/// [`trained`] in the widest registers of the processor, which takes half as long: the same operations in the same order.
fn one(rows: &[Row<'_>], scaled: &[f32], classes: usize, seed: u64) -> Layers {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx2")]
        fn wide(rows: &[Row<'_>], scaled: &[f32], classes: usize, seed: u64) -> Layers {
            trained(rows, scaled, classes, seed)
        }
        if is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has AVX2.
            return unsafe { wide(rows, scaled, classes, seed) };
        }
    }
    trained(rows, scaled, classes, seed)
}

#[inline(always)]
fn trained(rows: &[Row<'_>], scaled: &[f32], classes: usize, seed: u64) -> Layers {
    let inputs = rows[0].inputs.len();
    let mut random = Random(seed);
    let mut net = started(rows, inputs, classes, &mut random);
    let mean = rows.iter().map(|row| row.weight).sum::<f32>() / rows.len() as f32;
    let mut gradient = Layers::empty(inputs, classes);
    let mut adam = Adam { means: gradient.clone(), squares: gradient.clone() };
    let mut order: Vec<usize> = (0..rows.len()).collect();
    let size = BATCH.min(rows.len().div_ceil(LEAST_BATCHES));
    let batches = rows.len().div_ceil(size);
    let steps = EPOCHS * batches;
    for step in 0..steps {
        let begin = size * (step % batches);
        if begin == 0 {
            for at in (1..order.len()).rev() {
                order.swap(at, random.below(at + 1));
            }
        }
        let batch = &order[begin..rows.len().min(begin + size)];
        gradient.weights().into_iter().for_each(|part| part.fill(0.0));
        for &at in batch {
            let row = &rows[at];
            let share = row.weight / (mean * batch.len() as f32);
            add_gradient(&net, &mut gradient, row, &scaled[at * inputs..][..inputs], share);
        }
        let warm = ((step + 1) as f32 / WARM_UP.min(steps) as f32).min(1.0);
        let cooling = 0.5 * (1.0 + libm::cosf(std::f32::consts::PI * step as f32 / steps as f32));
        adam.step(&mut net, &mut gradient, step, RATE * warm * cooling);
    }
    net
}

/// Random weights; each class starts at its mean response.
fn started(rows: &[Row<'_>], inputs: usize, classes: usize, random: &mut Random) -> Layers {
    let mut net = Layers::empty(inputs, classes);
    // Evenly between two ends, with a variance of 2 over the numbers that are summed (He et al. 2015).
    let mut fill = |weights: &mut [f32], summed: usize, factor: f32| {
        let end = factor * (6.0 / summed as f32).sqrt();
        for weight in weights {
            *weight = end * (2.0 * random.share() as f32 - 1.0);
        }
    };
    fill(net.first.as_flattened_mut(), inputs, 1.0);
    fill(net.classes.as_flattened_mut(), inputs, 1.0);
    fill(net.second.as_flattened_mut(), FIRST, 1.0);
    fill(&mut net.last, SECOND, 0.1);
    let mut sums = vec![(0.0, 0.0); classes];
    for row in rows {
        let (sum, weight) = &mut sums[row.class];
        *sum += row.weight * row.response;
        *weight += row.weight;
    }
    for (start, (sum, weight)) in net.start.iter_mut().zip(sums) {
        *start = if weight > 0.0 { sum / weight } else { 0.0 };
    }
    net
}

/// The derivative of s.
#[inline(always)]
fn slope(u: f32) -> f32 {
    0.5 * (1.0 + u / (u * u + 1.0).sqrt())
}

/// Adds the gradient of the loss of a row, times `share`.
#[inline(always)]
fn add_gradient(net: &Layers, gradient: &mut Layers, row: &Row<'_>, scaled: &[f32], share: f32) {
    let sums = net.sums(None, [(0, scaled)], row.class);
    let off = net.answer_of(&sums, row.class) - row.response;
    let off = share * (off / HUBER).clamp(-1.0, 1.0);
    let Sums { first, second } = sums;
    gradient.start[row.class] += off;
    add(&mut gradient.last, off, &each(&second, smooth));
    let mut of_second = each(&second, slope);
    for at in 0..SECOND {
        of_second[at] *= off * net.last[at];
    }
    add(&mut gradient.bias, 1.0, &of_second);
    let (numbers, mut of_first) = (each(&first, smooth), each(&first, slope));
    for at in 0..FIRST {
        of_first[at] *= product(&net.second[at], &of_second);
    }
    for (gradient, number) in gradient.second.iter_mut().zip(&numbers) {
        add(gradient, *number, &of_second);
    }
    add(&mut gradient.classes[row.class], 1.0, &of_first);
    for (gradient, number) in gradient.first.iter_mut().zip(scaled) {
        add(gradient, *number, &of_first);
    }
}

/// Means of the gradients and of their squares.
struct Adam {
    means: Layers,
    squares: Layers,
}

impl Adam {
    #[inline(always)]
    fn step(&mut self, net: &mut Layers, gradient: &mut Layers, step: usize, rate: f32) {
        let correction = |decay: f32| 1.0 - libm::powf(decay, (step + 1) as f32);
        let (mean_so_far, square_so_far) = (correction(MEAN), correction(SQUARE));
        let decays = [DECAY, DECAY, DECAY, 0.0, 0.0, 0.0];
        let with = gradient.weights().into_iter().zip(self.means.weights()).zip(self.squares.weights());
        for ((weights, decay), ((gradient, means), squares)) in
            net.weights().into_iter().zip(decays).zip(with)
        {
            for (weight, ((gradient, mean), square)) in
                weights.iter_mut().zip(gradient.iter().zip(means).zip(squares))
            {
                *mean += (1.0 - MEAN) * (gradient - *mean);
                *square += (1.0 - SQUARE) * (gradient * gradient - *square);
                let own = (*mean / mean_so_far) / ((*square / square_so_far).sqrt() + LEAST);
                *weight -= rate * (own + decay * *weight);
            }
        }
    }
}
