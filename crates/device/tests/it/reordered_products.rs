//! Products of a reordered matrix, with vectors in the original order: on the CPU, on an
//! emulated GPU, and on a GPU where there is one.
//!
//! Without g++ or a GPU that share is skipped; `SPARSIGHT_REQUIRE_GXX=1` and `SPARSIGHT_REQUIRE_GPU=1` turn that into a failure.

use crate::emulator::{EmulatedGpu, Order, gxx_is_missing};
use crate::gpu::gpu;
use crate::support::{hold, thirds};
use sparsight_device::cpu::Cpu;
use sparsight_device::gpu::GpuDevice;
use sparsight_device::timing::{Caches, StoppingRule, measure};
use sparsight_device::{Device, DeviceError, DeviceVectors, LoadRequest, Partition, random_x};
use sparsight_kernels::{Candidate, Execution, Kernel};
use sparsight_matrix::gallery::Recipe;
use sparsight_matrix::{Csr, Dtype, Narrowing, Permutation, Scalar, reference};

fn matrix<T: Scalar>(recipe: &str) -> Csr<T> {
    thirds(&recipe.parse::<Recipe>().unwrap().generate().unwrap())
}

/// All rows with a kernel for each format, and a partition of two.
fn partitions(nrows: usize, dtype: Dtype) -> Vec<Partition> {
    let kernels = ["csr-scalar", "csr-vector/t8", "ell", "csr-balanced/i256", "coo", "bro-ell/r32"];
    let candidate = |name: &str| {
        let kernel = Kernel::known(name);
        Candidate { kernel, block: kernel.blocks()[0], dtype }
    };
    let halves = vec![(0..nrows / 2, candidate("jad")), (nrows / 2..nrows, candidate("csr-binned"))];
    let mut all: Vec<Partition> =
        kernels.map(|name| Partition::whole(nrows, candidate(name))).into_iter().collect();
    all.push(Partition::try_new(halves, Execution::Sequential).unwrap());
    all
}

fn check<T: Scalar>(device: &dyn Device<T>, dtype: Dtype, upload: Option<&GpuDevice>) {
    let stored = |a: &Csr<T>| if dtype == Dtype::Mixed { Narrowing::rounded(a) } else { a.clone() };
    for recipe in ["stencil2d,n=13,shuffle=1", "power-law,n=150,seed=2", "fem,n=4,unknowns=3,shuffle=1"] {
        let a: Csr<T> = matrix(recipe);
        let n = a.nrows();
        let x = random_x::<T>(n, 3);
        for order in [Permutation::reverse_cuthill_mckee(&a).unwrap(), Permutation::shuffled(n, 7)] {
            for partition in partitions(n, dtype) {
                let what = format!("{partition:?} of '{recipe}'");
                let mut product = device
                    .load(LoadRequest::Reordered { a: &a, order: &order, partition: &partition })
                    .unwrap();
                hold(product.as_ref(), &what, &x, &reference(&stored(&a), &x));
                assert!(product.batch(2, Caches::Warm).unwrap().time.0 >= 0.0);
                let new = a.with_values(random_x::<T>(a.nnz(), 4)).unwrap();
                let early = product.update_values(new.values());
                assert!(matches!(early, Err(DeviceError::PlacesUnknown { .. })), "{what}: {early:?}");
                product.allow_updates(&a).unwrap();
                product.update_values(new.values()).unwrap();
                hold(product.as_ref(), &what, &x, &reference(&stored(&new), &x));
                let Some(gpu) = upload else { continue };
                let new = thirds(&a.with_values(random_x::<T>(a.nnz(), 5)).unwrap());
                let values = gpu.upload(new.values()).unwrap();
                product.update_values_on_device(values.as_slice(), None).unwrap();
                let expected = reference(&stored(&new), &x);
                hold(product.as_ref(), &what, &x, &expected);
                // The same with vectors on the device: -2 A x + 8 (A x / 2).
                let on_device = gpu.upload(&x).unwrap();
                let mut y = gpu.upload(&vec![T::from_f64(f64::NAN); n]).unwrap();
                let mut queue = |alpha, beta| {
                    let (x, y) = (on_device.as_slice(), y.as_mut_slice());
                    product.multiply_on_device(DeviceVectors { alpha, x, beta, y, stream: None }).unwrap();
                };
                queue(0.5, 0.0);
                queue(-2.0, 8.0);
                let half: Vec<T> = y.read().unwrap().iter().map(|y| T::from_f64(y.to_f64() / 2.0)).collect();
                assert_eq!(expected.first_wrong(&half), None, "{what}, on the device");
            }
        }
        let short = Permutation::shuffled(n - 1, 1);
        let refused = device
            .load(LoadRequest::Reordered { a: &a, order: &short, partition: &partitions(n, dtype)[0] })
            .err()
            .unwrap();
        assert!(matches!(refused, DeviceError::Length { .. }), "{refused}");
    }
}

#[test]
fn on_a_cpu_vectors_keep_their_order() {
    check::<f32>(&Cpu::new(), Dtype::F32, None);
    check::<f64>(&Cpu::with_threads(2).unwrap(), Dtype::F64, None);
}

#[test]
fn on_an_emulated_gpu_vectors_keep_their_order() {
    if gxx_is_missing() {
        return;
    }
    let gpu = EmulatedGpu::device(Order::Backwards);
    check::<f32>(&gpu, Dtype::F32, Some(&gpu));
    check::<f64>(&gpu, Dtype::Mixed, Some(&gpu));
}

#[test]
fn on_a_gpu_reordered_products_keep_vector_order_at_a_measured_cost() {
    let Some(cuda) = gpu() else { return };
    check::<f32>(&*cuda, Dtype::F32, Some(cuda.as_gpu()));
    check::<f64>(&*cuda, Dtype::F64, Some(cuda.as_gpu()));
    check::<f64>(&*cuda, Dtype::Mixed, Some(cuda.as_gpu()));
    let costs = |recipe: &str| {
        let a: Csr<f64> = matrix(recipe);
        let order = Permutation::reverse_cuthill_mckee(&a).unwrap();
        let partition = Partition::whole(a.nrows(), "csr-vector/t4/b128/f64".parse().unwrap());
        let time = |product: &dyn sparsight_device::Product<f64>| {
            measure(|products| product.batch(products, Caches::Warm), &StoppingRule::BRISK).unwrap().time.0
        };
        let ordered = order.of_matrix(&a).unwrap();
        let inside =
            time(cuda.load(LoadRequest::Parts { a: &ordered, partition: &partition }).unwrap().as_ref());
        let with_vectors = time(
            cuda.load(LoadRequest::Reordered { a: &a, order: &order, partition: &partition })
                .unwrap()
                .as_ref(),
        );
        let as_it_is = time(cuda.load(LoadRequest::Parts { a: &a, partition: &partition }).unwrap().as_ref());
        println!(
            "{recipe}: {} rows, {:.2} us as it is, {:.2} in the new order, {:.2} with x and y brought there and back",
            a.nrows(),
            1e6 * as_it_is,
            1e6 * inside,
            1e6 * with_vectors
        );
        // Within what two measurements differ by.
        assert!(with_vectors > 0.95 * inside, "{recipe}: nothing is for nothing");
    };
    for recipe in [
        "stencil2d,n=50,shuffle=1",
        "stencil2d,n=300,shuffle=1",
        "stencil3d,n=100,shuffle=1",
        "stencil3d,n=200,shuffle=1",
        "stencil3d,n=200",
    ] {
        costs(recipe);
    }
}
