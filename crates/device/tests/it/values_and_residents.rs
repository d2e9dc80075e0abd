//! What happens to a prepared matrix, and where it may come from: new values for the same pattern, and a CSR that lies on the GPU
//! already. On the CPU, on an emulated GPU, and on a GPU where there is one.
//!
//! Without g++ or a GPU that share is skipped; `SPARSIGHT_REQUIRE_GXX=1` and `SPARSIGHT_REQUIRE_GPU=1` turn that into a failure.

use crate::emulator::matrices::{all_matrices, matrix};
use crate::emulator::{EmulatedGpu, Order, gxx_is_missing};
use crate::gpu::gpu;
use crate::support::{hold, thirds};
use sparsight_device::cpu::Cpu;
use sparsight_device::gpu::{ConvertOn, DeviceArray, GpuDevice};
use sparsight_device::{Device, DeviceCsr, DeviceError, DeviceIndices, LoadRequest, Partition, random_x};
use sparsight_kernels::{Candidate, DeviceKind, Execution, Kernel};
use sparsight_matrix::{Csr, CsrError, Dtype, Narrowing, Scalar, reference};

/// Candidates of ours, one for each format.
fn one_per_format(kind: DeviceKind, dtype: Dtype) -> Vec<Candidate> {
    let ours = Kernel::all().filter(|kernel| !kernel.is_vendors() && kernel.runs_on(kind));
    let mut kernels: Vec<Kernel> = ours.collect();
    kernels.dedup_by_key(|kernel| kernel.format());
    kernels.into_iter().map(|kernel| Candidate { kernel, block: kernel.blocks()[0], dtype }).collect()
}

/// All rows with one candidate of each format, and three parts in formats that change from cut to cut.
fn partitions(nrows: usize, kind: DeviceKind, dtype: Dtype) -> Vec<Partition> {
    let all = one_per_format(kind, dtype);
    let whole = all.iter().map(|candidate| Partition::whole(nrows, *candidate));
    let cut = |at: usize| {
        let ends = [0, nrows / 3, nrows / 3 + 7, nrows];
        let part = |k: usize| (ends[k]..ends[k + 1], all[(at + 5 * k) % all.len()]);
        Partition::try_new((0..3).map(part).collect(), Execution::Sequential).unwrap()
    };
    whole.chain((0..if nrows > 20 { all.len() } else { 0 }).map(cut)).collect()
}

/// Matrices of every kind, few enough to try all formats.
fn some_matrices<T: Scalar>() -> Vec<(&'static str, Csr<T>)> {
    let some =
        ["no rows", "33 rows", "empty rows first, last and between", "long rows that start within a step"];
    let some = some.into_iter().chain([
        "HYB with both parts",
        "diagonals with gaps",
        "a high rectangle",
        "blocks of 3",
    ]);
    let some: Vec<&str> = some.collect();
    let found: Vec<_> = all_matrices().into_iter().filter(|(what, _)| some.contains(what)).collect();
    assert_eq!(found.len(), some.len());
    found
}

fn check_updates<T: Scalar>(device: &dyn Device<T>, dtype: Dtype, upload: Option<&GpuDevice>) {
    // What a matrix that was given is in the device's memory.
    let stored = |a: &Csr<T>| if dtype == Dtype::Mixed { Narrowing::rounded(a) } else { a.clone() };
    for (what, a) in some_matrices::<T>() {
        let a = thirds(&a);
        let x = random_x::<T>(a.ncols(), 3);
        let with = |seed: u64| thirds(&a.with_values(random_x::<T>(a.nnz(), seed)).unwrap());
        for partition in partitions(a.nrows(), device.facts().kind, dtype) {
            let mut product = match device.load(LoadRequest::Parts { a: &a, partition: &partition }) {
                Ok(product) => product,
                Err(DeviceError::Infeasible(_)) => continue,
                Err(error) => panic!("{partition:?} of '{what}': {error}"),
            };
            let what = format!("{partition:?} of '{what}'");
            let stays = partition.parts().iter().all(|(_, c)| c.format().stays_in_csr());
            let early = product.update_values(with(4).values());
            assert_eq!(early.is_ok(), stays, "{what}: {early:?}");
            if !stays {
                // Nothing was changed, not even the parts that could have been.
                hold(product.as_ref(), &what, &x, &reference(&stored(&a), &x));
            }
            product.allow_updates(&a).unwrap();
            let new = with(5);
            product.update_values(new.values()).unwrap();
            hold(product.as_ref(), &what, &x, &reference(&stored(&new), &x));
            if let Some(gpu) = upload {
                let new = with(6);
                let values = gpu.upload(new.values()).unwrap();
                product.update_values_on_device(values.as_slice(), None).unwrap();
                hold(product.as_ref(), &what, &x, &reference(&stored(&new), &x));
            }
            let too_few = product.update_values(&new.values()[..new.nnz().saturating_sub(1)]);
            assert_eq!(too_few.is_err(), new.nnz() > 0, "{what}");
        }
    }
}

