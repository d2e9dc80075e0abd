//! A solver's products allocate nothing after the first: counted by the allocator itself, so this test is alone in its
//! program.

use sparsight::Plan;
use sparsight::device::cpu::Cpu;
use sparsight::kernels::{Candidate, Execution};
use sparsight::matrix::gallery::Recipe;
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

struct Counting;

static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);

// SAFETY: everything is done by the system's allocator; counting touches no memory of its.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller's promises are those of the system's allocator.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn only_the_first_product_allocates() {
    let a = "stencil2d,n=100".parse::<Recipe>().unwrap().generate::<f64>().unwrap();
    // COO and HYB carry sums, JAD and SELL-C-sigma sort rows: all keep something between products.
    let ids = ["coo/b64/f64", "hyb/b64/f64", "jad/b64/f64", "sell/c32/s1024/b64/f64", "csr-scalar/b64/f64"];
    let part = |(i, id): (usize, &str)| (2_000 * i..2_000 * (i + 1), id.parse::<Candidate>().unwrap());
    let parts = ids.into_iter().enumerate().map(part).collect();
    let plan = Plan::try_new(parts, Execution::Sequential, None).unwrap();

    // One worker: several allocate now and then for the work that they take from each other.
    let cpu = Cpu::with_threads(1).unwrap();
    let prepared = plan.prepare(&cpu, &a).unwrap();
    let (x, mut y) = (vec![1.0; a.ncols()], vec![0.0; a.nrows()]);
    let mut products = |count: usize| {
        for _ in 0..count {
            prepared.multiply(&x, &mut y).unwrap();
            prepared.multiply_scaled(2.0, &x, 0.5, &mut y).unwrap();
        }
    };
    let before = ALLOCATIONS.load(Ordering::Relaxed);
    products(1);
    let first = ALLOCATIONS.load(Ordering::Relaxed);
    assert!(first > before, "the counter counts");
    // Fewer calls than make the thread pool extend its queue of work that comes from outside, 63 pieces a block. The least
    // of several rounds, since the test's harness may allocate something of its own meanwhile.
    let round = |_| {
        let before = ALLOCATIONS.load(Ordering::Relaxed);
        products(5);
        ALLOCATIONS.load(Ordering::Relaxed) - before
    };
    assert_eq!((0..4).map(round).min(), Some(0));
}
