//! A matrix dealt out to several GPUs: on emulated ones that are linked in this process, and on real ones where there are two.
//!
//! Without g++ or GPUs that share is skipped; `SPARSIGHT_REQUIRE_GXX=1` and `SPARSIGHT_REQUIRE_GPUS=1` turn that into a failure.

use crate::emulator::{EmulatedGpu, Order, allocated, gxx_is_missing};
use crate::gpu::alone;
use crate::support::{for_each_real_matrix, thirds};
use sparsight_device::cuda::{Cuda, Nccl};
use sparsight_device::gpu::{
    DeviceArray, DistributedProduct, Extent, GpuDevice, GpuShare, Link, Message, SharePlan,
};
use sparsight_device::{DeviceError, Partition, Stream, random_x};
use sparsight_kernels::{Candidate, Kernel};
use sparsight_matrix::gallery::Recipe;
use sparsight_matrix::{Csr, Distribution, Scalar, Share, mix, reference};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

fn matrix<T: Scalar>(recipe: &str) -> Csr<T> {
    thirds(&recipe.parse::<Recipe>().unwrap().generate().unwrap())
}

/// Distributions of the rows in order, and of each row anywhere.
fn distributions<T: Scalar>(a: &Csr<T>, parts: usize) -> [Distribution; 2] {
    let anywhere = (0..a.nrows() as u64).map(|row| (mix(row) % parts as u64) as u32).collect();
    [
        Distribution::balanced(a, parts, |_, length| length as f64).unwrap(),
        Distribution::of_parts((a.nrows(), a.ncols()), parts, anywhere).unwrap(),
    ]
}

fn plans<T: Scalar>(shares: &[Share<T>], interior: &str, boundary: &str) -> Vec<SharePlan> {
    let whole = |name: &str, nrows| {
        let kernel = Kernel::known(name);
        Partition::whole(nrows, Candidate { kernel, block: kernel.blocks()[0], dtype: T::DTYPE })
    };
    let plan = |share: &Share<T>| SharePlan {
        interior: whole(interior, share.interior().nrows()),
        boundary: whole(boundary, share.boundary().nrows()),
    };
    shares.iter().map(plan).collect()
}

/// A number of linked GPUs.
type Linked<'a> = dyn Fn(usize) -> (Vec<GpuDevice>, Vec<Arc<dyn Link>>) + 'a;

fn check<T: Scalar>(linked: &Linked<'_>, recipes: &[&str], counts: &[usize], kernels: &[(&str, &str)]) {
    for recipe in recipes {
        check_matrix(linked, recipe, &matrix::<T>(recipe), counts, kernels);
    }
}

fn check_matrix<T: Scalar>(
    linked: &Linked<'_>,
    name: &str,
    a: &Csr<T>,
    counts: &[usize],
    kernels: &[(&str, &str)],
) {
    let (n, size) = (a.nrows(), (a.nrows(), a.ncols()));
    let x = random_x::<T>(a.ncols(), 3);
    let right = reference(a, &x);
    for &parts in counts {
        for dealt in distributions(a, parts) {
            let shares = dealt.shares(a).unwrap();
            for (interior, boundary) in kernels {
                let what = format!("{interior}, {boundary} of '{name}' on {parts}");
                let (devices, links) = linked(parts);
                let plans = plans(&shares, interior, boundary);
                let mut product = DistributedProduct::load(size, &devices, &shares, &plans, links).unwrap();
                let mut owned: Vec<u32> = product.owned().flat_map(|(rows, _)| rows).copied().collect();
                owned.sort_unstable();
                assert!(owned.into_iter().eq(0..n as u32), "{what}: each row has an owner");
                let mut y = vec![T::from_f64(f64::NAN); n];
                product.multiply(1.0, &x, 0.0, &mut y).unwrap();
                assert_eq!(right.first_wrong(&y), None, "{what}");
                // 4 (A x) - 3 A x, and the same once more: nothing of the product before is left.
                let before = y.clone();
                product.multiply(-3.0, &x, 4.0, &mut y).unwrap();
                assert_eq!(right.first_wrong(&y), None, "{what}, with factors");
                product.multiply(1.0, &x, 0.0, &mut y).unwrap();
                let is_repeatable = |kernel: Kernel| kernel.is_repeatable();
                let are_repeatable = [interior, boundary].iter().all(|id| is_repeatable(Kernel::known(id)));
                assert!(!are_repeatable || y == before, "{what}: not twice the same");
                if dealt.is_square() {
                    check_vectors(&mut product, &what, &x);
                }
            }
        }
    }
}

