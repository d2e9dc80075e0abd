//! Formats and the kernels that run them, with the knobs that tell one variant from another.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A storage format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// Compressed sparse rows.
    Csr,
    /// Coordinates.
    Coo,
    /// ELLPACK.
    Ell,
    /// ELL plus COO.
    Hyb,
}

impl Format {
    /// All, in the order in which tables list them.
    pub const ALL: [Self; 4] = [Self::Csr, Self::Coo, Self::Ell, Self::Hyb];

    /// The one name used in ids, reports and file names.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Csr => "csr",
            Self::Coo => "coo",
            Self::Ell => "ell",
            Self::Hyb => "hyb",
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A kernel with its knobs, without block size and value type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kernel {
    /// A thread a row of CSR.
    CsrScalar,
    /// `threads_per_row` threads of a warp a row of CSR.
    CsrVector {
        /// 2, 4, 8, 16 or 32.
        threads_per_row: u32,
    },
    /// A warp a run of non-zeros of COO, segmented reduction.
    Coo,
    /// A thread a row of ELL.
    Ell,
    /// ELL, then COO.
    Hyb,
}

impl Kernel {
    /// All variants, in the order in which tables list them.
    pub const ALL: [Self; 9] = [
        Self::CsrScalar,
        Self::CsrVector { threads_per_row: 2 },
        Self::CsrVector { threads_per_row: 4 },
        Self::CsrVector { threads_per_row: 8 },
        Self::CsrVector { threads_per_row: 16 },
        Self::CsrVector { threads_per_row: 32 },
        Self::Coo,
        Self::Ell,
        Self::Hyb,
    ];

    /// The one name used in the `.cu` file, ids and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::CsrScalar => "csr-scalar",
            Self::CsrVector { .. } => "csr-vector",
            Self::Coo => "coo",
            Self::Ell => "ell",
            Self::Hyb => "hyb",
        }
    }

    /// What it reads.
    pub const fn format(self) -> Format {
        match self {
            Self::CsrScalar | Self::CsrVector { .. } => Format::Csr,
            Self::Coo => Format::Coo,
            Self::Ell => Format::Ell,
            Self::Hyb => Format::Hyb,
        }
    }

    /// Threads that work on one row; `None` where threads are given to non-zeros.
    pub const fn threads_per_row(self) -> Option<u32> {
        match self {
            Self::CsrScalar | Self::Ell | Self::Hyb => Some(1),
            Self::CsrVector { threads_per_row } => Some(threads_per_row),
            Self::Coo => None,
        }
    }
}

/// The name with its knobs: `csr-vector/t8`.
impl fmt::Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CsrVector { threads_per_row } => f.pad(&format!("csr-vector/t{threads_per_row}")),
            other => f.pad(other.name()),
        }
    }
}
