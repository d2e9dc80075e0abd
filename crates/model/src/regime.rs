//! One equation for everything, or one for what stays in the L2 and one for what does not.
//!
//! ```text
//! T |            . '   beyond: the equation fitted to working sets above the border
//!   |        . '
//!   |     |'           a step, not smoothed
//!   |  ..-|            cached: the same equation fitted to working sets up to the border
//!   +-----+---------- working set = matrix in its format + x + y
//!       border
//! ```
//! The papers' GPUs had a small L2, so their lines are straight; today a matrix of tens of megabytes stays in it
//! from one product to the next, and the straight line breaks where it no longer does. `strip` ignores that and
//! is the papers' model; `strip-cache` is this project's: the same equations, twice.
//!
//! The border is not the size of the L2 from the data sheet, because a part of it (copies in both halves of the
//! cache, other data) is not there for the matrix. It lies between two neighbouring measured working sets, at
//! their geometric mean; of all such cuts the one with the least squared relative error of both fits is taken.
//! Of cuts that are equally good the nearest to the L2's size wins, and if one fit for everything is as good,
//! there is no border at all. Each candidate and placement has its own border.
//!
//! At the border the prediction jumps from one fit to the other, in either direction. A real cache gives way
//! gradually over a factor of about two; smoothing the step would leave neither regime the papers' equation.
//! What the step does wrong is in the residuals, and so in the interval.

use crate::observation::Point;
use crate::{Extent, StripFit};
use serde::{Deserialize, Serialize};
use sparsight_kernels::{DeviceFacts, Kernel};
use sparsight_matrix::Bytes;

/// The fits of one candidate and placement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Regimes {
    /// Fitted up to the border; to everything if there is none.
    pub cached: StripFit,
    /// Border and what is fitted beyond it; `None` with a single regime.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub beyond: Option<Beyond>,
}

/// The second regime.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Beyond {
    /// Largest working set of the first regime.
    pub border_bytes: Bytes,
    /// Fitted to working sets above it.
    pub fit: StripFit,
}

/// A border further than this factor from the size of the L2 is not the L2's. Chosen: effective capacities of
/// a half to a quarter have been seen, a factor of two more leaves room.
const BORDER_WINDOW: f64 = 8.0;

/// Squared relative error a point below which a fit counts as exact: a millionth of the time.
const EXACT: f64 = 1e-12;

impl Regimes {
    /// One regime: the papers' model.
    pub(crate) fn single(kernel: Kernel, facts: &DeviceFacts, points: &[Point]) -> Option<Self> {
        Some(Self { cached: StripFit::fit(kernel, facts, points)?, beyond: None })
    }

    /// Two regimes where the points ask for it and suffice for it, else one.
    pub(crate) fn split(kernel: Kernel, facts: &DeviceFacts, points: &[Point]) -> Option<Self> {
        let mut sorted = points.to_vec();
        sorted.sort_by_key(|p| p.bytes);
        let l2 = facts.l2_bytes.0 as f64;
        let mut cuts: Vec<(f64, usize)> = (1..sorted.len())
            .filter(|&k| sorted[k - 1].bytes < sorted[k].bytes)
            .map(|k| ((sorted[k - 1].bytes as f64 * sorted[k].bytes as f64).sqrt(), k))
            .filter(|cut| l2 == 0.0 || (cut.0 / l2).ln().abs() <= BORDER_WINDOW.ln())
            .collect();
        if l2 > 0.0 {
            cuts.sort_by(|a, b| (a.0 / l2).ln().abs().total_cmp(&(b.0 / l2).ln().abs()));
        }

        let tolerance = EXACT * points.len() as f64;
        let mut best = Self::single(kernel, facts, points);
        let mut least = best.as_ref().map_or(f64::INFINITY, |one| one.cached.squared_error(points));
        for (border, k) in cuts {
            let Some(cached) = StripFit::fit(kernel, facts, &sorted[..k]) else { continue };
            let mut error = cached.squared_error(&sorted[..k]);
            if error + tolerance >= least {
                continue;
            }
            let Some(fit) = StripFit::fit(kernel, facts, &sorted[k..]) else { continue };
            error += fit.squared_error(&sorted[k..]);
            if error + tolerance < least {
                least = error;
                best =
                    Some(Self { cached, beyond: Some(Beyond { border_bytes: Bytes(border as u64), fit }) });
            }
        }
        best
    }

    /// The equation for a working set.
    pub fn of(&self, working_set: Bytes) -> &StripFit {
        match &self.beyond {
            Some(beyond) if working_set > beyond.border_bytes => &beyond.fit,
            _ => &self.cached,
        }
    }
}

/// Working sets of the points.
pub(crate) fn working_sets(points: &[Point]) -> Option<Extent> {
    Extent::of(points.iter().map(|p| p.bytes))
}