/// Checks the vector operations of solvers on the GPUs, on x as the last product left it.
fn check_vectors<T: Scalar>(product: &mut DistributedProduct<T>, what: &str, x: &[T]) {
    let right: f64 = x.iter().map(|x| x.to_f64() * x.to_f64()).sum();
    let sums = product
        .each(|share, x, y| {
            // y = x / 2 + y, y the own entries of x: 3/2 x.
            let own = share.own();
            let mut old = share.zeroed(own)?;
            share.combine(1.0, x, 0.0, &mut old)?;
            share.combine(1.0, &old, 0.0, y)?;
            share.combine(0.5, &old, 1.0, y)?;
            let again = share.dot(&old, y)?;
            assert_eq!(share.dot(&old, y)?.to_bits(), again.to_bits(), "a sum has one order");
            share.time(2, x, y)?;
            Ok(again)
        })
        .unwrap();
    for sum in &sums {
        assert!((sum - 1.5 * right).abs() <= 1e-5 * right.abs(), "{what}: {sums:?} {right}");
        assert_eq!(sum.to_bits(), sums[0].to_bits(), "all ranks have one sum");
    }
}

#[test]
fn emulated_gpus_compute_what_one_does() {
    if gxx_is_missing() {
        return;
    }
    let recipes = ["stencil2d,n=9", "rmat,scale=6", "arrow,n=70"];
    for order in [Order::Forwards, Order::InPieces] {
        let linked = |count| EmulatedGpu::linked(count, order);
        check::<f64>(&linked, &recipes, &[1, 2, 3], &[("csr-scalar", "csr-vector/t8")]);
    }
    let linked = |count| EmulatedGpu::linked(count, Order::Forwards);
    check::<f32>(&linked, &recipes[..1], &[4], &[("ell", "csr-scalar"), ("sell/c32/s1", "coo")]);
    let linked = |count| EmulatedGpu::linked_with_waves_of_64(count, Order::Forwards);
    check::<f64>(&linked, &recipes[..1], &[2], &[("csr-scalar", "csr-vector/t8")]);
}

/// Recipes, one for each generator, small enough to be run thread by thread.
const SMALL: [&str; 20] = [
    "stencil2d,n=9",
    "stencil3d,n=5",
    "fem,n=3,unknowns=3",
    "trimesh,n=6",
    "power-law,n=90",
    "rmat,scale=6",
    "web,n=120,host=20",
    "circuit,n=90,rail=20",
    "lp,rows=40,cols=100",
    "constraints,rows=90,cols=70,families=5,longest=9",
    "kkt,n=70,m=30",
    "arrow,n=70",
    "long-rows,n=100,long=3,length=60",
    "banded,n=90",
    "block-diagonal,n=90",
    "random,rows=90,cols=50,spread=9",
    "tall,rows=300,cols=30",
    "wide,rows=20,cols=600,row=90",
    "hypersparse,n=300",
    "dense,rows=30,cols=40",
];

#[test]
fn every_recipe_is_right_on_1_2_and_4_gpus() {
    let of_each = sparsight_matrix::gallery::generators().iter().map(|generator| generator.name);
    let named = SMALL.iter().map(|recipe| recipe.split(',').next().unwrap());
    assert!(named.eq(of_each), "one of each generator, in their order");
    if gxx_is_missing() {
        return;
    }
    let linked = |count| EmulatedGpu::linked(count, Order::Forwards);
    check::<f64>(&linked, &SMALL, &[1, 2, 4], &[("csr-vector/t8", "csr-scalar")]);
}

