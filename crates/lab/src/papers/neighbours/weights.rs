//! Weight of each feature in the distance: the one that predicts the samples best from each other.
//!
//! The paper's weights were found by hand and are not printed; it names weights "determined by the system itself" as
//! future work. Here: coordinate descent over a few weights, the loss that of leaving one matrix out.

use super::nearest::Nearest;

/// Weights that are tried. Chosen: four-fold steps, since a factor of two is hardly seen. Never 0: matrices that differ in
/// one feature alone would be the same.
const TRIED: [f32; 4] = [0.0625, 0.25, 1.0, 4.0];

/// Times that every feature is gone through, at most.
const ROUNDS: usize = 2;

/// Matrices as points, their responses, and those that judge.
#[derive(Debug)]
pub(super) struct Points<'a> {
    /// Coordinates in 0..1.
    pub(super) at: &'a [Vec<f32>],
    /// `ln(T / b)` of each block size and value type.
    pub(super) responses: &'a [Vec<Option<f32>>],
    /// Points whose errors are counted.
    pub(super) judges: &'a [usize],
    pub(super) k: usize,
}

impl Points<'_> {
    /// Squared distances between judges and all points, judge by judge, with one weight a coordinate.
    fn distances(&self, weights: &[f32]) -> Vec<f32> {
        let distance = |a: &[f32], b: &[f32]| -> f32 {
            weights.iter().zip(a).zip(b).map(|((w, a), b)| w * (a - b) * (a - b)).sum()
        };
        let judge = |&judge: &usize| self.at.iter().map(move |point| distance(&self.at[judge], point));
        self.judges.iter().flat_map(judge).collect()
    }

    /// Mean `|predicted - response|` of the judges, each predicted from all other points.
    fn loss(&self, distances: impl Fn(usize) -> f32) -> f64 {
        let (mut sum, mut count) = (0.0, 0_usize);
        for (row, &judge) in self.judges.iter().enumerate() {
            let mut nearest = Nearest::new(self.k);
            for point in (0..self.at.len()).filter(|&point| point != judge) {
                nearest.offer(distances(row * self.at.len() + point), point);
            }
            for (variant, response) in self.responses[judge].iter().enumerate() {
                let Some(response) = response else { continue };
                let predicted = nearest.mean(|point| self.responses[point][variant].map(f64::from));
                let Some(predicted) = predicted else { continue };
                sum += (predicted - f64::from(*response)).abs();
                count += 1;
            }
        }
        sum / count.max(1) as f64
    }

    /// Weights, one for each coordinate, from [`TRIED`]. O(judges * points * coordinates).
    pub(super) fn weights(&self) -> Vec<f32> {
        let coordinates = self.at.first().map_or(0, Vec::len);
        let mut weights = vec![1.0; coordinates];
        if coordinates < 2 {
            return weights;
        }
        let mut least = f64::INFINITY;
        for _ in 0..ROUNDS {
            let before = weights.clone();
            for c in 0..coordinates {
                let kept = std::mem::replace(&mut weights[c], 0.0);
                let others = self.distances(&weights);
                let mut alone = vec![0.0; coordinates];
                alone[c] = 1.0;
                let own = self.distances(&alone);
                // What was there is tried first, so that a tie keeps it.
                let tried =
                    std::iter::once(kept).chain(TRIED.into_iter().filter(|w| w.to_bits() != kept.to_bits()));
                let losses = tried.map(|weight| (self.loss(|at| others[at] + weight * own[at]), weight));
                let (loss, best) = losses.min_by(|a, b| a.0.total_cmp(&b.0)).expect("several are tried");
                weights[c] = best;
                least = loss.min(least);
            }
            if weights == before {
                break;
            }
        }
        weights
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_uninformative_coordinate_gets_little_weight() {
        let numbers = |step: usize| (0..60).map(move |i| (i * step % 59) as f32 / 59.0);
        let at: Vec<Vec<f32>> = numbers(7).zip(numbers(23)).map(|(a, b)| vec![a, b]).collect();
        let responses: Vec<Vec<Option<f32>>> = at.iter().map(|p| vec![Some(3.0 * p[1]), None]).collect();
        let judges: Vec<usize> = (0..60).collect();
        let weights = Points { at: &at, responses: &responses, judges: &judges, k: 4 }.weights();
        assert!(weights[1] >= 1.0 && weights[0] <= 0.0625, "{weights:?}");
    }
}
