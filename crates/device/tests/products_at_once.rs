//! One matrix, several products at once: from the threads of a pool that also copies, and in two streams.
//!
//! Without a driver what needs a GPU says that it is skipped; `SPARSIGHT_REQUIRE_GPU=1` turns that into a failure.

mod support;

use rayon::prelude::*;
use sparsight_device::cpu::Cpu;
use sparsight_device::gpu::Stream;
use sparsight_device::{Device, Partition, random_x};
use sparsight_kernels::{BenchmarkMatrix, Candidate, Placement, RowLengthDistribution};
use sparsight_matrix::{Csr, reference};
use support::gpu;

fn banded(nrows: u64, row_length: u64) -> Csr<f64> {
    let lengths = RowLengthDistribution::Constant;
    BenchmarkMatrix { nrows, row_length, lengths, placement: Placement::Banded, seed: 1 }.to_csr()
}

/// 32 products on the threads of the pool that also does their parts, and as many on a thread beside it.
fn multiply_at_once(device: &dyn Device<f64>, a: &Csr<f64>) {
    let candidate: Candidate = "csr-vector/t2/b256/f64".parse().unwrap();
    let product = device.load_parts(a, &Partition::whole(a.nrows(), candidate)).unwrap();
    let all: Vec<_> = (0..4).map(|seed| random_x::<f64>(a.ncols(), seed)).collect();
    let expected: Vec<_> = all.iter().map(|x| reference(a, x)).collect();
    let multiply = |i: usize| {
        let mut y = vec![f64::NAN; a.nrows()];
        product.multiply(1.0, &all[i % 4], 0.0, &mut y).unwrap();
        assert_eq!(expected[i % 4].first_wrong(&y), None, "product {i}");
    };
    std::thread::scope(|scope| {
        scope.spawn(|| (0..32).for_each(multiply));
        (0..32).into_par_iter().for_each(multiply);
    });
}

#[test]
fn threads_of_one_pool_multiply_on_it_without_waiting_for_themselves() {
    multiply_at_once(&Cpu::new(), &banded(200_000, 5));
}

/// Vectors of 12 MB are copied by the threads of the pool.
#[test]
fn threads_of_one_pool_multiply_large_vectors_on_a_gpu_without_waiting_for_themselves() {
    let Some(gpu) = gpu() else { return };
    multiply_at_once(&gpu, &banded(1_500_000, 3));
}

/// Kernels whose blocks share memory, and routines of the library, whose products share a buffer, wait for each other.
#[test]
fn products_in_two_streams_do_not_disturb_each_other() {
    let Some(gpu) = gpu() else { return };
    let a = banded(200_000, 20);
    let (x, other) = (random_x::<f64>(a.ncols(), 1), random_x::<f64>(a.ncols(), 2));
    let (expected, expected_other) = (reference(&a, &x), reference(&a, &other));
    // SAFETY: null is the default stream, which every context has.
    let default = unsafe { Stream::from_raw(std::ptr::null_mut()) };
    for id in ["csr-balanced/i512/b256/f64", "csr-binned/b256/f64", "cusparse-csr/a2/f64", "cusparse-coo/f64"]
    {
        let candidate: Candidate = id.parse().unwrap();
        if let Err(reason) = Device::<f64>::runs(&gpu, candidate.kernel) {
            println!("skipped: {id}: {reason}");
            continue;
        }
        let product = gpu.load_parts(&a, &Partition::whole(a.nrows(), candidate)).unwrap();
        let (on_gpu, other_on_gpu) = (gpu.upload(&x).unwrap(), gpu.upload(&other).unwrap());
        let mut y = gpu.upload(&vec![f64::NAN; a.nrows()]).unwrap();
        let mut other_y = gpu.upload(&vec![f64::NAN; a.nrows()]).unwrap();
        for _ in 0..200 {
            product.multiply_on_device(1.0, on_gpu.as_slice(), 0.0, y.as_mut_slice(), None).unwrap();
            product
                .multiply_on_device(1.0, other_on_gpu.as_slice(), 0.0, other_y.as_mut_slice(), Some(default))
                .unwrap();
        }
        gpu.wait_for(default).unwrap();
        assert_eq!(expected_other.first_wrong(&other_y.read().unwrap()), None, "{id}");
        assert_eq!(expected.first_wrong(&y.read().unwrap()), None, "{id}");
    }
}