/// Most non-zeros of a real matrix that is run thread by thread here. Chosen: some seconds for all.
const MOST_EMULATED: usize = 30_000;

#[test]
fn real_matrices_are_right_on_2_and_4_gpus() {
    if gxx_is_missing() {
        return;
    }
    let linked = |count| EmulatedGpu::linked(count, Order::Forwards);
    let (mut run, mut all) = (0, 0);
    for_each_real_matrix(|name, a| {
        all += 1;
        if a.nnz() <= MOST_EMULATED {
            run += 1;
            check_matrix(&linked, name, &thirds::<f64>(a), &[2, 4], &[("csr-scalar", "csr-scalar")]);
        }
    });
    println!("{run} matrices of at most {MOST_EMULATED} non-zeros on emulated GPUs");
    assert!(run > 0 || all == 0, "none of {all} matrices is so small");
}

#[test]
fn no_gpu_memory_is_allocated_after_the_first_product() {
    if gxx_is_missing() {
        return;
    }
    let a: Csr<f64> = matrix("stencil2d,n=9");
    let shares = Distribution::balanced(&a, 4, |_, _| 1.0).unwrap().shares(&a).unwrap();
    let plans = plans(&shares, "csr-vector/t8", "csr-scalar");
    let (devices, links) = EmulatedGpu::linked_as(&["counted"; 4], Order::Forwards);
    let mut product =
        DistributedProduct::load((a.nrows(), a.ncols()), &devices, &shares, &plans, links).unwrap();
    let mut products = |count: usize| {
        let (x, mut y) = (vec![1.0; a.ncols()], vec![0.0; a.nrows()]);
        for _ in 0..count {
            product.multiply(1.0, &x, 0.0, &mut y).unwrap();
            product.multiply(2.0, &x, 0.5, &mut y).unwrap();
        }
        let solve = |share: &mut GpuShare<f64>, x: &mut DeviceArray<f64>, y: &mut DeviceArray<f64>| {
            share.multiply(1.0, x, 0.0, y)?;
            share.combine(1.0, y, 0.5, x)?;
            share.dot(x, y)
        };
        product.each(solve).unwrap();
    };
    products(1);
    let before = allocated("counted");
    assert!(before > 0, "the counter counts");
    products(3);
    assert_eq!(allocated("counted"), before);
}

#[test]
fn a_failing_rank_fails_all_ranks() {
    if gxx_is_missing() {
        return;
    }
    let a: Csr<f64> = matrix("stencil2d,n=9");
    let shares = Distribution::balanced(&a, 2, |_, _| 1.0).unwrap().shares(&a).unwrap();
    let (devices, links) = EmulatedGpu::linked(2, Order::Forwards);
    let plans = plans(&shares, "csr-scalar", "csr-scalar");
    let size = (a.nrows(), a.ncols());
    let few = DistributedProduct::load(size, &devices[..1], &shares, &plans, links.clone()).unwrap_err();
    assert_eq!(few.to_string(), "the GPUs cannot exchange data: 2 shares for 1 devices");
    let mut product = DistributedProduct::load(size, &devices, &shares, &plans, links).unwrap();
    let failed = product.each(|share, x, y| {
        if share.link().rank() == 1 {
            return Err(DeviceError::Interrupted);
        }
        share.multiply(1.0, x, 0.0, y)?;
        share.wait()
    });
    assert_eq!(failed, Err(DeviceError::Interrupted), "the cause, and not that the other one waited in vain");
    let mut y = vec![0.0; a.nrows()];
    let gone = product.multiply(1.0, &vec![1.0; a.ncols()], 0.0, &mut y).unwrap_err();
    assert!(matches!(gone, DeviceError::Link { .. }), "{gone}");
}

