//! Tests that need a GPU: generated matrices, timing, poison, caches, facts, and own kernels.
//!
//! Without a driver every test says that it is skipped; `SPARSIGHT_REQUIRE_GPU=1` turns that into a failure.

use crate::gpu::{Held, gpu};
use crate::support::hold;
use sparsight_device::cuda::{Argument, Cuda, Shape, cusparse_version};
use sparsight_device::timing::{Caches, StoppingRule, measure};
use sparsight_device::{Device, DeviceError, LoadRequest, Operand, Partition, check, random_x};
use sparsight_kernels::{
    BenchmarkMatrix, Candidate, Format, Kernel, Placement, RowLengthDistribution, every_candidate, feasible,
};
use sparsight_matrix::{Csr, Dtype, Features, Infeasible, Limits, Scalar, Seconds, reference};

/// Every kernel that the device runs, with a block size of its own.
fn candidates<T: Scalar>(cuda: &Cuda) -> Vec<Candidate> {
    let runs = |kernel: &Kernel| Device::<T>::runs(cuda, *kernel).is_ok();
    let middle = |kernel: Kernel| kernel.blocks()[kernel.blocks().len() / 3];
    let all = Kernel::all().filter(runs);
    all.map(|kernel| Candidate { kernel, block: middle(kernel), dtype: T::DTYPE }).collect()
}

fn banded(nrows: u64, row_length: u64) -> BenchmarkMatrix {
    let lengths = RowLengthDistribution::Constant;
    BenchmarkMatrix { nrows, row_length, lengths, placement: Placement::Banded, seed: 1 }
}

fn csr_scalar() -> Candidate {
    "csr-scalar/b128/f32".parse().unwrap()
}

fn csr(cuda: &Cuda, m: &BenchmarkMatrix) -> Box<dyn Operand<f32>> {
    cuda.generate(m, Format::csr()).unwrap()
}

/// Sizes around those of the pieces in which large arrays are uploaded.
#[test]
fn arrays_of_any_size_arrive_as_they_are() {
    let Some(cuda) = gpu() else { return };
    let piece = (4 << 20) / size_of::<f64>();
    let sizes = [0, 1, piece - 1, 2 * piece - 1, 2 * piece, 2 * piece + 1, 3 * piece, 11 * piece + 77];
    for (seed, len) in (1..).zip(sizes) {
        let mut array = cuda.upload(&random_x::<f64>(len, seed)).unwrap();
        // The buffers are used again.
        let other = random_x::<f64>(len, 100 + seed);
        array.write(&other).unwrap();
        assert!(array.read().unwrap() == other, "{len} numbers");
    }
}

#[test]
fn without_a_driver_opening_is_an_error_and_no_panic() {
    match Cuda::open(1_000_000) {
        Err(error @ (DeviceError::NoDriver | DeviceError::LoaderPath { .. })) => {
            assert_eq!(Cuda::count(), Err(error.clone()));
            assert_eq!(Cuda::parts(0), Err(error.clone()));
            assert_eq!(Cuda::open_part(0, 8).err(), Some(error));
        }
        Err(DeviceError::NoSuchDevice { index: 1_000_000, .. } | DeviceError::Driver { .. }) => {}
        other => panic!("{other:?}"),
    }
}

/// The smallest part of the first GPU, its number of multiprocessors first.
fn smallest_part() -> (u32, Cuda) {
    let least = Cuda::parts(0).unwrap().as_slice()[0];
    (least, Cuda::open_part(0, least).unwrap())
}

#[test]
fn a_device_can_be_given_to_another_thread() {
    fn is_send<T: Send>() {}
    is_send::<Cuda>();
}

