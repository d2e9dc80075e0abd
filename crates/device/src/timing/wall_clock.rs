//! The host's clock: batches of a closure, so that people can time kernels of their own exactly as ours are timed; work that is done
//! once.

use crate::DeviceError;
use sparsight_matrix::Seconds;
use std::time::Instant;

/// A batch function for [`super::measure`] from a closure that does one product.
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

/// What `work` gives, and how long it took.
pub fn took<R>(work: impl FnOnce() -> R) -> (R, Seconds) {
    let start = Instant::now();
    let done = work();
    (done, Seconds(start.elapsed().as_secs_f64()))
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
