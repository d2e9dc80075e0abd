//! The arrays of each format on the device; `args` gives them in the order in which the kernels take them.

use super::context::Context;
use super::memory::DeviceArray;
use crate::DeviceError;
use rayon::prelude::*;
use sparsight_kernels::{BinEnds, Format};
use sparsight_matrix::{BroEllShape, Csr, Scalar, Segment, SellShape, Tile, TileShape, TileTable};
use std::sync::Arc;

/// Row offsets of CSR, 32 bits wide while they fit.
#[derive(Debug)]
pub(super) enum Offsets {
    Narrow(DeviceArray<u32>),
    Wide(DeviceArray<u64>),
}

impl Offsets {
    pub(super) fn address(&self) -> u64 {
        match self {
            Self::Narrow(array) => array.address(),
            Self::Wide(array) => array.address(),
        }
    }

    /// Room for `len` of `offset_bytes`, 4 or 8, not initialised.
    pub(super) fn new(context: &Arc<Context>, len: usize, offset_bytes: u64) -> Result<Self, DeviceError> {
        Ok(match offset_bytes {
            4 => Self::Narrow(DeviceArray::new(context, len)?),
            _ => Self::Wide(DeviceArray::new(context, len)?),
        })
    }

    /// Uploads `offsets`, of which the last is the number of non-zeros.
    pub(super) fn of<T: Scalar>(context: &Arc<Context>, offsets: &[u64]) -> Result<Self, DeviceError> {
        Self::into_entries::<T>(context, offsets, offsets.last().copied().unwrap_or_default())
    }

    /// Uploads `offsets` into `nnz` entries.
    pub(super) fn into_entries<T: Scalar>(
        context: &Arc<Context>,
        offsets: &[u64],
        nnz: u64,
    ) -> Result<Self, DeviceError> {
        if Csr::<T>::offset_bytes(nnz) == 4 {
            let narrow: Vec<u32> = offsets.par_iter().map(|&offset| offset as u32).collect();
            Ok(Self::Narrow(DeviceArray::of(context, &narrow)?))
        } else {
            Ok(Self::Wide(DeviceArray::of(context, offsets)?))
        }
    }

    pub(super) const fn bytes(&self) -> u64 {
        match self {
            Self::Narrow(_) => 4,
            Self::Wide(_) => 8,
        }
    }
}

#[derive(Debug)]
pub(super) struct CsrArrays<T> {
    pub(super) row_ptr: Offsets,
    pub(super) col_idx: DeviceArray<u32>,
    pub(super) values: DeviceArray<T>,
}

impl<T: Scalar> CsrArrays<T> {
    /// Uploads `a`.
    pub(super) fn of(context: &Arc<Context>, a: &Csr<T>) -> Result<Self, DeviceError> {
        Ok(Self {
            row_ptr: Offsets::of::<T>(context, a.row_ptr())?,
            col_idx: DeviceArray::of(context, a.col_idx())?,
            values: DeviceArray::of(context, a.values())?,
        })
    }
}

impl<T: Copy> CsrArrays<T> {
    pub(super) fn args(&self) -> [u64; 3] {
        [self.row_ptr.address(), self.col_idx.address(), self.values.address()]
    }
}

/// Segments of long rows, with what their blocks leave for each other.
#[derive(Debug)]
pub(super) struct SegmentArrays<T> {
    segments: DeviceArray<[u32; 8]>,
    partials: DeviceArray<T>,
    /// 0 between two products.
    counters: DeviceArray<u32>,
}

impl<T: Scalar> SegmentArrays<T> {
    /// Uploads `segments`; the arrays have room for `places` of them.
    pub(super) fn of(
        context: &Arc<Context>,
        segments: &[Segment],
        places: usize,
    ) -> Result<Self, DeviceError> {
        let mut words: Vec<[u32; 8]> = segments.par_iter().map(Segment::words).collect();
        words.resize(places, [0; 8]);
        Ok(Self {
            segments: DeviceArray::of(context, &words)?,
            partials: DeviceArray::new(context, places)?,
            counters: DeviceArray::zeroed(context, places)?,
        })
    }

    fn args(&self) -> [u64; 3] {
        [self.segments.address(), self.partials.address(), self.counters.address()]
    }
}

/// Beside them the arrays of the CSR.
#[derive(Debug)]
pub(super) struct TileArrays<T> {
    pub(super) shape: TileShape,
    pub(super) tiles: DeviceArray<[u32; 4]>,
    pub(super) segments: SegmentArrays<T>,
}

impl<T: Scalar> TileArrays<T> {
    /// Uploads `table`.
    pub(super) fn of(context: &Arc<Context>, table: &TileTable) -> Result<Self, DeviceError> {
        let tiles: Vec<[u32; 4]> = table.tiles().par_iter().map(Tile::words).collect();
        Ok(Self {
            shape: table.shape(),
            tiles: DeviceArray::of(context, &tiles)?,
            segments: SegmentArrays::of(context, table.segments(), table.segments().len())?,
        })
    }

    pub(super) fn args(&self) -> [u64; 4] {
        let [segments, partials, counters] = self.segments.args();
        [self.tiles.address(), segments, partials, counters]
    }
}

