//! Every candidate of the catalogue computes y = A x, on every device, whatever the matrix looks like.

use crate::gpu::gpu;
use crate::support::{
    awkward_matrices, for_each_real_matrix, hold_matrix_in_mixed_precision, hold_matrix_to_reference,
    hold_to_reference,
};
use sparsight_device::cpu::Cpu;
use sparsight_device::gpu::ConvertOn;
use sparsight_device::timing::Caches;
use sparsight_device::{Device, DeviceError, LoadRequest, Operand, Partition, check, random_x};
use sparsight_kernels::{
    BLOCKS, BenchmarkMatrix, Candidate, CpuScratch, DeviceKind, Format, Kernel, Placement,
    RowLengthDistribution, every_candidate_on,
};
use sparsight_matrix::{Csr, Dtype, Features, Limits, Scalar, reference};

#[test]
fn the_cpu_matches_the_reference_in_f32() {
    hold_to_reference::<f32>(&Cpu::new());
}

#[test]
fn the_cpu_matches_the_reference_in_f64() {
    hold_to_reference::<f64>(&Cpu::new());
}

#[test]
fn the_gpu_matches_the_reference_in_f32() {
    if let Some(gpu) = gpu() {
        hold_to_reference::<f32>(&*gpu);
    }
}

#[test]
fn the_gpu_matches_the_reference_in_f64() {
    if let Some(gpu) = gpu() {
        hold_to_reference::<f64>(&*gpu);
    }
}

#[test]
fn the_gpu_matches_the_reference_in_mixed_precision() {
    let Some(mut gpu) = gpu() else { return };
    for place in [ConvertOn::Host, ConvertOn::Device] {
        gpu.convert_on(place);
        for (name, a) in awkward_matrices::<f64>() {
            hold_matrix_in_mixed_precision(&*gpu, &name, &a);
        }
    }
    for_each_real_matrix(|name, a| hold_matrix_in_mixed_precision(&*gpu, name, a));
}

#[test]
fn a_cpu_has_no_mixed_precision_and_a_gpu_no_values_beyond_f32() {
    let a = constant(9, 1, Placement::Banded).to_csr::<f64>();
    let refused = Cpu::new().operand(&a, Format::csr(), Dtype::Mixed).err().unwrap().to_string();
    assert!(
        refused.starts_with("a matrix in f32 beside vectors in f64 does not run here: it is for GPUs"),
        "{refused}"
    );
    let whole = Partition::whole(9, "csr-scalar/b64/f32-f64".parse().unwrap());
    assert!(matches!(
        Cpu::new().load(LoadRequest::Parts { a: &a, partition: &whole }),
        Err(DeviceError::CannotRun { .. })
    ));
    assert!(matches!(
        Cpu::new().load(LoadRequest::Parts { a: &a.to_dtype::<f32>(), partition: &whole }),
        Err(DeviceError::CannotRun { .. } | DeviceError::Partition(_))
    ));
    let Some(gpu) = gpu() else { return };
    let large = a.with_values(vec![1e39; 9]).unwrap();
    let refused = gpu.load(LoadRequest::Parts { a: &large, partition: &whole }).err().unwrap().to_string();
    assert!(refused.contains("9 of its values are too large for f32"), "{refused}");
}

#[test]
fn the_cpu_matches_the_reference_on_real_matrices() {
    let cpu = Cpu::new();
    for_each_real_matrix(|name, a| {
        hold_matrix_to_reference::<f64>(&cpu, name, a);
        hold_matrix_to_reference::<f32>(&cpu, name, &a.to_dtype());
    });
}

#[test]
fn the_gpu_matches_the_reference_on_real_matrices() {
    let Some(gpu) = gpu() else { return };
    for_each_real_matrix(|name, a| {
        hold_matrix_to_reference::<f64>(&*gpu, name, a);
        hold_matrix_to_reference::<f32>(&*gpu, name, &a.to_dtype());
    });
}

