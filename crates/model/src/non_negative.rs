//! Numbers, none negative, with which sums fit measured times best.
//!
//! ```text
//! T = x_1 v_1 + ... + x_N v_N        least sum of (predicted / T - 1)^2, x >= 0
//! ```
//! Of relative errors, since times differ by factors of a thousand.

/// x of `(v, T)`; `None` if no x is a single best one. T is positive. 2^N small systems are solved.
pub fn fit<const N: usize>(samples: impl IntoIterator<Item = ([f64; N], f64)>) -> Option<[f64; N]> {
    // Divided by T, all responses are 1.
    let rows: Vec<[f64; N]> = samples.into_iter().map(|(v, time)| v.map(|v| v / time)).collect();
    let mut products = [[0.0; N]; N];
    let mut sums = [0.0; N];
    for row in &rows {
        for i in 0..N {
            for k in 0..N {
                products[i][k] += row[i] * row[k];
            }
            sums[i] += row[i];
        }
    }
    // The sum of squares less the number of rows, from what is known of them.
    let misfit = |x: &[f64; N]| {
        let quadratic = products.iter().zip(x).map(|(row, own)| own * dot(row, x)).sum::<f64>();
        quadratic - 2.0 * dot(&sums, x)
    };
    // Of the fits in which some are zero and the others are not negative, the one that fits best.
    let fits = (1..1_u32 << N).filter_map(|some| {
        let free = std::array::from_fn(|i| some >> i & 1 > 0);
        solved(&products, &sums, free)
    });
    fits.filter(|x| x.iter().all(|v| *v >= 0.0)).min_by(|a, b| misfit(a).total_cmp(&misfit(b)))
}

/// Sum of the products.
pub(crate) fn dot<const N: usize>(a: &[f64; N], b: &[f64; N]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// The x of `products x = sums` with zeros where `free` is not; `None` if there is no single one.
pub(crate) fn solved<const N: usize>(
    products: &[[f64; N]; N],
    sums: &[f64; N],
    free: [bool; N],
) -> Option<[f64; N]> {
    let (mut left, mut right) = (*products, *sums);
    for i in (0..N).filter(|&i| !free[i]) {
        for row in &mut left {
            row[i] = 0.0;
        }
        left[i] = [0.0; N];
        left[i][i] = 1.0;
        right[i] = 0.0;
    }
    let largest = left.map(|row| row.into_iter().fold(0.0, f64::max));
    // Gauss and Jordan; positive definite, so no rows are exchanged.
    for i in 0..N {
        if left[i][i] <= 1e-12 * largest[i] {
            return None;
        }
        let (pivot, by) = (left[i], left[i][i]);
        left[i] = pivot.map(|v| v / by);
        right[i] /= by;
        let (row, value) = (left[i], right[i]);
        for k in (0..N).filter(|&k| k != i) {
            let factor = left[k][i];
            for (v, p) in left[k].iter_mut().zip(row) {
                *v -= factor * p;
            }
            right[k] -= factor * value;
        }
    }
    Some(right)
}
