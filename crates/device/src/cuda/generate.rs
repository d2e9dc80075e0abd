//! Benchmark matrices made on the device, and the small kernels that fill vectors.

use super::Cuda;
use super::arrays::{CooArrays, CsrArrays, EllArrays, JadArrays, Matrix, Offsets, TileArrays};
use super::free_grid::FreeGrid;
use super::memory::DeviceArray;
use super::operand::CudaOperand;
use super::upload::{Converted, upload};
use crate::{DeviceError, Preparation};
use sparsight_kernels::{BenchmarkMatrix, Format, Placement};
use sparsight_matrix::{Csr, Dtype, Ell, Hyb, Infeasible, JadLayout, Limits, Scalar, TileTable};

/// Kernels of `benchmark_matrix_source`, in its order.
const ROW_PTR: usize = 0;
const ROW_IDX: usize = 1;
const ENTRIES: usize = 2;
const ELL: usize = 3;
const JAD: usize = 4;
const RANDOM_X: usize = 5;
const POISON: usize = 6;

/// The loaded helper kernels. Launches are queued and not waited for.
#[derive(Debug)]
pub(super) struct Helper(FreeGrid);

impl Helper {
    pub(super) fn new(cuda: &Cuda, dtype: Dtype, offset_bytes: u64) -> Result<Self, DeviceError> {
        Ok(Self(FreeGrid::new(cuda, cuda.helper(dtype, offset_bytes)?)))
    }

    fn launch(&self, kernel: usize, elements: u64, args: &[u64]) -> Result<(), DeviceError> {
        self.0.launch(kernel, elements, args)
    }

    /// `T` must be the value type of this helper.
    pub(super) fn random_x<T: Scalar>(&self, x: &DeviceArray<T>, seed: u64) -> Result<(), DeviceError> {
        let count = x.len() as u64;
        self.launch(RANDOM_X, count, &[count, seed, x.address()])
    }

    /// `T` must be the value type of this helper.
    pub(super) fn poison<T: Scalar>(&self, y: &DeviceArray<T>) -> Result<(), DeviceError> {
        let count = y.len() as u64;
        self.launch(POISON, count, &[count, y.address()])
    }
}

