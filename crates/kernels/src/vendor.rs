//! Routines of the vendor's own library, cuSPARSE: candidates like ours, but its code, its threads and its blocks.

use crate::Format;
use sparsight_matrix::SellShape;
use std::fmt;

/// A sparse product of cuSPARSE (`cusparseSpMV` after `cusparseSpMV_preprocess`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Vendor {
    /// CSR, algorithm 1: the library's default.
    CsrAlg1,
    /// CSR, algorithm 2: the same y bit by bit on every run.
    CsrAlg2,
    /// COO, algorithm 1.
    Coo,
    /// Sliced ELL, slices of 32 rows.
    Sell,
}

impl Vendor {
    /// All, in the order in which tables list them.
    pub const ALL: [Self; 4] = [Self::CsrAlg1, Self::CsrAlg2, Self::Coo, Self::Sell];

    /// Slices of [`Vendor::Sell`], whose rows the library does not sort.
    pub const SLICES: SellShape = SellShape { slice: 32, sigma: 1 };

    /// The one name used in ids and reports, without the algorithm.
    pub const fn name(self) -> &'static str {
        match self {
            Self::CsrAlg1 | Self::CsrAlg2 => "cusparse-csr",
            Self::Coo => "cusparse-coo",
            Self::Sell => "cusparse-sell",
        }
    }

    /// What it reads.
    pub const fn format(self) -> Format {
        match self {
            Self::CsrAlg1 | Self::CsrAlg2 => Format::Csr,
            Self::Coo => Format::Coo,
            Self::Sell => Format::Sell(Self::SLICES),
        }
    }
}

/// The name with the algorithm: `cusparse-csr/a1`.
impl fmt::Display for Vendor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CsrAlg1 => f.pad("cusparse-csr/a1"),
            Self::CsrAlg2 => f.pad("cusparse-csr/a2"),
            other => f.pad(other.name()),
        }
    }
}
