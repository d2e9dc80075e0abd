//! Preparation of a matrix in CSR that lies on a GPU already.

use super::DeviceMatrix;
use super::array::{DeviceBytes, check_device};
use super::convert::{CsrArrays, lay_out};
use super::device::Shared;
use super::matrix::upload;
use crate::{DeviceCsr, DeviceError, DeviceIndices};
use bytemuck::{cast_slice, cast_slice_mut};
use sparsight_matrix::{CsrError, Dtype, Format, HostArray, Scalar};
use std::ops::Range;

impl DeviceIndices<'_> {
    fn is_wide(&self) -> bool {
        matches!(self, Self::U64(_))
    }

    /// Address of index `at`.
    fn address(&self, at: u64) -> u64 {
        match self {
            Self::U32(slice) => slice.address + 4 * at,
            Self::U64(slice) => slice.address + 8 * at,
        }
    }

    /// A range of indices, read to the host.
    fn read(&self, gpu: &Shared, range: Range<u64>) -> Result<Vec<u64>, DeviceError> {
        let (address, count) = (self.address(range.start), (range.end - range.start) as usize);
        let memory = gpu.memory();
        if self.is_wide() {
            let mut wide = vec![0_u64; count];
            // SAFETY: the maker of the slice has promised that it is there.
            unsafe { memory.read(address, cast_slice_mut(&mut wide))? };
            return Ok(wide);
        }
        let mut narrow = vec![0_u32; count];
        // SAFETY: as above.
        unsafe { memory.read(address, cast_slice_mut(&mut narrow))? };
        Ok(narrow.into_iter().map(u64::from).collect())
    }

    /// Number of the device, if it is known.
    fn of(&self) -> Option<usize> {
        match self {
            Self::U32(slice) => slice.of,
            Self::U64(slice) => slice.of,
        }
    }
}

/// A [`DeviceCsr`] whose offsets were looked at.
#[derive(Debug)]
pub(super) struct Resident<'a, T> {
    csr: DeviceCsr<'a, T>,
    row_ptr: Vec<u64>,
}

impl<'a, T: Scalar> Resident<'a, T> {
    /// # Errors
    /// [`DeviceError::Matrix`] if the offsets are none; [`DeviceError::OtherDevice`] if an array is known to lie elsewhere.
    pub(super) fn of(gpu: &Shared, csr: DeviceCsr<'a, T>) -> Result<Self, DeviceError> {
        let memory = gpu.memory();
        check_device(csr.row_ptr.of(), "row_ptr", memory.as_ref())?;
        check_device(csr.col_idx.of(), "col_idx", memory.as_ref())?;
        check_device(csr.values.of, "values", memory.as_ref())?;
        let (nnz, expected_len, len) = (csr.col_idx.len(), csr.nrows + 1, csr.row_ptr.len());
        if csr.ncols >= u32::MAX as usize {
            return Err(CsrError::TooManyColumns { ncols: csr.ncols }.into());
        }
        if csr.values.len() != nnz {
            return Err(CsrError::Lengths { values: csr.values.len(), col_idx: nnz }.into());
        }
        let row_ptr = if len == expected_len { csr.row_ptr.read(gpu, 0..len as u64)? } else { Vec::new() };
        let first = row_ptr.first().copied().unwrap_or(0);
        let last = row_ptr.last().copied().unwrap_or(u64::MAX);
        if first != 0 || last != nnz as u64 {
            return Err(CsrError::RowPtr { expected_len, len, first, last, nnz }.into());
        }
        if let Some(row) = row_ptr.windows(2).position(|w| w[1] < w[0]) {
            return Err(CsrError::RowPtrDecreases { row }.into());
        }
        Ok(Self { csr, row_ptr })
    }

    /// Rows and columns.
    pub(super) fn size(&self) -> (usize, usize) {
        (self.csr.nrows, self.csr.ncols)
    }

    /// The range of entries of some rows.
    pub(super) fn entries(&self, rows: &Range<usize>) -> Range<u64> {
        self.row_ptr[rows.start]..self.row_ptr[rows.end]
    }

    /// Some rows in a format of ours, with values of `S` to be computed with in `dtype`, made of copies: when this returns nothing that is queued reads the CSR any more.
    ///
    /// # Errors
    /// [`DeviceError::Matrix`] if the columns of a row do not increase or lie outside of the matrix;
    /// [`DeviceError::Infeasible`] if they do not fit beside the CSR.
    pub(super) fn convert<S: Scalar>(
        &self,
        gpu: &Shared,
        rows: &Range<usize>,
        format: Format,
        dtype: Dtype,
    ) -> Result<DeviceMatrix, DeviceError> {
        let (limits, memory) = (gpu.limits(), gpu.memory());
        let entries = self.entries(rows);
        let nnz = entries.end - entries.start;
        let offsets: Vec<u64> =
            self.row_ptr[rows.start..=rows.end].iter().map(|at| at - entries.start).collect();
        let layout = format.layout::<S>(&offsets, self.csr.ncols as u64, &limits)?;
        let host: HostArray<'_, S> = HostArray::Offsets { offsets: offsets.into(), nnz };
        let row_ptr = upload(&memory, &host, gpu.offset_bytes(nnz))?;
        let col_idx = DeviceBytes::new(&memory, 4 * nnz)?;
        let values = DeviceBytes::new(&memory, nnz * S::DTYPE.bytes())?;
        let broken = DeviceBytes::of(&memory, cast_slice(&[0_u64]))?;
        let (nrows, ncols) = (rows.len() as u64, self.csr.ncols as u64);
        let source = self.csr.col_idx.address(entries.start);
        let is_wide = u64::from(self.csr.col_idx.is_wide());
        let columns = [nrows, ncols, is_wide, row_ptr.address(), source, col_idx.address(), broken.address()];
        let theirs = self.csr.values.address + entries.start * T::DTYPE.bytes();
        let copy = [nnz, 0, theirs, values.address()];
        let kernels = gpu.conversion(dtype, nnz)?;
        // SAFETY: the offsets were looked at; the maker of the slices has promised that they are there.
        unsafe {
            kernels.launch("take_columns", 32 * nrows, &columns)?;
            kernels.launch("place_values", nnz, &copy)?;
        }
        let row = broken.read_words()?[0] as usize;
        if row > 0 {
            return Err(self.broken_row(gpu, rows.start + row - 1)?.into());
        }
        let arrays = vec![("row_ptr", row_ptr), ("col_idx", col_idx), ("values", values)];
        lay_out(gpu, format, CsrArrays { nrows, ncols, nnz, arrays }, &layout, &limits)
    }

    /// The fault of the columns of a row.
    fn broken_row(&self, gpu: &Shared, row: usize) -> Result<CsrError, DeviceError> {
        let cols = self.csr.col_idx.read(gpu, self.row_ptr[row]..self.row_ptr[row + 1])?;
        let ncols = self.csr.ncols;
        Ok(match cols.iter().find(|col| **col >= ncols as u64) {
            Some(&col) => CsrError::Column { row, col: u32::try_from(col).unwrap_or(u32::MAX), ncols },
            None => CsrError::Unsorted { row },
        })
    }
}
