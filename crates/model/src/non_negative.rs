//! Three numbers, none negative, with which sums fit measured times best.
//!
//! ```text
//! T = x_1 v_1 + x_2 v_2 + x_3 v_3        least sum of (predicted / T - 1)^2, x >= 0
//! ```
//! Of relative errors, since times differ by factors of a thousand.

/// x of `(v, T)`; `None` if no x is a single best one. T is positive.
pub(crate) fn fit(samples: impl IntoIterator<Item = ([f64; 3], f64)>) -> Option<[f64; 3]> {
    // Divided by T, all responses are 1.
    let rows: Vec<[f64; 3]> = samples.into_iter().map(|(v, time)| v.map(|v| v / time)).collect();
    let misfit = |x: &[f64; 3]| rows.iter().map(|row| (dot(row, x) - 1.0).powi(2)).sum::<f64>();
    // Of the fits in which some are zero and the others are not negative, the one that fits best.
    let fits = (1..8_u8).filter_map(|some| solved(&rows, [some & 1 > 0, some & 2 > 0, some & 4 > 0]));
    fits.filter(|x| x.iter().all(|v| *v >= 0.0)).min_by(|a, b| misfit(a).total_cmp(&misfit(b)))
}

fn dot(a: &[f64; 3], b: &[f64; 3]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// The least squares of `rows x = 1` with zeros where `free` is not; `None` if that has no single solution.
fn solved(rows: &[[f64; 3]], free: [bool; 3]) -> Option<[f64; 3]> {
    let mut equations = [[0.0; 4]; 3];
    for row in rows {
        for i in 0..3 {
            for k in 0..3 {
                equations[i][k] += row[i] * row[k];
            }
            equations[i][3] += row[i];
        }
    }
    for i in (0..3).filter(|&i| !free[i]) {
        for equation in &mut equations {
            equation[i] = 0.0;
        }
        equations[i] = [0.0; 4];
        equations[i][i] = 1.0;
    }
    let largest = equations.map(|e| e[0].max(e[1]).max(e[2]));
    // Gauss and Jordan; positive definite, so no rows are exchanged.
    for i in 0..3 {
        if equations[i][i] <= 1e-12 * largest[i] {
            return None;
        }
        let pivot = equations[i].map(|v| v / equations[i][i]);
        for (k, equation) in equations.iter_mut().enumerate() {
            let factor = if k == i { 0.0 } else { equation[i] };
            for (v, p) in equation.iter_mut().zip(pivot) {
                *v -= factor * p;
            }
        }
        equations[i] = pivot;
    }
    Some(equations.map(|equation| equation[3]))
}