#[test]
fn values_are_replaced_in_every_format() {
    check_updates::<f32>(&Cpu::new(), Dtype::F32, None);
    check_updates::<f64>(&Cpu::new(), Dtype::F64, None);
    if gxx_is_missing() {
        return;
    }
    for place in [ConvertOn::Host, ConvertOn::Device] {
        let mut gpu = EmulatedGpu::device(Order::Forwards);
        gpu.convert_on(place);
        check_updates::<f32>(&gpu, Dtype::F32, Some(&gpu));
    }
    check_updates::<f64>(&EmulatedGpu::device(Order::Forwards), Dtype::Mixed, None);
    let gpu = EmulatedGpu::with_wide_offsets(Order::Backwards);
    check_updates::<f64>(&gpu, Dtype::F64, Some(&gpu));
}

#[test]
fn values_are_replaced_on_a_gpu() {
    let Some(mut cuda) = gpu() else { return };
    for place in [ConvertOn::Host, ConvertOn::Device] {
        cuda.convert_on(place);
        check_updates::<f32>(&*cuda, Dtype::F32, Some(cuda.as_gpu()));
        check_updates::<f64>(&*cuda, Dtype::Mixed, Some(cuda.as_gpu()));
        check_updates::<f64>(&*cuda, Dtype::F64, Some(cuda.as_gpu()));
    }
}

#[test]
fn values_of_another_pattern_are_refused() {
    let a = matrix::<f64>(&[3, 1, 4, 1, 5, 9, 2, 6]);
    let other = matrix::<f64>(&[3, 1, 4, 1, 5, 9, 6, 2]);
    let candidate = "ell/b64/f64".parse().unwrap();
    for parts in [vec![(0..8, candidate)], vec![(0..7, candidate), (7..8, candidate)]] {
        let is_cut = parts.len() > 1;
        let partition = Partition::try_new(parts, Execution::Sequential).unwrap();
        let mut product = Cpu::new().load(LoadRequest::Parts { a: &a, partition: &partition }).unwrap();
        // As many rows, columns and non-zeros: seen where a cut lies between them.
        assert_eq!(product.allow_updates(&other).is_err(), is_cut);
        let fewer = matrix::<f64>(&[3, 1, 4, 1, 5, 9, 2, 5]);
        assert_eq!(product.allow_updates(&fewer), Err(DeviceError::OtherPattern));
    }
}

/// The arrays of a CSR on a GPU, with indices of both widths.
struct Uploaded<T> {
    size: (usize, usize),
    narrow: [DeviceArray<u32>; 2],
    wide: [DeviceArray<u64>; 2],
    values: DeviceArray<T>,
}

impl<T: Scalar> Uploaded<T> {
    fn of(gpu: &GpuDevice, size: (usize, usize), row_ptr: &[u64], col_idx: &[u64], values: &[T]) -> Self {
        let narrow = |wide: &[u64]| {
            let narrow: Vec<u32> = wide.iter().map(|&index| index as u32).collect();
            gpu.upload(&narrow).unwrap()
        };
        Self {
            size,
            narrow: [narrow(row_ptr), narrow(col_idx)],
            wide: [gpu.upload(row_ptr).unwrap(), gpu.upload(col_idx).unwrap()],
            values: gpu.upload(values).unwrap(),
        }
    }

    fn of_csr(gpu: &GpuDevice, a: &Csr<T>) -> Self {
        let col_idx: Vec<u64> = a.col_idx().iter().map(|&col| col.into()).collect();
        Self::of(gpu, (a.nrows(), a.ncols()), a.row_ptr(), &col_idx, a.values())
    }

