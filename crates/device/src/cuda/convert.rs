//! From CSR to the arrays of another format on the device itself.
//!
//! ```text
//! row offsets --- host: where everything goes ---> layout --+
//! CSR --------------------- upload -------------------------+--> kernels --> arrays of the format; the CSR is freed
//! ```
//! What is left to the host takes time by rows, not by entries. Beside the arrays of the format the device has to hold
//! the CSR for a while.

use super::Cuda;
use super::arrays::{BroEllArrays, CooArrays, CsrArrays, EllArrays, JadArrays, Matrix, SellArrays};
use super::free_grid::FreeGrid;
use super::memory::DeviceArray;
use crate::{DeviceError, Preparation};
use sparsight_kernels::Format;
use sparsight_matrix::{
    BroEll, BroEllShape, BroEllSize, Bytes, Coo, Csr, Ell, Hyb, HybSplit, Infeasible, Jad, JadLayout, Limits,
    RowLengths, Scalar, Seconds, Sell, SellLayout, SellShape,
};
use std::time::Instant;

/// Kernels of `conversion_source`, in its order.
const LAY_SLICES: usize = 0;
const LAY_DIAGONALS: usize = 1;
const LAY_COO: usize = 2;
const BRO_WIDTHS: usize = 3;
const BRO_PACK: usize = 4;

/// Where the entries go, in formats that have them elsewhere than CSR.
#[derive(Debug)]
pub(super) enum Layout {
    Coo,
    Ell { width: u64 },
    Hyb { split: HybSplit, starts: Vec<u64> },
    Jad(JadLayout),
    Sell(SellShape, SellLayout),
    BroEll(BroEllShape, Vec<u64>),
}

impl Layout {
    /// The layout, with the bytes that laying it out takes at most, beside the CSR; `None` for formats whose entries stay
    /// where CSR has them. O(nrows).
    ///
    /// # Errors
    /// As the conversion on the host.
    pub(super) fn of<T: Scalar>(
        a: &Csr<T>,
        format: Format,
        limits: &Limits,
    ) -> Result<Option<(Self, Bytes)>, Infeasible> {
        let (nrows, ncols, nnz) = (a.nrows() as u64, a.ncols() as u64, a.nnz() as u64);
        let longest = || RowLengths::of(a).max();
        Ok(Some(match format {
            Format::Csr | Format::CsrBalanced(_) | Format::CsrBinned => return Ok(None),
            Format::Coo => {
                Coo::<T>::check(nrows, ncols, nnz, limits)?;
                // Columns and values stay where they are.
                (Self::Coo, Bytes(4 * nnz))
            }
            Format::Ell => {
                let width = longest();
                (Self::Ell { width }, Ell::<T>::check(nrows, ncols, nnz, width, limits)?)
            }
            Format::Hyb => {
                let split = RowLengths::of(a).hyb_split();
                let bytes = Hyb::<T>::check(nrows, ncols, nnz, split, limits)?;
                let starts = Hyb::<T>::coo_starts(a.row_ptr(), split.width);
                (Self::Hyb { split, starts }, Bytes(bytes.0.saturating_add(8 * nrows)))
            }
            Format::Jad => {
                let bytes = Jad::<T>::check(nrows, ncols, nnz, longest(), limits)?;
                (Self::Jad(JadLayout::of(a.row_ptr())), bytes)
            }
            Format::Sell(shape) => {
                let entries = Sell::<T>::entries(a.row_ptr(), shape);
                let bytes = Sell::<T>::check(nrows, ncols, nnz, shape, entries, limits)?;
                (Self::Sell(shape, SellLayout::of(a.row_ptr(), shape)), bytes)
            }
            Format::BroEll(shape) => {
                let column_ptr = shape.column_ptr(a.row_ptr());
                let least = bro_ell_size(shape, nrows, &column_ptr, 0);
                BroEll::<T>::check(nrows, ncols, nnz, shape, least, limits)?;
                // A difference takes 32 bits at most, and a row's last symbol may be hardly filled.
                let most = bro_ell_size(shape, nrows, &column_ptr, least.entries / 2 + nrows);
                let bytes = BroEll::<T>::device_bytes(nrows, shape, most, T::DTYPE).0;
                // And a number a slice, on the way.
                let bytes = Bytes(bytes.saturating_add(8 * column_ptr.len() as u64));
                (Self::BroEll(shape, column_ptr), bytes)
            }
        }))
    }
}