#[test]
fn the_gpu_matches_the_reference_when_it_converts() {
    // Full rows, so that every format can hold it; checked on the CPU, so also without a GPU.
    let a = constant(240, 240, Placement::Banded).to_csr::<f64>();
    for format in Format::all() {
        drop(Cpu::new().operand(&a, format, Dtype::F64).unwrap());
    }
    let Some(mut gpu) = gpu() else { return };
    gpu.convert_on(ConvertOn::Device);
    for format in Format::all() {
        let operand: Box<dyn Operand<f64>> = gpu.operand(&a, format, Dtype::F64).unwrap();
        assert_eq!(operand.preparation().on_device, !format.stays_in_csr(), "{format}");
    }
    hold_to_reference::<f32>(&*gpu);
    hold_to_reference::<f64>(&*gpu);
    for_each_real_matrix(|name, a| hold_matrix_to_reference::<f64>(&*gpu, name, a));
}

#[test]
fn a_single_worker_matches_the_reference() {
    hold_to_reference::<f64>(&Cpu::with_threads(1).unwrap());
}

/// y of every candidate that can be run on every awkward matrix.
fn all_results(device: &Cpu) -> Vec<Vec<f32>> {
    let mut results = Vec::new();
    for (_, a) in awkward_matrices::<f32>() {
        for format in Format::all() {
            let Ok(mut operand) = device.operand(&a, format, Dtype::F32) else { continue };
            operand.set_x(&random_x(a.ncols(), 1)).unwrap();
            for candidate in every_candidate_on(DeviceKind::Cpu, Dtype::F32).filter(|c| c.format() == format)
            {
                operand.poison_y().unwrap();
                operand.batch(&candidate, 1, Caches::Warm).unwrap();
                results.push(operand.read_y().unwrap());
            }
        }
    }
    results
}

#[test]
fn the_cpu_gives_the_same_bits_with_any_number_of_threads() {
    let one = all_results(&Cpu::with_threads(1).unwrap());
    let five = all_results(&Cpu::with_threads(5).unwrap());
    assert!(one == five);
}

fn hold_generated_to_reference<T: Scalar>(device: &dyn Device<T>) {
    for (placement, lengths) in
        Placement::ALL.into_iter().flat_map(|p| RowLengthDistribution::ALL.map(|d| (p, d)))
    {
        let matrix = BenchmarkMatrix { nrows: 5_000, row_length: 9, lengths, placement, seed: 3 };
        let x = random_x::<T>(5_000, 4);
        let expected = reference(&matrix.to_csr(), &x);
        for candidate in every_candidate_on(device.facts().kind, T::DTYPE) {
            let a = matrix.to_csr::<T>();
            let possible = candidate.format().check(&Features::of(&a), T::DTYPE, &device.limits());
            let mut operand = match (device.generate(&matrix, candidate.format()), possible) {
                (Ok(operand), Ok(_)) => operand,
                // Too many diagonals, whatever the limits.
                (Err(DeviceError::Infeasible(refused)), Err(expected)) if refused == expected => continue,
                (Err(error), _) => panic!("{candidate}: {error}"),
                (Ok(_), Err(expected)) => panic!("{candidate} was not refused: {expected}"),
            };
            operand.set_x(&x).unwrap();
            check(operand.as_mut(), &candidate, &expected).unwrap();
        }
    }
}

#[test]
fn the_cpu_generates_the_benchmark_matrices_of_the_formula() {
    hold_generated_to_reference::<f32>(&Cpu::new());
    hold_generated_to_reference::<f64>(&Cpu::new());
}

fn constant(nrows: u64, row_length: u64, placement: Placement) -> BenchmarkMatrix {
    BenchmarkMatrix { nrows, row_length, lengths: RowLengthDistribution::Constant, placement, seed: 1 }
}

