//! The product that every kernel is held to: plain loops in double precision, rows side by side.

use crate::{Csr, Scalar};
use rayon::prelude::*;

/// `y = A x` in double precision, and what each entry may differ by.
#[derive(Debug, Clone, PartialEq)]
pub struct Reference {
    /// The product.
    pub y: Vec<f64>,
    /// Accepted distance from it, entry by entry.
    pub bound: Vec<f64>,
}

/// Standard deviations of accumulated rounding that a right answer may be off.
const CONFIDENCE: f64 = 8.0;

/// Bound on the error of a sum of `entries` products of `T` whose magnitudes add up to `size`: see [`reference()`].
pub fn rounding_bound<T: Scalar>(entries: u64, size: f64) -> f64 {
    let rounding = CONFIDENCE * ((entries + 1) as f64).sqrt() * T::EPSILON * size;
    // Below the normal range rounding is absolute, and a device may take such numbers for 0.
    rounding + if entries == 0 { 0.0 } else { (entries + 1) as f64 * T::MIN_POSITIVE }
}

/// The product of `a` and `x`, row after row, entry after entry.
///
/// The bound for row `i` with `d` entries is `8 sqrt(d + 1) eps sum_j |a_ij x_j|`: the probabilistic rounding
/// bound of Higham and Mary (SIAM J. Sci. Comput. 41, 2019), which holds for any order of summation. `eps` is
/// that of `T`. It is infinite where the magnitudes add up to the largest `T` or more: what such a row overflows to depends on the order. O(nnz), in parallel; a row is summed by one thread, so the result does not depend on their number.
///
/// # Panics
/// If `x` does not have `ncols` entries.
pub fn reference<T: Scalar>(a: &Csr<T>, x: &[T]) -> Reference {
    assert_eq!(x.len(), a.ncols(), "x must have one entry a column");
    let one = |row| {
        let (cols, values) = a.row(row);
        let (mut sum, mut size) = (0.0, 0.0);
        for (&col, &value) in cols.iter().zip(values) {
            let product = value.to_f64() * x[col as usize].to_f64();
            sum += product;
            size += product.abs();
        }
        let bound = rounding_bound::<T>(cols.len() as u64, size);
        (sum, if size < T::MAX { bound } else { f64::INFINITY })
    };
    let (mut y, mut bound) = (Vec::new(), Vec::new());
    (0..a.nrows()).into_par_iter().map(one).unzip_into_vecs(&mut y, &mut bound);
    Reference { y, bound }
}

impl Reference {
    /// The first row in which `y` is not the product: `(row, got, expected, bound)`. In parallel.
    ///
    /// NaN and infinity do not pass, but in a row of infinite bound.
    pub fn first_wrong<T: Scalar>(&self, y: &[T]) -> Option<(usize, f64, f64, f64)> {
        if y.len() != self.y.len() {
            return Some((y.len().min(self.y.len()), f64::NAN, f64::NAN, 0.0));
        }
        (0..y.len()).into_par_iter().find_map_first(|row| {
            let (got, expected, bound) = (y[row].to_f64(), self.y[row], self.bound[row]);
            let right = (got - expected).abs() <= bound || bound.is_infinite();
            (!right).then_some((row, got, expected, bound))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_products_overflow_any_infinity_is_right_and_elsewhere_none() {
        let of = |values: Vec<f64>| Csr::try_new(1, 2, vec![0, 2], vec![0, 1], values).unwrap();
        let huge = reference(&of(vec![1.7e308, -1.7e308]), &[2.0, 2.0]);
        assert_eq!([f64::NAN, f64::INFINITY, f64::NEG_INFINITY].map(|y| huge.first_wrong(&[y])), [None; 3]);
        let large = reference(&of(vec![1e307, 1e307]), &[1.0, 1.0]);
        assert!(large.first_wrong(&[f64::INFINITY]).is_some() && large.first_wrong(&[2e307]).is_none());
        let many = Csr::try_new(1, 1000, vec![0, 1000], (0..1000).collect(), vec![3e34_f32; 1000]).unwrap();
        let many = reference(&many, &[1.0; 1000]);
        assert!(
            [f32::INFINITY, f32::NAN].iter().all(|y| many.first_wrong(&[*y]).is_some()),
            "a tenth of the largest"
        );
    }

    #[test]
    fn products_below_the_normal_range_may_be_flushed_to_zero() {
        let a = Csr::try_new(1, 1, vec![0, 1], vec![0], vec![1e-41_f32]).unwrap();
        let r = reference(&a, &[0.3]);
        assert_eq!(r.first_wrong(&[1e-41_f32 * 0.3]), None);
        assert_eq!(r.first_wrong(&[0.0_f32]), None);
        assert!(r.first_wrong(&[1e-36_f32]).is_some());
    }

    #[test]
    fn the_first_wrong_row_is_named_however_many_threads_look() {
        let (n, wrong) = (100_000_usize, [99_999, 40_001, 40_000]);
        let row_ptr = (0..=n as u64).collect();
        let a = Csr::try_new(n, n, row_ptr, (0..n as u32).collect(), vec![2.0_f64; n]).unwrap();
        let r = reference(&a, &vec![1.5; n]);
        assert!(r.y.iter().all(|&y| y.to_bits() == 3.0_f64.to_bits()));
        let mut y = vec![3.0_f64; n];
        for row in wrong {
            y[row] = 4.0;
        }
        assert_eq!(r.first_wrong(&y).map(|w| (w.0, w.1)), Some((40_000, 4.0)));
    }

    #[test]
    fn the_reference_matches_a_five_by_five_worked_by_hand() {
        // | 2 . 1 . . |   | 1 |   |  5 |
        // | . . . . . |   | 2 |   |  0 |
        // | . 3 . . 4 | x | 3 | = | 26 |
        // | 1 1 1 1 1 |   | 4 |   | 15 |
        // | . . . .-1 |   | 5 |   | -5 |
        let a = Csr::try_new(
            5,
            5,
            vec![0, 2, 2, 4, 9, 10],
            vec![0, 2, 1, 4, 0, 1, 2, 3, 4, 4],
            vec![2.0_f32, 1.0, 3.0, 4.0, 1.0, 1.0, 1.0, 1.0, 1.0, -1.0],
        )
        .unwrap();
        let r = reference(&a, &[1.0, 2.0, 3.0, 4.0, 5.0]);
        assert_eq!(r.y, [5.0, 0.0, 26.0, 15.0, -5.0]);
        assert_eq!(r.first_wrong(&[5.0_f32, 0.0, 26.0, 15.0, -5.0]), None);
        assert_eq!(r.first_wrong(&[5.0_f32, 0.0, 26.001, 15.0, -5.0]).unwrap().0, 2);
        assert_eq!(r.first_wrong(&[5.0_f32, f32::NAN, 26.0, 15.0, -5.0]).unwrap().0, 1);
        assert!(r.first_wrong(&[5.0_f32]).is_some(), "a short y is wrong");
    }
}
