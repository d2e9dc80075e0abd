//! Sparse matrices as data: the storage formats, the files they come from, their structure, and generators.
//!
//! This crate knows no device, reads no clock and prints nothing. A matrix enters as a [`Csr`] (read by
//! [`mod@io`], made by [`gallery`] or from another one as [`derived`] says), is summarised once as [`Features`], and is converted into [`Coo`],
//! [`Ell`], [`Hyb`], [`Jad`], [`Sell`] or [`BroEll`], or given a [`TileTable`] or [`RowBins`], when somebody wants to run
//! it that way. How large a conversion
//! would be is known exactly before it is made, and a conversion that makes no sense is a typed [`Infeasible`].

pub mod derived;
pub mod gallery;
pub mod io;

mod available_memory;
mod block_counts;
mod columns;
mod diagonals;
mod distributed;
mod entry_numbers;
mod features;
mod formats;
mod infeasible;
mod meant;
mod mix;
mod narrowing;
mod padded;
mod pattern;
mod reference;
mod reorder;
mod row_fill;
mod row_lengths;
mod row_order;
mod scalar;
mod segment;
mod sell_sizes;
mod spy;
mod strips;
mod team_blocks;
mod tile_work;
mod transpose;
mod units;
mod without;

pub use available_memory::{available_memory, check_host_memory};
pub use block_counts::{BLOCK_SIDES, BlockCount};
pub use distributed::{Distribution, DistributionError, Exchange, Share};
pub use entry_numbers::{numbered, replace_values};
pub use features::{Features, Locality};
pub use formats::{
    BalancedCsr, BinCounts, BinnedCsr, BroEll, BroEllColumns, BroEllShape, BroEllSize, BroEllSlice, Bsr,
    Carry, Coo, Csr, CsrError, Dia, Element, Ell, Elsewhere, Format, FormatFamily, FormatOf, Generator,
    HostArray, Hyb, HybSplit, Jad, JadLayout, Knob, Layout, Length, NamedArrays, NamedNumbers, NumberOf,
    PaddingBound, ParseFormatError, Refusal, RowBegins, RowBins, SegmentedCsr, Sell, SellLayout, SellShape,
    Shape, Step, Stored, Tile, TileShape, TileTable,
};
pub use infeasible::{Infeasible, Limits, NoHostMemory};
pub use meant::{meant, suggested};
pub use mix::mix;
pub use narrowing::Narrowing;
pub use padded::PaddedSizes;
pub(crate) use pattern::Pattern;
pub use reference::{Reference, reference, rounding_bound};
pub use reorder::{Permutation, ReorderError};
pub use row_lengths::{LengthBin, RowLengths};
pub use scalar::{Dtype, Scalar};
pub use segment::Segment;
pub use spy::Spy;
pub use strips::{Block, StripDetail, Strips};
pub use team_blocks::{THREAD_BLOCKS, TeamBlocks};
pub use tile_work::{TileWork, TileWorks};
pub use units::{Bytes, Seconds, grouped};
pub use without::{without_empty_rows, without_long_rows, without_zeros};
