//! Which measured times can be: what is not, a record damaged or made up, is neither learned from nor shown.

use sparsight_matrix::Seconds;
use std::ops::RangeInclusive;

/// Seconds of one product. No device starts a product in 10 ns, and nobody waits for one for a day.
const PRODUCT_S: RangeInclusive<f64> = 1e-8..=86_400.0;

/// Whether one product can take so long.
pub(crate) fn is_plausible(time: Seconds) -> bool {
    PRODUCT_S.contains(&time.0)
}

/// Whether a preparation can take so long: nothing at all, where there is nothing to do.
pub(crate) fn is_plausible_preparation(time: Seconds) -> bool {
    (0.0..=*PRODUCT_S.end()).contains(&time.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_clock_says_is_not_plausible() {
        let wrong = [f64::NAN, f64::INFINITY, -1e-6, 0.0, 1e-300, 1e308].map(Seconds);
        assert!(wrong.into_iter().all(|time| !is_plausible(time)));
        assert!([1e-6, 3.0].map(Seconds).into_iter().all(is_plausible));
        assert!(is_plausible_preparation(Seconds(0.0)) && !is_plausible_preparation(Seconds(-0.1)));
    }
}
