//! Numbers, none negative, with which sums fit measured times best.
//!
//! ```text
//! T = x_1 v_1 + ... + x_N v_N        least sum of (predicted / T - 1)^2, x >= 0
//! ```
//! Of relative errors, since times differ by factors of a thousand.

/// Cosine between what is left and a number's column above which the number is tried. Chosen: far above the rounding of the sums, and far
/// below what changes a prediction.
const LEAST_COSINE: f64 = 1e-10;
/// Numbers that are freed at most, for each that there is. Chosen: few are freed twice; rounding alone could free them again and again.
const MOST_FREED: usize = 10;

/// x of `(v, T)`; `None` if no number makes the sum fit better than 0 does. T is positive. By the active sets of Lawson and Hanson
/// (1974, chapter 23): one number after another becomes free of 0, and those that would turn negative go back to it.
pub fn fit<const N: usize>(samples: impl IntoIterator<Item = ([f64; N], f64)>) -> Option<[f64; N]> {
    let (products, sums, count) = summed(samples);
    let (mut x, mut free) = ([0.0; N], [false; N]);
    // Those that do not help, as far as is known.
    let mut idle = [false; N];
    for _ in 0..MOST_FREED * N {
        // How much of the length of what is left lies along each number.
        let gain = |i: usize| (sums[i] - dot(&products[i], &x)) / products[i][i].sqrt();
        let least = LEAST_COSINE * (count as f64).sqrt();
        // Of several that gain as much, the first.
        let others = (0..N).rev().filter(|&i| !free[i] && !idle[i] && gain(i) > least);
        let Some(new) = others.max_by(|&a, &b| gain(a).total_cmp(&gain(b))) else { break };
        free[new] = true;
        if let Some(z) = solved(&products, &sums, free).filter(|z| z[new] > 0.0) {
            towards(&mut x, z, &mut free, |free| solved(&products, &sums, free));
            idle = [false; N];
        } else {
            (free[new], idle[new]) = (false, true);
        }
    }
    free.contains(&true).then_some(x)
}

/// Products of terms and the terms over all samples, divided by T so that all responses are 1, and the number of samples.
fn summed<const N: usize>(
    samples: impl IntoIterator<Item = ([f64; N], f64)>,
) -> ([[f64; N]; N], [f64; N], usize) {
    let (mut products, mut sums, mut count) = ([[0.0; N]; N], [0.0; N], 0);
    for (v, time) in samples {
        let row = v.map(|v| v / time);
        for i in 0..N {
            for k in 0..N {
                products[i][k] += row[i] * row[k];
            }
            sums[i] += row[i];
        }
        count += 1;
    }
    (products, sums, count)
}

/// Moves x to z, the best where those that are `free` may be negative, or as far as none is; those that come to 0 stay there, and from
/// there on to the best of what is still free.
fn towards<const N: usize>(
    x: &mut [f64; N],
    mut z: [f64; N],
    free: &mut [bool; N],
    best: impl Fn([bool; N]) -> Option<[f64; N]>,
) {
    loop {
        let negative = (0..N).filter(|&i| free[i] && z[i] <= 0.0);
        let Some((first, way)) =
            negative.map(|i| (i, x[i] / (x[i] - z[i]))).min_by(|a, b| a.1.total_cmp(&b.1))
        else {
            *x = z;
            return;
        };
        for i in 0..N {
            x[i] += way * (z[i] - x[i]);
            if free[i] && (i == first || x[i] <= 0.0) {
                (x[i], free[i]) = (0.0, false);
            }
        }
        match best(*free) {
            Some(next) => z = next,
            None => return,
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    /// The best of all x in which some numbers are 0, each solved by itself.
    fn best_of_all<const N: usize>(samples: &[([f64; N], f64)]) -> [f64; N] {
        let (products, sums, _) = summed(samples.iter().copied());
        let misfit = |x: &[f64; N]| {
            let quadratic = products.iter().zip(x).map(|(row, own)| own * dot(row, x)).sum::<f64>();
            quadratic - 2.0 * dot(&sums, x)
        };
        let fits = (1..1_u32 << N)
            .filter_map(|some| solved(&products, &sums, std::array::from_fn(|i| some >> i & 1 > 0)));
        let fits = fits.filter(|x| x.iter().all(|v| *v >= 0.0));
        fits.min_by(|a, b| misfit(a).total_cmp(&misfit(b))).unwrap()
    }

    #[test]
    fn the_fit_is_the_best_of_all_sets_of_zeros() {
        let mut random = Random(11);
        let mut zeros = 0;
        for round in 0..300 {
            // Terms of very different size, some alike, and times that are not their sum.
            let scale: [f64; 7] = std::array::from_fn(|i| 10_f64.powi(i as i32 - 4));
            let samples: Vec<([f64; 7], f64)> = (0..8 + round % 40)
                .map(|_| {
                    let mut v = scale.map(|scale| scale * random.share());
                    v[3] = v[2] * (1.0 + 1e-3 * random.share());
                    (v, 1e-3 * random.share() + v[1] + if round % 2 == 0 { v[4] } else { 0.0 })
                })
                .collect();
            let (found, wanted) = (fit(samples.iter().copied()).unwrap(), best_of_all(&samples));
            let misfit = |x: &[f64; 7]| {
                let off = |(v, time): &([f64; 7], f64)| (dot(v, x) / time - 1.0).powi(2);
                samples.iter().map(off).sum::<f64>()
            };
            let (of_found, of_wanted) = (misfit(&found), misfit(&wanted));
            assert!(of_found <= of_wanted + 1e-9 * samples.len() as f64, "{round}: {found:?}, {wanted:?}");
            assert!(found.iter().all(|x| *x >= 0.0), "{round}: {found:?}");
            zeros += found.iter().filter(|x| **x <= 0.0).count();
        }
        assert!(zeros > 300, "{zeros}: in most of them some numbers are 0");
    }

    #[test]
    fn terms_that_are_always_zero_or_alike_do_not_hinder_the_fit() {
        let samples = [1.0, 2.0, 5.0].map(|v| ([0.0, v, v], 3.0 * v));
        let x = fit(samples).unwrap();
        assert!(x[0].abs() < 1e-12 && (x[1] + x[2] - 3.0).abs() < 1e-9, "{x:?}");
        assert_eq!(x[2].to_bits(), 0, "of two that are alike the first: {x:?}");
        assert_eq!(fit([([0.0, 0.0], 1.0)]), None);
        for (odd, time) in [(f64::NAN, 1.0), (f64::INFINITY, 1.0), (1.0, 1e-300), (1e-300, 1e300)] {
            _ = fit([([odd, 2.0], time), ([1.0, 3.0], 2.0)]);
        }
        assert_eq!(fit::<2>([]), None);
    }
}
