//! Readers and orders that are refused memory give an error: the allocator itself refuses the first large request, then the
//! second, and so on, until a file can be read or a matrix reordered. So this test is alone in its program.

#[path = "it/npz_writer.rs"]
mod npz_writer;
#[path = "it/packed.rs"]
mod packed;

use npz_writer::{archive, float64, format, int64};
use packed::gzip;
use sparsight_matrix::io::{self, ReadOptions};
use sparsight_matrix::{Csr, Permutation};
use std::alloc::{GlobalAlloc, Layout, System};
use std::fmt::Display;
use std::fmt::Write as _;
use std::ptr;
use std::sync::atomic::{AtomicI64, Ordering};

struct Refusing;

/// Bytes from which on a request is large: what a matrix takes, and not a thread, a message or the input of a decoder (256 KiB).
const LARGE: usize = (256 << 10) + 1;

/// Large requests that are granted before one is refused; negative: all of them.
static GRANTED: AtomicI64 = AtomicI64::new(-1);

fn is_refused(bytes: usize) -> bool {
    if bytes < LARGE || GRANTED.load(Ordering::Relaxed) < 0 {
        return false;
    }
    // From then on all of them: memory does not come back by itself.
    GRANTED.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| Some((left - 1).max(0))) == Ok(0)
}

// SAFETY: what is granted is done by the system's allocator; a null pointer is how an allocator refuses.
unsafe impl GlobalAlloc for Refusing {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if is_refused(layout.size()) {
            return ptr::null_mut();
        }
        // SAFETY: the caller's promises are those of the system's allocator.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if is_refused(layout.size()) {
            return ptr::null_mut();
        }
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if size > layout.size() && is_refused(size) {
            return ptr::null_mut();
        }
        // SAFETY: as above.
        unsafe { System.realloc(pointer, layout, size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Refusing = Refusing;

/// A tridiagonal matrix with 80,000 rows.
const N: i64 = 80_000;

fn matrix_market(symmetry: &str) -> String {
    let mut text = format!("%%MatrixMarket matrix coordinate real {symmetry}\n{N} {N} {}\n", 2 * N - 1);
    for i in 1..=N {
        writeln!(text, "{i} {i} {i}.5").unwrap();
        if i < N {
            writeln!(text, "{} {i} -1", i + 1).unwrap();
        }
    }
    text
}

/// A row of 80,000 columns in no order, which has to be sorted.
fn long_row() -> String {
    let mut text = format!("%%MatrixMarket matrix coordinate real general\n3 {N} {N}\n");
    for i in 0..N {
        writeln!(text, "2 {} {i}", i * 7_919 % N + 1).unwrap();
    }
    text
}

fn npz(compressed: bool) -> Vec<u8> {
    let indptr: Vec<i64> = (0..=N).collect();
    let indices: Vec<i64> = (0..N).rev().collect();
    let data: Vec<f64> = (0..N).map(|i| i as f64).collect();
    let arrays = [
        int64("indptr", &indptr),
        int64("indices", &indices),
        float64("data", &data),
        int64("shape", &[N, N]),
        format("csr"),
    ];
    archive(&arrays, compressed)
}

/// A block of 400 x 600, and values enough for several chunks.
fn block() -> Vec<u8> {
    let (high, wide) = (400, 600);
    let values: Vec<f64> = (0..high * wide).map(|i| i as f64).collect();
    let (name, descr, _, bytes) = float64("data", &values);
    let arrays = [
        int64("indptr", &[0, 1]),
        int64("indices", &[0]),
        (name, descr, format!("(1, {high}, {wide})"), bytes),
        int64("shape", &[high, wide]),
        format("bsr"),
    ];
    archive(&arrays, true)
}

fn tar(text: &str) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    let mut header = tar::Header::new_gnu();
    header.set_size(text.len() as u64);
    header.set_mode(0o644);
    builder.append_data(&mut header, "a/a.mtx", text.as_bytes()).unwrap();
    builder.into_inner().unwrap()
}

#[test]
fn failed_allocations_are_errors() {
    let dir = tempfile::tempdir().unwrap();
    let general = matrix_market("general");
    let files = [
        ("a.mtx", general.clone().into_bytes()),
        ("symmetric.mtx", matrix_market("symmetric").into_bytes()),
        ("long.mtx", long_row().into_bytes()),
        ("a.mtx.gz", gzip(general.as_bytes())),
        ("a.tar.gz", gzip(&tar(&general))),
        ("a.npz", npz(false)),
        ("compressed.npz", npz(true)),
        ("block.npz", block()),
    ];
    for (name, bytes) in &files {
        let path = dir.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        // Threads are there, and so is what they keep.
        let expected = io::read::<f64>(&path, &ReadOptions::default()).unwrap().matrix;
        let read = || io::read::<f64>(&path, &ReadOptions::default()).map(|read| read.matrix);
        let refused = refused_until_made(read, &expected);
        println!("{name}: {refused} large requests");
        assert!(refused >= 3, "{name}: {refused}");
        if *name == "a.mtx" {
            let reorder = || Permutation::reverse_cuthill_mckee(&expected)?.of_matrix(&expected);
            let reordered = reorder().unwrap();
            let refused = refused_until_made(reorder, &reordered);
            println!("reordered: {refused} large requests");
            assert!(refused >= 8, "{refused}");
        }
    }
}

/// Number of large requests that were refused in turn before the matrix could be made.
fn refused_until_made<E: Display>(make: impl Fn() -> Result<Csr<f64>, E>, expected: &Csr<f64>) -> i64 {
    for granted in 0.. {
        GRANTED.store(granted, Ordering::Relaxed);
        let made = make();
        GRANTED.store(-1, Ordering::Relaxed);
        match made {
            Ok(made) => {
                assert_eq!(&made, expected);
                return granted;
            }
            Err(error) => {
                let text = error.to_string();
                assert!(text.contains("memory") && !text.contains('\n'), "{granted}: {text}");
            }
        }
    }
    unreachable!()
}