fn bro_ell_size(shape: BroEllShape, nrows: u64, column_ptr: &[u64], symbols: u64) -> BroEllSize {
    let columns = column_ptr.last().copied().unwrap_or_default();
    BroEllSize { entries: shape.entries(nrows, column_ptr), symbols, columns }
}

/// Uploads `a` and lays it out. The time of uploads and that of kernels are told apart; the host's share is not in it.
///
/// # Errors
/// [`DeviceError::Infeasible`] if BRO-ELL turns out larger than `limits`; a failed call.
pub(super) fn convert<T: Scalar>(
    cuda: &Cuda,
    a: &Csr<T>,
    layout: &Layout,
    limits: &Limits,
) -> Result<(Matrix<T>, Preparation), DeviceError> {
    cuda.context.bind()?;
    let kernels = FreeGrid::new(cuda, cuda.conversion(T::DTYPE, Csr::<T>::offset_bytes(a.nnz() as u64))?);
    let start = Instant::now();
    let csr = CsrArrays::of(&cuda.context, a)?;
    let upload = Seconds(start.elapsed().as_secs_f64());
    let start = Instant::now();
    let matrix = Conversion { cuda, kernels, nrows: a.nrows() as u64, csr }.run(a, layout, limits)?;
    cuda.context.synchronize()?;
    let convert = Seconds(start.elapsed().as_secs_f64());
    Ok((matrix, Preparation { convert, upload, on_device: true }))
}

/// A CSR on the device while it is converted.
struct Conversion<'d, T> {
    cuda: &'d Cuda,
    kernels: FreeGrid,
    nrows: u64,
    csr: CsrArrays<T>,
}

