//! Formats and the kernels that run them, with the knobs that tell one variant from another.

use crate::{BLOCKS, DeviceKind, Vendor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sparsight_matrix::{BroEllShape, SellShape, TileShape};
use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// A storage format with its shape. Its text, `sell/c32/s1024`, is stable and is how it is recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Format {
    /// Compressed sparse rows.
    Csr,
    /// Compressed sparse rows with a table of tiles, each of about as many rows and non-zeros.
    CsrBalanced(TileShape),
    /// Compressed sparse rows with a list of the rows, short ones apart from long ones.
    CsrBinned,
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
    pub const ALL: [Self; 6 + TileShape::ALL.len() + SellShape::ALL.len() + BroEllShape::ALL.len()] = {
        let mut all = [Self::Csr; 6 + TileShape::ALL.len() + SellShape::ALL.len() + BroEllShape::ALL.len()];
        let mut n = 1;
        let mut at = 0;
        while at < TileShape::ALL.len() {
            all[n] = Self::CsrBalanced(TileShape::ALL[at]);
            (n, at) = (n + 1, at + 1);
        }
        let plain = [Self::CsrBinned, Self::Coo, Self::Ell, Self::Hyb, Self::Jad];
        at = 0;
        while at < plain.len() {
            all[n] = plain[at];
            (n, at) = (n + 1, at + 1);
        }
        at = 0;
        while at < SellShape::ALL.len() {
            all[n] = Self::Sell(SellShape::ALL[at]);
            (n, at) = (n + 1, at + 1);
        }
        at = 0;
        while at < BroEllShape::ALL.len() {
            all[n] = Self::BroEll(BroEllShape::ALL[at]);
            (n, at) = (n + 1, at + 1);
        }
        all
    };

    /// The one name used in ids, reports and file names, without the shape.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Csr => "csr",
            Self::CsrBalanced(_) => "csr-balanced",
            Self::CsrBinned => "csr-binned",
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
            Self::CsrBalanced(shape) => f.pad(&format!("csr-balanced/{shape}")),
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

/// A kernel with its knobs, without block size and value type. Ordered as [`Kernel::ALL`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kernel {
    /// A thread a row of CSR.
    CsrScalar,
    /// `threads_per_row` threads of a warp a row of CSR.
    CsrVector {
        /// 2, 4, 8, 16 or 32.
        threads_per_row: u32,
    },
    /// A thread block a tile of CSR.
    CsrBalanced(TileShape),
    /// Teams of threads a row of CSR, larger ones for longer rows.
    CsrBinned,
    /// A warp a run of 128 non-zeros of COO, segmented reduction.
    Coo,
    /// The same with shorter runs, which give a small matrix to more warps.
    CooShort {
        /// Non-zeros that a thread of a run takes: 1 or 2.
        items: u32,
    },
    /// A thread a row of ELL.
    Ell,
    /// ELL, then COO.
    Hyb,
    /// A thread a row of JAD.
    Jad,
    /// A thread a row of SELL-C-sigma.
    Sell(SellShape),
    /// `threads_per_row` threads of as many warps a row of SELL-32-sigma.
    SellTeam {
        /// Slices of 32 rows.
        shape: SellShape,
        /// 2 or 4.
        threads_per_row: u32,
    },
    /// A thread a row of BRO-ELL.
    BroEll(BroEllShape),
    /// A routine of the vendor's library.
    Vendor(Vendor),
}

impl Kernel {
    /// All variants, in the order in which tables list them.
    pub const ALL: [Self; 11 + Format::ALL.len() + Vendor::ALL.len()] = {
        let mut all = [Self::CsrScalar; 11 + Format::ALL.len() + Vendor::ALL.len()];
        let mut n = 1;
        while n < 6 {
            all[n] = Self::CsrVector { threads_per_row: 1 << n };
            n += 1;
        }
        // `csr-scalar` stands for the first format already.
        let mut at = 1;
        while at < Format::ALL.len() {
            all[n] = match Format::ALL[at] {
                Format::Csr => Self::CsrScalar,
                Format::CsrBalanced(shape) => Self::CsrBalanced(shape),
                Format::CsrBinned => Self::CsrBinned,
                Format::Coo => Self::Coo,
                Format::Ell => Self::Ell,
                Format::Hyb => Self::Hyb,
                Format::Jad => Self::Jad,
                Format::Sell(shape) => Self::Sell(shape),
                Format::BroEll(shape) => Self::BroEll(shape),
            };
            (n, at) = (n + 1, at + 1);
            if let Self::Coo = all[n - 1] {
                (all[n], all[n + 1]) = (Self::CooShort { items: 1 }, Self::CooShort { items: 2 });
                n += 2;
            }
            // Without sorting and with the smallest window that does. Chosen: on the meshes for which a team is faster,
            // larger windows, which strew x more, are not.
            if let Self::Sell(shape @ SellShape { slice: 32, sigma: 1 | 256 }) = all[n - 1] {
                all[n] = Self::SellTeam { shape, threads_per_row: 2 };
                all[n + 1] = Self::SellTeam { shape, threads_per_row: 4 };
                n += 2;
            }
        }
        at = 0;
        while at < Vendor::ALL.len() {
            all[n] = Self::Vendor(Vendor::ALL[at]);
            (n, at) = (n + 1, at + 1);
        }
        all
    };

