//! The strip model of COO: `T = E(I)`, one line in the number of strips of non-zeros.
//!
//! Row lengths do not enter: a thread takes a non-zero, whatever row it is in. The same line stands for csr-balanced, this
//! project's extension: there I counts strips of rows and non-zeros together, since a tile holds as many of both.
//! Source: Guo, Wang and Chen 2014, section 3.5.3.

use crate::observation::{Point, squared_log_error};
use crate::{Extent, Line};
use serde::{Deserialize, Serialize};

/// The fitted COO model of one candidate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CooStrip {
    /// E.
    pub over_strips: Line,
    /// I of the benchmark matrices.
    pub strips: Extent,
}

impl CooStrip {
    /// `None` with fewer than two distinct I.
    pub(crate) fn fit(points: &[Point]) -> Option<Self> {
        let over_strips = Line::fit(points.iter().map(|p| (p.strips as f64, p.time_s)))?;
        Some(Self { over_strips, strips: Extent::of(points.iter().map(|p| p.strips))? })
    }

    /// `E(I)` in seconds; not yet held above the launch cost.
    pub fn time_s(&self, strips: u64) -> f64 {
        self.over_strips.at(strips as f64)
    }

    pub(crate) fn squared_error(&self, points: &[Point]) -> f64 {
        squared_log_error(points, |p| self.time_s(p.strips))
    }
}
