//! The nearest of some points and the mean of their values, weighted by the inverse of their distance.

/// The `k` smallest of some distances, increasing, each with its index; of equal ones the earlier.
#[derive(Debug, Clone)]
pub(super) struct Nearest {
    k: usize,
    found: Vec<(f32, usize)>,
}

impl Nearest {
    pub(super) fn new(k: usize) -> Self {
        Self { k, found: Vec::with_capacity(k + 1) }
    }

    /// Looks at one more.
    pub(super) fn offer(&mut self, squared: f32, index: usize) {
        if self.found.len() == self.k && self.found.last().is_none_or(|(worst, _)| squared >= *worst) {
            return;
        }
        let place = self.found.partition_point(|(d, _)| *d <= squared);
        self.found.insert(place, (squared, index));
        self.found.truncate(self.k);
    }

    /// `(squared distance, index)`, nearest first.
    pub(super) fn found(&self) -> &[(f32, usize)] {
        &self.found
    }

    /// `sum (v / d) / sum (1 / d)` over the values that are there; where some distances are 0, the mean of those alone.
    /// `None` without any.
    pub(super) fn mean(&self, value: impl Fn(usize) -> Option<f64>) -> Option<f64> {
        let known =
            self.found.iter().filter_map(|&(squared, at)| Some((f64::from(squared).sqrt(), value(at)?)));
        let (mut sum, mut weights, mut exact) = (0.0, 0.0, false);
        for (distance, value) in known {
            // Sorted: equals come first.
            if distance > 0.0 && exact {
                break;
            }
            exact = distance <= 0.0;
            let weight = if exact { 1.0 } else { 1.0 / distance };
            sum += weight * value;
            weights += weight;
        }
        (weights > 0.0).then(|| sum / weights)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nearest(k: usize, distances: &[f32]) -> Nearest {
        let mut nearest = Nearest::new(k);
        distances.iter().enumerate().for_each(|(at, d)| nearest.offer(d * d, at));
        nearest
    }

    #[test]
    fn the_mean_weighs_by_the_inverse_distance() {
        // Distances 1, 2 and 4 of the values 10, 20 and 40; the fourth is too far: (10 + 10 + 10) / (1 + 1/2 + 1/4).
        let n = nearest(3, &[4.0, 1.0, 9.0, 2.0]);
        let mean = n.mean(|at| Some([40.0, 10.0, 1e9, 20.0][at])).unwrap();
        assert!((mean - 30.0 / 1.75).abs() < 1e-12, "{mean}");
        // Without the second nearest: (10 + 10) / (1 + 1/4).
        let mean = n.mean(|at| [Some(40.0), Some(10.0), None, None][at]).unwrap();
        assert!((mean - 16.0).abs() < 1e-12, "{mean}");
        assert_eq!(n.mean(|_| None), None);
    }

    #[test]
    fn equals_answer_alone() {
        let n = nearest(4, &[0.0, 3.0, 0.0, 1.0]);
        let mean = n.mean(|at| Some([2.0, 100.0, 4.0, 100.0][at])).unwrap();
        assert!((mean - 3.0).abs() < 1e-12, "{mean}");
    }
}
