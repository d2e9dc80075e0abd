//! Formats and the kernels that run them, with the knobs that tell one variant from another.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sparsight_matrix::{BroEllShape, SellShape};
use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// A storage format with its shape. Its text, `sell/c32/s1024`, is stable and is how it is recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Format {
    /// Compressed sparse rows.
    Csr,
    /// Coordinates.
    Coo,
    /// ELLPACK.
    Ell,
    /// ELL plus COO.
    Hyb,
    /// Jagged diagonals.
    Jad,
    /// Sliced ELL with rows sorted in windows, SELL-C-sigma.
    Sell(SellShape),
    /// Sliced ELL with bit-packed column differences.
    BroEll(BroEllShape),
}

impl Format {
    /// All, in the order in which tables list them.
    pub const ALL: [Self; 5 + SellShape::ALL.len() + BroEllShape::ALL.len()] = {
        let plain = [Self::Csr, Self::Coo, Self::Ell, Self::Hyb, Self::Jad];
        let mut all = [Self::Csr; 5 + SellShape::ALL.len() + BroEllShape::ALL.len()];
        let mut at = 0;
        while at < all.len() {
            all[at] = match at.checked_sub(plain.len()) {
                None => plain[at],
                Some(at) if at < SellShape::ALL.len() => Self::Sell(SellShape::ALL[at]),
                Some(at) => Self::BroEll(BroEllShape::ALL[at - SellShape::ALL.len()]),
            };
            at += 1;
        }
        all
    };

    /// The one name used in ids, reports and file names, without the shape.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Csr => "csr",
            Self::Coo => "coo",
            Self::Ell => "ell",
            Self::Hyb => "hyb",
            Self::Jad => "jad",
            Self::Sell(_) => "sell",
            Self::BroEll(_) => "bro-ell",
        }
    }
}

/// The name with its shape: `sell/c32/s1024`.
impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sell(shape) => f.pad(&format!("sell/{shape}")),
            Self::BroEll(shape) => f.pad(&format!("bro-ell/{shape}")),
            other => f.pad(other.name()),
        }
    }
}

/// Text that names no format of the catalogue.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("'{0}' is no format of the catalogue, such as csr or sell/c32/s1024")]
pub struct ParseFormatError(pub String);

impl FromStr for Format {
    type Err = ParseFormatError;
    fn from_str(text: &str) -> Result<Self, ParseFormatError> {
        Self::ALL.into_iter().find(|f| f.to_string() == text).ok_or_else(|| ParseFormatError(text.to_owned()))
    }
}

impl Serialize for Format {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Format {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
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
    /// A thread a row of JAD.
    Jad,
    /// A thread a row of SELL-C-sigma.
    Sell(SellShape),
    /// A thread a row of BRO-ELL.
    BroEll(BroEllShape),
}

impl Kernel {
    /// All variants, in the order in which tables list them.
    pub const ALL: [Self; 5 + Format::ALL.len()] = {
        let mut all = [Self::CsrScalar; 5 + Format::ALL.len()];
        let mut at = 0;
        while at < 5 {
            all[at + 1] = Self::CsrVector { threads_per_row: 2 << at };
            at += 1;
        }
        while at + 1 < all.len() {
            all[at + 1] = match Format::ALL[at - 4] {
                Format::Csr => Self::CsrScalar,
                Format::Coo => Self::Coo,
                Format::Ell => Self::Ell,
                Format::Hyb => Self::Hyb,
                Format::Jad => Self::Jad,
                Format::Sell(shape) => Self::Sell(shape),
                Format::BroEll(shape) => Self::BroEll(shape),
            };
            at += 1;
        }
        all
    };

    /// The one name used in the `.cu` file, ids and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::CsrScalar => "csr-scalar",
            Self::CsrVector { .. } => "csr-vector",
            Self::Coo => "coo",
            Self::Ell => "ell",
            Self::Hyb => "hyb",
            Self::Jad => "jad",
            Self::Sell(_) => "sell",
            Self::BroEll(_) => "bro-ell",
        }
    }

    /// What it reads.
    pub const fn format(self) -> Format {
        match self {
            Self::CsrScalar | Self::CsrVector { .. } => Format::Csr,
            Self::Coo => Format::Coo,
            Self::Ell => Format::Ell,
            Self::Hyb => Format::Hyb,
            Self::Jad => Format::Jad,
            Self::Sell(shape) => Format::Sell(shape),
            Self::BroEll(shape) => Format::BroEll(shape),
        }
    }

    /// Whether the papers' strip models describe it, so that benchmark matrices are run with it. HYB has none of its
    /// own: it is ELL and COO. SELL-C-sigma and BRO-ELL are learned alone (Lehnert et al. 2016).
    pub const fn has_benchmark_matrices(self) -> bool {
        !matches!(self, Self::Hyb | Self::Sell(_) | Self::BroEll(_))
    }

    /// Threads that work on one row; `None` where threads are given to non-zeros.
    pub const fn threads_per_row(self) -> Option<u32> {
        match self {
            Self::CsrScalar | Self::Ell | Self::Hyb | Self::Jad | Self::Sell(_) | Self::BroEll(_) => Some(1),
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
            Self::Sell(_) | Self::BroEll(_) => self.format().fmt(f),
            other => f.pad(other.name()),
        }
    }
}