impl<T: Scalar> Conversion<'_, T> {
    fn run(self, a: &Csr<T>, layout: &Layout, limits: &Limits) -> Result<Matrix<T>, DeviceError> {
        let nnz = a.nnz() as u64;
        Ok(match layout {
            Layout::Coo => Matrix::Coo(self.into_coo()?),
            Layout::Ell { width } => Matrix::Ell(self.ell(*width)?),
            Layout::Hyb { split, starts } => {
                let ell = self.ell(split.width)?;
                Matrix::Hyb(ell, self.coo_behind(*split, starts)?)
            }
            Layout::Jad(layout) => Matrix::Jad(self.jad(layout, nnz)?),
            Layout::Sell(shape, layout) => Matrix::Sell(self.sell(*shape, layout, nnz)?),
            Layout::BroEll(shape, column_ptr) => {
                let (nrows, ncols) = (self.nrows, a.ncols() as u64);
                let fits = |size| BroEll::<T>::check(nrows, ncols, nnz, *shape, size, limits);
                Matrix::BroEll(self.bro_ell(*shape, column_ptr, fits)?)
            }
        })
    }

    fn array<E: Copy>(&self, data: &[E]) -> Result<DeviceArray<E>, DeviceError> {
        DeviceArray::of(&self.cuda.context, data)
    }

    fn room<E: Copy>(&self, len: u64) -> Result<DeviceArray<E>, DeviceError> {
        DeviceArray::new(&self.cuda.context, len as usize)
    }

    /// Columns and values of slices of `slice` places each, that begin at `slice_ptr` and hold `entries` entries.
    fn slices(
        &self,
        (places, slice): (u64, u64),
        entries: u64,
        permutation: &DeviceArray<u32>,
        slice_ptr: &DeviceArray<u64>,
    ) -> Result<(DeviceArray<u32>, DeviceArray<T>), DeviceError> {
        let (col_idx, values) = (self.room(entries)?, self.room(entries)?);
        let order = [permutation.address(), slice_ptr.address()];
        let written = [col_idx.address(), values.address()];
        let args = [&[places, self.nrows, slice], self.csr.args().as_slice(), &order, &written].concat();
        self.kernels.launch(LAY_SLICES, places, &args)?;
        Ok((col_idx, values))
    }

    /// A single slice, of all rows and those that align the stride.
    fn ell(&self, width: u64) -> Result<EllArrays<T>, DeviceError> {
        let stride = Ell::<T>::stride_for(self.nrows);
        let (no_order, slice_ptr) = (self.room(0)?, self.array(&[0, width * stride])?);
        let (col_idx, values) = self.slices((stride, stride), width * stride, &no_order, &slice_ptr)?;
        // The offsets are freed here, for which the driver waits.
        Ok(EllArrays { width, stride, col_idx, values })
    }

    fn sell(&self, shape: SellShape, layout: &SellLayout, nnz: u64) -> Result<SellArrays<T>, DeviceError> {
        let slice = u64::from(shape.slice);
        let places = (layout.slice_ptr().len() as u64 - 1) * slice;
        let (slice_ptr, permutation) = (self.array(layout.slice_ptr())?, self.array(layout.permutation())?);
        let (col_idx, values) = self.slices((places, slice), layout.entries(), &permutation, &slice_ptr)?;
        Ok(SellArrays { shape, nnz, slice_ptr, permutation, col_idx, values })
    }

    fn jad(&self, layout: &JadLayout, nnz: u64) -> Result<JadArrays<T>, DeviceError> {
        let permutation = self.array(layout.permutation())?;
        let diagonal_ptr = self.array(layout.diagonal_ptr())?;
        let (col_idx, values) = (self.room(nnz)?, self.room(nnz)?);
        let order = [permutation.address(), diagonal_ptr.address()];
        let written = [col_idx.address(), values.address()];
        let args = [&[self.nrows], self.csr.args().as_slice(), &order, &written].concat();
        self.kernels.launch(LAY_DIAGONALS, self.nrows, &args)?;
        Ok(JadArrays { permutation, diagonal_ptr, col_idx, values })
    }

    /// Columns and values stay where they are.
    fn into_coo(self) -> Result<CooArrays<T>, DeviceError> {
        let row_idx = self.room(self.csr.col_idx.len() as u64)?;
        let args = [&[self.nrows, 0], self.csr.args().as_slice(), &[0, row_idx.address(), 0, 0]].concat();
        // A warp a row.
        self.kernels.launch(LAY_COO, 32 * self.nrows, &args)?;
        let CsrArrays { row_ptr, col_idx, values } = self.csr;
        // Freed here, for which the driver waits.
        drop(row_ptr);
        Ok(CooArrays { row_idx, col_idx, values })
    }

    /// What the rows have behind the ELL part of HYB.
    fn coo_behind(&self, split: HybSplit, starts: &[u64]) -> Result<CooArrays<T>, DeviceError> {
        let nnz = split.coo_nnz;
        let starts = self.array(starts)?;
        let (row_idx, col_idx, values) = (self.room(nnz)?, self.room(nnz)?, self.room(nnz)?);
        let written = [row_idx.address(), col_idx.address(), values.address()];
        let rows = [self.nrows, split.width];
        let args = [&rows, self.csr.args().as_slice(), &[starts.address()], &written].concat();
        self.kernels.launch(LAY_COO, if nnz > 0 { 32 * self.nrows } else { 0 }, &args)?;
        Ok(CooArrays { row_idx, col_idx, values })
    }

    /// `fits` is asked when the size is known, before anything is allocated for symbols and values.
    fn bro_ell(
        &self,
        shape: BroEllShape,
        column_ptr: &[u64],
        fits: impl FnOnce(BroEllSize) -> Result<Bytes, Infeasible>,
    ) -> Result<BroEllArrays<T>, DeviceError> {
        let size = bro_ell_size(shape, self.nrows, column_ptr, 0);
        let slices = column_ptr.len() as u64 - 1;
        let [row_ptr, col_idx, csr_values] = self.csr.args();
        let rows = [self.nrows, u64::from(shape.slice)];
        let (column_ptr, bits) = (self.array(column_ptr)?, self.room::<u8>(size.columns)?);
        let symbols_a_slice = self.room::<u64>(slices)?;
        let written = [bits.address(), symbols_a_slice.address()];
        let args = [&rows, [row_ptr, col_idx, column_ptr.address()].as_slice(), &written].concat();
        // A warp a slice.
        self.kernels.launch(BRO_WIDTHS, 32 * slices, &args)?;
        let mut symbol_ptr = vec![0];
        for symbols in symbols_a_slice.to_host()? {
            symbol_ptr.push(symbol_ptr[symbol_ptr.len() - 1] + symbols);
        }
        let size = BroEllSize { symbols: symbol_ptr[symbol_ptr.len() - 1], ..size };
        fits(size)?;

        let symbol_ptr = self.array(&symbol_ptr)?;
        let (symbols, values) = (self.room(size.symbols)?, self.room(size.entries)?);
        let offsets = [column_ptr.address(), symbol_ptr.address(), bits.address()];
        let written = [symbols.address(), values.address()];
        let args = [&rows, [row_ptr, col_idx, csr_values].as_slice(), &offsets, &written].concat();
        self.kernels.launch(BRO_PACK, self.nrows, &args)?;
        Ok(BroEllArrays { shape, column_ptr, symbol_ptr, bits, symbols, values })
    }
}