/// An end that counts: exchanges since it was last waited for, the most there were, and how often it was waited for.
#[derive(Debug)]
struct Counted {
    link: Arc<dyn Link>,
    queued: AtomicU32,
    most: AtomicU32,
    waits: AtomicU32,
}

impl Link for Counted {
    fn rank(&self) -> usize {
        self.link.rank()
    }

    fn ranks(&self) -> usize {
        self.link.ranks()
    }

    fn stream(&self) -> Option<Stream<'_>> {
        self.link.stream()
    }

    fn follow(&self) -> Result<(), DeviceError> {
        self.link.follow()
    }

    fn lead(&self) -> Result<(), DeviceError> {
        self.link.lead()
    }

    unsafe fn exchange(&self, gives: &[Message], gets: &[Message]) -> Result<(), DeviceError> {
        let queued = self.queued.fetch_add(1, Ordering::Relaxed) + 1;
        self.most.fetch_max(queued, Ordering::Relaxed);
        // SAFETY: as the caller promises.
        unsafe { self.link.exchange(gives, gets) }
    }

    unsafe fn sum(&self, numbers: Extent) -> Result<(), DeviceError> {
        // SAFETY: as the caller promises.
        unsafe { self.link.sum(numbers) }
    }

    fn wait(&self) -> Result<(), DeviceError> {
        self.queued.store(0, Ordering::Relaxed);
        self.waits.fetch_add(1, Ordering::Relaxed);
        self.link.wait()
    }

    fn abort(&self) {
        self.link.abort();
    }
}

#[test]
fn queued_launches_stay_within_the_driver_queues() {
    if gxx_is_missing() {
        return;
    }
    let a: Csr<f64> = matrix("stencil2d,n=9");
    let waits = |parts: usize, work: fn(&mut GpuShare<f64>, &mut DeviceArray<f64>, &mut DeviceArray<f64>)| {
        let shares = Distribution::balanced(&a, parts, |_, _| 1.0).unwrap().shares(&a).unwrap();
        let (devices, links) = EmulatedGpu::linked(parts, Order::Forwards);
        let count = |link| {
            let [queued, most, waits] = [0; 3].map(AtomicU32::new);
            Arc::new(Counted { link, queued, most, waits })
        };
        let counted: Vec<Arc<Counted>> = links.into_iter().map(count).collect();
        let links = counted.iter().map(|link| Arc::clone(link) as Arc<dyn Link>).collect();
        let plans = plans(&shares, "csr-scalar", "csr-scalar");
        let size = (a.nrows(), a.ncols());
        let mut product = DistributedProduct::load(size, &devices, &shares, &plans, links).unwrap();
        let worked = |share: &mut GpuShare<f64>, x: &mut DeviceArray<f64>, y: &mut DeviceArray<f64>| {
            work(share, x, y);
            Ok(())
        };
        product.each(worked).unwrap();
        let of = |link: &Arc<Counted>| [&link.most, &link.waits].map(|number| number.load(Ordering::Relaxed));
        counted.iter().map(of).collect::<Vec<_>>()
    };
    let products = |share: &mut GpuShare<f64>, x: &mut DeviceArray<f64>, y: &mut DeviceArray<f64>| {
        for _ in 0..150 {
            share.multiply(1.0, x, 0.0, y).unwrap();
        }
    };
    assert_eq!(waits(2, products), [[64, 2]; 2], "before the 65th and the 129th");
    assert_eq!(waits(1, products), [[0, 0]], "one GPU alone never waits");
    let vectors = |share: &mut GpuShare<f64>, x: &mut DeviceArray<f64>, y: &mut DeviceArray<f64>| {
        for _ in 0..2 {
            share.multiply(1.0, x, 0.0, y).unwrap();
            (0..40).for_each(|_| share.combine(0.5, x, 0.5, y).unwrap());
            share.dot(x, y).unwrap();
        }
    };
    assert_eq!(waits(2, vectors), [[1, 2]; 2], "a caller that waits often waits for nothing else");
    let many = |share: &mut GpuShare<f64>, x: &mut DeviceArray<f64>, y: &mut DeviceArray<f64>| {
        share.multiply(1.0, x, 0.0, y).unwrap();
        (0..1300).for_each(|_| share.combine(0.5, x, 0.5, y).unwrap());
    };
    assert_eq!(waits(2, many), [[1, 2]; 2], "launches behind an exchange count, too");
}