fn generated_equals_the_formula<T: Scalar>(cuda: &Cuda) {
    for (placement, lengths) in
        Placement::ALL.into_iter().flat_map(|p| RowLengthDistribution::ALL.map(|d| (p, d)))
    {
        for (nrows, row_length) in [(1, 1), (1000, 7), (5000, 33), (4097, 64)] {
            let m = BenchmarkMatrix { nrows, row_length, lengths, placement, seed: 42 };
            let a = m.to_csr::<T>();
            for candidate in candidates::<T>(cuda) {
                let mut operand: Box<dyn Operand<T>> = match cuda.generate(&m, candidate.format()) {
                    Ok(operand) => operand,
                    // Too many diagonals, whatever the limits.
                    Err(DeviceError::Infeasible(refused)) => {
                        assert_eq!(candidate.format().convert(&a, &Limits::NONE).err(), Some(refused));
                        continue;
                    }
                    Err(error) => panic!("{candidate}: {error}"),
                };
                // The x that it comes with, then one of ours.
                let x = random_x::<T>(nrows as usize, 42);
                check(operand.as_mut(), &candidate, &reference(&a, &x)).unwrap();
                let x = random_x::<T>(nrows as usize, 43);
                operand.set_x(&x).unwrap();
                check(operand.as_mut(), &candidate, &reference(&a, &x)).unwrap();
            }
        }
    }
}

#[test]
fn generated_matrices_multiply_as_the_host_formula_says() {
    if let Some(cuda) = gpu() {
        generated_equals_the_formula::<f32>(&cuda);
        generated_equals_the_formula::<f64>(&cuda);
    }
}

#[test]
fn empty_matrices_are_multiplied() {
    let Some(cuda) = gpu() else { return };
    let none = Csr::<f32>::try_new(0, 0, vec![0], vec![], vec![]).unwrap();
    let empty = Csr::<f32>::try_new(70, 3, vec![0; 71], vec![], vec![]).unwrap();
    for a in [none, empty] {
        let features = Features::of(&a);
        let held = |c: &Candidate| feasible(c, &features, &Device::<f32>::limits(&*cuda)).is_ok();
        for candidate in candidates::<f32>(&cuda).into_iter().filter(held) {
            let mut operand = cuda.operand(&a, candidate.format(), Dtype::F32).unwrap();
            check(operand.as_mut(), &candidate, &reference(&a, &vec![1.0; a.ncols()])).unwrap();
        }
    }
}

#[test]
fn twice_the_products_take_twice_the_time() {
    let Some(cuda) = gpu() else { return };
    let mut operand = csr(&cuda, &banded(400_000, 16));
    let mut time = |products| operand.batch(&csr_scalar(), products, Caches::Warm).unwrap().time.0;
    time(50);
    // More products than one group holds, too.
    for (few, many) in [(100, 200), (1000, 2000)] {
        let ratio = time(many) / time(few);
        assert!((1.7..2.3).contains(&ratio), "{many} products took {ratio:.2} times as long as {few}");
    }
    assert_eq!(operand.batch(&csr_scalar(), 0, Caches::Warm).unwrap().time, Seconds(0.0));
}

#[test]
fn timing_says_the_same_twice() {
    let Some(cuda) = gpu() else { return };
    let mut operand = csr(&cuda, &banded(1_000_000, 16));
    let mut time =
        || measure(|n| operand.batch(&csr_scalar(), n, Caches::Warm), &StoppingRule::CAREFUL).unwrap();
    let (first, second) = (time(), time());
    let ratio = first.time.0 / second.time.0;
    assert!((0.9..1.1).contains(&ratio), "{first:?} and {second:?}");
}

#[test]
fn cold_products_are_not_faster_than_warm_ones() {
    let Some(cuda) = gpu() else { return };
    // A quarter of the L2 cache, so that warm products find everything in it.
    let nrows = cuda.facts().l2_bytes.0 / 4 / (16 * 8);
    let mut operand = csr(&cuda, &banded(nrows.max(1000), 16));
    operand.batch(&csr_scalar(), 20, Caches::Warm).unwrap();
    let warm = operand.batch(&csr_scalar(), 100, Caches::Warm).unwrap().time.0;
    let cold = operand.batch(&csr_scalar(), 100, Caches::Cold).unwrap().time.0;
    println!("warm {:.2} us, cold {:.2} us", warm * 1e4, cold * 1e4);
    assert!(cold > warm, "cold {cold:.3e} s, warm {warm:.3e} s");
}

#[test]
fn poison_is_seen_until_a_product_writes_y() {
    let Some(cuda) = gpu() else { return };
    let mut operand = csr(&cuda, &banded(1000, 4));
    assert!(operand.read_y().unwrap().iter().all(|y| y.is_nan()), "y starts poisoned");
    operand.batch(&csr_scalar(), 1, Caches::Warm).unwrap();
    assert!(operand.read_y().unwrap().iter().all(|y| y.is_finite()));
    operand.poison_y().unwrap();
    assert!(operand.read_y().unwrap().iter().all(|y| y.is_nan()));
}

