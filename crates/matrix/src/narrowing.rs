//! Effects of storing the values of a matrix in `f64` as `f32`.

use crate::{Csr, Infeasible, Scalar};
use rayon::prelude::*;
use serde::Serialize;

/// Effects of rounding the values of a matrix to `f32`.
///
/// With e the [largest relative error](Narrowing::relative_error), the product of the rounded matrix differs from A x in row i by at
/// most `e sum_j |a_ij x_j|`, beside the rounding of the sums, which is that of `f64`: `|a' - a| <= e |a|` for every value, and the
/// triangle inequality. Where all values are in the normal range of `f32`, e is at most 2^-24 = 6.0e-8 (rounding to nearest:
/// Higham, Accuracy and Stability of Numerical Algorithms, 2002, Theorem 2.2); the one that is given is that of this matrix, and
/// 0 where every value is a `f32` already.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct Narrowing {
    /// The largest `|a' - a| / |a|` of a value that is not 0; 1 if one becomes 0, infinite if one is too large. y changes by at most
    /// this times `sum_j |a_ij x_j|` in row i.
    pub relative_error: f64,
    /// Values that change.
    pub changed: u64,
    /// Values below the normal range of `f32`, which lose more digits than others.
    pub below_normal: u64,
    /// Finite values that `f32` cannot hold: such a matrix is refused.
    pub too_large: u64,
}

impl Narrowing {
    /// Counts the effects on the values of a matrix. O(nnz), in parallel.
    pub fn of<T: Scalar>(a: &Csr<T>) -> Self {
        let one = |value: &T| {
            let (value, rounded) = (value.to_f64(), f64::from(f32::from_f64(value.to_f64())));
            // Bits, so that infinities are what they were; NaN is never 0 off.
            if value.is_nan() || value.to_bits() == rounded.to_bits() {
                return Self::default();
            }
            let too_large = u64::from(rounded.is_infinite());
            let below_normal = u64::from(value.abs() < f64::from(f32::MIN_POSITIVE));
            let relative_error = ((rounded - value) / value).abs();
            Self { relative_error, changed: 1, below_normal, too_large }
        };
        a.values().par_iter().map(one).reduce(Self::default, |a, b| Self {
            relative_error: a.relative_error.max(b.relative_error),
            changed: a.changed + b.changed,
            below_normal: a.below_normal + b.below_normal,
            too_large: a.too_large + b.too_large,
        })
    }

    /// The matrix with its values in `f32`. O(nnz), in parallel.
    ///
    /// # Errors
    /// [`Infeasible::BeyondSingle`] for finite values that `f32` cannot hold.
    pub fn narrow<T: Scalar>(a: &Csr<T>) -> Result<Csr<f32>, Infeasible> {
        let narrow: Csr<f32> = a.to_dtype();
        let is_lost = |(new, old): (&f32, &T)| new.is_infinite() && old.to_f64().is_finite();
        let entries = narrow.values().par_iter().zip(a.values()).filter(|pair| is_lost(*pair)).count() as u64;
        if entries > 0 { Err(Infeasible::BeyondSingle { entries }) } else { Ok(narrow) }
    }

    /// The matrix that is in fact multiplied with: every value rounded to `f32`, in the type that it had. O(nnz), in parallel.
    ///
    /// # Panics
    /// Never: there is a value for each entry.
    pub fn rounded<T: Scalar>(a: &Csr<T>) -> Csr<T> {
        let values = a.values().par_iter().map(|value| T::from_f64(f64::from(f32::from_f64(value.to_f64()))));
        a.with_values(values.collect()).expect("there is a value for each entry")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(values: &[f64]) -> Csr<f64> {
        let n = values.len();
        Csr::try_new(1, n, vec![0, n as u64], (0..n as u32).collect(), values.to_vec()).unwrap()
    }

    #[test]
    fn values_that_f32_holds_are_unchanged() {
        let a = with(&[1.0, -4.0, 0.5, 0.0, f64::from(f32::MAX), f64::INFINITY]);
        assert_eq!(Narrowing::of(&a), Narrowing::default());
        assert_eq!(Narrowing::rounded(&a), a);
        assert!(Narrowing::narrow(&a).is_ok());
    }

    #[test]
    fn the_narrowing_error_is_the_largest_relative_error() {
        let values: Vec<f64> = (1..2000).map(|i| f64::from(i).sqrt() * 1e-30).collect();
        let a = with(&values);
        let narrowing = Narrowing::of(&a);
        assert!(narrowing.changed > 1900 && narrowing.below_normal == 0, "{narrowing:?}");
        assert!((3e-8..=2_f64.powi(-24)).contains(&narrowing.relative_error), "{narrowing:?}");
        let rounded = Narrowing::rounded(&a);
        let off = |(a, b): (&f64, &f64)| (a - b).abs() <= narrowing.relative_error * a.abs();
        assert!(a.values().iter().zip(rounded.values()).all(off));
    }

    #[test]
    fn values_beyond_the_range_are_counted_and_refused() {
        let a = with(&[1e39, -1e300, 1.0, 1e-40, 1e-60]);
        let narrowing = Narrowing::of(&a);
        assert_eq!((narrowing.too_large, narrowing.below_normal, narrowing.changed), (2, 2, 4));
        assert!(narrowing.relative_error.is_infinite(), "1e39 has no f32");
        let of_small = Narrowing::of(&with(&[1.0, 1e-40, 1e-60])).relative_error;
        assert!((of_small - 1.0).abs() < 1e-15, "1e-60 becomes 0");
        assert_eq!(Narrowing::narrow(&a), Err(Infeasible::BeyondSingle { entries: 2 }));
        assert_eq!(Narrowing::of(&with(&[])), Narrowing::default());
    }
}
