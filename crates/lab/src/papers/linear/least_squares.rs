//! Least squares with columns that may be collinear.
//!
//! ```text
//! y = w_0 + X w,   Z = (X - mean) / deviation = U S V^T,   w = V S^+ U^T (y - mean) / deviation
//! ```
//! The pseudoinverse leaves out directions in which the rows hardly spread (mode, median and mean of regular matrices
//! are all the same): their coefficients would be noise. Columns are brought to one scale first, so that "hardly" has a
//! meaning. Unlike a ridge this is exact where the rows obey an equation and spread in every direction.

use nalgebra::DMatrix;
use serde::{Deserialize, Serialize};

/// Directions below this share of the widest are left out. Chosen: a hundredth of the spread, squared a ten-thousandth.
const NARROWEST: f64 = 1e-2;

/// Intercept and one slope a column.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Plane {
    pub(super) intercept: f64,
    pub(super) slopes: Vec<f64>,
}

/// The least squares fit of `responses` at `rows`, which are finite and of one length. Without rows a plane at 0.
pub(super) fn least_squares(rows: &[Vec<f64>], responses: &[f64]) -> Plane {
    let columns = rows.first().map_or(0, Vec::len);
    let count = rows.len().max(1) as f64;
    let mean = |values: &mut dyn Iterator<Item = f64>| values.sum::<f64>() / count;
    let means: Vec<f64> = (0..columns).map(|c| mean(&mut rows.iter().map(|row| row[c]))).collect();
    let deviation = |c: usize| {
        let variance = mean(&mut rows.iter().map(|row| (row[c] - means[c]).powi(2)));
        // A column that does not change, but for rounding, gets a slope of 0.
        if variance > 1e-18 * (1.0 + means[c] * means[c]) { variance.sqrt() } else { f64::INFINITY }
    };
    let deviations: Vec<f64> = (0..columns).map(deviation).collect();
    let level = mean(&mut responses.iter().copied());
    let mut slopes = vec![0.0; columns];
    if deviations.iter().any(|d| d.is_finite()) {
        let z = DMatrix::from_fn(rows.len(), columns, |at, c| (rows[at][c] - means[c]) / deviations[c]);
        // Some ten iterations a column are usual.
        let svd = z.try_svd(true, true, 5.0 * f64::EPSILON, 10_000).expect("finite entries, scaled to one");
        let (u, v_transposed) = (svd.u.expect("was asked for"), svd.v_t.expect("was asked for"));
        let widest = svd.singular_values.max();
        for (direction, &spread) in
            svd.singular_values.iter().enumerate().filter(|(_, spread)| **spread > NARROWEST * widest)
        {
            let along = responses.iter().enumerate().map(|(at, y)| u[(at, direction)] * (y - level));
            let weight = along.sum::<f64>() / spread;
            for (c, slope) in slopes.iter_mut().enumerate() {
                *slope += v_transposed[(direction, c)] * weight / deviations[c];
            }
        }
    }
    let intercept = level - slopes.iter().zip(&means).map(|(slope, mean)| slope * mean).sum::<f64>();
    Plane { intercept, slopes }
}

impl Plane {
    /// Height of the fit at `row`.
    pub(super) fn at(&self, row: &[f64]) -> f64 {
        self.intercept + self.slopes.iter().zip(row).map(|(slope, v)| slope * v).sum::<f64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows() -> Vec<Vec<f64>> {
        (0..40).map(|i| [i * 7 % 11, i * 5 % 13, i * 3 % 17].map(f64::from).to_vec()).collect()
    }

    #[test]
    fn a_plane_is_recovered_and_one_outlier_does_not_tilt_it_much() {
        let rows = rows();
        let plane = |row: &Vec<f64>| 3.0 - 2.0 * row[0] + 0.5 * row[1] + 1e-3 * row[2];
        let mut responses: Vec<f64> = rows.iter().map(plane).collect();
        let fitted = least_squares(&rows, &responses);
        for (got, wanted) in
            std::iter::once(&fitted.intercept).chain(&fitted.slopes).zip([3.0, -2.0, 0.5, 1e-3])
        {
            assert!((got - wanted).abs() < 1e-11, "{fitted:?}");
        }
        responses[3] += 1.0;
        assert!((least_squares(&rows, &responses).slopes[0] + 2.0).abs() < 0.02);
    }

    #[test]
    fn equal_columns_share_their_weight_and_a_constant_one_gets_none() {
        let rows: Vec<Vec<f64>> = rows().into_iter().map(|r| vec![r[0], r[0], 4.0, r[1]]).collect();
        let responses: Vec<f64> = rows.iter().map(|r| 6.0 * r[0] + r[3]).collect();
        let fitted = least_squares(&rows, &responses);
        for (got, wanted) in fitted.slopes.iter().zip([3.0, 3.0, 0.0, 1.0]) {
            assert!((got - wanted).abs() < 1e-11, "{fitted:?}");
        }
    }

    #[test]
    fn fewer_rows_than_columns_still_give_a_plane_through_them() {
        let rows = vec![vec![1.0, 2.0, 4.0], vec![2.0, 1.0, 3.0]];
        let fitted = least_squares(&rows, &[5.0, 7.0]);
        assert!((fitted.at(&rows[0]) - 5.0).abs() < 1e-12 && (fitted.at(&rows[1]) - 7.0).abs() < 1e-12);
        assert_eq!(least_squares(&rows[..1], &[5.0]), Plane { intercept: 5.0, slopes: vec![0.0; 3] });
        assert_eq!(least_squares(&[], &[]), Plane { intercept: 0.0, slopes: vec![] });
    }
}