#[test]
fn a_wrong_product_is_caught_with_its_row() {
    let cpu = Cpu::new();
    let matrix = constant(100, 3, Placement::Scattered);
    let a = matrix.to_csr::<f64>();
    let mut x = random_x::<f64>(100, 2);
    let expected = reference(&a, &x);
    x[a.row(50).0[1] as usize] += 1e-6;
    let mut operand = cpu.operand(&a, Format::csr(), Dtype::F64).unwrap();
    operand.set_x(&x).unwrap();
    let result = check(operand.as_mut(), &"csr-scalar/b64/f64".parse().unwrap(), &expected);
    assert!(matches!(result, Err(DeviceError::WrongResult { row: 0..=50, .. })), "{result:?}");
}

#[test]
fn cold_products_are_right_and_take_time() {
    let cpu = Cpu::with_threads(2).unwrap();
    let matrix = constant(20_000, 5, Placement::Banded);
    let mut operand = Device::<f64>::generate(&cpu, &matrix, Format::csr()).unwrap();
    let candidate = "csr-vector/t4/b256/f64".parse().unwrap();
    let none = operand.batch(&candidate, 0, Caches::Cold).unwrap();
    assert!(none.time.0 < 1e-3);
    operand.poison_y().unwrap();
    let three = operand.batch(&candidate, 3, Caches::Cold).unwrap();
    assert!(three.time.0 > 0.0);
    let expected = reference(&matrix.to_csr(), &random_x::<f64>(20_000, 1));
    assert_eq!(expected.first_wrong(&operand.read_y().unwrap()), None);
}

#[test]
#[should_panic(expected = "coo/b64/f64 does not read the format of this operand")]
fn a_candidate_of_another_format_panics() {
    let cpu = Cpu::new();
    let matrix = constant(9, 1, Placement::Banded);
    let mut operand = Device::<f64>::generate(&cpu, &matrix, Format::known("ell")).unwrap();
    let _ = operand.batch(&"coo/b64/f64".parse().unwrap(), 1, Caches::Warm);
}

#[test]
fn a_cpu_refuses_vendor_routines_by_name() {
    let cpu = Cpu::new();
    // Full, so that every format holds it.
    let matrix = constant(12, 12, Placement::Banded);
    for kernel in Kernel::all().filter(|kernel| kernel.is_vendors()) {
        let refused = |error: DeviceError| {
            let text = error.to_string();
            assert!(matches!(error, DeviceError::CannotRun { .. }), "{text}");
            assert!(text.starts_with(&format!("{kernel} does not run here: ")), "{text}");
        };
        refused(Device::<f64>::runs(&cpu, kernel).unwrap_err());
        let mut operand = Device::<f64>::generate(&cpu, &matrix, kernel.format()).unwrap();
        let candidate = Candidate { kernel, block: 0, dtype: Dtype::F64 };
        refused(operand.batch(&candidate, 1, Caches::Warm).unwrap_err());
        assert_eq!(operand.preprocess(kernel), None);
    }
    assert_eq!(Device::<f64>::runs(&cpu, Kernel::known("coo")), Ok(()));
}

#[test]
fn measured_rates_of_the_cpu_are_positive_and_finite() {
    let mut cpu = Cpu::new();
    assert_eq!(cpu.facts().copy_bytes_per_s.total_cmp(&0.0), std::cmp::Ordering::Equal);
    cpu.measure_rates();
    let facts = cpu.facts();
    assert!(facts.copy_bytes_per_s.is_finite() && facts.copy_bytes_per_s > 1e8, "{facts:?}");
    assert!(facts.launch_s.0 > 0.0 && facts.launch_s.0 < 0.1, "{facts:?}");
}

