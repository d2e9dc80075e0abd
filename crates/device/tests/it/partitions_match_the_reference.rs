//! y = alpha A x + beta y with a matrix in row blocks is right, whatever the matrix, the cuts, and the formats of the
//! parts; on every device present, one launch after another and all parts in one.

use crate::gpu::gpu;
use crate::support::{awkward_matrices, queue};
use sparsight_device::cpu::Cpu;
use sparsight_device::cuda::cusparse_version;
use sparsight_device::timing::{Caches, StoppingRule, measure};
use sparsight_device::{
    Device, DeviceError, LoadRequest, Partition, PartitionError, Product, Stream, check_product, random_x,
};
use sparsight_kernels::{Candidate, DeviceKind, Execution, FUSED_PARTS, Kernel, feasible};
use sparsight_matrix::{Csr, Features, Reference, Scalar, mix, reference};

/// Kernels of the parts.
fn kernels(execution: Execution) -> Vec<Kernel> {
    let ours = Kernel::all().filter(|kernel| kernel.runs_on(DeviceKind::Cpu));
    // Tiles of all sizes are too much for one launch.
    let fits = |kernel: &Kernel| match kernel.name() {
        "csr-balanced" => kernel.knobs()[0] == 512,
        _ => kernel.shares_a_launch(),
    };
    ours.filter(|kernel| execution == Execution::Sequential || fits(kernel)).collect()
}

/// `count` parts at places and with kernels that follow from `seed`; some may be empty.
fn random_partition<T: Scalar>(
    device: &dyn Device<T>,
    a: &Csr<T>,
    execution: Execution,
    count: usize,
    seed: u64,
) -> Partition {
    let random = |i: usize| mix(seed * 1_000_003 + i as u64) as usize;
    let mut cuts: Vec<usize> = (1..count).map(|i| random(i) % (a.nrows() + 1)).collect();
    cuts.extend([0, a.nrows()]);
    cuts.sort_unstable();
    let kernels = kernels(execution);
    let parts = cuts.windows(2).enumerate().map(|(part, cut)| {
        let features = Features::of(&a.rows(cut[0]..cut[1]));
        let candidate = |i: usize| {
            let block = if execution == Execution::Fused { 128 } else { 64 << (random(100 + part) % 5) };
            Candidate { kernel: kernels[(random(200 + part) + i) % kernels.len()], block, dtype: T::DTYPE }
        };
        // The first that can hold the part.
        let possible = |c: &Candidate| feasible(c, &features, &device.limits()).is_ok();
        let candidate = (0..kernels.len()).map(candidate).find(possible).expect("CSR holds everything");
        (cut[0]..cut[1], candidate)
    });
    Partition::try_new(parts.collect(), execution).unwrap()
}

/// A x, and -A x + 4 (A x / 2), which is A x again: powers of two scale without rounding.
fn hold<T: Scalar>(product: &dyn Product<T>, name: &str, x: &[T], expected: &Reference) {
    check_product(product, name, x, expected).unwrap();
    let mut y = vec![T::from_f64(f64::NAN); expected.y.len()];
    product.multiply(0.5, x, 0.0, &mut y).unwrap();
    product.multiply(-1.0, x, 4.0, &mut y).unwrap();
    assert_eq!(expected.first_wrong(&y), None, "{name}, scaled");
}

fn hold_random_partitions<T: Scalar>(device: &dyn Device<T>, execution: Execution) {
    for (seed, (name, a)) in (0..).zip(awkward_matrices::<T>()) {
        let x = random_x::<T>(a.ncols(), 5);
        let expected = reference(&a, &x);
        for count in [1, 3, FUSED_PARTS] {
            let partition = random_partition(device, &a, execution, count, seed);
            let product = device.load(LoadRequest::Parts { a: &a, partition: &partition }).unwrap();
            hold(product.as_ref(), &format!("{name} as {partition:?}"), &x, &expected);
        }
    }
}

#[test]
fn the_cpu_matches_the_reference_in_f32() {
    hold_random_partitions::<f32>(&Cpu::new(), Execution::Sequential);
}

#[test]
fn the_cpu_matches_the_reference_in_f64() {
    hold_random_partitions::<f64>(&Cpu::new(), Execution::Sequential);
    hold_random_partitions::<f64>(&Cpu::with_threads(1).unwrap(), Execution::Fused);
}

#[test]
fn the_gpu_matches_the_reference_with_one_launch_after_another() {
    let Some(gpu) = gpu() else { return };
    hold_random_partitions::<f32>(&*gpu, Execution::Sequential);
    hold_random_partitions::<f64>(&*gpu, Execution::Sequential);
}

#[test]
fn the_gpu_matches_the_reference_with_all_parts_in_one_launch() {
    let Some(gpu) = gpu() else { return };
    hold_random_partitions::<f32>(&*gpu, Execution::Fused);
    hold_random_partitions::<f64>(&*gpu, Execution::Fused);
}

/// A matrix of three kinds of rows, and a part for each.
fn three_kinds(execution: Execution) -> (Csr<f64>, Partition) {
    let (_, a) = awkward_matrices::<f64>().into_iter().find(|(name, _)| name == "long tail").unwrap();
    let id = |text: &str| text.parse::<Candidate>().unwrap();
    let parts = vec![
        (0..2_000, id("csr-vector/t8/b128/f64")),
        (2_000..7_001, id("sell/c32/s1024/b128/f64")),
        (7_001..9_001, id("csr-scalar/b128/f64")),
    ];
    (a, Partition::try_new(parts, execution).unwrap())
}

