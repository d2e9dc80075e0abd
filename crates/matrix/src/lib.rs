//! Sparse matrices as data: the storage formats, the files they come from, their structure, and generators.
//!
//! This crate knows no device, reads no clock and prints nothing. A matrix enters as a [`Csr`], is summarised once as [`Features`],
//! and is converted into the format in which it is run. The size of a conversion is known exactly before it is made, and a conversion
//! that makes no sense is a typed [`Infeasible`].
//!
//! ```text
//! csr, scalar, units            the matrix in CSR, its value types, bytes and seconds
//! io, gallery, derived          matrices from files, from generators, and made from other matrices
//! features                      what models know of a matrix; counted by row_lengths, diagonals, block_counts, bin_counts,
//!                               bro_ell_size, sell_sizes, tile_work and team_blocks
//! formats, infeasible           the storage formats, and their refusals; rows sorted for JAD and SELL: row_order
//! reference                     the right y, and how far another may be off
//! entry_numbers                 where the values of a matrix lie in a format, so that they can be replaced
//! narrowing                     what values in f32 lose beside vectors in f64
//! reorder, transpose, without   other orders, the transposed matrix, a matrix without what costs time
//! strips                        features of any block of rows, for partitions
//! distributed                   rows dealt out to several devices
//! available_memory, spy         memory that this process may take; a picture of the pattern
//! ```

/// Serialises types by their text: as [`Display`](std::fmt::Display) writes it.
#[macro_export]
macro_rules! serialize_as_text {
    ($($name:ty),+) => { $(
        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }
    )+ };
}

/// Displays enums without data by the names that they are serialised by.
#[macro_export]
macro_rules! display_as_serialized {
    ($($name:ty),+) => { $(
        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                serde::Serialize::serialize(self, f)
            }
        }
    )+ };
}

/// Serialises types by their text as [`serialize_as_text`], and reads what [`FromStr`](std::str::FromStr) reads.
#[macro_export]
macro_rules! serde_as_text {
    ($($name:ty),+) => { $(
        $crate::serialize_as_text!($name);

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = <String as serde::Deserialize>::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    )+ };
}

/// Writes enums as serde writes them, and reads what it writes among all in `ALL`: with a name for what it is, and for all of it.
#[macro_export]
macro_rules! text_as_serde {
    ($name:ty, $what:literal, $all:literal) => {
        $crate::display_as_serialized!($name);

        impl std::str::FromStr for $name {
            type Err = String;
            fn from_str(text: &str) -> Result<Self, String> {
                let found = Self::ALL.into_iter().find(|one| one.to_string() == text);
                found.ok_or_else(|| format!(concat!("unknown ", $what, " '{}': ", $all), text))
            }
        }
    };
}

pub mod derived;
pub mod gallery;
pub mod io;

mod available_memory;
mod bin_counts;
mod block_counts;
mod bro_ell_size;
mod columns;
mod csr;
mod diagonals;
mod distributed;
mod entry_numbers;
mod features;
mod formats;
mod infeasible;
mod longest_rows;
mod moved_rows;
mod narrowing;
mod reference;
mod reorder;
mod row_fill;
mod row_lengths;
mod row_order;
mod scalar;
mod sell_sizes;
mod spy;
mod strips;
mod team_blocks;
mod tile_work;
mod transpose;
mod units;
mod without;

pub use available_memory::{available_memory, check_host_memory};
pub use bin_counts::BinCounts;
pub use block_counts::{BLOCK_SIDES, BlockCount};
pub use bro_ell_size::{BroEllShape, BroEllSize};
pub(crate) use csr::Pattern;
pub use csr::{Csr, CsrError};
pub use distributed::{Distribution, DistributionError, Exchange, Share};
pub use entry_numbers::{numbered, replace_values};
pub use features::{Features, Loads, Locality, PaddedSizes};
pub use formats::{
    BalancedCsr, BinnedCsr, BroEll, BroEllColumns, BroEllSlice, Bsr, Carry, Coo, CsrRows, CsrWith, Dia,
    Element, Ell, Elsewhere, Format, FormatFamily, FormatOf, Generator, HostArray, Hyb, Jad, Knob, Layout,
    Length, NamedArrays, NamedNumbers, NumberOf, PaddingBound, ParseFormatError, Refusal, RowBegins, RowBins,
    Segment, SegmentedCsr, Sell, Shape, Step, Stored, Tile, TileTable,
};
pub use gallery::{mix, suggested};
pub use infeasible::{Infeasible, Limits, MatrixSize, NoHostMemory};
pub use narrowing::Narrowing;
pub use reference::{Reference, reference, rounding_bound};
pub use reorder::{Permutation, ReorderError};
pub use row_lengths::{HybSplit, LengthBin, RowLengths};
pub use scalar::{Dtype, Scalar};
pub use sell_sizes::SellShape;
pub use spy::Spy;
pub use strips::{Block, StripDetail, Strips};
pub use team_blocks::{THREAD_BLOCKS, TeamBlocks};
pub use tile_work::{TileShape, TileWork, TileWorks};
pub use units::{Bytes, Seconds, grouped};
pub use without::{without_empty_rows, without_long_rows, without_zeros};
