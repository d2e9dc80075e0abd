//! What an equation leaves, as the most similar matrices show it.
//!
//! ```text
//! shown(i) = sum of w r / (sum of w + 0.1)      r: what the equation left at the 32 nearest places of the format, i not among them
//!                                               w = 1 / (1 + (d / 0.15)^2),   d: distance in the seven quantities that are multiplied
//! ```
//! A mean of neighbours drawn towards 0 (Nadaraya 1964, Watson 1964, with a Cauchy kernel). A place never shows its own residual, so a time of
//! a matrix is not carried with what the same matrix took on other GPUs.

use super::quantities::{CORE, QUANTITIES, core};
use rayon::prelude::*;

/// Neighbours of a place.
const NEIGHBOURS: usize = 32;
/// Distance at which a neighbour counts half. Chosen.
const HALF: f64 = 0.15;
/// Weight of a residual of 0 beside the neighbours. Chosen.
const NOTHING: f64 = 0.1;

/// The neighbours of every matrix and format by the times of one GPU, with their weights; none where it has no time.
#[derive(Debug)]
pub(super) struct Neighbours(Vec<Vec<(usize, f64)>>);

impl Neighbours {
    /// By the `quantities` of all matrices and formats. O(places of a format, squared).
    pub(super) fn of(quantities: &[[f64; QUANTITIES]], formats: usize) -> Self {
        let inputs: Vec<[f64; CORE]> = quantities.iter().map(core).collect();
        let is_known = |at: &usize| inputs[*at].iter().all(|v| v.is_finite());
        let known: Vec<usize> = (0..inputs.len()).filter(is_known).collect();
        let by_format: Vec<Vec<usize>> = (0..formats)
            .map(|format| known.iter().copied().filter(|at| at % formats == format).collect())
            .collect();
        let mut all = vec![Vec::new(); inputs.len()];
        let of_place = |(at, place): (usize, &mut Vec<(usize, f64)>)| {
            if !is_known(&at) {
                return;
            }
            let distance2 =
                |other: usize| inputs[at].iter().zip(&inputs[other]).map(|(a, b)| (a - b).powi(2)).sum();
            let others = by_format[at % formats].iter().filter(|other| **other != at);
            let mut near: Vec<(usize, f64)> = others.map(|&other| (other, distance2(other))).collect();
            if near.len() > NEIGHBOURS {
                near.select_nth_unstable_by(NEIGHBOURS, |a, b| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0)));
                near.truncate(NEIGHBOURS);
            }
            // The order of a sum decides on its last bit.
            near.sort_unstable_by_key(|(other, _)| *other);
            *place = near.iter().map(|(other, d2)| (*other, 1.0 / (1.0 + d2 / HALF.powi(2)))).collect();
        };
        all.par_iter_mut().enumerate().for_each(of_place);
        Self(all)
    }

    /// What those neighbours whose residual is finite show at a place.
    pub(super) fn shown(&self, at: usize, residual: impl Fn(usize) -> f64) -> f64 {
        let each = self.0[at].iter().map(|&(other, weight)| (residual(other), weight));
        let (sum, weights) = each
            .filter(|(residual, _)| residual.is_finite())
            .fold((0.0, 0.0), |(sum, weights), (r, w)| (sum + w * r, weights + w));
        sum / (weights + NOTHING)
    }
}

#[cfg(test)]
mod tests {
    use super::super::quantities::of_time;
    use super::*;

    #[test]
    fn a_place_shows_its_neighbours_and_never_itself() {
        let neighbours = Neighbours::of(&[1.0, 1.0, 9.0, f64::NAN].map(of_time), 1);
        let shown = |own: f64| neighbours.shown(0, |other| [own, 0.5, 40.0, 7.0][other]);
        let far = 1.0 / (1.0 + (8.0_f64 / HALF).powi(2));
        let expected = (0.5 + 40.0 * far) / (1.0 + far + NOTHING);
        for own in [3.0, -8.0, f64::NAN] {
            assert!((shown(own) - expected).abs() < 1e-12, "{}", shown(own));
        }
        assert!(neighbours.shown(3, |_| 1.0).abs() < 1e-12, "without a time nothing is near");
    }
}
