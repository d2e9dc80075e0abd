//! Several products of one matrix at once: from the threads of a pool that also copies, and in two streams.
//!
//! Without a driver what needs a GPU says that it is skipped; `SPARSIGHT_REQUIRE_GPU=1` turns that into a failure.

use crate::gpu::gpu;
use crate::support::queue;
use crate::support::streams::OtherStream;
use rayon::prelude::*;
use sparsight_device::cpu::Cpu;
use sparsight_device::cuda::Cuda;
use sparsight_device::{Device, DeviceError, LoadRequest, Partition, Product, Stream, random_x};
use sparsight_kernels::{BenchmarkMatrix, Candidate, Placement, RowLengthDistribution};
use sparsight_matrix::{Csr, reference};

fn banded(nrows: u64, row_length: u64) -> Csr<f64> {
    let lengths = RowLengthDistribution::Constant;
    BenchmarkMatrix { nrows, row_length, lengths, placement: Placement::Banded, seed: 1 }.to_csr()
}

/// 32 products on the threads of the pool that also does their parts, and as many on a thread beside it.
fn multiply_at_once(device: &dyn Device<f64>, a: &Csr<f64>) {
    let candidate: Candidate = "csr-vector/t2/b256/f64".parse().unwrap();
    let product =
        device.load(LoadRequest::Parts { a, partition: &Partition::whole(a.nrows(), candidate) }).unwrap();
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
fn products_from_within_one_thread_pool_do_not_deadlock() {
    multiply_at_once(&Cpu::new(), &banded(200_000, 5));
}

/// Vectors of 12 MB are copied by the threads of the pool.
#[test]
fn large_gpu_products_from_within_one_thread_pool_do_not_deadlock() {
    let Some(gpu) = gpu() else { return };
    multiply_at_once(&*gpu, &banded(1_500_000, 3));
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
        if let Err(reason) = Device::<f64>::runs(&*gpu, candidate.kernel) {
            println!("skipped: {id}: {reason}");
            continue;
        }
        let product = gpu
            .load(LoadRequest::Parts { a: &a, partition: &Partition::whole(a.nrows(), candidate) })
            .unwrap();
        let (on_gpu, other_on_gpu) = (gpu.upload(&x).unwrap(), gpu.upload(&other).unwrap());
        let mut y = gpu.upload(&vec![f64::NAN; a.nrows()]).unwrap();
        let mut other_y = gpu.upload(&vec![f64::NAN; a.nrows()]).unwrap();
        for _ in 0..200 {
            queue(product.as_ref(), (1.0, &on_gpu), (0.0, &mut y), None).unwrap();
            queue(product.as_ref(), (1.0, &other_on_gpu), (0.0, &mut other_y), Some(default)).unwrap();
        }
        gpu.wait_for(default).unwrap();
        assert_eq!(expected_other.first_wrong(&other_y.read().unwrap()), None, "{id}");
        assert_eq!(expected.first_wrong(&y.read().unwrap()), None, "{id}");
    }
}

/// Rows of 1 to 9 ones, and in between some that are cut, because many blocks share each of them; with two vectors and what
/// they give. All of it whole numbers, so that thousands of products can be added up without rounding.
struct Whole {
    a: Csr<f64>,
    xs: [Vec<f64>; 2],
    ys: [Vec<f64>; 2],
}

fn whole_numbers() -> Whole {
    let n = 40_000_u32;
    let length = |row: u32| if row % 10_000 == 5_000 { 30_000 } else { 1 + row % 9 };
    let (mut row_ptr, mut cols) = (vec![0_u64], Vec::new());
    for row in 0..n {
        let columns = length(row);
        let stride = n / columns;
        cols.extend((0..columns).map(|at| at * stride));
        row_ptr.push(cols.len() as u64);
    }
    let values = vec![1.0; cols.len()];
    let a = Csr::try_new(n as usize, n as usize, row_ptr, cols, values).unwrap();
    let xs = [1, 2].map(|seed: u32| (0..n).map(|i| f64::from(i.wrapping_mul(seed) % 7)).collect::<Vec<_>>());
    let ys = [0, 1].map(|i| reference(&a, &xs[i]).y);
    Whole { a, xs, ys }
}