    fn csr(&self, wide: [bool; 2]) -> DeviceCsr<'_, T> {
        let indices = |of: usize| {
            if wide[of] {
                DeviceIndices::U64(self.wide[of].as_slice())
            } else {
                DeviceIndices::U32(self.narrow[of].as_slice())
            }
        };
        let (nrows, ncols) = self.size;
        DeviceCsr { nrows, ncols, row_ptr: indices(0), col_idx: indices(1), values: self.values.as_slice() }
    }
}

fn check_resident<T: Scalar>(gpu: &GpuDevice, dtype: Dtype) {
    for (what, a) in some_matrices::<T>() {
        let a = thirds(&a);
        let stored = if dtype == Dtype::Mixed { Narrowing::rounded(&a) } else { a.clone() };
        let x = random_x::<T>(a.ncols(), 3);
        let uploaded = Uploaded::of_csr(gpu, &a);
        for (at, partition) in partitions(a.nrows(), DeviceKind::Cuda, dtype).into_iter().enumerate() {
            let csr = uploaded.csr([at % 2 == 0, at % 3 == 0]);
            let product = match gpu.load(LoadRequest::Resident { a: csr, partition: &partition }) {
                Ok(product) => product,
                Err(DeviceError::Infeasible(_)) => {
                    let on_host = gpu.load(LoadRequest::Parts { a: &a, partition: &partition });
                    assert!(matches!(on_host, Err(DeviceError::Infeasible(_))), "{partition:?} of '{what}'");
                    continue;
                }
                Err(error) => panic!("{partition:?} of '{what}': {error}"),
            };
            hold(product.as_ref(), &format!("{partition:?} of '{what}'"), &x, &reference(&stored, &x));
        }
    }
}

#[test]
fn a_resident_matrix_is_prepared_with_indices_of_both_widths() {
    if gxx_is_missing() {
        return;
    }
    check_resident::<f32>(&EmulatedGpu::device(Order::Forwards), Dtype::F32);
    check_resident::<f64>(&EmulatedGpu::device(Order::Forwards), Dtype::Mixed);
    check_resident::<f64>(&EmulatedGpu::with_wide_offsets(Order::Backwards), Dtype::F64);
}

#[test]
fn a_resident_matrix_is_prepared_on_a_real_gpu() {
    let Some(cuda) = gpu() else { return };
    check_resident::<f32>(cuda.as_gpu(), Dtype::F32);
    check_resident::<f64>(cuda.as_gpu(), Dtype::F64);
    check_resident::<f64>(cuda.as_gpu(), Dtype::Mixed);
}

#[test]
fn resident_arrays_that_are_no_csr_are_refused_with_the_row() {
    if gxx_is_missing() {
        return;
    }
    let gpu = EmulatedGpu::device(Order::Forwards);
    let refused = |row_ptr: &[u64], col_idx: &[u64], values: usize| {
        let uploaded = Uploaded::of(&gpu, (3, 5), row_ptr, col_idx, &vec![1.0_f64; values]);
        let partition = Partition::whole(3, "jad/b64/f64".parse().unwrap());
        let wide =
            gpu.load(LoadRequest::Resident { a: uploaded.csr([true; 2]), partition: &partition }).err();
        let narrow =
            gpu.load(LoadRequest::Resident { a: uploaded.csr([false; 2]), partition: &partition }).err();
        assert_eq!(wide, narrow);
        match wide {
            Some(DeviceError::Matrix(error)) => Some(error),
            Some(error) => panic!("{error}"),
            None => None,
        }
    };
    assert_eq!(refused(&[0, 2, 2, 4], &[0, 4, 1, 2], 4), None);
    assert_eq!(refused(&[0, 2, 2, 4], &[0, 4, 2, 2], 4), Some(CsrError::Unsorted { row: 2 }));
    assert_eq!(refused(&[0, 2, 2, 4], &[0, 5, 1, 2], 4), Some(CsrError::Column { row: 0, col: 5, ncols: 5 }));
    assert_eq!(refused(&[0, 3, 2, 4], &[0, 4, 1, 2], 4), Some(CsrError::RowPtrDecreases { row: 1 }));
    assert!(matches!(refused(&[0, 2, 4], &[0, 4, 1, 2], 4), Some(CsrError::RowPtr { .. })));
    assert!(matches!(refused(&[0, 2, 2, 5], &[0, 4, 1, 2], 4), Some(CsrError::RowPtr { .. })));
    assert!(matches!(refused(&[0, 2, 2, 4], &[0, 4, 1, 2], 3), Some(CsrError::Lengths { .. })));
}
