//! Benchmark matrices made on the device.
//!
//! The lengths of rows that differ are drawn on the host and uploaded as row offsets; every entry is made on the device.

use super::DeviceMatrix;
use super::array::DeviceBytes;
use super::convert::{CsrArrays, lay_out};
use super::device::Shared;
use super::matrix::upload;
use crate::DeviceError;
use sparsight_kernels::{BenchmarkMatrix, Placement};
use sparsight_matrix::{Csr, Format, HostArray, Infeasible, Limits, Scalar};

/// The matrix on the device.
pub(super) fn generate<T: Scalar>(
    gpu: &Shared,
    matrix: &BenchmarkMatrix,
    format: Format,
    limits: &Limits,
) -> Result<DeviceMatrix, DeviceError> {
    let nrows = matrix.nrows;
    if nrows >= u64::from(u32::MAX) {
        return Err(Infeasible::TooManyRows { nrows }.into());
    }
    let rows = matrix.rows(limits.memory)?;
    let nnz = rows.nnz();
    let csr = Csr::<T>::device_bytes(nrows, nnz, T::DTYPE).0;
    let generator = format.family().generator.as_ref();
    // What lies beside the format for a while: the row offsets of drawn lengths, or the whole CSR.
    let beside = if format.stays_in_csr() {
        0
    } else if generator.is_none() {
        csr
    } else {
        rows.offsets().map_or(0, |offsets| 8 * offsets.len() as u64)
    };
    let need = rows.bytes(format, T::DTYPE).0.saturating_add(beside);
    limits.check(u128::from(nnz), nnz, u128::from(need))?;

    let memory = gpu.memory();
    let kernels = gpu.generator::<T>(nnz)?;
    let offsets = |offsets: &[u64]| {
        upload::<T>(&memory, &HostArray::Offsets { offsets: offsets.into(), nnz }, gpu.offset_bytes(nnz))
    };
    let drawn = rows.offsets().map(offsets).transpose()?;
    let row_ptr = drawn.as_ref().map_or(0, DeviceBytes::address);
    // What every kernel that makes entries is told of the matrix.
    let scattered = u64::from(matrix.placement == Placement::Scattered);
    let what = [nrows, matrix.longest(), scattered, matrix.seed, row_ptr];

    let host_offsets = rows.into_offsets();
    let layout = format.layout::<T>(&host_offsets, nrows, &Limits { padding: f64::INFINITY, ..*limits })?;
    if let Some(generator) = generator {
        let mut made = DeviceMatrix::new::<T>(format, (nrows, nrows, nnz), gpu.offset_bytes(nnz));
        made.tell(&layout.numbers);
        made.add(&memory, &layout.arrays)?;
        let number = |name: &str| made.number(name).expect("a generator names numbers of its format");
        let own = generator.args.iter().map(|name| made.number(name).unwrap_or_else(|| made.address(name)));
        let args: Vec<u64> = what.into_iter().chain(own).collect();
        // SAFETY: the format names the routine's parameters, and its arrays are as long as its layout says.
        unsafe { kernels.launch(generator.routine, (generator.threads)(&number), &args)? };
        gpu.gpu().synchronize()?;
        Ok(made)
    } else {
        let entries = |bytes: u64| DeviceBytes::new(&memory, nnz * bytes);
        let (col_idx, values) = (entries(4)?, entries(T::DTYPE.bytes())?);
        let args = [what.as_slice(), &[col_idx.address(), values.address()]].concat();
        // A warp a row; none if there is nothing to write.
        let threads = if nnz > 0 { 32 * nrows } else { 0 };
        // SAFETY: both arrays hold all entries, and the offsets are those of the rows.
        unsafe { kernels.launch("generate_entries", threads, &args)? };
        let row_ptr = if let Some(drawn) = drawn {
            drawn
        } else {
            let row_ptr = DeviceBytes::new(&memory, (nrows + 1) * gpu.offset_bytes(nnz))?;
            let args = [nrows, matrix.row_length, row_ptr.address()];
            // SAFETY: there is an offset for each row and one more.
            unsafe { kernels.launch("generate_row_ptr", nrows + 1, &args)? };
            row_ptr
        };
        gpu.gpu().synchronize()?;
        let arrays = vec![("row_ptr", row_ptr), ("col_idx", col_idx), ("values", values)];
        lay_out(gpu, format, CsrArrays { nrows, ncols: nrows, nnz, arrays }, &layout, limits)
    }
}