/// True if there are fewer GPUs than that, and a skip is allowed.
fn gpus_are_missing(count: usize) -> bool {
    let here = Cuda::count().unwrap_or(0);
    let missing = here < count;
    assert!(!missing || std::env::var_os("SPARSIGHT_REQUIRE_GPUS").is_none(), "{here} GPUs");
    if missing {
        println!("skipped: {here} of {count} GPUs");
    }
    missing
}

#[test]
fn gpus_compute_what_one_does() {
    let _alone = alone();
    if gpus_are_missing(2) {
        return;
    }
    let all: Vec<Cuda> = (0..Cuda::count().unwrap()).map(|i| Cuda::open_without_rates(i).unwrap()).collect();
    let linked = |count: usize| {
        let some = &all[..count];
        (some.iter().map(|gpu| gpu.as_gpu().clone()).collect(), Nccl::link(some).unwrap())
    };
    let counts: Vec<usize> = [1, 2, 4, 8].into_iter().filter(|&count| count <= all.len()).collect();
    let recipes =
        ["stencil3d,n=30", "rmat,scale=14", "arrow,n=7000", "circuit,n=30000", "fem,n=12,unknowns=3"];
    check::<f64>(
        &linked,
        &recipes,
        &counts,
        &[("csr-balanced/i256", "csr-vector/t8"), ("csr-balanced/i1024", "coo")],
    );
    check::<f32>(&linked, &recipes, &counts, &[("csr-balanced/i256", "csr-scalar")]);
}

#[test]
fn a_gpu_twice_is_refused_with_a_reason() {
    let _alone = alone();
    if gpus_are_missing(1) {
        return;
    }
    let gpu = Cuda::open_without_rates(0).unwrap();
    match Nccl::link(&[gpu.clone(), gpu]) {
        Err(DeviceError::Link { reason }) => println!("{reason}"),
        Err(DeviceError::NoNccl { searched }) => println!("skipped: no NCCL in {searched}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_rank_that_stays_away_is_an_error_within_the_limit() {
    let _alone = alone();
    if gpus_are_missing(2) {
        return;
    }
    let gpus: Vec<Cuda> = (0..2).map(|i| Cuda::open_without_rates(i).unwrap()).collect();
    let a: Csr<f64> = matrix("stencil2d,n=90");
    let shares = Distribution::balanced(&a, 2, |_, _| 1.0).unwrap().shares(&a).unwrap();
    let plans = plans(&shares, "csr-scalar", "csr-scalar");
    let devices: Vec<GpuDevice> = gpus.iter().map(|gpu| gpu.as_gpu().clone()).collect();
    let size = (a.nrows(), a.ncols());
    let x = vec![1.0; a.ncols()];
    // Also with far more products than the driver's queues hold.
    for products in [1, 5_000] {
        let links = Nccl::link_within(&gpus, Duration::from_secs(5)).unwrap();
        let mut product = DistributedProduct::load(size, &devices, &shares, &plans, links).unwrap();
        product.multiply(1.0, &x, 0.0, &mut vec![0.0; a.nrows()]).unwrap();
        let start = Instant::now();
        let waited = product.each(|share, x, y| {
            if share.link().rank() == 1 {
                return Ok(());
            }
            for _ in 0..products {
                share.multiply(1.0, x, 0.0, y)?;
            }
            share.wait()
        });
        assert!(matches!(waited, Err(DeviceError::Link { .. })), "{products}: {waited:?}");
        assert!(start.elapsed().as_secs() < 20, "{products}: {:?}", start.elapsed());
    }
}
