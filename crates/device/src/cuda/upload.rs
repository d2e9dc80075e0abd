//! From CSR on the host to the arrays of a format on the device.

use super::Cuda;
use super::arrays::{
    BinnedArrays, BroEllArrays, CooArrays, CsrArrays, EllArrays, JadArrays, Matrix, Offsets, SegmentArrays,
    SellArrays, TileArrays,
};
use super::memory::DeviceArray;
use crate::DeviceError;
use sparsight_kernels::{BinEnds, Format};
use sparsight_matrix::{
    BroEll, Coo, Csr, Ell, Hyb, Infeasible, Jad, Limits, RowBins, RowLengths, Scalar, Sell, TileTable,
};

/// A matrix in its format, still on the host.
pub(super) enum Converted<T> {
    /// As it was given.
    Csr,
    /// The tiles of what was given.
    CsrBalanced(TileTable),
    /// The bins of what was given.
    CsrBinned(RowBins),
    Coo(Coo<T>),
    Ell(Ell<T>),
    Hyb(Hyb<T>),
    Jad(Jad<T>),
    Sell(Sell<T>),
    BroEll(BroEll<T>),
}

impl<T: Scalar> Converted<T> {
    pub(super) fn from_csr(a: &Csr<T>, format: Format, limits: &Limits) -> Result<Self, Infeasible> {
        let (nrows, ncols, nnz) = (a.nrows() as u64, a.ncols() as u64, a.nnz() as u64);
        Ok(match format {
            Format::Csr => {
                Csr::<T>::check(nrows, ncols, nnz, limits)?;
                Self::Csr
            }
            Format::CsrBalanced(shape) => {
                let longest = RowLengths::of(a).max();
                TileTable::check::<T>((nrows, ncols), nnz, longest, shape, limits)?;
                Self::CsrBalanced(TileTable::of(a.row_ptr(), shape))
            }
            Format::CsrBinned => {
                RowBins::check::<T>((nrows, ncols), nnz, RowLengths::of(a).max(), limits)?;
                Self::CsrBinned(RowBins::of(a.row_ptr()))
            }
            Format::Coo => Self::Coo(Coo::from_csr(a, limits)?),
            Format::Ell => Self::Ell(Ell::from_csr(a, limits)?),
            Format::Hyb => Self::Hyb(Hyb::from_csr(a, limits)?),
            Format::Jad => Self::Jad(Jad::from_csr(a, limits)?),
            Format::Sell(shape) => Self::Sell(Sell::from_csr(a, shape, limits)?),
            Format::BroEll(shape) => Self::BroEll(BroEll::from_csr(a, shape, limits)?),
        })
    }
}

/// Brings it to the device. `a` is what it was converted from.
pub(super) fn upload<T: Scalar>(
    cuda: &Cuda,
    a: &Csr<T>,
    converted: &Converted<T>,
) -> Result<Matrix<T>, DeviceError> {
    let context = &cuda.context;
    let csr = || CsrArrays::of(context, a);
    let coo = |part: &Coo<T>| -> Result<_, DeviceError> {
        Ok(CooArrays {
            row_idx: DeviceArray::of(context, part.row_idx())?,
            col_idx: DeviceArray::of(context, part.col_idx())?,
            values: DeviceArray::of(context, part.values())?,
        })
    };
    let ell = |part: &Ell<T>| -> Result<_, DeviceError> {
        Ok(EllArrays {
            width: part.width() as u64,
            stride: part.stride() as u64,
            col_idx: DeviceArray::of(context, part.col_idx())?,
            values: DeviceArray::of(context, part.values())?,
        })
    };
    Ok(match converted {
        Converted::Csr => Matrix::Csr(csr()?),
        Converted::CsrBalanced(table) => Matrix::CsrBalanced(csr()?, TileArrays::of(context, table)?),
        Converted::CsrBinned(bins) => {
            let nnz = a.nnz() as u64;
            let longest = bins.lengths().first().copied().unwrap_or_default();
            let places = RowBins::segment_places(nnz, longest.into()) as usize;
            Matrix::CsrBinned(BinnedArrays {
                bins: BinEnds::of(bins),
                order: DeviceArray::of(context, bins.order())?,
                starts: Offsets::into_entries::<T>(context, bins.starts(), nnz)?,
                lengths: DeviceArray::of(context, bins.lengths())?,
                segments: SegmentArrays::of(context, bins.segments(), places)?,
                col_idx: DeviceArray::of(context, a.col_idx())?,
                values: DeviceArray::of(context, a.values())?,
            })
        }
        Converted::Coo(part) => Matrix::Coo(coo(part)?),
        Converted::Ell(part) => Matrix::Ell(ell(part)?),
        Converted::Hyb(part) => Matrix::Hyb(ell(part.ell())?, coo(part.coo())?),
        Converted::Jad(jad) => Matrix::Jad(JadArrays {
            permutation: DeviceArray::of(context, jad.permutation())?,
            diagonal_ptr: DeviceArray::of(context, jad.diagonal_ptr())?,
            col_idx: DeviceArray::of(context, jad.col_idx())?,
            values: DeviceArray::of(context, jad.values())?,
        }),
        Converted::Sell(sell) => Matrix::Sell(SellArrays {
            shape: sell.shape(),
            nnz: sell.nnz() as u64,
            slice_ptr: DeviceArray::of(context, sell.slice_ptr())?,
            permutation: DeviceArray::of(context, sell.permutation())?,
            col_idx: DeviceArray::of(context, sell.col_idx())?,
            values: DeviceArray::of(context, sell.values())?,
        }),
        Converted::BroEll(bro) => Matrix::BroEll(BroEllArrays {
            shape: bro.shape(),
            column_ptr: DeviceArray::of(context, bro.column_ptr())?,
            symbol_ptr: DeviceArray::of(context, bro.symbol_ptr())?,
            bits: DeviceArray::of(context, bro.bits())?,
            symbols: DeviceArray::of(context, bro.symbols())?,
            values: DeviceArray::of(context, bro.values())?,
        }),
    })
}