#[test]
fn a_matrix_too_large_for_the_device_is_infeasible_with_its_numbers() {
    let Some(cuda) = gpu() else { return };
    let huge = banded(4_000_000_000, 1000);
    let refused = Device::<f64>::generate(&*cuda, &huge, Format::csr()).err();
    let Some(DeviceError::Infeasible(Infeasible::DoesNotFit { need, have })) = refused else {
        panic!("{refused:?}")
    };
    assert!(need > have && have <= cuda.facts().memory_bytes);
}

/// The GPU with the vendor's library, or why not.
fn gpu_with_library() -> Option<Held> {
    let cuda = gpu()?;
    match cusparse_version() {
        Ok(version) => println!("cuSPARSE {version:?}"),
        Err(error) => {
            assert!(std::env::var_os("SPARSIGHT_REQUIRE_CUSPARSE").is_none(), "{error}");
            println!("skipped: {error}");
            return None;
        }
    }
    Some(cuda)
}

/// A benchmark matrix on the GPU, unless the format cannot hold it.
fn generated<'c>(
    cuda: &'c Cuda,
    m: &BenchmarkMatrix,
    candidate: &Candidate,
) -> Option<Box<dyn Operand<f32> + 'c>> {
    match cuda.generate(m, candidate.format()) {
        Err(DeviceError::Infeasible(why)) => {
            println!("{candidate}: {why}");
            None
        }
        operand => Some(operand.unwrap()),
    }
}

/// The vendor's routines; those of newer versions only where the library here has them.
fn vendors(cuda: &Cuda, dtype: Dtype) -> impl Iterator<Item = Candidate> {
    let is_here = |kernel: Kernel| !kernel.is_retired() || Device::<f32>::runs(cuda, kernel).is_ok();
    every_candidate(dtype).filter(move |c| c.kernel.is_vendors() && is_here(c.kernel))
}

fn vendors_match_the_reference<T: Scalar>(cuda: &Cuda) {
    let lengths = RowLengthDistribution::Uniform;
    let m = BenchmarkMatrix { lengths, placement: Placement::Scattered, ..banded(5004, 9) };
    let a = m.to_csr::<T>();
    let features = Features::of(&a);
    let limits = Device::<T>::limits(cuda);
    for candidate in vendors(cuda, T::DTYPE).filter(|c| feasible(c, &features, &limits).is_ok()) {
        let mut operand: Box<dyn Operand<T>> = cuda.operand(&a, candidate.format(), T::DTYPE).unwrap();
        assert_eq!(operand.preprocess(candidate.kernel), None, "before the first product");
        // The second x finds a product that was prepared with the first.
        for seed in [5, 6] {
            let x = random_x::<T>(a.ncols(), seed);
            operand.set_x(&x).unwrap();
            check(operand.as_mut(), &candidate, &reference(&a, &x)).unwrap();
        }
        assert!(operand.preprocess(candidate.kernel).is_some_and(|time| time.0 > 0.0));
    }
}

// On matrices that kernels trip over they are held to the reference with all others.
#[test]
fn the_vendors_routines_are_prepared_once_and_match_the_reference_for_any_x() {
    if let Some(cuda) = gpu_with_library() {
        vendors_match_the_reference::<f32>(&cuda);
        vendors_match_the_reference::<f64>(&cuda);
    }
}

// The library may have looked at the values when it planned the product.
#[test]
fn the_vendors_routines_follow_values_that_are_replaced() {
    let Some(cuda) = gpu_with_library() else { return };
    let a = BenchmarkMatrix { placement: Placement::Scattered, ..banded(5004, 9) }.to_csr::<f64>();
    let x = random_x::<f64>(a.ncols(), 5);
    for candidate in vendors(&cuda, Dtype::F64) {
        let partition = Partition::whole(a.nrows(), candidate);
        let mut product = match cuda.load(LoadRequest::Parts { a: &a, partition: &partition }) {
            Err(DeviceError::Infeasible(_)) => continue,
            product => product.unwrap(),
        };
        product.allow_updates(&a).unwrap();
        let new = a.with_values(random_x::<f64>(a.nnz(), 7)).unwrap();
        product.update_values(new.values()).unwrap();
        hold(product.as_ref(), &candidate.to_string(), &x, &reference(&new, &x));
    }
}

