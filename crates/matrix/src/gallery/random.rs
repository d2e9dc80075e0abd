//! Random numbers that follow from a seed and a row: `SplitMix64` (Steele, Lea and Flood, OOPSLA 2014).

/// The finaliser of `SplitMix64` (Steele, Lea and Flood 2014): every bit of the input moves every bit out.
/// `cuda/benchmark_matrix.cu` has the same arithmetic.
pub const fn mix(z: u64) -> u64 {
    let z = z.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A stream of random numbers.
#[derive(Debug)]
pub(super) struct Rng {
    state: u64,
}

impl Rng {
    /// The stream number `stream` of `seed`: one a row.
    pub(super) const fn new(seed: u64, stream: u64) -> Self {
        Self { state: mix(seed ^ mix(stream)) }
    }

    /// 64 random bits.
    pub(super) const fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(GAMMA);
        mix(self.state)
    }

    /// A whole number below `n`, which is at most 2^32 and not 0.
    pub(super) const fn below(&mut self, n: u64) -> u64 {
        ((self.bits() >> 32) * n) >> 32
    }

    /// A number in [0, 1).
    pub(super) fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Returns whether something of this probability happens.
    pub(super) fn chance(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }

    /// A value of a matrix: in [-1, 1), never 0, exact in f32.
    pub(super) fn value(&mut self) -> f64 {
        // 23 random bits m give (2 m + 1) / 2^23 - 1: odd numerators, so 0 does not occur.
        ((2 * (self.bits() >> 41) + 1) as f64) / f64::from(1 << 23) - 1.0
    }

    /// A length with density falling as `length^-exponent` from `min` on (Pareto), cut at `max`.
    pub(super) fn power_law(&mut self, min: u64, exponent: f64, max: u64) -> u64 {
        let length = min as f64 * (1.0 - self.unit()).powf(-1.0 / (exponent - 1.0));
        // A float beyond u64 saturates.
        (length as u64).min(max)
    }

    /// `count` distinct numbers below `n`, increasing; all of them if `count >= n`. O(count log count), or
    /// O(n) where more than half are wanted.
    pub(super) fn distinct(&mut self, count: u64, n: u64) -> Vec<u32> {
        if 2 * count > n {
            // Selection sampling: each number with the share of those still wanted among those left.
            let mut wanted = count.min(n);
            let mut chosen = Vec::with_capacity(wanted as usize);
            for number in 0..n {
                if self.below(n - number) < wanted {
                    chosen.push(number as u32);
                    wanted -= 1;
                }
            }
            return chosen;
        }
        let mut chosen = Vec::with_capacity(count as usize);
        while chosen.len() < count as usize {
            for _ in chosen.len()..count as usize {
                chosen.push(self.below(n) as u32);
            }
            chosen.sort_unstable();
            chosen.dedup();
        }
        chosen
    }
}

/// Value of the entries (i, j) and (j, i) of a symmetric matrix.
pub(super) fn symmetric_value(seed: u64, i: u64, j: u64) -> f64 {
    Rng::new(mix(seed ^ i.min(j)), i.max(j)).value()
}

/// The numbers below `n` in random order (Fisher and Yates).
pub(super) fn permutation(seed: u64, n: u64) -> Vec<u32> {
    let mut order: Vec<u32> = (0..n as u32).collect();
    let mut rng = Rng::new(seed, u64::MAX);
    for i in (1..n).rev() {
        order.swap(i as usize, rng.below(i + 1) as usize);
    }
    order
}

const GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_fill_their_range_without_zero_and_are_exact_in_f32() {
        let mut rng = Rng::new(1, 2);
        let values: Vec<f64> = (0..10_000).map(|_| rng.value()).collect();
        assert!(values.iter().all(|v| (-1.0..1.0).contains(v) && *v != 0.0));
        assert!(values.iter().all(|&v| f64::from(v as f32).to_bits() == v.to_bits()));
        let mean = values.iter().sum::<f64>() / 1e4;
        assert!(mean.abs() < 0.03, "standard deviation of the mean: 0.006; got {mean}");
    }

    #[test]
    fn distinct_numbers_are_distinct_and_as_many_as_wanted() {
        for (count, n) in [(0, 1), (1, 1), (3, 10), (6, 10), (10, 10), (11, 10), (500, 1_001), (5, 1 << 32)] {
            let chosen = Rng::new(3, count).distinct(count, n);
            assert_eq!(chosen.len() as u64, count.min(n));
            assert!(chosen.is_sorted_by(|a, b| a < b) && chosen.iter().all(|&c| u64::from(c) < n));
        }
    }

    #[test]
    fn a_permutation_holds_every_number_once_in_another_order() {
        let mut order = permutation(1, 1000);
        assert!(!order.is_sorted());
        assert_ne!(order, permutation(2, 1000));
        order.sort_unstable();
        assert!(order.iter().copied().eq(0..1000));
        assert_eq!(permutation(1, 1), [0]);
    }

    #[test]
    fn power_law_lengths_keep_their_bounds_and_have_a_tail() {
        let mut rng = Rng::new(1, 1);
        let lengths: Vec<u64> = (0..10_000).map(|_| rng.power_law(3, 2.0, 5_000)).collect();
        assert!(lengths.iter().all(|length| (3..=5_000).contains(length)));
        assert!(
            lengths.iter().filter(|&&length| length < 6).count() > 4_500,
            "half lies below twice the least"
        );
        assert!(lengths.iter().any(|&length| length > 1_000));
    }
}