    /// The one name used in the `.cu` file, ids and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::CsrScalar => "csr-scalar",
            Self::CsrVector { .. } => "csr-vector",
            Self::CsrBalanced(_) => "csr-balanced",
            Self::CsrBinned => "csr-binned",
            Self::Coo | Self::CooShort { .. } => "coo",
            Self::Ell => "ell",
            Self::Hyb => "hyb",
            Self::Jad => "jad",
            Self::Sell(_) | Self::SellTeam { .. } => "sell",
            Self::BroEll(_) => "bro-ell",
            Self::Vendor(routine) => routine.name(),
        }
    }

    /// What it reads.
    pub const fn format(self) -> Format {
        match self {
            Self::CsrScalar | Self::CsrVector { .. } => Format::Csr,
            Self::CsrBalanced(shape) => Format::CsrBalanced(shape),
            Self::CsrBinned => Format::CsrBinned,
            Self::Coo | Self::CooShort { .. } => Format::Coo,
            Self::Ell => Format::Ell,
            Self::Hyb => Format::Hyb,
            Self::Jad => Format::Jad,
            Self::Sell(shape) | Self::SellTeam { shape, .. } => Format::Sell(shape),
            Self::BroEll(shape) => Format::BroEll(shape),
            Self::Vendor(routine) => routine.format(),
        }
    }

    /// Threads a block that it can be run with: all of the catalogue, unless a slice takes more warps; 0 alone where the
    /// vendor's library decides.
    pub const fn blocks(self) -> &'static [u32] {
        match self {
            Self::Vendor(_) => &[0],
            Self::SellTeam { threads_per_row: 4, .. } => BLOCKS.split_at(1).1,
            _ => &BLOCKS,
        }
    }

    /// Whether devices of that kind have it at all: the vendor's library is for its GPUs, and on a CPU runs of COO are as
    /// long as the block size says, and a row of SELL-C-sigma is done by one thread.
    pub const fn runs_on(self, kind: DeviceKind) -> bool {
        let for_gpus = matches!(self, Self::Vendor(_) | Self::CooShort { .. } | Self::SellTeam { .. });
        matches!(kind, DeviceKind::Cuda) || !for_gpus
    }

    /// Whether it is a routine of the vendor's library and not ours.
    pub const fn is_vendors(self) -> bool {
        matches!(self, Self::Vendor(_))
    }

    /// Non-zeros that a thread of a warp takes of a run of COO, in kernels that have such runs: HYB's are those of `coo`.
    pub const fn coo_items(self) -> Option<u32> {
        match self {
            Self::Coo | Self::Hyb => Some(4),
            Self::CooShort { items } => Some(items),
            _ => None,
        }
    }

    /// Whether the papers' strip models describe it, so that benchmark matrices are run with it. HYB has none of its
    /// own: it is ELL and COO. SELL-C-sigma and BRO-ELL are learned alone (Lehnert et al. 2016).
    pub const fn has_benchmark_matrices(self) -> bool {
        !matches!(
            self,
            Self::CsrBinned
                | Self::Hyb
                | Self::Sell(_)
                | Self::SellTeam { .. }
                | Self::BroEll(_)
                | Self::Vendor(_)
        )
    }

    /// Whether a thread block can work on a part of a matrix with this kernel while others of the same launch work on other
    /// parts with other kernels: all that are one launch of ours. COO and HYB are two.
    pub const fn shares_a_launch(self) -> bool {
        !matches!(self, Self::Coo | Self::CooShort { .. } | Self::Hyb | Self::Vendor(_))
    }

    /// Threads that work on one row; `None` where threads are given to non-zeros, or not all rows get as many.
    pub const fn threads_per_row(self) -> Option<u32> {
        match self {
            Self::CsrScalar | Self::Ell | Self::Hyb | Self::Jad | Self::Sell(_) | Self::BroEll(_) => Some(1),
            Self::CsrVector { threads_per_row } | Self::SellTeam { threads_per_row, .. } => {
                Some(threads_per_row)
            }
            Self::CsrBalanced(_) | Self::CsrBinned | Self::Coo | Self::CooShort { .. } | Self::Vendor(_) => {
                None
            }
        }
    }
}

impl Kernel {
    /// Family, then knobs: several threads a row of SELL stand behind a thread a row of the same shape.
    const fn place(self) -> (u8, u32, u32, u32) {
        match self {
            Self::CsrScalar => (0, 0, 0, 0),
            Self::CsrVector { threads_per_row } => (1, threads_per_row, 0, 0),
            Self::CsrBalanced(shape) => (2, shape.items, 0, 0),
            Self::CsrBinned => (3, 0, 0, 0),
            Self::Coo => (4, 0, 0, 0),
            Self::CooShort { items } => (4, items, 0, 0),
            Self::Ell => (5, 0, 0, 0),
            Self::Hyb => (6, 0, 0, 0),
            Self::Jad => (7, 0, 0, 0),
            Self::Sell(shape) => (8, shape.slice, shape.sigma, 0),
            Self::SellTeam { shape, threads_per_row } => (8, shape.slice, shape.sigma, threads_per_row),
            Self::BroEll(shape) => (9, shape.slice, 0, 0),
            Self::Vendor(routine) => (10, routine as u32, 0, 0),
        }
    }
}

impl Ord for Kernel {
    fn cmp(&self, other: &Self) -> Ordering {
        self.place().cmp(&other.place())
    }
}

impl PartialOrd for Kernel {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The name with its knobs: `csr-vector/t8`.
impl fmt::Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CsrVector { threads_per_row } => f.pad(&format!("csr-vector/t{threads_per_row}")),
            Self::SellTeam { shape, threads_per_row } => f.pad(&format!("sell/{shape}/t{threads_per_row}")),
            Self::CsrBalanced(_) | Self::Sell(_) | Self::BroEll(_) => self.format().fmt(f),
            Self::CooShort { items } => f.pad(&format!("coo/i{items}")),
            Self::Vendor(routine) => routine.fmt(f),
            other => f.pad(other.name()),
        }
    }
}