#[test]
fn the_gpu_matches_the_reference_with_the_vendors_routines() {
    let Some(gpu) = gpu() else { return };
    if let Err(DeviceError::NoVendor { searched, .. }) = cusparse_version() {
        println!("skipped: no cuSPARSE in {searched}");
        return;
    }
    for (name, a) in awkward_matrices::<f64>().into_iter().filter(|(_, a)| a.nnz() > 0) {
        let x = random_x::<f64>(a.ncols(), 5);
        let expected = reference(&a, &x);
        for id in ["cusparse-csr/a1/f64", "cusparse-csr/a2/f64", "cusparse-coo/f64"] {
            let partition = Partition::whole(a.nrows(), id.parse().unwrap());
            let product = gpu.load(LoadRequest::Parts { a: &a, partition: &partition }).unwrap();
            hold(product.as_ref(), &format!("{name}, {id}"), &x, &expected);
            // Other vectors than those that the library was first shown, in another stream.
            let on_gpu = gpu.upload(&x).unwrap();
            let mut y = gpu.upload(&vec![f64::NAN; a.nrows()]).unwrap();
            // SAFETY: null is the default stream, which every context has.
            let default = unsafe { Stream::from_raw(std::ptr::null_mut()) };
            queue(product.as_ref(), (0.5, &on_gpu), (0.0, &mut y), Some(default)).unwrap();
            queue(product.as_ref(), (-1.0, &on_gpu), (4.0, &mut y), Some(default)).unwrap();
            gpu.wait_for(default).unwrap();
            assert_eq!(expected.first_wrong(&y.read().unwrap()), None, "{name}, {id}");
        }
    }
}

#[test]
fn vectors_on_the_gpu_are_multiplied_in_either_stream() {
    let Some(gpu) = gpu() else { return };
    for execution in Execution::ALL {
        let (a, partition) = three_kinds(execution);
        let x = random_x::<f64>(a.ncols(), 9);
        let expected = reference(&a, &x);
        let product = gpu.load(LoadRequest::Parts { a: &a, partition: &partition }).unwrap();
        let on_gpu = gpu.upload(&x).unwrap();
        for stream in [None, Some(gpu.stream())] {
            let mut y = gpu.upload(&vec![f64::NAN; a.nrows()]).unwrap();
            queue(product.as_ref(), (0.5, &on_gpu), (0.0, &mut y), stream).unwrap();
            queue(product.as_ref(), (-1.0, &on_gpu), (4.0, &mut y), stream).unwrap();
            assert_eq!(expected.first_wrong(&y.read().unwrap()), None, "{execution}");
        }
        // SAFETY: null is the default stream, which every context has.
        let default = unsafe { Stream::from_raw(std::ptr::null_mut()) };
        let mut y = gpu.upload(&vec![f64::NAN; a.nrows()]).unwrap();
        queue(product.as_ref(), (1.0, &on_gpu), (0.0, &mut y), Some(default)).unwrap();
        gpu.wait_for(default).unwrap();
        assert_eq!(expected.first_wrong(&y.read().unwrap()), None, "{execution} in the default stream");
    }
}

fn is_timed(device: &dyn Device<f64>) {
    for execution in Execution::ALL {
        let (a, partition) = three_kinds(execution);
        let product = device.load(LoadRequest::Parts { a: &a, partition: &partition }).unwrap();
        for caches in [Caches::Warm, Caches::Cold] {
            let timing = measure(|n| product.batch(n, caches), &StoppingRule::BRISK).unwrap();
            assert!(timing.time.0 > 0.0 && timing.time.0 < 1.0, "{execution}: {timing:?}");
        }
    }
}

#[test]
fn partitioned_products_are_timed_like_any_other() {
    is_timed(&Cpu::with_threads(2).unwrap());
    if let Some(gpu) = gpu() {
        is_timed(&*gpu);
    }
}

fn refuses_what_does_not_fit(device: &dyn Device<f64>) {
    let (a, partition) = three_kinds(Execution::Sequential);
    let shorter = a.rows(0..9_000);
    let other = device.load(LoadRequest::Parts { a: &shorter, partition: &partition }).err();
    let expected = PartitionError::OtherMatrix { parts: 9_001, nrows: 9_000 };
    assert_eq!(other, Some(DeviceError::Partition(expected)));

    let product = device.load(LoadRequest::Parts { a: &a, partition: &partition }).unwrap();
    let (x, mut y) = (vec![1.0; a.ncols()], vec![0.0; a.nrows()]);
    let length = |vector, expected, got| Err(DeviceError::Length { vector, expected, got });
    assert_eq!(product.multiply(1.0, &x[1..], 0.0, &mut y), length("x", a.ncols(), a.ncols() - 1));
    assert_eq!(product.multiply(1.0, &x, 0.0, &mut y[1..]), length("y", 9_001, 9_000));
}

#[test]
fn partitions_and_vectors_of_other_matrices_are_refused() {
    let cpu = Cpu::with_threads(1).unwrap();
    refuses_what_does_not_fit(&cpu);
    let vendors = Partition::whole(70, "cusparse-csr/a1/f64".parse().unwrap());
    let a = Csr::<f64>::try_new(70, 3, vec![0; 71], vec![], vec![]).unwrap();
    assert!(matches!(
        cpu.load(LoadRequest::Parts { a: &a, partition: &vendors }).err(),
        Some(DeviceError::CannotRun { .. })
    ));
    if let Some(gpu) = gpu() {
        refuses_what_does_not_fit(&*gpu);
    }
}
