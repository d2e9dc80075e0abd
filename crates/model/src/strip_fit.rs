//! The strip models by the name of their equation; what stands for a matrix in one, a [`RowLengthRule`] says. Which of
//! them stands for a kernel is the kernel's [`StripRule`]:
//!
//! | kernel | model |
//! |---|---|
//! | `csr-vector`, any team | CSR |
//! | `csr-scalar` | ELL |
//! | `ell`, `jad` | ELL |
//! | `coo`, `csr-balanced` | COO |
//! | `hyb` | ELL with p = K, plus COO of the rest |
//!
//! Sources: Guo, Wang and Chen 2014, section 3.4.2; Wang, Gu and Li 2017 for `csr-scalar` (their CSR-S).
//!
//! [`RowLengthRule`]: crate::RowLengthRule

use crate::observation::Point;
use crate::{CooStrip, CsrStrip, EllStrip, Extent, Line};
use serde::{Deserialize, Serialize};
use sparsight_kernels::{DeviceFacts, Kernel, StripRule};

/// The fitted equation of one candidate in one regime.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StripFit {
    /// `T = E(p) / T_2 * E'(I)`.
    Csr(CsrStrip),
    /// `T = f(I) p + g(I)`.
    Ell(EllStrip),
    /// `T = E(I)`.
    Coo(CooStrip),
}

impl StripFit {
    /// Fits the equation of `kernel`; `None` if the points are too few, and for kernels without benchmark matrices.
    pub(crate) fn fit(kernel: Kernel, facts: &DeviceFacts, points: &[Point]) -> Option<Self> {
        match kernel.strip_rule() {
            StripRule::Csr => {
                CsrStrip::fit(points, facts.max_threads_per_block.map(u64::from)).map(Self::Csr)
            }
            StripRule::Ell => EllStrip::fit(points).map(Self::Ell),
            StripRule::Coo => CooStrip::fit(points).map(Self::Coo),
            StripRule::Parts { .. } | StripRule::None => None,
        }
    }

    /// Seconds by the equation alone; may be zero or negative far from the benchmark matrices.
    pub fn time_s(&self, strips: u64, row_length: u64) -> f64 {
        match self {
            Self::Csr(fit) => fit.time_s(strips, row_length),
            Self::Ell(fit) => fit.time_s(strips, row_length),
            Self::Coo(fit) => fit.time_s(strips),
        }
    }

    /// [`StripFit::time_s`] of one p as a line over I. Where it is above zero; the equation of CSR stays at zero below.
    pub(crate) fn over_strips(&self, row_length: u64) -> Line {
        let p = row_length as f64;
        match self {
            Self::Csr(fit) => {
                let side = fit.side(row_length);
                let scale = side.over_row_length.at(p).max(0.0) / side.time_s;
                let Line { slope, intercept } = side.over_strips;
                Line { slope: scale * slope, intercept: scale * intercept }
            }
            Self::Ell(fit) => {
                let (f, e, beyond) = (fit.slope_over_strips, fit.over_strips, p - fit.row_length as f64);
                let (slope, intercept) = (f.slope * beyond + e.slope, f.intercept * beyond + e.intercept);
                Line { slope, intercept }
            }
            Self::Coo(fit) => fit.over_strips,
        }
    }

    /// I that the benchmark matrices cover, for a matrix with this p.
    pub fn strips(&self, row_length: u64) -> Extent {
        match self {
            Self::Csr(fit) => fit.side(row_length).extent,
            Self::Ell(fit) => fit.strips,
            Self::Coo(fit) => fit.strips,
        }
    }

    /// p that the benchmark matrices cover; `None` for COO and csr-balanced.
    pub fn row_lengths(&self) -> Option<Extent> {
        match self {
            Self::Csr(fit) => Some(fit.row_lengths),
            Self::Ell(fit) => Some(fit.row_lengths),
            Self::Coo(_) => None,
        }
    }

    /// Numbers that were fitted: what a split has to pay for.
    pub(crate) fn parameters(&self) -> usize {
        match self {
            Self::Csr(fit) => 4 * (1 + usize::from(fit.above.is_some())),
            Self::Ell(_) => 4,
            Self::Coo(_) => 2,
        }
    }

    pub(crate) fn squared_error(&self, points: &[Point]) -> f64 {
        match self {
            Self::Csr(fit) => fit.squared_error(points),
            Self::Ell(fit) => fit.squared_error(points),
            Self::Coo(fit) => fit.squared_error(points),
        }
    }
}