/// A stored 0 times infinity is NaN, as in scipy; what pads a format is no entry and adds nothing.
#[test]
fn on_a_cpu_stored_zeros_count_as_entries_and_padding_does_not() {
    fn of<T: Scalar>() {
        // Blocks of 2 and 3 with holes, diagonals with gaps: rows 0 and 3 store a 0 at column 1.
        let cols = vec![0, 1, 2, 0, 2, 1, 3, 1, 2, 3];
        let values = [1.0, 0.0, 2.0, 3.0, 4.0, 5.0, 6.0, 0.0, 7.0, 8.0].map(T::from_f64).to_vec();
        let a = Csr::try_new(4, 4, vec![0, 3, 5, 7, 10], cols, values).unwrap();
        let number = |value: &T| value.to_f64();
        for (what, x) in [
            ("infinity where rows 0 and 3 store a 0", [1.0, f64::INFINITY, 1.0, 1.0]),
            ("NaN there", [1.0, f64::NAN, 1.0, 1.0]),
            ("infinity where row 1 has no entry", [1.0, 1.0, 1.0, f64::NEG_INFINITY]),
            ("NaN where rows 2 and 3 have none", [f64::NAN, 1.0, 1.0, 1.0]),
        ] {
            let x = x.map(T::from_f64);
            let mut expected = vec![0.0; 4];
            for (row, y) in expected.iter_mut().enumerate() {
                let (cols, values) = a.row(row);
                *y = cols
                    .iter()
                    .zip(values)
                    .map(|(&col, v)| number(v) * number(&x[col as usize]))
                    .sum::<f64>();
            }
            for workers in [1, 2] {
                let cpu = Cpu::with_threads(workers).unwrap();
                for candidate in every_candidate_on(DeviceKind::Cpu, T::DTYPE) {
                    let whole = Partition::whole(4, candidate);
                    let Ok(mut product) = cpu.load(LoadRequest::Parts { a: &a, partition: &whole }) else {
                        continue;
                    };
                    let mut y = [T::from_f64(7.0); 4];
                    product.multiply(1.0, &x, 0.0, &mut y).unwrap();
                    let same =
                        |y: &T, e: &f64| y.to_f64().total_cmp(e).is_eq() || y.to_f64().is_nan() && e.is_nan();
                    assert!(
                        y.iter().zip(&expected).all(|(y, e)| same(y, e)),
                        "{candidate}, {what}: {y:?}, {expected:?}"
                    );
                    // New values: the zeros are others, the entries the same.
                    product.allow_updates(&a).unwrap();
                    product.update_values(&[T::from_f64(1.0); 10]).unwrap();
                    product.update_values(a.values()).unwrap();
                    product.multiply(1.0, &x, 0.0, &mut y).unwrap();
                    assert!(
                        y.iter().zip(&expected).all(|(y, e)| same(y, e)),
                        "{candidate}, {what}, updated: {y:?}"
                    );
                }
            }
        }
    }
    of::<f32>();
    of::<f64>();
}

/// Small matrices are multiplied by the calling thread alone, whatever the pool: here several workers take part all the same.
#[test]
fn several_workers_compute_the_same_y_bit_by_bit_as_one() {
    fn of<T: Scalar>() {
        // In the smallest tasks there are the most of them.
        let smallest_tasks =
            || every_candidate_on(DeviceKind::Cpu, T::DTYPE).filter(|c| c.block == BLOCKS[0]);
        for (name, a) in awkward_matrices::<T>() {
            let x = random_x::<T>(a.ncols(), 3);
            for candidate in smallest_tasks() {
                let Ok(matrix) = candidate.format().convert(&a, &Limits::NONE) else { continue };
                let product = |workers: usize| {
                    let mut y = vec![T::from_f64(f64::NAN); a.nrows()];
                    let mut scratch = CpuScratch::of(matrix.as_ref());
                    let vectors = (x.as_slice(), y.as_mut_slice());
                    candidate.kernel.multiply_on_cpu(
                        matrix.as_ref(),
                        candidate.block,
                        vectors,
                        &mut scratch,
                        workers,
                    );
                    y.iter().map(|y| y.number()).collect::<Vec<_>>()
                };
                assert!(product(1) == product(3), "{candidate} of {name}");
            }
        }
    }
    of::<f32>();
    of::<f64>();
}
