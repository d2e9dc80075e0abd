//! The storage formats, one file each, and what the rest of the program may ask of any of them.
//!
//! ```text
//! format.rs    Format: a format with its shape, as a name and a look-up; the list of all of them
//! family.rs    what the file of a format must answer: sizes, refusals, conversions
//! array.rs     the arrays of a format by name and type, as a device is given them
//! layout.rs    how a device that holds the CSR lays the format out by itself
//! segment.rs   segments of a long row, which csr-balanced and csr-binned cut
//! ```
//! Nothing outside of this folder asks which format it has before it: what differs between formats stands in their files.

mod array;
mod family;
mod format;
mod layout;
mod segment;

mod bro_ell;
mod bsr;
mod coo;
mod csr;
mod csr_balanced;
mod csr_binned;
mod csr_segmented;
mod dia;
mod ell;
mod hyb;
mod jad;
mod sell;

pub use array::{Element, HostArray, NamedArrays, NamedNumbers};
pub use bro_ell::{BroEll, BroEllColumns, BroEllSlice};
pub use bsr::Bsr;
pub use coo::Coo;
pub use csr::CsrWith;
pub use csr_balanced::{BalancedCsr, Tile, TileTable};
pub use csr_binned::{BinnedCsr, RowBins};
pub use csr_segmented::{Carry, RowBegins, SegmentedCsr};
pub use dia::Dia;
pub use ell::Ell;
pub use family::{CsrRows, Elsewhere, FormatFamily, FormatOf, Generator, Knob, PaddingBound, Shape, Stored};
pub use format::{Format, ParseFormatError};
pub use hyb::Hyb;
pub use jad::Jad;
pub use layout::{Layout, Length, NumberOf, Refusal, Step};
pub use segment::Segment;
pub use sell::Sell;

/// All formats, in the order in which tables list them.
static FAMILIES: [&FormatFamily; 13] = [
    &csr::FORMAT,
    &csr_balanced::FORMAT,
    &csr_binned::FORMAT,
    &csr_segmented::FORMAT,
    &coo::FORMAT,
    &ell::FORMAT,
    &hyb::FORMAT,
    &jad::FORMAT,
    &sell::FORMAT,
    &bro_ell::FORMAT,
    &dia::FORMAT,
    &bsr::FORMAT,
    &bsr::BLOCK_CSR,
];
