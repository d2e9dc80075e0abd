//! Benchmark matrices made on the device, and the small kernels that fill vectors.

use super::Cuda;
use super::memory::DeviceArray;
use super::module::Module;
use super::operand::{CooArrays, CudaOperand, EllArrays, Matrix, Offsets};
use crate::{DeviceError, Preparation};
use sparsight_kernels::{BenchmarkMatrix, Format, HELPER_BLOCK, Placement};
use sparsight_matrix::{Csr, Dtype, Ell, Hyb, HybSplit, Infeasible, Limits, RowLengths, Scalar};
use std::sync::Arc;

/// Kernels of `benchmark_matrix_source`, in its order.
const ROW_PTR: usize = 0;
const ROW_IDX: usize = 1;
const ENTRIES: usize = 2;
const ELL: usize = 3;
const RANDOM_X: usize = 4;
const POISON: usize = 5;

/// Blocks a multiprocessor of kernels that take any number: 8 of 256 threads fill it, and twice that evens out.
const BLOCKS_PER_MULTIPROCESSOR: u64 = 16;

/// The loaded helper kernels. Launches are queued and not waited for.
#[derive(Debug)]
pub(super) struct Helper {
    module: Arc<Module>,
    most_blocks: u64,
}

impl Helper {
    pub(super) fn new(cuda: &Cuda, dtype: Dtype, offset_bytes: u64) -> Result<Self, DeviceError> {
        let most_blocks = u64::from(cuda.facts.multiprocessors) * BLOCKS_PER_MULTIPROCESSOR;
        Ok(Self { module: cuda.helper(dtype, offset_bytes)?, most_blocks })
    }

    /// Launches `kernel`, which writes `elements` elements; nothing for none.
    fn launch(&self, kernel: usize, elements: u64, args: &[u64]) -> Result<(), DeviceError> {
        if elements == 0 {
            return Ok(());
        }
        let grid = elements.div_ceil(u64::from(HELPER_BLOCK)).min(self.most_blocks.max(1)) as u32;
        self.module.launch(kernel, grid, HELPER_BLOCK, args).queue()
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
/// # Panics
/// If a row is longer than the matrix is wide.
pub(super) fn generate<'d, T: Scalar>(
    cuda: &'d Cuda,
    matrix: &BenchmarkMatrix,
    format: Format,
    limits: &Limits,
) -> Result<CudaOperand<'d, T>, DeviceError> {
    let (nrows, p, nnz) = (matrix.nrows, matrix.row_length, matrix.nnz());
    assert!(p <= nrows, "a row cannot be longer than the matrix is wide");
    if nrows >= u64::from(u32::MAX) {
        return Err(Infeasible::TooManyRows { nrows }.into());
    }
    let split = if format == Format::Hyb {
        RowLengths::from_counts([(p, nrows)]).hyb_split()
    } else {
        HybSplit::default()
    };
    let need = match format {
        Format::Hyb => Hyb::<T>::device_bytes(nrows, split, T::DTYPE).0 + 2 * nrows * T::DTYPE.bytes(),
        other => matrix.bytes(other, T::DTYPE).0,
    };
    limits.check(u128::from(nnz), nnz, u128::from(need))?;

    cuda.context.bind()?;
    let offset_bytes = Csr::<T>::offset_bytes(nnz);
    let helper = Helper::new(cuda, T::DTYPE, offset_bytes)?;
    let strewn = u64::from(matrix.placement == Placement::Strewn);
    let context = &cuda.context;

    let entries = |count: u64| -> Result<_, DeviceError> {
        let col_idx = DeviceArray::<u32>::new(context, count as usize)?;
        let values = DeviceArray::<T>::new(context, count as usize)?;
        let args = [nrows, p, strewn, matrix.seed, col_idx.address(), values.address()];
        helper.launch(ENTRIES, count, &args)?;
        Ok((col_idx, values))
    };
    let coo = |count: u64| -> Result<_, DeviceError> {
        let row_idx = DeviceArray::<u32>::new(context, count as usize)?;
        helper.launch(ROW_IDX, count, &[count, p, row_idx.address()])?;
        let (col_idx, values) = entries(count)?;
        Ok(CooArrays { row_idx, col_idx, values })
    };
    let ell = |width: u64| -> Result<_, DeviceError> {
        let stride = Ell::<T>::stride_for(nrows);
        let col_idx = DeviceArray::<u32>::new(context, (width * stride) as usize)?;
        let values = DeviceArray::<T>::new(context, (width * stride) as usize)?;
        let args = [nrows, p, strewn, matrix.seed, stride, col_idx.address(), values.address()];
        helper.launch(ELL, width * stride, &args)?;
        Ok(EllArrays { width, stride, col_idx, values })
    };
    let arrays = match format {
        Format::Csr => {
            let len = nrows as usize + 1;
            let row_ptr = if offset_bytes == 4 {
                Offsets::Narrow(DeviceArray::new(context, len)?)
            } else {
                Offsets::Wide(DeviceArray::new(context, len)?)
            };
            helper.launch(ROW_PTR, nrows + 1, &[nrows, p, row_ptr.address()])?;
            let (col_idx, values) = entries(nnz)?;
            Matrix::Csr { row_ptr, col_idx, values }
        }
        Format::Coo => Matrix::Coo(coo(nnz)?),
        Format::Ell => Matrix::Ell(ell(p)?),
        // All rows are equal, so one of the two parts holds everything.
        Format::Hyb => Matrix::Hyb(ell(split.width)?, coo(split.coo_nnz)?),
        // No strip model needs it, so nobody makes it large: converted on the host.
        Format::BroEll(_) => {
            return CudaOperand::load(cuda, &matrix.to_csr(), format, limits, matrix.seed);
        }
        Format::Jad => todo!(),
        Format::Sell(_) => todo!(),
    };
    CudaOperand::new(cuda, (nrows, nrows), arrays, Preparation::default(), matrix.seed)
}