#[test]
fn vendor_routines_are_timed_like_ours_and_do_not_synchronise() {
    let Some(cuda) = gpu_with_library() else { return };
    // The vendor's BSR holds whole blocks of 2, 3, 4 and 6 rows alone.
    let m = banded(1_000_008, 16);
    let time = |candidate: &Candidate| {
        let mut operand = generated(&cuda, &m, candidate)?;
        // A routine that waited for the stream would be held up by the spinning kernel, and the batch given up.
        Some(measure(|n| operand.batch(candidate, n, Caches::Warm), &StoppingRule::CAREFUL).unwrap())
    };
    let ours = time(&csr_scalar()).unwrap();
    println!("{}: {ours:?}", csr_scalar());
    for candidate in vendors(&cuda, Dtype::F32) {
        let Some(vendors) = time(&candidate) else { continue };
        println!("{candidate}: {vendors:?}");
        // The matrix alone takes 128 MB: below 10 us nothing was computed, beyond 100 times ours something waits.
        assert!(vendors.time.0 > 1e-5 && vendors.time.0 < 100.0 * ours.time.0, "{candidate}: {vendors:?}");
    }
}

#[test]
fn cold_products_of_the_vendors_are_timed_too() {
    let Some(cuda) = gpu_with_library() else { return };
    for candidate in vendors(&cuda, Dtype::F32) {
        let Some(mut operand) = generated(&cuda, &banded(100_008, 16), &candidate) else { continue };
        let warm = operand.batch(&candidate, 50, Caches::Warm).unwrap().time;
        let cold = operand.batch(&candidate, 50, Caches::Cold).unwrap().time;
        assert!(cold > warm, "{candidate}: cold {cold:?}, warm {warm:?}");
    }
}

#[test]
fn the_facts_are_those_of_a_gpu() {
    let Some(cuda) = gpu() else { return };
    let facts = cuda.facts();
    println!("{facts:?}\n{:?}", cuda.limits());
    assert!(!facts.name.is_empty() && facts.driver.contains("CUDA"));
    assert!(facts.multiprocessors > 0 && facts.l2_bytes.0 > 100_000);
    assert_eq!(facts.threads_per_multiprocessor, 32 * facts.warps_per_multiprocessor);
    assert!(facts.max_threads_per_block >= Some(512));
    assert!((1e10..1e14).contains(&facts.copy_bytes_per_s));
    assert!((1e-7..1e-4).contains(&facts.launch_s.0));
    // It does all that an empty kernel does, and waits for memory.
    assert!((0.8..10.0).contains(&(facts.small_product_s.unwrap().0 / facts.launch_s.0)));
    assert!((1e8..1e12).contains(&facts.upload_bytes_per_s.unwrap()));
    assert!(cuda.limits().memory.0 > 0 && cuda.limits().memory < facts.memory_bytes);
}

#[test]
fn a_user_kernel_is_compiled_launched_and_timed() {
    let Some(cuda) = gpu() else { return };
    let text = "extern \"C\" __global__ void scale(float* y, const float* x, float a, unsigned int n) {
        const unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i < n) { y[i] = a * x[i]; }
    }";
    let n = 1_000_000_u32;
    let kernel = cuda.compile_and_load(text, "scale", &[]).unwrap();
    let x = cuda.upload(&vec![2.0_f32; n as usize]).unwrap();
    let y = cuda.upload(&vec![0.0_f32; n as usize]).unwrap();
    let shape = Shape { grid: (n.div_ceil(256), 1, 1), block: (256, 1, 1), shared_bytes: 0 };
    let args = [Argument::Array(&y), Argument::Array(&x), Argument::F32(1.5), Argument::U32(n)];
    // SAFETY: these are the kernel's parameters, and it checks the index.
    let batch = unsafe { kernel.batch(shape, &args, Caches::Warm) };
    let timing = measure(batch, &StoppingRule::BRISK).unwrap();
    assert!(timing.time.0 > 0.0 && timing.time.0 < 1e-3, "{timing:?}");
    let wrong = y.read().unwrap().iter().position(|y| (y - 3.0).abs() > 0.0);
    assert_eq!(wrong, None);

    let broken = cuda.compile_and_load("int broken(", "broken", &[]);
    assert!(matches!(broken, Err(DeviceError::Compile { .. })));
}