/// The matrix on the device. x is random and follows from the matrix' seed.
///
/// The lengths of rows that differ are drawn on the host and uploaded as row offsets, with the order of JAD's rows; every
/// entry is made on the device. What no grid asks for is made on the host altogether: csr-binned, SELL-C-sigma and BRO-ELL,
/// and COO and HYB with rows that differ.
pub(super) fn generate<'d, T: Scalar>(
    cuda: &'d Cuda,
    matrix: &BenchmarkMatrix,
    format: Format,
    limits: &Limits,
) -> Result<CudaOperand<'d, T>, DeviceError> {
    let nrows = matrix.nrows;
    if nrows >= u64::from(u32::MAX) {
        return Err(Infeasible::TooManyRows { nrows }.into());
    }
    let rows = matrix.rows(limits.memory)?;
    let (nnz, split) = (rows.nnz(), rows.lengths().hyb_split());
    let need = match format {
        Format::Hyb => Hyb::<T>::device_bytes(nrows, split, T::DTYPE).0 + 2 * nrows * T::DTYPE.bytes(),
        other => rows.bytes(other, T::DTYPE).0,
    };
    // The row offsets that other formats are made from lie beside them for a while.
    let keeps_offsets = matches!(format, Format::Csr | Format::CsrBalanced(_));
    let beside = if rows.offsets().is_some() && !keeps_offsets { 8 * (nrows + 1) } else { 0 };
    let need = need.saturating_add(beside);
    limits.check(u128::from(nnz), nnz, u128::from(need))?;
    cuda.context.bind()?;
    let on_host = match format {
        Format::CsrBinned | Format::Sell(_) | Format::BroEll(_) => true,
        Format::Coo | Format::Hyb => matrix.lengths.is_drawn(),
        Format::Csr | Format::CsrBalanced(_) | Format::Ell | Format::Jad => false,
    };
    if on_host {
        let a = matrix.to_csr();
        let arrays = upload(cuda, &a, &Converted::from_csr(&a, format, limits)?)?;
        return CudaOperand::new(cuda, (nrows, nrows), arrays, Preparation::default(), matrix.seed);
    }
    let offset_bytes = Csr::<T>::offset_bytes(nnz);
    let context = &cuda.context;
    let helper = Helper::new(cuda, T::DTYPE, offset_bytes)?;
    let drawn = rows.offsets().map(|offsets| Offsets::of::<T>(context, offsets)).transpose()?;
    // What every kernel that makes entries is told of the matrix.
    let strewn = u64::from(matrix.placement == Placement::Strewn);
    let row_ptr = drawn.as_ref().map_or(0, Offsets::address);
    let what = [nrows, matrix.longest(), strewn, matrix.seed, row_ptr];

    let entries = |count: u64| -> Result<_, DeviceError> {
        let col_idx = DeviceArray::<u32>::new(context, count as usize)?;
        let values = DeviceArray::<T>::new(context, count as usize)?;
        let args = [what.as_slice(), &[col_idx.address(), values.address()]].concat();
        // A warp a row; none if there is nothing to write.
        helper.launch(ENTRIES, if count > 0 { 32 * nrows } else { 0 }, &args)?;
        Ok((col_idx, values))
    };
    let coo = |count: u64| -> Result<_, DeviceError> {
        let row_idx = DeviceArray::<u32>::new(context, count as usize)?;
        helper.launch(ROW_IDX, count, &[count, matrix.row_length, row_idx.address()])?;
        let (col_idx, values) = entries(count)?;
        Ok(CooArrays { row_idx, col_idx, values })
    };
    let ell = |width: u64| -> Result<_, DeviceError> {
        let stride = Ell::<T>::stride_for(nrows);
        let col_idx = DeviceArray::<u32>::new(context, (width * stride) as usize)?;
        let values = DeviceArray::<T>::new(context, (width * stride) as usize)?;
        let args = [what.as_slice(), &[width, stride, col_idx.address(), values.address()]].concat();
        helper.launch(ELL, width * stride, &args)?;
        Ok(EllArrays { width, stride, col_idx, values })
    };
    let csr = |drawn: Option<Offsets>| -> Result<_, DeviceError> {
        let (col_idx, values) = entries(nnz)?;
        let row_ptr = if let Some(offsets) = drawn {
            offsets
        } else {
            let offsets = Offsets::new(context, nrows as usize + 1, offset_bytes)?;
            helper.launch(ROW_PTR, nrows + 1, &[nrows, matrix.row_length, offsets.address()])?;
            offsets
        };
        Ok(CsrArrays { row_ptr, col_idx, values })
    };
    let arrays = match format {
        Format::Csr => Matrix::Csr(csr(drawn)?),
        Format::CsrBalanced(shape) => {
            let csr = csr(drawn)?;
            let table = TileTable::of(&rows.into_offsets(), shape);
            Matrix::CsrBalanced(csr, TileArrays::of(context, &table)?)
        }
        Format::Coo => Matrix::Coo(coo(nnz)?),
        Format::Ell => Matrix::Ell(ell(rows.longest())?),
        // All rows are equal, so one of the two parts holds everything.
        Format::Hyb => Matrix::Hyb(ell(split.width)?, coo(split.coo_nnz)?),
        Format::Jad => {
            let layout = JadLayout::of(&rows.into_offsets());
            let permutation = DeviceArray::of(context, layout.permutation())?;
            let diagonal_ptr = DeviceArray::of(context, layout.diagonal_ptr())?;
            let col_idx = DeviceArray::<u32>::new(context, nnz as usize)?;
            let values = DeviceArray::<T>::new(context, nnz as usize)?;
            let arrays = [permutation.address(), diagonal_ptr.address(), col_idx.address(), values.address()];
            helper.launch(JAD, nrows, &[what.as_slice(), &arrays].concat())?;
            Matrix::Jad(JadArrays { permutation, diagonal_ptr, col_idx, values })
        }
        Format::CsrBinned | Format::Sell(_) | Format::BroEll(_) => {
            unreachable!("made on the host")
        }
    };
    CudaOperand::new(cuda, (nrows, nrows), arrays, Preparation::default(), matrix.seed)
}
