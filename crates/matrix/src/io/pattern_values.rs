//! Values of a pattern, a pure function of seed and place.
//!
//! ```text
//! value(row, col) = k / 2^23,   k in -2^23 .. 2^23 without 0, from 24 bits of splitmix64(seed, row, col)
//! ```
//! 24 bits, so that `f32` holds the value exactly and both value types read the same matrix.
//! Mixer: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014.

use super::{PatternValues, Symmetry};
use crate::mix;

/// Value at `(row, col)`, both counted from 0. With a symmetry, the place across the diagonal gets the same
/// value (the negated one if skew-symmetric).
pub(crate) fn pattern_value(values: PatternValues, symmetry: Symmetry, row: u32, col: u32) -> f64 {
    let (low, high) = match symmetry {
        Symmetry::General => (row, col),
        _ => (row.max(col), row.min(col)),
    };
    let value = match values {
        PatternValues::Ones => 1.0,
        PatternValues::Seeded(seed) => seeded(seed, low, high),
    };
    if symmetry == Symmetry::SkewSymmetric && row < col { -value } else { value }
}

fn seeded(seed: u64, row: u32, col: u32) -> f64 {
    // The seed is mixed on its own, so that seeds 0 and 1 share no values at shifted places.
    let place = u64::from(row) << 32 | u64::from(col);
    let k = (mix(mix(seed) ^ place) >> 40) as i64 - (1 << 23);
    (if k == 0 { 1 } else { k }) as f64 / f64::from(1 << 23)
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "equal means the very same bits here")]
mod tests {
    use super::*;

    #[test]
    fn seeded_values_are_exact_in_f32_never_zero_and_spread_over_the_interval() {
        let mut sum = 0.0;
        for row in 0..300 {
            for col in 0..300 {
                let v = pattern_value(PatternValues::Seeded(7), Symmetry::General, row, col);
                assert!((-1.0..1.0).contains(&v) && v != 0.0);
                assert_eq!(f64::from(v as f32), v);
                sum += v;
            }
        }
        assert!(sum.abs() / 9e4 < 0.01, "the mean of 90 000 values in [-1, 1) is near 0");
    }

    #[test]
    fn symmetric_patterns_have_symmetric_values_and_skew_ones_change_sign() {
        let value = |s, r, c| pattern_value(PatternValues::Seeded(0), s, r, c);
        assert_eq!(value(Symmetry::Symmetric, 3, 9), value(Symmetry::Symmetric, 9, 3));
        assert_eq!(value(Symmetry::SkewSymmetric, 3, 9), -value(Symmetry::SkewSymmetric, 9, 3));
        assert_ne!(value(Symmetry::General, 3, 9), value(Symmetry::General, 9, 3));
    }
}