#[test]
fn a_part_has_the_requested_multiprocessors_and_otherwise_the_facts_of_the_device() {
    let Some(cuda) = gpu() else { return };
    let whole = cuda.facts();
    let sizes = Cuda::parts(0).unwrap();
    println!("{sizes}");
    let all = sizes.as_slice();
    assert!(all.windows(2).all(|w| w[0] < w[1]) && all.iter().all(|&n| n <= whole.multiprocessors));
    // One after the other: what a part holds is given back when it is dropped.
    for sms in [all[0], all[all.len() / 2], all[all.len() - 1], all[0]] {
        let part = Cuda::open_part(0, sms).unwrap();
        let facts = part.facts();
        println!("{facts:?}");
        assert_eq!(facts.multiprocessors, sms);
        assert_eq!(facts.name, format!("{}, {sms} of {} multiprocessors", whole.name, whole.multiprocessors));
        assert_eq!(facts.name, Cuda::name_of_part(0, sms).unwrap());
        assert_eq!((facts.l2_bytes, facts.memory_bytes), (whole.l2_bytes, whole.memory_bytes));
        assert!(facts.copy_bytes_per_s > 0.0 && facts.launch_s.0 > 0.0);
        assert!(facts.copy_bytes_per_s < 1.1 * whole.copy_bytes_per_s, "a part copies no faster");
    }
}

#[test]
fn an_impossible_part_is_refused_with_the_possible_ones() {
    let Some(cuda) = gpu() else { return };
    let sizes = Cuda::parts(0).unwrap();
    let beyond = cuda.facts().multiprocessors + 1;
    let between = (1..beyond).find(|n| !sizes.as_slice().contains(n));
    for asked in [0, beyond].into_iter().chain(between) {
        let refused = Cuda::open_part(0, asked).err();
        let possible = sizes.to_string();
        assert_eq!(refused, Some(DeviceError::NoSuchPart { index: 0, asked, possible }));
    }
}

#[test]
fn products_on_a_part_are_right_from_other_threads_and_beside_the_whole_device() {
    let Some(cuda) = gpu() else { return };
    let (_, part) = smallest_part();
    generated_equals_the_formula::<f32>(&part);
    std::thread::spawn(move || generated_equals_the_formula::<f64>(&part)).join().unwrap();
    // The whole device goes on when a part of it is gone.
    let mut operand = csr(&cuda, &banded(1000, 4));
    operand.batch(&csr_scalar(), 1, Caches::Warm).unwrap();
    assert!(operand.read_y().unwrap().iter().all(|y| y.is_finite()));
}

#[test]
fn arithmetic_on_a_part_is_slower_in_proportion_to_its_multiprocessors() {
    let Some(cuda) = gpu() else { return };
    let (sms, part) = smallest_part();
    let text = "extern \"C\" __global__ void churn(float* y, unsigned int n) {
        float a = threadIdx.x;
        for (unsigned int i = 0; i < n; ++i) { a = a * 0.999f + 1.0f; }
        if (a < 0.0f) { *y = a; }
    }";
    // 16 times as many blocks as fill the whole device, so that the last ones do not count.
    let blocks = 16 * cuda.facts().multiprocessors * cuda.facts().threads_per_multiprocessor / 256;
    let shape = Shape { grid: (blocks, 1, 1), block: (256, 1, 1), shared_bytes: 0 };
    let time = |cuda: &Cuda| {
        let y = cuda.upload(&[0.0_f32]).unwrap();
        let kernel = cuda.compile_and_load(text, "churn", &[]).unwrap();
        let args = [Argument::Array(&y), Argument::U32(10_000)];
        // SAFETY: these are the kernel's parameters, and it writes y[0] alone.
        let batch = unsafe { kernel.batch(shape, &args, Caches::Warm) };
        measure(batch, &StoppingRule::BRISK).unwrap().time.0
    };
    let (whole, part) = (time(&cuda), time(&part));
    let expected = f64::from(cuda.facts().multiprocessors) / f64::from(sms);
    let ratio = part / whole;
    println!("{sms} multiprocessors take {ratio:.2} times as long, {expected:.2} in proportion");
    assert!((0.8 * expected..1.2 * expected).contains(&ratio), "{ratio:.2}, {expected:.2} in proportion");
}
