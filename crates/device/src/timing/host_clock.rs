//! The clock of the host: batches of a closure, so that people can time kernels of their own as ours are timed; work that is done
//! once; and the date of a measurement.

use crate::DeviceError;
use sparsight_matrix::Seconds;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// A batch function for [`measure`](super::measure) from a closure that does one product.
///
/// ```
/// use sparsight_device::timing::{StoppingRule, measure, wall_clock};
/// let x = vec![1.0_f64; 1000];
/// let mut sum = 0.0;
/// let timing = measure(wall_clock(|| sum = std::hint::black_box(&x).iter().sum()), &StoppingRule::BRISK)?;
/// assert!(timing.time.0 > 0.0);
/// # Ok::<(), sparsight_device::DeviceError>(())
/// ```
pub fn wall_clock(mut product: impl FnMut()) -> impl FnMut(u32) -> Result<Seconds, DeviceError> {
    move |products| {
        let start = Instant::now();
        for _ in 0..products {
            product();
        }
        Ok(Seconds(start.elapsed().as_secs_f64()))
    }
}

/// The result of `work`, and the time it took.
pub fn took<R>(work: impl FnOnce() -> R) -> (R, Seconds) {
    let start = Instant::now();
    let done = work();
    (done, Seconds(start.elapsed().as_secs_f64()))
}

/// The result of `work`, and the time it took.
///
/// # Errors
/// The error of `work`.
pub(crate) fn try_took<R, E>(work: impl FnOnce() -> Result<R, E>) -> Result<(R, Seconds), E> {
    let (done, time) = took(work);
    Ok((done?, time))
}

/// Time since it was started, by the host's clock.
#[derive(Debug, Clone, Copy)]
pub struct Stopwatch(Instant);

impl Stopwatch {
    /// Starts at 0.
    pub fn start() -> Self {
        Self(Instant::now())
    }

    /// Time since the start.
    pub fn elapsed(self) -> Seconds {
        Seconds(self.0.elapsed().as_secs_f64())
    }
}

/// Today in UTC, as `2026-11-21`.
pub fn today() -> String {
    let days = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs() / 86_400);
    civil(days as i64)
}

/// Days since 1970-01-01 as a date of the Gregorian calendar, by counting in eras of 400 years from a March
/// (Hinnant, "chrono-Compatible Low-Level Date Algorithms").
fn civil(days: i64) -> String {
    let z = days + 719_468;
    let era = z.div_euclid(146_097);
    let day_of_era = z.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = era * 400 + year_of_era + i64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

#[cfg(test)]
mod tests {
    use super::civil;

    #[test]
    fn days_become_dates_across_leap_years() {
        assert_eq!(civil(0), "1970-01-01");
        assert_eq!(civil(59), "1970-03-01");
        assert_eq!(civil(11_016), "2000-02-29");
        assert_eq!(civil(20_778), "2026-11-21");
    }
}