/// Kernels whose blocks share memory, and routines of the library, of which this GPU has some.
fn exclusive<'g>(
    gpu: &'g Cuda,
    a: &'g Csr<f64>,
) -> impl Iterator<Item = (&'static str, Box<dyn Product<f64>>)> {
    let ids =
        ["csr-balanced/i256/b128/f64", "csr-binned/b128/f64", "cusparse-csr/a2/f64", "cusparse-coo/f64"];
    ids.into_iter().filter_map(move |id| {
        let candidate: Candidate = id.parse().unwrap();
        if let Err(reason) = Device::<f64>::runs(gpu, candidate.kernel) {
            println!("skipped: {id}: {reason}");
            return None;
        }
        Some((
            id,
            gpu.load(LoadRequest::Parts { a, partition: &Partition::whole(a.nrows(), candidate) }).unwrap(),
        ))
    })
}

fn assert_sum(
    gpu: &Cuda,
    products: u32,
    y: &[f64],
    sum: &sparsight_device::gpu::DeviceArray<f64>,
    what: &str,
) {
    gpu.wait_for(gpu.stream()).unwrap();
    let sum = sum.read().unwrap();
    let expected = y.iter().map(|y| f64::from(products) * y);
    // Bit by bit: nothing of it was rounded.
    let wrong = sum.iter().zip(expected).find(|(sum, expected)| sum.to_bits() != expected.to_bits());
    assert_eq!(wrong, None, "{what}");
}

/// 10,000 products of one matrix in two streams, without waiting in between. A product that another one disturbed would show in
/// the sum.
#[test]
fn ten_thousand_products_in_two_streams_add_up() {
    let Some(gpu) = gpu() else { return };
    let Whole { a, xs, ys } = whole_numbers();
    let other = OtherStream::new(&gpu);
    let x = xs.map(|x| gpu.upload(&x).unwrap());
    for (id, product) in exclusive(&gpu, &a) {
        let mut sums = [0, 1].map(|_| gpu.upload(&vec![0.0; ys[0].len()]).unwrap());
        for _ in 0..5_000 {
            for (i, stream) in [None, Some(other.stream())].into_iter().enumerate() {
                queue(product.as_ref(), (1.0, &x[i]), (1.0, &mut sums[i]), stream).unwrap();
            }
        }
        gpu.wait_for(other.stream()).unwrap();
        for i in 0..2 {
            assert_sum(&gpu, 5_000, &ys[i], &sums[i], id);
        }
    }
}

/// The same where the products of one stream are captured into a graph of 20 that is launched 250 times, between products that
/// are not captured. It is captured in a foreign stream or in the device's own.
#[test]
fn products_in_a_graph_and_beside_it_add_up() {
    let Some(gpu) = gpu() else { return };
    for in_own_stream in [false, true] {
        products_in_a_graph(&gpu, in_own_stream);
    }
}

fn products_in_a_graph(gpu: &Cuda, in_own_stream: bool) {
    let Whole { a, xs, ys } = whole_numbers();
    let other = OtherStream::new(gpu);
    let x = xs.map(|x| gpu.upload(&x).unwrap());
    for (id, product) in exclusive(gpu, &a) {
        let mut sums = [0, 1].map(|_| gpu.upload(&vec![0.0; ys[0].len()]).unwrap());
        let [in_graph, beside] = &mut sums;
        let source = if in_own_stream { gpu.stream() } else { other.stream() };
        let graph = other.captured_in(source, |stream| {
            for _ in 0..20 {
                queue(product.as_ref(), (1.0, &x[0]), (1.0, in_graph), Some(stream)).unwrap();
            }
        });
        for _ in 0..250 {
            graph.launch();
            for _ in 0..20 {
                queue(product.as_ref(), (1.0, &x[1]), (1.0, beside), None).unwrap();
            }
        }
        gpu.wait_for(other.stream()).unwrap();
        for i in 0..2 {
            assert_sum(gpu, 5_000, &ys[i], &sums[i], id);
        }
    }
}

#[test]
fn arrays_of_the_same_gpu_opened_a_second_time_are_refused() {
    let Some(gpu) = gpu() else { return };
    let second = Cuda::open_without_rates(0).unwrap();
    let a = banded(1_000, 5);
    let candidate: Candidate = "csr-scalar/b256/f64".parse().unwrap();
    let product =
        gpu.load(LoadRequest::Parts { a: &a, partition: &Partition::whole(a.nrows(), candidate) }).unwrap();
    let (x, other_x) = (gpu.upload(&vec![1.0; 1_000]).unwrap(), second.upload(&vec![1.0; 1_000]).unwrap());
    let mut y = gpu.upload(&vec![0.0; 1_000]).unwrap();
    let refused = queue(product.as_ref(), (1.0, &other_x), (0.0, &mut y), None);
    assert!(matches!(refused, Err(DeviceError::OtherDevice { vector: "x" })), "{refused:?}");
    queue(product.as_ref(), (1.0, &x), (0.0, &mut y), None).unwrap();
}
