//! The strip S of the papers: what a device works on at one moment with every thread slot filled.
//!
//! ```text
//! GPU   a team of t threads a row        S = SM * Th / t          rows
//!       one thread per non-zero (COO)        S = SM * Th              non-zeros
//!       one thread per item (csr-balanced)  S = SM * Th              rows and non-zeros, counted together
//! CPU   a worker takes tasks of rows     S = workers * 4096       rows
//!                                        S = workers * 65536      non-zeros, or rows and non-zeros
//! ```
//! Sources: Guo, Wang and Chen 2014, section 3.1 (one warp per row: `SM * W`, the same since `Th = 32 W`); Wang,
//! Gu and Li 2017 for half a warp per row. The CPU has no fixed number of slots; its strip is this project's
//! choice: a share that takes a worker some microseconds at 4 non-zeros a row, above the cost of handing it out.

use crate::DeviceFacts;
use sparsight_matrix::Features;

/// Rows that one CPU worker contributes to a strip.
const CPU_ROWS: u64 = 4096;
/// Non-zeros that one CPU worker contributes to a strip of COO, rows and non-zeros to one of csr-balanced.
const CPU_NON_ZEROS: u64 = 65_536;

/// Unit of a strip.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StripUnit {
    /// Rows: CSR, ELL, JAD, SELL-C-sigma, BRO-ELL, and the ELL part of HYB.
    Rows,
    /// Non-zeros: COO, what has no benchmark matrices, and the vendor's routines, of which only this is known.
    NonZeros,
    /// Rows and non-zeros, counted together: csr-balanced.
    Items,
}

/// The strip of a kernel on a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Strip {
    /// Unit that is counted.
    pub unit: StripUnit,
    /// Number of units; at least 1.
    pub size: u64,
}

impl StripUnit {
    /// Number of units in a matrix.
    pub const fn count(self, nrows: u64, nnz: u64) -> u64 {
        match self {
            Self::Rows => nrows,
            Self::NonZeros => nnz,
            Self::Items => nrows.saturating_add(nnz),
        }
    }

    /// The one name used in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Rows => "rows",
            Self::NonZeros => "non-zeros",
            Self::Items => "rows and non-zeros",
        }
    }
}

impl Strip {
    /// Strips that cover `count` of them: `I = ceil(count / S)`.
    pub const fn strips(&self, count: u64) -> u64 {
        count.div_ceil(self.size)
    }

    /// Strips of a matrix, by what the kernel works on.
    pub const fn strips_of(&self, features: &Features) -> u64 {
        self.strips(self.unit.count(features.nrows, features.nnz))
    }

    /// Strip of a kernel that gives `threads` threads to each `unit`.
    pub fn of(unit: StripUnit, threads: u32, facts: &DeviceFacts) -> Self {
        let units = u64::from(facts.multiprocessors);
        let size = match unit {
            _ if facts.kind.is_gpu() => {
                units * u64::from(facts.threads_per_multiprocessor) / u64::from(threads)
            }
            StripUnit::Rows => units * CPU_ROWS,
            StripUnit::NonZeros | StripUnit::Items => units * CPU_NON_ZEROS,
        };
        Self { unit, size: size.max(1) }
    }
}