#[derive(Debug)]
pub(super) struct BinnedArrays<T> {
    /// On the host: how the blocks of a launch are dealt out.
    pub(super) bins: BinEnds,
    pub(super) order: DeviceArray<u32>,
    pub(super) starts: Offsets,
    pub(super) lengths: DeviceArray<u32>,
    pub(super) segments: SegmentArrays<T>,
    pub(super) col_idx: DeviceArray<u32>,
    pub(super) values: DeviceArray<T>,
}

impl<T: Scalar> BinnedArrays<T> {
    pub(super) fn args(&self) -> [u64; 8] {
        let [segments, partials, counters] = self.segments.args();
        let rows = [self.order.address(), self.starts.address(), self.lengths.address()];
        let entries = [self.col_idx.address(), self.values.address()];
        [rows[0], rows[1], rows[2], segments, partials, counters, entries[0], entries[1]]
    }
}

#[derive(Debug)]
pub(super) struct CooArrays<T> {
    pub(super) row_idx: DeviceArray<u32>,
    pub(super) col_idx: DeviceArray<u32>,
    pub(super) values: DeviceArray<T>,
}

impl<T: Copy> CooArrays<T> {
    pub(super) fn args(&self) -> [u64; 3] {
        [self.row_idx.address(), self.col_idx.address(), self.values.address()]
    }
}

#[derive(Debug)]
pub(super) struct EllArrays<T> {
    pub(super) width: u64,
    pub(super) stride: u64,
    pub(super) col_idx: DeviceArray<u32>,
    pub(super) values: DeviceArray<T>,
}

impl<T: Copy> EllArrays<T> {
    pub(super) fn args(&self) -> [u64; 4] {
        [self.width, self.stride, self.col_idx.address(), self.values.address()]
    }
}

#[derive(Debug)]
pub(super) struct JadArrays<T> {
    pub(super) permutation: DeviceArray<u32>,
    pub(super) diagonal_ptr: DeviceArray<u64>,
    pub(super) col_idx: DeviceArray<u32>,
    pub(super) values: DeviceArray<T>,
}

impl<T: Copy> JadArrays<T> {
    pub(super) fn args(&self) -> [u64; 5] {
        [
            self.diagonal_ptr.len() as u64 - 1,
            self.permutation.address(),
            self.diagonal_ptr.address(),
            self.col_idx.address(),
            self.values.address(),
        ]
    }
}

#[derive(Debug)]
pub(super) struct SellArrays<T> {
    pub(super) shape: SellShape,
    /// Non-zeros, without the padding.
    pub(super) nnz: u64,
    pub(super) slice_ptr: DeviceArray<u64>,
    pub(super) permutation: DeviceArray<u32>,
    pub(super) col_idx: DeviceArray<u32>,
    pub(super) values: DeviceArray<T>,
}

impl<T: Copy> SellArrays<T> {
    pub(super) fn args(&self) -> [u64; 4] {
        [self.slice_ptr.address(), self.permutation.address(), self.col_idx.address(), self.values.address()]
    }
}

#[derive(Debug)]
pub(super) struct BroEllArrays<T> {
    pub(super) shape: BroEllShape,
    pub(super) column_ptr: DeviceArray<u64>,
    pub(super) symbol_ptr: DeviceArray<u64>,
    pub(super) bits: DeviceArray<u8>,
    pub(super) symbols: DeviceArray<u64>,
    pub(super) values: DeviceArray<T>,
}

impl<T: Copy> BroEllArrays<T> {
    pub(super) fn args(&self) -> [u64; 5] {
        [
            self.column_ptr.address(),
            self.symbol_ptr.address(),
            self.bits.address(),
            self.symbols.address(),
            self.values.address(),
        ]
    }
}

/// The arrays of one format.
#[derive(Debug)]
pub(super) enum Matrix<T> {
    Csr(CsrArrays<T>),
    CsrBalanced(CsrArrays<T>, TileArrays<T>),
    CsrBinned(BinnedArrays<T>),
    Coo(CooArrays<T>),
    Ell(EllArrays<T>),
    Hyb(EllArrays<T>, CooArrays<T>),
    Jad(JadArrays<T>),
    Sell(SellArrays<T>),
    BroEll(BroEllArrays<T>),
}

impl<T> Matrix<T> {
    /// Width of the row offsets; 4 where there are none.
    pub(super) const fn offset_bytes(&self) -> u64 {
        match self {
            Self::Csr(csr) | Self::CsrBalanced(csr, _) => csr.row_ptr.bytes(),
            Self::CsrBinned(binned) => binned.starts.bytes(),
            _ => 4,
        }
    }

    pub(super) const fn format(&self) -> Format {
        match self {
            Self::Csr(_) => Format::Csr,
            Self::CsrBalanced(_, tiles) => Format::CsrBalanced(tiles.shape),
            Self::CsrBinned(_) => Format::CsrBinned,
            Self::Coo(_) => Format::Coo,
            Self::Ell(_) => Format::Ell,
            Self::Hyb(..) => Format::Hyb,
            Self::Jad(_) => Format::Jad,
            Self::Sell(sell) => Format::Sell(sell.shape),
            Self::BroEll(bro) => Format::BroEll(bro.shape),
        }
    }
}
